"""Files of people come from Discord's own hosts only, and never more of them than fits."""

from collections.abc import AsyncGenerator

import pytest
from aiohttp import web

from bot.discord.attachment import GONE, Attachments
from bot.discord.limit import FILE_BYTES
from bot.discord.parse import SentFile
from core.domain.errors import Refusal


def sent(url: str, size: int = 3) -> SentFile:
    return SentFile(name="a.txt", media_type="text/plain", size_bytes=size, url=url)


@pytest.fixture
async def host() -> AsyncGenerator[str]:
    async def give(request: web.Request) -> web.StreamResponse:
        match request.match_info["what"]:
            case "good":
                return web.Response(body=b"abc")
            case "moved":
                raise web.HTTPFound("/good")
            case "endless":
                response = web.StreamResponse()
                await response.prepare(request)
                for _ in range(FILE_BYTES // 2**20 + 1):
                    await response.write(b"x" * 2**20)
                return response
        return web.Response(status=404)

    application = web.Application()
    application.router.add_get("/{what}", give)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("path", "problem"), [("good", ""), ("moved", GONE), ("lost", GONE), ("endless", "too_large")]
)
async def test_a_file_comes_with_its_bytes_or_with_why_it_has_none(
    host: str, path: str, problem: str
) -> None:
    (upload,) = await Attachments(host).fetch([sent(f"http://{host}/{path}")])
    assert upload.problem == problem
    assert upload.data == (b"" if problem else b"abc")


@pytest.mark.parametrize(
    "url",
    [
        "http://{host}/good",
        "https://cdn.discordapp.com.evil.example/a",
        "http://cdn.discordapp.com/a",
        "https://cdn.discordapp.com:8443/a",
        "https://user@evil.example/cdn.discordapp.com",
        "file:///etc/passwd",
    ],
)
async def test_nothing_is_fetched_from_elsewhere(host: str, url: str) -> None:
    (upload,) = await Attachments().fetch([sent(url.format(host=host))])
    assert (upload.problem, upload.data) == (GONE, b"")


async def test_a_file_that_says_it_is_too_large_is_not_fetched(host: str) -> None:
    (upload,) = await Attachments(host).fetch([sent(f"http://{host}/good", FILE_BYTES + 1)])
    assert upload.problem == "too_large"


async def test_too_many_files_are_refused() -> None:
    with pytest.raises(Refusal, match="too_many_files"):
        await Attachments().fetch([sent("https://cdn.discordapp.com/a")] * 11)
