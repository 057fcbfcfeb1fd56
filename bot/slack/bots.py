"""Which bot acts in which workspace: its token, its ids and its workspace's address."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.domain.errors import PlatformFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """The app as installed in one workspace. `workspace` is the team's id, or the organisation's for an org install."""

    workspace: str
    team: str
    name: str
    """Of the workspace."""
    url: str
    """Begins every link into the workspace; ends with a slash."""
    user: str
    bot_id: str
    enterprise: str = ""
    token: str = field(repr=False)


class Bots(Protocol):
    async def of_workspace(self, workspace: str) -> Bot:
        """The bot of a workspace by its platform id. Raises PlatformFailure `not_installed`."""
        ...

    async def forget(self, workspace: str) -> None:
        """The app was removed from the workspace, or its token revoked."""
        ...


def bot_of(answer: Mapping[str, Any], token: str) -> Bot:
    """The bot that the answer of `auth.test` describes."""
    whole_org = bool(answer.get("is_enterprise_install"))
    enterprise = str(answer.get("enterprise_id") or "")
    team = str(answer.get("team_id") or "")
    return Bot(
        workspace=enterprise if whole_org else team,
        team=team,
        name=str(answer.get("team") or team),
        url=str(answer.get("url") or "https://slack.com/"),
        user=str(answer.get("user_id") or ""),
        bot_id=str(answer.get("bot_id") or ""),
        enterprise=enterprise,
        token=token,
    )


class OneBot:
    """The bot of a single workspace, from the token in the settings. Asks Slack once who it is."""

    def __init__(self, token: str, test: Callable[[str], Awaitable[Mapping[str, Any]]]) -> None:
        self._token = token
        self._test = test
        self._bot: Bot | None = None
        self._asking = asyncio.Lock()

    async def get(self) -> Bot:
        """Raises PlatformFailure."""
        async with self._asking:
            if self._bot is None:
                self._bot = bot_of(await self._test(self._token), self._token)
        return self._bot

    async def of_workspace(self, workspace: str) -> Bot:
        bot = await self.get()
        if workspace not in (bot.workspace, bot.team, bot.enterprise):
            raise PlatformFailure("not_installed", retryable=False)
        return bot

    async def forget(self, workspace: str) -> None:
        self._bot = None
