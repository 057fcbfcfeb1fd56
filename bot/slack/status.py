""" "Is thinking …" in the conversation with the bot, from a message until its answer stands.

The agent's session (docs.slack.dev, agents.sessions.setStatus) shows a stop button besides; where the app is not
declared as an agent, the older status of assistant threads takes its place. Keyed by channel and thread: a status of
one thread never ends another's.
"""

import logging
from typing import Final

from bot.slack.background import Background
from bot.slack.bots import Bot
from bot.slack.calls import Calls
from core.domain.errors import PlatformFailure

log = logging.getLogger(__name__)

PATIENCE_S: Final = 20.0
UNSUPPORTED: Final = frozenset(
    {
        "unknown_method",
        "feature_not_enabled",
        "not_allowed_token_type",
        "app_not_agent",
        "not_an_agent",
        "access_denied",
    }
)


class Statuses:
    """Shows and clears the status. Nothing depends on it, so a failure is only logged."""

    def __init__(self, calls: Calls, background: Background) -> None:
        self._calls = calls
        self._background = background
        self._no_sessions: set[str] = set()

    def begin(self, bot: Bot, channel: str, thread: str, user: str) -> None:
        """Show that the bot is at work, without making anyone wait."""
        self._background.leave(self._set(bot, channel, thread, "processing", user), name="status")

    async def end(self, bot: Bot, channel: str, thread: str) -> None:
        """Clear the status, also one that a process that was killed left behind."""
        await self._set(bot, channel, thread, "active", None)

    async def _set(self, bot: Bot, channel: str, thread: str, status: str, user: str | None) -> None:
        try:
            if bot.workspace not in self._no_sessions:
                try:
                    await self._calls.call(
                        bot,
                        "agents.sessions.setStatus",
                        patience_s=PATIENCE_S,
                        channel_id=channel,
                        thread_ts=thread,
                        status=status,
                        initiator_user_id=user,
                    )
                except PlatformFailure as failure:
                    if failure.code not in UNSUPPORTED:
                        raise
                    self._no_sessions.add(bot.workspace)
                else:
                    return
            await self._calls.call(
                bot,
                "assistant.threads.setStatus",
                patience_s=PATIENCE_S,
                channel_id=channel,
                thread_ts=thread,
                status="is thinking…" if status == "processing" else "",
            )
        except PlatformFailure as failure:
            log.info("a status could not be shown (%s)", failure.code)
