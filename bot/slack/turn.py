"""Order within a thread: one message at a time, and of those that wait the earliest first.

Slack promises no order of delivery (bolt-python#668). What arrives together is put in order by a moment's grace; what
arrives a while later than its successor keeps its place behind it.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

GRACE_S: Final = 0.05


class Turns:
    """Turns by thread; a thread that nobody waits for is forgotten."""

    def __init__(self) -> None:
        self._waiting: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._busy: set[tuple[str, str]] = set()
        self._moved = asyncio.Condition()

    @asynccontextmanager
    async def turn(self, channel: str, thread: str, message: str) -> AsyncGenerator[None]:
        """While the block runs no other message of the thread has its turn."""
        key = (channel, thread)
        waiting = self._waiting[key]
        waiting.append(message)
        held = False
        try:
            await asyncio.sleep(GRACE_S)
            async with self._moved:
                await self._moved.wait_for(lambda: key not in self._busy and min(waiting) == message)
                self._busy.add(key)
                held = True
            yield
        finally:
            waiting.remove(message)
            if not waiting:
                self._waiting.pop(key, None)
            if held:
                self._busy.discard(key)
            async with self._moved:
                self._moved.notify_all()
