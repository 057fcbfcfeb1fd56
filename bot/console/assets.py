"""Style sheet, script and icon, read once and served from memory."""

import hashlib
from importlib.resources import files
from typing import Final

from aiohttp import web

TYPES: Final = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
CACHE: Final = {"Cache-Control": "private, max-age=31536000, immutable"}
"""Addresses carry the content's version, so a browser may keep an asset for ever."""


class Assets:
    def __init__(self) -> None:
        folder = files("bot.console") / "static"
        self._content = {name: (folder / name).read_bytes() for name in TYPES}
        self.version = hashlib.sha256(b"".join(self._content.values())).hexdigest()[:12]

    async def serve(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self._content:
            return web.Response(status=404)
        versioned = request.query.get("v") == self.version
        return web.Response(
            body=self._content[name],
            content_type=TYPES[name],
            charset="utf-8",
            headers=CACHE if versioned else {"Cache-Control": "no-cache"},
        )
