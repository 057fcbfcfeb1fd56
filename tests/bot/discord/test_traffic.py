"""What leaves is held under Discord's limits, and stops when too much is refused."""

import asyncio
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
import yarl
from aiohttp import web
from multidict import CIMultiDict

from bot.discord.traffic import INVALID_WINDOW_S, EditPace, Traffic, single_try
from core.domain.errors import PlatformFailure


class Wire:
    """A session whose requests pass the traffic's hooks and reach a server that answers what it is told."""

    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self.status, self.headers = 200, {}  # type: ignore[var-annotated]
        self.arrived = 0

    async def __aenter__(self) -> "Wire":
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._session = aiohttp.ClientSession(trace_configs=[self.traffic.trace()])
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.arrived += 1
        return web.Response(status=self.status, headers=self.headers)

    async def call(self, path: str = "/api/v10/channels/1/messages", method: str = "POST") -> None:
        async with self._session.request(method, self._url + path):
            pass


async def test_no_more_calls_leave_in_a_second_than_are_allowed() -> None:
    async with Wire(Traffic(per_s=5)) as wire:
        calls = asyncio.gather(*(wire.call() for _ in range(6)))
        await asyncio.wait([calls], timeout=0.5)
        assert wire.arrived == 5
        await calls
        assert wire.arrived == 6


async def test_interactions_are_not_held_up() -> None:
    async with Wire(Traffic(per_s=1)) as wire:
        await wire.call()
        async with asyncio.timeout(0.5):
            await asyncio.gather(*(wire.call("/api/v10/interactions/1/t/callback") for _ in range(5)))


async def test_after_too_many_refusals_nothing_leaves_for_a_while() -> None:
    async with Wire(Traffic(invalid_limit=3)) as wire:
        for wire.status in (401, 403, 429):
            await wire.call()
        with pytest.raises(PlatformFailure, match="too_many_refused") as caught:
            await wire.call()
        assert wire.arrived == 3
        assert caught.value.retryable
        assert 0 < (caught.value.retry_after_s or 0) <= INVALID_WINDOW_S
        assert wire.traffic.open_again_in_s > 0
        await wire.call("/api/v10/webhooks/1/t/messages/@original", "PATCH")


async def test_limits_that_others_share_are_no_refusal_of_ours() -> None:
    async with Wire(Traffic(invalid_limit=1)) as wire:
        wire.status, wire.headers = 429, {"X-RateLimit-Scope": "shared"}
        await wire.call()
        assert wire.traffic.open_again_in_s == 0


async def test_a_call_that_must_not_be_repeated_leaves_once() -> None:
    async with Wire(Traffic()) as wire:
        with single_try():
            await wire.call()
            with pytest.raises(PlatformFailure, match="unsure"):
                await wire.call()
        await wire.call()
        assert wire.arrived == 2


async def test_sockets_pass_untouched() -> None:
    params: Any = SimpleNamespace(url=yarl.URL("ws://x/gw/"), method="GET", headers=CIMultiDict[str]())
    session: Any = None
    traffic = Traffic(per_s=0)
    async with asyncio.timeout(0.5):
        await traffic._starts(session, SimpleNamespace(), params)


async def test_channels_are_edited_side_by_side_and_forgotten_afterwards() -> None:
    pace = EditPace(60.0)
    async with asyncio.timeout(5.0):
        async with pace.turn(1, 10, final=True) as first, pace.turn(2, 20, final=True) as second:
            assert first
            assert second
    assert not pace._locks
    assert not pace._newest
    assert not pace._waiting
