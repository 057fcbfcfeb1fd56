"""An answer while it is written, as HTML in pieces: what is settled is converted and sent once."""

from dataclasses import dataclass
from typing import Any, Final

from bot.console.markdown import Markdown

SHORT_CHARS: Final = 1_000
"""A last block up to this long is converted at every update."""

GROWTH: Final = 16
"""A longer one only after it grew by this part of itself, so that the work is proportional to the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What a page does with an answer: keep what it has (unless `fresh`), add `settled`, put `last` at the end."""

    fresh: bool
    settled: str
    """HTML of blocks that no later text can change."""
    last: str
    """HTML of the block that is being written, in place of the one sent before."""


class Written:
    """The text of one answer as one page has it."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown
        self._begin()

    def _begin(self) -> None:
        self._settled = ""
        self._shown_chars = 0
        self._links: dict[str, Any] = {}
        self._fresh = True

    def piece(self, text: str) -> Piece | None:
        """What the page has to do to show `text`; None while it is too little to be worth the work.

        Takes as long as converting the last block does: to be called off the event loop.
        """
        if not text.startswith(self._settled):
            self._begin()
        rest = text[len(self._settled) :]
        grown = len(rest) - self._shown_chars
        if self._shown_chars > SHORT_CHARS and 0 <= grown * GROWTH < self._shown_chars:
            return None
        settled, chars, last = self._markdown.blocks(rest, self._links)
        self._settled += rest[:chars]
        self._shown_chars = len(rest) - chars
        fresh, self._fresh = self._fresh, False
        return Piece(fresh=fresh, settled=settled, last=last)
