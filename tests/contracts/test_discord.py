"""Discord keeps the contracts of the ports."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.discord.limit import PLATFORM
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from tests.bot.discord.world import MENTION, DiscordWorld, is_complete, open_discord_world
from tests.contracts.access import AccessContract, Doors
from tests.contracts.intake import IntakeContract, Talk
from tests.contracts.poster import PosterContract, PosterGround
from tests.platforms.discord_api import ALICE, BOB, GENERAL, GUILD, SECRET, Fault
from tests.platforms.discord_rest import running_discord
from tests.product import eventually


@pytest.fixture
async def there(tmp_path: Path) -> AsyncGenerator[DiscordWorld]:
    async with running_discord() as server:
        async with open_discord_world(tmp_path, server) as world:
            yield world
        assert server.broken == []


class DiscordGround(PosterGround):
    channel = GENERAL

    def __init__(self, there: DiscordWorld, workspace_id: WorkspaceId) -> None:
        self.poster = there.bot.poster
        self.workspace_id = workspace_id
        self._server = there.server

    async def thread(self) -> Place:
        thread = await self._server.opens_thread(GENERAL, "t")
        return Place(platform=PLATFORM, channel=GENERAL, thread=thread)

    async def shown(self, place: Place) -> list[str]:
        root = self._server.messages[place.channel].get(place.thread)
        posts = ([root] if root else []) + self._server.ours(place.thread)
        found = []
        for post in posts:
            files = [self._server.files[f["id"]].decode() for f in post["attachments"]]
            found.append("\n".join([post["content"], *files]))
        return found

    async def pings(self) -> int:
        return sum("may ping" in problem for problem in self._server.broken)

    async def lose_next_answer(self) -> None:
        self._server.faults.append(Fault(r"POST /channels/\d+/messages$", "after", 503))


class TestPoster(PosterContract):
    @pytest.fixture
    async def ground(self, there: DiscordWorld) -> DiscordGround:
        return DiscordGround(there, (await there.actor()).workspace_id)


class DiscordDoors(Doors):
    public, private = GENERAL, SECRET
    insider, outsider = ALICE, BOB

    def __init__(self, there: DiscordWorld, workspace_id: WorkspaceId, direct: str) -> None:
        self.access = there.bot.access
        self.workspace_id = workspace_id
        self.direct = direct
        """A private thread of one person; the bot takes part in no direct conversations."""
        self._there = there

    async def let_in(self, person: str, channel: str) -> None:
        await self._change(person, channel, may_see=True)

    async def put_out(self, person: str, channel: str) -> None:
        await self._change(person, channel, may_see=False)

    async def _change(self, person: str, channel: str, *, may_see: bool) -> None:
        """The event travels by itself; it has arrived when the bot's own view of the channel has changed."""
        await self._there.server.overwrites(channel, person, may_see=may_see)

        def arrived() -> bool:
            client = self._there.bot.connection.client
            known = client.get_channel(int(channel)) if client else None
            return any(str(target.id) == person for target in getattr(known, "_overwrites", ())) is may_see

        await eventually(arrived)


class TestAccess(AccessContract):
    @pytest.fixture
    async def doors(self, there: DiscordWorld) -> DiscordDoors:
        direct = await there.server.opens_thread(GENERAL, "alone", private=True)
        doors = DiscordDoors(there, (await there.actor()).workspace_id, direct)
        await doors.let_in(ALICE, SECRET)
        return doors


class DiscordTalk(Talk):
    workspace = GUILD

    def __init__(self, there: DiscordWorld) -> None:
        self.world = there.world
        self._there = there
        self._server = there.server

    async def begin(self, text: str, *, copies: int = 1) -> str:
        return await self._server.says(GENERAL, f"{MENTION} {text}", copies=copies)

    async def reply(self, thread: str, text: str, *, person: int = 0, copies: int = 1) -> str:
        told = len(self._server.ours(thread))
        stored = len(await self._there.conversation(thread))
        message = await self._server.says(thread, text, user=(ALICE, BOB)[person], copies=copies)

        async def taken() -> bool:
            if len(self._server.ours(thread)) > told:
                return True
            return len(await self._there.conversation(thread)) > stored

        await eventually(taken)
        return message

    async def call(self, thread: str, text: str) -> None:
        await self.reply(thread, f"{MENTION} {text}")

    async def answered(self, thread: str, answers: int) -> None:
        await self._there.answered(thread, answers)

    async def edit(self, thread: str, message: str, text: str) -> None:
        await self._server.edits(thread, message, text)

        async def changed() -> bool:
            return text in await self._there.conversation(thread)

        await eventually(changed)

    async def delete(self, thread: str, message: str) -> None:
        text = self._server.messages[thread][message]["content"]
        await self._server.deletes(thread, message)

        async def gone() -> bool:
            return text not in await self._there.conversation(thread)

        await eventually(gone)

    async def conversation(self, thread: str) -> list[str]:
        return await self._there.conversation(thread)

    async def told(self) -> list[str]:
        """Nothing is private about a message, so the sentence stands below it, once."""
        posts = [m for channel in self._server.channels for m in self._server.ours(channel)]
        return [m["content"] for m in posts if not is_complete(m)]


class TestIntake(IntakeContract):
    @pytest.fixture
    async def talk(self, there: DiscordWorld) -> DiscordTalk:
        return DiscordTalk(there)
