"""The eval sets that a process works with, read when they are first needed."""

import asyncio
from collections.abc import Callable, Mapping

from core.prompts.eval_set import EvalSet


class EvalLibrary:
    """Eval sets by id. `read` reads their files."""

    def __init__(self, read: Callable[[], Mapping[str, EvalSet]]) -> None:
        self._read = read
        self._sets: Mapping[str, EvalSet] | None = None
        self._reading = asyncio.Lock()

    async def sets(self) -> Mapping[str, EvalSet]:
        """Raises ConfigurationErrors when the files cannot be used."""
        async with self._reading:
            if self._sets is None:
                self._sets = await asyncio.to_thread(self._read)
        return self._sets
