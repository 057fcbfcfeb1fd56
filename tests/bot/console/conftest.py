"""The console in front of the genuine core: real socket, real store and engine, a scripted model."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, CookieJar, FormData

from bot.console.app import Console
from bot.console.feed import Feed
from bot.console.poster import PLATFORM, ConsolePoster
from bot.web.server import Probes, Served, console_application, serve_console
from core.commands.console import LocalChannels, set_up
from tests.bot.console.page_source import PageSource
from tests.product import World, eventually, open_world

TOKEN = "token"
OFF = "\0off"
"""In place of a value: the box is not ticked."""


@dataclass
class Visitor:
    """A browser without a script, unless `fragment` says otherwise. Follows redirects like one."""

    session: ClientSession
    base: str

    async def get(self, path: str, *, fragment: bool = False, status: int = 200) -> PageSource:
        async with self.session.get(f"{self.base}{path}", headers=_headers(fragment)) as response:
            assert response.status == status, await response.text()
            html = await response.text()
        return PageSource(f"<div>{html}</div>" if fragment else html)

    async def post(
        self, path: str, fields: Mapping[str, str], *, files: Mapping[str, bytes] | None = None
    ) -> tuple[int, str, PageSource]:
        """Send a plain form; status, path and page of where the browser ends up."""
        async with self._send(path, fields, files, fragment=False) as response:
            return response.status, response.url.path_qs, PageSource(await response.text())

    async def script(
        self, path: str, fields: Mapping[str, str], *, files: Mapping[str, bytes] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Send a form as the page's script does; status and what it is told."""
        async with self._send(path, fields, files, fragment=True) as response:
            return response.status, json.loads(await response.text())

    def _send(
        self, path: str, fields: Mapping[str, str], files: Mapping[str, bytes] | None, *, fragment: bool
    ) -> Any:
        form = FormData(quote_fields=False)
        for name, value in fields.items():
            form.add_field(name, value)
        for name, data in (files or {}).items():
            form.add_field("files", data, filename=name, content_type="application/octet-stream")
        headers = {**_headers(fragment), "Origin": self.base}
        return self.session.post(f"{self.base}{path}", data=form, headers=headers)

    async def say(self, thread_id: str, text: str) -> tuple[int, dict[str, Any]]:
        """Type something in a thread, as the page's script sends it."""
        return await self.script(
            "/say", {"thread_id": thread_id, "text": text, "event_key": await self.key()}
        )

    async def form(self, mode: str, text: str, **more: str) -> PageSource:
        """The form of a mode, opened from the composer of #general, and filled in further."""
        fields = {"channel": "general", "text": text, "event_key": await self.key(), "mode": mode, **more}
        _, _, page = await self.post("/start", fields)
        return page

    async def estimate(self, mode: str, text: str, **more: str) -> tuple[int, PageSource]:
        """The page that asks whether to start; without `more` everything is as the form proposes it."""
        fields = {**(await self.form(mode, text)).fields(), **more}
        status, _, page = await self.post("/start/check", {name: v for name, v in fields.items() if v != OFF})
        return status, page

    async def begin(self, mode: str, text: str, **more: str) -> str:
        """Start a mode through its form and its estimate; the new thread's id."""
        _, page = await self.estimate(mode, text, **more)
        status, path, page = await self.post("/start/go", page.fields())
        assert status == 200, page.text
        return path.removeprefix("/t/")

    async def ended(self, thread_id: str) -> PageSource:
        """The thread's page once its newest run has begun and nothing is being written any more."""

        async def quiet() -> bool:
            page = await self.get(f"/t/{thread_id}")
            states = [
                one.attributes["data-state"] for one in page.all("li") if "data-state" in one.attributes
            ]
            return bool(states) and not {"queued", "writing"} & set(states) and not await self.busy(thread_id)

        await eventually(quiet)
        return await self.get(f"/t/{thread_id}")

    async def busy(self, thread_id: str) -> bool:
        tree = await self.get(f"/tree?thread={thread_id}", fragment=True)
        return bool(tree.all("span", class_="dot"))

    async def key(self) -> str:
        """A fresh key, as a page carries one in every form."""
        return (await self.get("/")).all("input", name="event_key")[0].attributes["value"]

    async def start_thread(self, text: str, **more: str) -> str:
        """Begin a thread in #general and return its id."""
        fields = {"channel": "general", "text": text, "event_key": await self.key(), **more}
        status, path, _ = await self.post("/say", fields)
        assert status == 200
        found = re.fullmatch(r"/t/([0-9a-f-]{36})", path)
        assert found, path
        return found[1]

    async def answered(self, thread_id: str, count: int) -> PageSource:
        """The thread's page once it holds so many finished answers."""

        async def done() -> bool:
            page = await self.get(f"/t/{thread_id}")
            return len(page.all("li", data_state="done")) == count

        await eventually(done)
        return await self.get(f"/t/{thread_id}")

    async def stream(self, thread_id: str) -> ClientResponse:
        return await self.session.get(f"{self.base}/events?thread={thread_id}")


def _headers(fragment: bool) -> dict[str, str]:
    return {"X-Fragment": "1"} if fragment else {}


@dataclass
class Ground:
    world: World
    feed: Feed
    served: Served
    visitor: Visitor


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncGenerator[Ground]:
    async with open_ground(tmp_path) as opened:
        yield opened


@asynccontextmanager
async def open_ground(tmp_path: Path, **more: Any) -> AsyncGenerator[Ground]:
    """The console with databases in a folder; `more` is for the world behind it."""
    feed = Feed()
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, posters={PLATFORM: ConsolePoster(feed)}, **more) as world:
        services = replace(world.services, access={PLATFORM: LocalChannels(world.store)})
        await set_up(services)

        async def missing() -> tuple[str, ...]:
            return ()

        application = console_application(
            (await asyncio.to_thread(Console, services, feed)).routes(),
            probes=Probes(missing=missing, metrics=lambda: b""),
            token=TOKEN,
            close_feed=feed.close,
        )
        served = await serve_console(application, port=0)
        base = f"http://127.0.0.1:{served.port}"
        try:
            async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
                async with session.get(f"{base}/?token={TOKEN}") as response:
                    assert response.status == 200
                yield Ground(world, feed, served, Visitor(session, base))
        finally:
            await served.close()
