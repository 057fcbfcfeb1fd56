"""Answers of Slack that are asked for once while they are fresh, however many want them at the same time."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """Keeps at most `size` answers for `fresh_s` seconds. Failures are not kept."""

    def __init__(self, *, fresh_s: float, size: int = 10_000) -> None:
        self._fresh_s = fresh_s
        self._size = size
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._asking: dict[K, asyncio.Lock] = {}

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The fresh answer for `key`, or what `ask` brings."""
        if (found := self.peek(key)) is not None:
            return found
        lock = self._asking.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                if (found := self.peek(key)) is not None:
                    return found
                value = await ask()
                self.put(key, value)
                return value
        finally:
            if not lock.locked():
                self._asking.pop(key, None)

    def peek(self, key: K) -> V | None:
        """The answer for `key` if it is fresh."""
        kept = self._kept.get(key)
        if kept is None or asyncio.get_running_loop().time() - kept[0] > self._fresh_s:
            return None
        return kept[1]

    def put(self, key: K, value: V) -> None:
        self._kept[key] = (asyncio.get_running_loop().time(), value)
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def drop(self, key: K) -> None:
        self._kept.pop(key, None)
