"""Who can see which channel, asked of Slack at the time of use."""

from collections.abc import Awaitable, Callable
from typing import Final

from bot.slack.bots import Bot, Bots
from bot.slack.calls import Calls, Json
from bot.slack.memo import Memo
from bot.slack.people import People
from core.domain.errors import PlatformFailure, Refusal
from core.domain.ids import WorkspaceId

CHANNEL_FRESH_S: Final = 60.0
"""What kind of channel it is; a public one that turns private is treated as such a minute later."""

MEMBERS_FRESH_S: Final = 3.0
"""Long enough for the checks of one command, no longer: membership decides about rights."""

VOUCHED_S: Final = 10.0
"""How long the fact that a person just wrote or clicked in a channel stands for their being able to see it."""

GONE: Final = frozenset(
    {"channel_not_found", "not_in_channel", "not_installed", "team_not_found", "missing_scope:groups:read"}
)
PATIENCE_S: Final = 5.0


class SlackAccess:
    """ChannelAccess of Slack."""

    def __init__(
        self, calls: Calls, bots: Bots, people: People, external_id: Callable[[WorkspaceId], Awaitable[str]]
    ) -> None:
        self._calls = calls
        self._bots = bots
        self._people = people
        self._external_id = external_id
        self._channels: Memo[tuple[str, str], Json] = Memo(fresh_s=CHANNEL_FRESH_S)
        self._members: Memo[tuple[str, str], frozenset[str]] = Memo(fresh_s=MEMBERS_FRESH_S)
        self._vouched: Memo[tuple[str, str, str], bool] = Memo(fresh_s=VOUCHED_S)

    async def can_see(self, workspace_id: WorkspaceId, channel: str, person: str) -> bool:
        """False for an unknown channel or person. Raises PlatformFailure when Slack does not say."""
        bot = await self._bots.of_workspace(await self._external_id(workspace_id))
        if self._vouched.peek((bot.workspace, channel, person)):
            return True
        try:
            info = await self.channel(bot, channel)
            if info.get("is_im"):
                return bool(info.get("user") == person)
            open_to_all = not (info.get("is_private") or info.get("is_mpim") or info.get("is_group"))
            if open_to_all and await self._at_home(bot, info, person):
                return True
            return person in await self._members_of(bot, channel)
        except PlatformFailure as failure:
            if failure.code in GONE or failure.code in ("user_not_found", "user_not_visible"):
                return False
            raise

    async def _at_home(self, bot: Bot, info: Json, person: str) -> bool:
        """Whether public channels such as this one are open to the person."""
        if await self._people.is_outsider(bot, person):
            return False
        # Installed in a whole organisation: what is public in one of its teams is not in the others.
        return bool(bot.team) or bool(_teams_of(info) & await self._people.teams(bot, person))

    def vouch(self, bot: Bot, channel: str, person: str) -> None:
        """Slack itself just showed that the person can see the channel: an event of theirs came from there."""
        self._vouched.put((bot.workspace, channel, person), value=True)

    def changed(self, bot: Bot, channel: str) -> None:
        """Something about the channel changed; ask again."""
        self._channels.drop((bot.workspace, channel))
        self._members.drop((bot.workspace, channel))

    def withdrawn(self, bot: Bot, channel: str, person: str) -> None:
        """The person left the channel."""
        self._vouched.drop((bot.workspace, channel, person))
        self._members.drop((bot.workspace, channel))

    async def check_usable(self, bot: Bot, channel: str) -> None:
        """Return when the bot can write in the channel; raise Refusal with what to do otherwise."""
        try:
            info = await self.channel(bot, channel)
        except PlatformFailure as failure:
            if failure.code in GONE:
                raise Refusal("slack_not_in_channel") from None
            raise
        if info.get("is_archived") or info.get("is_frozen"):
            raise Refusal("slack_channel_archived")
        if not info.get("is_im") and info.get("is_member") is False:
            raise Refusal("slack_not_in_channel")

    async def direct(self, bot: Bot, person: str) -> str:
        """The channel of the conversation between the bot and a person. Raises PlatformFailure."""
        answer = await self._calls.call(bot, "conversations.open", patience_s=PATIENCE_S, users=person)
        return str(answer["channel"]["id"])

    async def channel(self, bot: Bot, channel: str) -> Json:
        """Slack's description of a channel, a minute old at most. Raises PlatformFailure."""

        async def ask() -> Json:
            answer = await self._calls.call(bot, "conversations.info", patience_s=PATIENCE_S, channel=channel)
            found: Json = answer.get("channel") or {}
            return found

        return await self._channels.get((bot.workspace, channel), ask)

    async def _members_of(self, bot: Bot, channel: str) -> frozenset[str]:
        async def ask() -> frozenset[str]:
            pages = self._calls.pages(bot, "conversations.members", "members", channel=channel, limit=1000)
            return frozenset([str(member) async for member in pages])

        return await self._members.get((bot.workspace, channel), ask)


def _teams_of(info: Json) -> frozenset[str]:
    """The teams in which a channel stands."""
    shared = [*(info.get("internal_team_ids") or ()), *(info.get("shared_team_ids") or ())]
    return frozenset(str(one) for one in (info.get("context_team_id"), *shared) if one)
