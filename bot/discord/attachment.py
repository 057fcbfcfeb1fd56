"""Files of people, fetched from Discord's own hosts only, sized before they are read and kept as bytes (spec §13)."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from bot.discord.limit import FILE_BYTES
from bot.discord.parse import SentFile
from core.commands.say import MAX_FILES, Upload
from core.domain.errors import Refusal

log = logging.getLogger(__name__)

HOSTS: Final = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
FETCH_S: Final = 30.0
PIECE: Final = 64 * 1024
GONE: Final = "not_fetched"
"""Why a file has no bytes: its address expired, its host did not give it, or it lies elsewhere."""


@dataclass(frozen=True, slots=True)
class Attachments:
    """Fetches files. `own_host` is host and port of a non-default API address, which counts as Discord's too."""

    own_host: str = ""

    async def fetch(self, files: Sequence[SentFile]) -> tuple[Upload, ...]:
        """The files with their bytes; one that is too large, gone or elsewhere comes without them, with why.

        Raises Refusal for too many.
        """
        if len(files) > MAX_FILES:
            raise Refusal("too_many_files", had=len(files), limit=MAX_FILES)
        if not files:
            return ()
        # Not the library's session, which has neither limit nor deadline for this.
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            return tuple([await self._fetch(session, file) for file in files])

    async def _fetch(self, session: aiohttp.ClientSession, file: SentFile) -> Upload:
        if file.size_bytes > FILE_BYTES:
            return _without(file, "too_large")
        if not self._is_trusted(file.url):
            log.warning("a file lies on a host that is not Discord's")
            return _without(file, GONE)
        try:
            async with asyncio.timeout(FETCH_S), session.get(file.url, allow_redirects=False) as response:
                if response.status != 200:
                    return _without(file, GONE)
                data = bytearray()
                async for piece in response.content.iter_chunked(PIECE):
                    data += piece
                    if len(data) > FILE_BYTES:
                        return _without(file, "too_large")
        except (TimeoutError, OSError, aiohttp.ClientError) as error:
            log.info("an attachment could not be fetched (%s)", type(error).__name__)
            return _without(file, GONE)
        return Upload(name=file.name, media_type=file.media_type, data=bytes(data))

    def _is_trusted(self, url: str) -> bool:
        where = urlsplit(url)
        if self.own_host and where.netloc == self.own_host:
            return True
        return where.scheme == "https" and where.hostname in HOSTS and where.port in (None, 443)


def _without(file: SentFile, problem: str) -> Upload:
    return Upload(name=file.name, media_type=file.media_type, data=b"", problem=problem)
