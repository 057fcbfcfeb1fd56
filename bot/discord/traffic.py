"""What leaves for Discord: held under its limits before it goes, and counted when it comes back."""

import asyncio
import contextvars
import logging
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Final

import aiohttp
import discord

from core.domain.errors import PlatformFailure

log = logging.getLogger(__name__)

REQUESTS_PER_S: Final = 42
"""Discord allows a bot 50 a second over all routes; the library does not hold itself under that."""

INVALID_LIMIT: Final = 2_000
INVALID_WINDOW_S: Final = 600.0
"""At 10,000 answers 401, 403 and 429 in ten minutes Discord bans the address. We stop long before."""

CALL_S: Final = 90.0
"""How long one call may take, with the pauses that the library makes within a bucket."""

EXEMPT: Final = ("/interactions/", "/webhooks/")
"""Routes that Discord does not count into the global limit."""

LONG_PAUSE_S: Final = 30.0
"""A longer pause that Discord asks for is handed up, so that nothing else waits behind it. The library's own setting
for this (`max_ratelimit_timeout`) also refuses calls for which there is room, whenever a bucket's window is longer."""


@dataclass
class _Call:
    """One call on its way, with its deadline and the pause that Discord asked for."""

    deadline: asyncio.Timeout
    pause_s: float = 0.0


_call: contextvars.ContextVar[_Call | None] = contextvars.ContextVar("call", default=None)
_single_try: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar("single_try", default=None)


@contextmanager
def single_try() -> Iterator[None]:
    """Let a call inside leave only once: the library repeats after a 5xx, and what has no nonce would be doubled."""
    token = _single_try.set([0])
    try:
        yield
    finally:
        _single_try.reset(token)


@dataclass
class Traffic:
    """The limiter and the breaker over all REST calls of one bot."""

    per_s: int = REQUESTS_PER_S
    invalid_limit: int = INVALID_LIMIT
    left: deque[float] = field(default_factory=deque)
    """When the requests of the last second left."""
    invalid: deque[float] = field(default_factory=deque)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def open_again_in_s(self) -> float:
        """Seconds for which no call leaves because too many were refused; 0 while calls leave."""
        now = asyncio.get_running_loop().time()
        while self.invalid and self.invalid[0] <= now - INVALID_WINDOW_S:
            self.invalid.popleft()
        return self.invalid[0] + INVALID_WINDOW_S - now if len(self.invalid) >= self.invalid_limit else 0.0

    def trace(self) -> aiohttp.TraceConfig:
        """To be given to the library's client."""
        config = aiohttp.TraceConfig()
        config.on_request_start.append(self._starts)
        config.on_request_end.append(self._ends)
        return config

    async def _starts(
        self,
        session: aiohttp.ClientSession,
        context: SimpleNamespace,
        params: aiohttp.TraceRequestStartParams,
    ) -> None:
        path = params.url.path
        if params.url.scheme in ("ws", "wss") or any(part in path for part in EXEMPT):
            return
        if wait_s := self.open_again_in_s:
            raise PlatformFailure("too_many_refused", retryable=True, retry_after_s=wait_s)
        tries = _single_try.get()
        if tries is not None and params.method == "POST":
            tries[0] += 1
            if tries[0] > 1:
                raise PlatformFailure("unsure", retryable=True, retry_after_s=2.0)
        await self._wait()

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        async with self.turn:
            while True:
                now = loop.time()
                while self.left and self.left[0] <= now - 1.0:
                    self.left.popleft()
                if len(self.left) < self.per_s:
                    self.left.append(now)
                    return
                await asyncio.sleep(self.left[0] + 1.0 - now)

    async def _ends(
        self,
        session: aiohttp.ClientSession,
        context: SimpleNamespace,
        params: aiohttp.TraceRequestEndParams,
    ) -> None:
        status, headers = params.response.status, params.response.headers
        call, asked = _call.get(), headers.get("Retry-After", "")
        if status == 429 and call is not None and asked.isdigit() and int(asked) > LONG_PAUSE_S:
            call.pause_s = float(asked)
            call.deadline.reschedule(asyncio.get_running_loop().time())
        refused = status in (401, 403) or (status == 429 and headers.get("X-RateLimit-Scope") != "shared")
        if refused:
            self.invalid.append(asyncio.get_running_loop().time())
            if len(self.invalid) == self.invalid_limit:
                log.error("too many calls were refused; nothing leaves for %.0f s", self.open_again_in_s)


@asynccontextmanager
async def translated() -> AsyncGenerator[None]:
    """Turn what a call to Discord raises into PlatformFailure, and give it a deadline."""
    call: _Call | None = None
    try:
        async with asyncio.timeout(CALL_S) as deadline:
            call = _Call(deadline)
            token = _call.set(call)
            try:
                yield
            finally:
                _call.reset(token)
    except discord.HTTPException as error:
        raise failure_of(error) from error
    except TimeoutError as error:
        if call is not None and call.pause_s:
            raise PlatformFailure("429", retryable=True, retry_after_s=call.pause_s) from error
        raise PlatformFailure("timeout", retryable=True) from error
    except (OSError, aiohttp.ClientError) as error:
        raise PlatformFailure("connection", retryable=True) from error


def failure_of(error: discord.HTTPException) -> PlatformFailure:
    """The failure behind an answer of Discord: worth a retry for 429 and 5xx only."""
    code = str(error.code or error.status)
    if error.status == 429:
        # Without JSON it is the ban of an address, which lasts; asking again soon makes it last longer.
        after = error.response.headers.get("Retry-After", "")
        return PlatformFailure("429", retryable=True, retry_after_s=float(after) if after.isdigit() else 60.0)
    return PlatformFailure(code, retryable=error.status >= 500)


class EditPace:
    """Live edits of one channel: one at a time, at a distance; the newest of each message wins."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._waiting: defaultdict[int, int] = defaultdict(int)
        self._last: dict[int, float] = {}
        self._newest: dict[int, int] = {}
        self._count = 0

    @asynccontextmanager
    async def turn(self, channel: int, message: int, *, final: bool) -> AsyncGenerator[bool]:
        """Wait for the channel's turn; what is yielded says whether the edit is still worth sending."""
        self._count += 1
        mine = self._newest[message] = self._count
        loop = asyncio.get_running_loop()
        self._waiting[channel] += 1
        try:
            async with self._locks[channel]:
                if not final and self._newest.get(message) == mine:
                    await asyncio.sleep(self._last.get(channel, 0.0) + self._every_s - loop.time())
                if not final and self._newest.get(message) != mine:
                    yield False
                    return
                try:
                    yield True
                finally:
                    self._last[channel] = loop.time()
        finally:
            if self._newest.get(message) == mine:
                del self._newest[message]
            self._waiting[channel] -= 1
            if not self._waiting[channel]:
                del self._waiting[channel], self._locks[channel]
                self._forget(loop.time())

    def _forget(self, now: float) -> None:
        for channel in [c for c, t in self._last.items() if t < now - 60]:
            del self._last[channel]
