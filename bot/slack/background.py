"""Work that goes on after a request was answered, or that must not end with the one who asked for it."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class Background:
    """Owns tasks: keeps them, logs what none awaited, and waits for them at the end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run `work` to its end, whoever stops waiting for it."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def leave(self, work: Coroutine[Any, Any, Any], *, name: str) -> None:
        """Run `work` to its end without anyone waiting for it."""
        _ = self.start(work, name=name)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("%s ended with %s", task.get_name(), type(error).__name__)

    async def drain(self, patience_s: float) -> None:
        """Wait for what is running; cancel what takes longer."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=patience_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
