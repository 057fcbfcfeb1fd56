"""An export on a real socket: in parts, and never whole when it is not."""

from collections.abc import AsyncGenerator

import pytest
from aiohttp import ClientPayloadError, web
from aiohttp.test_utils import TestClient, TestServer

from bot.console.export import send
from core.commands.export import ExportedFile
from core.domain.errors import StoreUnavailable


async def fetched(*parts: str | Exception) -> bytes:
    """What a browser has of an export whose parts come like this; raises what the browser is told."""

    async def coming() -> AsyncGenerator[str]:
        for part in parts:
            if isinstance(part, Exception):
                raise part
            yield part

    async def answer(request: web.Request) -> web.StreamResponse:
        file = ExportedFile(name="thread-1.md", media_type="text/markdown", parts=coming())
        try:
            return await send(request, file)
        except StoreUnavailable:
            return web.Response(status=503)

    app = web.Application()
    app.router.add_get("/", answer)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/")
        response.raise_for_status()
        assert response.headers["Content-Disposition"] == 'attachment; filename="thread-1.md"'
        assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
        return await response.read()


async def test_an_export_is_a_download_of_all_its_parts() -> None:
    assert await fetched("# 題\n", "one\n") == "# 題\none\n".encode()


async def test_an_export_that_breaks_off_is_a_broken_download() -> None:
    with pytest.raises(ClientPayloadError, match="not completed"):
        await fetched("one\n", StoreUnavailable("database is locked"))


async def test_an_export_that_cannot_begin_is_refused_as_any_page_is() -> None:
    with pytest.raises(Exception, match="503"):
        await fetched(StoreUnavailable("database is locked"))
