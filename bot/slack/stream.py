"""Slack's own streaming of an answer, where it fits: one answer at a time, a known reader, and a method with room left.

A stream lives about five minutes whatever is sent (python-slack-sdk#1859), so ours is ended before that and the answer
goes on as an edited message. Whatever happens to a stream, the final text is written over it by `chat.update`.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from bot.slack.bots import Bot
from bot.slack.calls import Calls
from bot.slack.markdown import defuse, settled, units
from core.domain.errors import PlatformFailure

log = logging.getLogger(__name__)

LIFETIME_S: Final = 240.0
APPEND_EVERY_S: Final = 1.0
MAX_UNITS: Final = 9_000
"""A stream is one message; longer answers go on as edited messages."""

UNSUPPORTED: Final = frozenset(
    {"unknown_method", "feature_not_enabled", "method_not_supported_for_channel_type", "not_allowed_token_type",
     "channel_type_not_supported", "method_deprecated"}
)  # fmt: skip
MAX_READERS: Final = 5_000


@dataclass
class Stream:
    """A stream that this process writes."""

    started_s: float
    sent: str = ""
    last_s: float = 0.0
    ended: bool = False


class Streams:
    """Starts, feeds and ends streams."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._live: dict[tuple[str, str], Stream] = {}
        self._readers: OrderedDict[tuple[str, str], tuple[str, str]] = OrderedDict()
        self._off: set[str] = set()

    def reads(self, channel: str, thread: str, *, user: str, team: str) -> None:
        """A person asked in a thread: the answer may be streamed to them."""
        self._readers[channel, thread] = (user, team)
        self._readers.move_to_end((channel, thread))
        if len(self._readers) > MAX_READERS:
            self._readers.popitem(last=False)

    def is_live(self, channel: str, message: str) -> bool:
        return (channel, message) in self._live

    async def start(self, bot: Bot, channel: str, thread: str) -> str | None:
        """The message of a new stream; None where streaming does not fit. Raises PlatformFailure.

        A failure after which the stream may exist is raised, so that it is looked for before anything else is posted.
        """
        reader = self._readers.pop((channel, thread), None)
        if reader is None or bot.workspace in self._off:
            return None
        if not self._calls.pacing.of_method(bot.workspace, "chat.startStream").spare(reserve=2):
            return None
        if not self._calls.pacing.of_channel(bot.workspace, channel).spare(reserve=1):
            return None
        args: dict[str, Any] = {"recipient_user_id": reader[0], "recipient_team_id": reader[1]}
        try:
            answer = await self._calls.send(
                bot.token, "chat.startStream", channel=channel, thread_ts=thread, **args
            )
        except PlatformFailure as failure:
            if failure.code in UNSUPPORTED:
                log.info("streaming is off in this workspace (%s)", failure.code)
                self._off.add(bot.workspace)
            elif failure.retryable and failure.code != "ratelimited":
                raise
            return None
        message = str(answer["ts"])
        self._live[channel, message] = Stream(started_s=asyncio.get_running_loop().time())
        return message

    async def show(self, bot: Bot, channel: str, message: str, text: str) -> None:
        """Bring a live stream up to `text`. Raises PlatformFailure; the stream has then ended."""
        stream = self._live[channel, message]
        now = asyncio.get_running_loop().time()
        if stream.ended:
            return
        if now - stream.started_s > LIFETIME_S:
            await self.end(bot, channel, message)
            return
        safe = defuse(settled(text))
        if (
            now - stream.last_s < APPEND_EVERY_S
            or not safe.startswith(stream.sent)
            or units(safe) > MAX_UNITS
        ):
            return
        piece = safe[len(stream.sent) :]
        if not piece or not self._calls.pacing.of_method(bot.workspace, "chat.appendStream").spare(reserve=0):
            return
        stream.last_s = now
        try:
            await self._calls.send(
                bot.token,
                "chat.appendStream",
                channel=channel,
                ts=message,
                chunks=[{"type": "markdown_text", "text": piece}],
            )
        except PlatformFailure as failure:
            log.info("a stream broke off (%s); the answer goes on as an edited message", failure.code)
            stream.ended = True
            raise
        stream.sent = safe

    async def end(self, bot: Bot, channel: str, message: str, metadata: dict[str, Any] | None = None) -> None:
        """End a stream, so that its message can be edited. Does nothing for one that has ended by itself."""
        stream = self._live.pop((channel, message), None)
        if stream is not None and stream.ended:
            return
        await self._calls.pacing.of_method(bot.workspace, "chat.stopStream").take()
        try:
            await self._calls.send(
                bot.token, "chat.stopStream", channel=channel, ts=message, metadata=metadata
            )
        except PlatformFailure as failure:
            # Ended by Slack, by a person, or out of reach: the edit that follows decides.
            log.info("a stream was not there to end (%s)", failure.code)
