"""Order of what comes in: one at a time for each channel, and how far all of it has come."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Lanes:
    """Locks by channel that are forgotten when nobody waits for them. Whoever comes first goes first."""

    def __init__(self) -> None:
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._users: defaultdict[int, int] = defaultdict(int)

    @asynccontextmanager
    async def turn(self, channel: int) -> AsyncGenerator[None]:
        self._users[channel] += 1
        try:
            async with self._locks[channel]:
                yield
        finally:
            self._users[channel] -= 1
            if not self._users[channel]:
                del self._users[channel], self._locks[channel]


class Water:
    """How far the messages of one server were taken in. Ids are snowflakes, so a lower one is an earlier message."""

    def __init__(self, mark: int) -> None:
        self._highest = mark
        self._under_way: set[int] = set()

    @property
    def mark(self) -> int:
        """Every message up to this id was taken in, or needs no taking in."""
        return min(self._under_way) - 1 if self._under_way else self._highest

    @contextmanager
    def taking_in(self, message: int) -> Iterator[None]:
        """While a message is worked on. When the block is left by an exception the mark stays below it."""
        self._under_way.add(message)
        yield
        self._under_way.discard(message)
        self._highest = max(self._highest, message)
