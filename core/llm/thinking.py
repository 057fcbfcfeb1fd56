"""Reasoning that a model writes into its answer between `<think>` tags, told apart while it streams."""

from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class ThinkSplitter:
    """Splits one streamed answer into reasoning and text.

    Only a block at the very beginning is reasoning: an answer that talks about the tag later keeps it. Whatever might
    still turn out to be a tag is held back until the next piece, or until `finish`.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def feed(self, piece: str) -> list[tuple[bool, str]]:
        """What is certain after `piece`, in order, as (is reasoning, text); texts are never empty."""
        if self._state == "text":
            return [(False, piece)] if piece else []
        self._held += piece
        found: list[tuple[bool, str]] = []
        if self._state == "start":
            self._begin()
        if self._state == "thinking":
            found += self._think()
        if self._state == "gap":
            self._held = self._held.lstrip()
            self._state = "text" if self._held else "gap"
        if self._state == "text" and self._held:
            found.append((False, self._held))
            self._held = ""
        return found

    def finish(self) -> list[tuple[bool, str]]:
        """What was held back; an unclosed block is reasoning to its end."""
        held, self._held = self._held, ""
        if not held or self._state == "gap":
            return []
        return [(self._state == "thinking", held)]

    def _begin(self) -> None:
        start = self._held.lstrip()
        if start.startswith(_OPEN):
            self._held = start[len(_OPEN) :]
            self._state = "thinking"
        elif not _OPEN.startswith(start):
            self._state = "text"

    def _think(self) -> list[tuple[bool, str]]:
        thought, close, rest = self._held.partition(_CLOSE)
        if close:
            self._held = rest
            self._state = "gap"
        else:
            keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:n])), 0)
            self._held = thought[len(thought) - keep :]
            thought = thought[: len(thought) - keep]
        return [(True, thought)] if thought else []
