"""Reading what a form sends, within bounds."""

from typing import Final

from aiohttp import BodyPartReader, web

from bot.console.parse import Form
from core.commands.say import Upload
from core.domain.errors import Refusal

MAX_UPLOAD_BYTES: Final = 64_000_000
"""Of one form with all its files; held in memory until the command has them."""

MAX_PARTS: Final = 64
CHUNK_BYTES: Final = 65_536


async def read_form(request: web.Request) -> Form:
    """The form of a request. One that is too large comes back with what could be read and a problem."""
    if request.content_type == "multipart/form-data":
        return await _read_multipart(request)
    if request.content_type != "application/x-www-form-urlencoded":
        return Form(problem=Refusal("form_stale"))
    try:
        sent = await request.post()
    except web.HTTPRequestEntityTooLarge:
        return Form(problem=_too_large())
    return Form(
        fields={name: value.replace("\r\n", "\n") for name, value in sent.items() if isinstance(value, str)}
    )


async def _read_multipart(request: web.Request) -> Form:
    """Fields come before files on our pages, so that what was typed is known when a file is too large.

    The rest is still read, and thrown away: a browser shows no answer to a request that was cut off.
    """
    fields: dict[str, str] = {}
    uploads: list[Upload] = []
    read_bytes = parts = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            return Form(fields=fields, problem=Refusal("form_stale"))
        parts += 1
        kept = bytearray()
        while chunk := await part.read_chunk(CHUNK_BYTES):
            read_bytes += len(chunk)
            if read_bytes <= MAX_UPLOAD_BYTES and parts <= MAX_PARTS:
                kept += chunk
        if part.filename is None:
            fields[part.name or ""] = kept.decode(errors="replace").replace("\r\n", "\n")
        elif part.filename:
            media_type = part.headers.get("Content-Type", "application/octet-stream")
            uploads.append(Upload(name=part.filename, media_type=media_type, data=bytes(kept)))
    if read_bytes > MAX_UPLOAD_BYTES or parts > MAX_PARTS:
        return Form(fields=fields, problem=_too_large())
    return Form(fields=fields, uploads=tuple(uploads))


def _too_large() -> Refusal:
    return Refusal("upload_too_large", limit_mb=MAX_UPLOAD_BYTES // 1_000_000)
