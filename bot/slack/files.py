"""Files to and from Slack."""

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from bot.slack.bots import Bot
from bot.slack.calls import Calls, Json
from core.commands.say import MAX_FILES, Upload
from core.domain.errors import PlatformFailure

log = logging.getLogger(__name__)

MAX_BYTES: Final = 10_000_000
"""What the product's reader takes of one file; more is not fetched."""

FETCH_S: Final = 30.0
TOTAL_S: Final = 60.0
SLACK_HOSTS: Final = ("slack.com", "slack-gov.com", "slack-files.com")
SHARED_WITHIN_S: Final = 20.0
"""Sharing is done after the call returned, behind a virus scan (bolt-js#2115)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingFile:
    name: str
    title: str
    data: bytes
    comment: str = ""
    """What is said above it, as mrkdwn; only where it is sent to one person."""
    alternative: str = ""
    """What a picture shows, for people who do not see it."""
    unsent: str = ""
    """The sentence for a person to whom it could not be sent."""


class SlackFiles:
    """Fetches what people attached, uploads what is too long for messages."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        host = urlsplit(calls.api_url).hostname
        self._own_hosts = frozenset({host} if host else ())

    async def fetch_all(self, bot: Bot, files: tuple[Json, ...]) -> tuple[Upload, ...]:
        """The files of a message, in order; one that cannot be had comes with its problem in place of its bytes.

        Raises PlatformFailure when Slack is out of reach, so that the message can be delivered again.
        """
        async with asyncio.timeout(TOTAL_S):
            return tuple([await self._fetch(bot, file) for file in files[: MAX_FILES + 1]])

    async def _fetch(self, bot: Bot, file: Json) -> Upload:
        if file.get("file_access") == "check_file_info":
            answer = await self._calls.call(bot, "files.info", patience_s=5.0, file=file.get("id"))
            file = answer.get("file") or {}
        name = str(file.get("name") or file.get("title") or file.get("id") or "file")
        media_type = str(file.get("mimetype") or "application/octet-stream")
        url = str(file.get("url_private_download") or file.get("url_private") or "")
        if int(file.get("size") or 0) > MAX_BYTES:
            return Upload(name=name, media_type=media_type, data=b"", problem="too_large")
        if (
            file.get("is_external")
            or file.get("mode") in ("external", "tombstone", "hidden_by_limit")
            or not self.allows(url)
        ):
            return Upload(name=name, media_type=media_type, data=b"", problem="not_available")
        data = await self._download(bot, url)
        if data is None:
            return Upload(name=name, media_type=media_type, data=b"", problem="not_available")
        if len(data) > MAX_BYTES:
            return Upload(name=name, media_type=media_type, data=b"", problem="too_large")
        return Upload(name=name, media_type=media_type, data=data)

    def allows(self, url: str) -> bool:
        """Whether the bot's token may be sent to this address: Slack's own hosts over https, and the API's own host."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if host in self._own_hosts and urlsplit(self._calls.api_url).scheme == parts.scheme:
            return True
        return parts.scheme == "https" and any(host == h or host.endswith(f".{h}") for h in SLACK_HOSTS)

    async def _download(self, bot: Bot, url: str) -> bytes | None:
        """The bytes, one more than the limit at most; None when Slack does not hand the file out."""
        headers = {"Authorization": f"Bearer {bot.token}"}
        try:
            async with (
                asyncio.timeout(FETCH_S),
                self._calls.session.get(url, headers=headers, allow_redirects=False) as answer,
            ):
                if answer.status >= 500 or answer.status == 429:
                    raise PlatformFailure("server_error", retryable=True)
                if answer.status != 200:
                    log.warning("a file was not handed out (HTTP %d)", answer.status)
                    return None
                if answer.content_type == "text/html":
                    # Slack's sign-in page, with status 200, is what a token without files:read gets.
                    log.error("a file came as a sign-in page: the app needs the scope files:read")
                    return None
                data = bytearray()
                async for chunk in answer.content.iter_chunked(1 << 16):
                    data += chunk
                    if len(data) > MAX_BYTES:
                        break
                return bytes(data)
        except (TimeoutError, aiohttp.ClientError, OSError):
            raise PlatformFailure("unreachable", retryable=True) from None

    async def reserve(self, bot: Bot, file: OutgoingFile) -> str:
        """Upload a file without showing it to anyone; its id. Raises PlatformFailure."""
        place = await self._calls.call(
            bot,
            "files.getUploadURLExternal",
            filename=file.name,
            length=len(file.data),
            alt_txt=file.alternative or None,
        )
        url = str(place.get("upload_url") or "")
        if not self.allows(url):
            raise PlatformFailure("upload_address_unknown", retryable=False)
        try:
            async with asyncio.timeout(FETCH_S), self._calls.session.post(url, data=file.data) as answer:
                if answer.status != 200:
                    raise PlatformFailure("upload_failed", retryable=True)
        except (TimeoutError, aiohttp.ClientError, OSError):
            raise PlatformFailure("unreachable", retryable=True) from None
        return str(place["file_id"])

    async def share(
        self, bot: Bot, file_id: str, title: str, *, channel: str, thread: str | None, comment: str = ""
    ) -> None:
        """Show an uploaded file in a thread, and return once it is there. Raises PlatformFailure."""
        await self._calls.call(
            bot,
            "files.completeUploadExternal",
            files=json.dumps([{"id": file_id, "title": title}]),
            channel_id=channel,
            thread_ts=thread,
            initial_comment=comment or None,
        )
        deadline = asyncio.get_running_loop().time() + SHARED_WITHIN_S
        pause_s = 0.2
        while not await self.is_shared(bot, file_id, channel):
            if asyncio.get_running_loop().time() > deadline:
                raise PlatformFailure("file_not_shared", retryable=True)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, 3.0)

    async def is_shared(self, bot: Bot, file_id: str, channel: str) -> bool:
        """Whether the file stands in the channel. Raises PlatformFailure."""
        answer = await self._calls.call(bot, "files.info", file=file_id)
        file = answer.get("file") or {}
        shares = file.get("shares") or {}
        listed = {c for kind in ("channels", "groups", "ims") for c in file.get(kind) or ()}
        return channel in listed or any(channel in (shares.get(kind) or {}) for kind in ("public", "private"))
