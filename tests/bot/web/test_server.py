"""The console's socket as other programs of this machine and pages of other sites meet it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from io import BytesIO

import pytest
from aiohttp import ClientSession, CookieJar, web

from bot.web.server import (
    Probes,
    Served,
    console_address,
    console_application,
    new_token,
    public_application,
    serve,
    serve_console,
)

TOKEN = "the-token-of-this-start"


@dataclass
class Ground:
    """A console with a page and a form, and what its probes say."""

    waits_for: tuple[str, ...] = ()
    sent: list[str] = field(default_factory=list)
    closed: int = 0
    served: Served = field(init=False)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.served.port}"

    async def missing(self) -> tuple[str, ...]:
        return self.waits_for

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(text="the page")

    async def form(self, request: web.Request) -> web.Response:
        self.sent.append(await request.text())
        return web.Response(text="done")

    def close_feed(self) -> None:
        self.closed += 1

    @property
    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.get("/", self.page), web.post("/say", self.form), web.get("/static/x.css", self.page)]

    @property
    def probes(self) -> Probes:
        return Probes(missing=self.missing, metrics=lambda: b"up 1\n")

    def application(self) -> web.Application:
        return console_application(self.routes, probes=self.probes, token=TOKEN, close_feed=self.close_feed)


@pytest.fixture
async def ground() -> AsyncGenerator[Ground]:
    made = Ground()
    made.served = await serve_console(made.application(), port=0)
    try:
        yield made
    finally:
        await made.served.close()


@pytest.fixture
async def stranger() -> AsyncGenerator[ClientSession]:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        yield session


@pytest.fixture
async def browser(ground: Ground, stranger: ClientSession) -> ClientSession:
    async with stranger.get(f"{ground.base}/?token={TOKEN}") as response:
        assert response.status == 200
    return stranger


async def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(
    ground: Ground, stranger: ClientSession
) -> None:
    async with stranger.get(f"{ground.base}/?token={TOKEN}&a=b", allow_redirects=False) as response:
        assert response.status == 303
        assert response.headers["Location"] == "/?a=b"
        cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    async with stranger.get(f"{ground.base}/") as response:
        assert await response.text() == "the page"


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=" + "é" * 20])
async def test_without_the_token_there_is_one_friendly_sentence(
    ground: Ground, stranger: ClientSession, query: str
) -> None:
    async with stranger.get(f"{ground.base}/{query}", headers={"Accept-Language": "ja"}) as response:
        assert response.status == 403
        assert "起動時に表示したアドレス" in await response.text()
    async with stranger.get(f"{ground.base}/{query}") as response:
        assert "Open the address that promptflow printed" in await response.text()


async def test_a_cookie_of_an_earlier_start_is_refused(ground: Ground, stranger: ClientSession) -> None:
    headers = {"Cookie": f"promptflow_token_{ground.served.port}=old"}
    async with stranger.get(f"{ground.base}/", headers=headers) as response:
        assert response.status == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "[::1]",
        "192.168.0.1",
        "127.0.0.1:x",
    ],
)
async def test_a_name_that_was_rebound_to_this_machine_is_refused(
    ground: Ground, browser: ClientSession, host: str
) -> None:
    for path in ("/", "/healthz", "/metrics", "/static/x.css", f"/?token={TOKEN}"):
        async with browser.get(f"{ground.base}{path}", headers={"Host": host}) as response:
            assert response.status == 403
            assert "the page" not in await response.text()


async def test_a_form_of_the_page_is_taken(ground: Ground, browser: ClientSession) -> None:
    async with browser.post(f"{ground.base}/say", data="a=b", headers={"Origin": ground.base}) as response:
        assert response.status == 200
    assert ground.sent == ["a=b"]


@pytest.mark.parametrize(
    "origin",
    [None, "null", "https://evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "http://localhost"],
)
async def test_a_form_of_another_page_changes_nothing_even_with_the_cookie(
    ground: Ground, browser: ClientSession, origin: str | None
) -> None:
    headers = {} if origin is None else {"Origin": origin}
    async with browser.post(f"{ground.base}/say", data="a=b", headers=headers) as response:
        assert response.status == 403
        assert "came from another page" in await response.text()
    assert ground.sent == []


async def test_a_form_without_the_cookie_changes_nothing(ground: Ground, stranger: ClientSession) -> None:
    async with stranger.post(f"{ground.base}/say", data="a=b", headers={"Origin": ground.base}) as response:
        assert response.status == 403
    assert ground.sent == []


@pytest.mark.parametrize("path", ["/", "/nothing", "/healthz", "/static/x.css"])
async def test_every_answer_carries_the_headers_that_keep_a_page_to_itself(
    ground: Ground, browser: ClientSession, path: str
) -> None:
    async with browser.get(f"{ground.base}{path}") as response:
        policy = dict(
            part.strip().split(" ", 1) for part in response.headers["Content-Security-Policy"].split(";")
        )
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self'",
            "connect-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "same-origin"
        assert response.headers["X-Frame-Options"] == "DENY"
        assert response.headers["Cache-Control"] == "no-store"


async def test_a_refusal_carries_them_too(ground: Ground, stranger: ClientSession) -> None:
    async with stranger.get(f"{ground.base}/") as response:
        assert response.status == 403
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


async def test_operators_need_no_token(ground: Ground, stranger: ClientSession) -> None:
    async with stranger.get(f"{ground.base}/healthz") as response:
        assert (response.status, await response.json()) == (200, {"status": "alive"})
    async with stranger.get(f"{ground.base}/readyz") as response:
        assert (response.status, await response.json()) == (200, {"status": "ready", "missing": []})
    async with stranger.get(f"{ground.base}/metrics") as response:
        assert await response.text() == "up 1\n"
    ground.waits_for = ("models",)
    async with stranger.get(f"{ground.base}/readyz") as response:
        assert (response.status, await response.json()) == (503, {"status": "waiting", "missing": ["models"]})


async def test_a_body_beyond_the_limit_is_not_read_to_its_end(ground: Ground, browser: ClientSession) -> None:
    async with browser.post(
        f"{ground.base}/say", data=BytesIO(b"x" * 2_100_000), headers={"Origin": ground.base}
    ) as response:
        assert response.status == 413
    assert ground.sent == []


async def test_closing_ends_the_event_streams_first(ground: Ground) -> None:
    await ground.served.close()
    assert ground.closed == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.com"])  # noqa: S104
async def test_the_console_is_never_served_to_other_machines(host: str) -> None:
    with pytest.raises(ValueError, match="this machine alone"):
        await serve_console(Ground().application(), host=host, port=0)


async def test_a_taken_port_is_an_error_and_leaves_nothing_open(ground: Ground) -> None:
    with pytest.raises(OSError, match="address already in use"):
        await serve_console(Ground().application(), port=ground.served.port)
    tasks = {task for task in asyncio.all_tasks() if "start" in repr(task)}
    assert tasks == set()


async def test_the_public_socket_has_probes_and_platform_routes_but_no_console(
    stranger: ClientSession,
) -> None:
    made = Ground()
    served = await serve(public_application((), probes=made.probes), host="127.0.0.1", port=0)
    try:
        async with stranger.get(f"http://127.0.0.1:{served.port}/healthz") as response:
            assert json.loads(await response.text()) == {"status": "alive"}
        async with stranger.get(f"http://127.0.0.1:{served.port}/?token={TOKEN}") as response:
            assert response.status == 404
    finally:
        await served.close()


def test_each_start_has_its_own_token_in_its_address() -> None:
    first, second = new_token(), new_token()
    assert first != second
    assert len(first) >= 32
    assert console_address(8484, first) == f"http://127.0.0.1:8484/?token={first}"
