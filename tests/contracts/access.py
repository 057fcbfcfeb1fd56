"""Who can see which channel, on every platform alike. Enrol by deriving from AccessContract with a `doors`."""

from abc import ABC, abstractmethod

from core.domain.ids import WorkspaceId
from core.ports import ChannelAccess


class Doors(ABC):
    """A platform with a public, a private and a direct channel. `insider` is in all of them, `outsider` in none."""

    access: ChannelAccess
    workspace_id: WorkspaceId
    public: str
    private: str
    direct: str
    insider: str
    outsider: str

    @abstractmethod
    async def let_in(self, person: str, channel: str) -> None:
        """Add a person to a channel."""

    @abstractmethod
    async def put_out(self, person: str, channel: str) -> None:
        """Take a person out of a channel."""


class AccessContract:
    """The contract of core.ports.ChannelAccess."""

    async def test_a_public_channel_is_open_to_everyone_of_the_workspace(self, doors: Doors) -> None:
        assert await _sees(doors, doors.public, doors.insider)
        assert await _sees(doors, doors.public, doors.outsider)

    async def test_a_private_channel_is_open_to_its_members_alone(self, doors: Doors) -> None:
        assert await _sees(doors, doors.private, doors.insider)
        assert not await _sees(doors, doors.private, doors.outsider)

    async def test_a_direct_conversation_is_for_its_person_alone(self, doors: Doors) -> None:
        assert await _sees(doors, doors.direct, doors.insider)
        assert not await _sees(doors, doors.direct, doors.outsider)

    async def test_rights_are_those_of_the_moment(self, doors: Doors) -> None:
        assert not await _sees(doors, doors.private, doors.outsider)
        await doors.let_in(doors.outsider, doors.private)
        assert await _sees(doors, doors.private, doors.outsider)
        await doors.put_out(doors.outsider, doors.private)
        assert not await _sees(doors, doors.private, doors.outsider)

    async def test_unknown_channels_and_people_see_nothing_private(self, doors: Doors) -> None:
        assert not await _sees(doors, "404404404404404404", doors.insider)
        assert not await _sees(doors, doors.private, "404404404404404404")


async def _sees(doors: Doors, channel: str, person: str) -> bool:
    return await doors.access.can_see(doors.workspace_id, channel, person)
