"""What only one person reads: a sentence in the thread, or an answer to their command."""

import asyncio
import logging
from typing import Final

import aiohttp

from bot.slack.access import SlackAccess
from bot.slack.bots import Bot
from bot.slack.calls import Calls
from bot.slack.files import OutgoingFile, SlackFiles
from bot.slack.page import sentence
from bot.slack.parse import Spot
from bot.slack.render import SlackMessage
from core import i18n
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable

log = logging.getLogger(__name__)

PATIENCE_S: Final = 30.0
ANSWER_S: Final = 10.0
UNREACHABLE: Final = frozenset(
    {"not_in_channel", "channel_not_found", "user_not_in_channel", "is_archived", "messages_tab_disabled"}
)


def explain(locale: str, problem: BaseException) -> str:
    """The sentence that a person reads for a problem."""
    match problem:
        case Refusal():
            return i18n.refusal(locale, problem)
        case StoreUnavailable():
            return i18n.text(locale, "refusal.store_unavailable")
        case PlatformFailure(code=code) if code.startswith("missing_scope"):
            scope = code.partition(":")[2] or "?"
            return i18n.text(locale, "slack.scope_missing", scope=scope)
        case PlatformFailure():
            return i18n.text(locale, "slack.slack_away", code=problem.code)
        case _:
            return i18n.text(locale, "slack.unexpected")


async def send_file(
    access: SlackAccess, files: SlackFiles, bot: Bot, person: str, file: OutgoingFile
) -> None:
    """Send a person a file in their conversation with the bot. Raises PlatformFailure."""
    channel = await access.direct(bot, person)
    file_id = await files.reserve(bot, file)
    await files.share(bot, file_id, file.title, channel=channel, thread=None, comment=file.comment)


class Private:
    """Tells one person something. A person who cannot be reached is no failure of what was done."""

    def __init__(self, calls: Calls, files: SlackFiles, access: SlackAccess) -> None:
        self._calls = calls
        self._files = files
        self._access = access

    async def say(self, bot: Bot, spot: Spot, text: str) -> None:
        await self.tell(bot, spot, sentence(text))

    async def write(self, bot: Bot, person: str, message: SlackMessage, *, typed: str = "") -> None:
        """Write to a person in their conversation with the bot; what they `typed` comes back as a file."""
        try:
            channel = await self._access.direct(bot, person)
            await self._calls.call(
                bot,
                "chat.postMessage",
                patience_s=PATIENCE_S,
                channel=channel,
                text=message.text,
                blocks=list(message.blocks) or None,
                unfurl_links=False,
                unfurl_media=False,
            )
            if typed:
                file = OutgoingFile(name="typed.md", title="typed.md", data=typed.encode())
                await send_file(self._access, self._files, bot, person, file)
        except PlatformFailure as failure:
            log.warning("a person could not be written to (%s)", failure.code)

    async def tell(self, bot: Bot, spot: Spot, message: SlackMessage) -> None:
        """Show `message` to the person of `spot`, in the thread they are in, and then its file to them alone."""
        await self._show(bot, spot, message)
        if message.file is None:
            return
        try:
            await send_file(self._access, self._files, bot, spot.user, message.file)
        except PlatformFailure as failure:
            log.warning("a file could not be sent to a person (%s)", failure.code)
            await self._show(bot, spot, sentence(message.file.unsent))

    async def _show(self, bot: Bot, spot: Spot, message: SlackMessage) -> None:
        try:
            if spot.thread or not spot.response_url:
                await self._in_thread(bot, spot, message)
            else:
                await self._answer(spot, message)
        except PlatformFailure as failure:
            if failure.code in UNREACHABLE and spot.response_url:
                await self._answer(spot, message)
            else:
                log.warning("a person could not be told something (%s)", failure.code)

    async def _in_thread(self, bot: Bot, spot: Spot, message: SlackMessage) -> None:
        await self._calls.call(
            bot,
            "chat.postEphemeral",
            patience_s=PATIENCE_S,
            channel=spot.channel,
            user=spot.user,
            thread_ts=spot.thread or None,
            text=message.text,
            blocks=list(message.blocks) or None,
        )

    async def _answer(self, spot: Spot, message: SlackMessage) -> None:
        """Answer at the address that came with a command or click; good for five answers in half an hour."""
        if not self._files.allows(spot.response_url):
            log.warning("an address to answer at is not Slack's")
            return
        answer = {"response_type": "ephemeral", "replace_original": False, "text": message.text}
        body = {**answer, "blocks": list(message.blocks)} if message.blocks else answer
        if spot.thread:
            body["thread_ts"] = spot.thread
        try:
            async with (
                asyncio.timeout(ANSWER_S),
                self._calls.session.post(spot.response_url, json=body, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    log.warning("an answer was not taken (HTTP %d)", response.status)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            log.warning("an answer was not taken (%s)", type(error).__name__)
