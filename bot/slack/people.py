"""People as Slack vouches for them."""

from typing import Final

from bot.slack.bots import Bot
from bot.slack.calls import Calls, Json
from bot.slack.memo import Memo
from core.commands.person import PersonSeen, WorkspaceSeen
from core.i18n import DEFAULT_LOCALE, nearest

PLATFORM: Final = "slack"
FRESH_S: Final = 60.0
"""How old the word about a guest or an outsider may be."""

PATIENCE_S: Final = 2.0
"""Asked while a person waits for an acknowledgement."""


class People:
    """`users.info`, kept for a minute."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._memo: Memo[tuple[str, str], Json] = Memo(fresh_s=FRESH_S)

    async def seen(self, bot: Bot, user: str) -> PersonSeen:
        """The person with this id. Raises PlatformFailure."""
        return person_of(await self._info(bot, user), bot, user)

    async def name(self, bot: Bot, user: str) -> str:
        """Display name for a text. Raises PlatformFailure."""
        return name_of(await self._info(bot, user), user)

    async def team(self, bot: Bot, user: str) -> str:
        """The team a person belongs to. Raises PlatformFailure."""
        return str((await self._info(bot, user)).get("team_id") or bot.team)

    async def teams(self, bot: Bot, user: str) -> frozenset[str]:
        """The teams of an organisation that a person is in. Raises PlatformFailure."""
        info = await self._info(bot, user)
        found = (info.get("enterprise_user") or {}).get("teams") or [info.get("team_id")]
        return frozenset(str(one) for one in found if one)

    async def is_outsider(self, bot: Bot, user: str) -> bool:
        """A guest or a person of another organisation, who sees only channels they are in. Raises PlatformFailure."""
        person = await self.seen(bot, user)
        return person.is_guest or person.is_external

    def known_language(self, bot: Bot, user: str) -> str:
        """Our language for a person, without asking Slack; English for one not seen lately."""
        known = self._memo.peek((bot.workspace, user))
        return nearest(str(known.get("locale") or "")) if known else DEFAULT_LOCALE

    async def _info(self, bot: Bot, user: str) -> Json:
        async def ask() -> Json:
            answer = await self._calls.call(
                bot, "users.info", patience_s=PATIENCE_S, user=user, include_locale=True
            )
            found: Json = answer.get("user") or {}
            return found

        return await self._memo.get((bot.workspace, user), ask)


def name_of(user: Json, fallback: str) -> str:
    """What people call a person: display name, else real name, else handle."""
    profile = user.get("profile") or {}
    for name in (
        profile.get("display_name"),
        profile.get("real_name"),
        user.get("real_name"),
        user.get("name"),
    ):
        if name and str(name).strip():
            return str(name).strip()
    return fallback


def person_of(user: Json, bot: Bot, user_id: str) -> PersonSeen:
    """A person from Slack's user object."""
    enterprise = (user.get("enterprise_user") or {}).get("enterprise_id") or ""
    at_home = user.get("team_id") in (None, "", bot.team) or bool(enterprise and enterprise == bot.enterprise)
    return PersonSeen(
        workspace=WorkspaceSeen(platform=PLATFORM, external_id=bot.workspace, name=bot.name),
        external_id=user_id,
        name=name_of(user, user_id),
        locale=str(user.get("locale") or "en"),
        is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
        is_external=bool(user.get("is_stranger")) or not at_home,
        is_admin=bool(user.get("is_admin") or user.get("is_owner")) and at_home,
    )
