"""The eval sets that a process works with: the product's own, read when they are first needed, and stored ones."""

import asyncio
from collections.abc import Callable, Mapping

from core.prompts.eval_file import stored_eval_set
from core.prompts.eval_set import EvalSet

MOST_KEPT = 50
"""Stored sets held in memory, a few hundred KB each at most; the longest held goes first."""


class EvalLibrary:
    """Eval sets by id. `read` reads the files of the product's own."""

    def __init__(self, read: Callable[[], Mapping[str, EvalSet]]) -> None:
        self._read = read
        self._sets: Mapping[str, EvalSet] | None = None
        self._reading = asyncio.Lock()
        self._kept: dict[tuple[str, tuple[tuple[str, str], ...]], EvalSet] = {}

    async def sets(self) -> Mapping[str, EvalSet]:
        """The product's own. Raises ConfigurationErrors when the files cannot be used."""
        async with self._reading:
            if self._sets is None:
                self._sets = await asyncio.to_thread(self._read)
        return self._sets

    async def stored(self, name: str, files: Mapping[str, str]) -> EvalSet:
        """A set that was right when it was stored. Raises ConfigurationErrors when this release cannot read it."""
        # By the text itself: what is erased from a version is not found here any more.
        key = (name, tuple(sorted(files.items())))
        if key not in self._kept:
            found = await asyncio.to_thread(stored_eval_set, name, files)
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found
        return self._kept[key]
