"""The export of a thread on its way to the browser."""

import asyncio
from contextlib import aclosing
from typing import Final

from aiohttp import web

from core.commands.export import ExportedFile
from core.domain.errors import StoreUnavailable

WRITE_S: Final = 10.0
"""A browser that takes nothing for so long is gone; meanwhile the database keeps a state for it."""


async def send(request: web.Request, file: ExportedFile) -> web.StreamResponse:
    """The file as a download, part by part. One that breaks off ends without its end, so that no browser takes it
    for whole. Raises StoreUnavailable while nothing has been sent."""
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    response = web.StreamResponse(headers=headers)
    response.content_type, response.charset = file.media_type, "utf-8"
    try:
        async with aclosing(file.parts) as parts:
            async for part in parts:
                if not response.prepared:
                    await response.prepare(request)
                async with asyncio.timeout(WRITE_S):
                    await response.write(part.encode())
    except (StoreUnavailable, TimeoutError):
        if not response.prepared:
            raise
        if request.transport is not None:
            request.transport.abort()
    return response
