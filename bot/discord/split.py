"""Long texts in pieces that Discord takes, with code fences closed at each end and opened again. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.discord.limit import head, size

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
LONGEST_OPENING = 80
"""A reopened fence keeps its info string up to this length; a longer one comes back bare."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`body` is a stretch of the text as it was; `opening` and `closing` are marks that were added around it."""

    body: str
    opening: str = ""
    closing: str = ""

    @property
    def text(self) -> str:
        """The piece as it is sent."""
        return f"{self.opening}{self.body}{self.closing}"


@dataclass(frozen=True, slots=True)
class _Fence:
    mark: str
    opening: str

    @property
    def closing(self) -> str:
        return f"\n{self.mark}"


def split(text: str, limit: int) -> tuple[Piece, ...]:
    """Pieces of at most `limit` units each, in order; their bodies joined are the text.

    Breaks fall between paragraphs where that leaves a piece at least half full, else between lines, else between
    words. Room for the marks is reserved. `limit` must leave room for them: at least 200.
    """
    return tuple(_Splitter(limit).pieces(text))


def balanced(text: str) -> str:
    """A text that may break off inside a fence, with the fence closed."""
    fence = _after(text.splitlines(keepends=True), None)
    return text + fence.closing.removeprefix("\n" if text.endswith("\n") else "") if fence else text


def _after(lines: Sequence[str], fence: _Fence | None) -> _Fence | None:
    """The fence that is open after these lines."""
    for line in lines:
        fence = _next(line, fence)
    return fence


def _next(line: str, fence: _Fence | None) -> _Fence | None:
    found = FENCE.fullmatch(line.rstrip("\n"))
    if found is None:
        return fence
    mark, info = found[1], found[2]
    if fence is None:
        if mark[0] == "`" and "`" in info:
            return None
        opening = line.strip()
        return _Fence(mark, f"{opening if len(opening) <= LONGEST_OPENING else mark}\n")
    closes = mark[0] == fence.mark[0] and len(mark) >= len(fence.mark) and not info.strip()
    return None if closes else fence


class _Splitter:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: list[str] = []
        self._used = 0
        self._begun_in: _Fence | None = None
        """The fence that was open where the current piece begins."""

    def pieces(self, text: str) -> Iterator[Piece]:
        for line in text.splitlines(keepends=True):
            yield from self._add(line)
        if self._lines:
            yield self._piece(self._lines)

    def _add(self, line: str) -> Iterator[Piece]:
        while True:
            room = self._room(line)
            if size(line) <= room:
                break
            if self._lines:
                yield self._flush()
            else:
                cut = _cut(line, room)
                self._lines = [line[:cut]]
                yield self._flush()
                line = line[cut:]
        self._lines.append(line)
        self._used += size(line)

    def _room(self, line: str) -> int:
        """Units left for `line`, after the marks that the piece needs with it."""
        fence = _after(self._lines, self._begun_in)
        after = _next(line, fence)
        opening = self._begun_in.opening if self._begun_in else ""
        reserved = max((size(f.closing) for f in (fence, after) if f), default=0)
        return self._limit - size(opening) - self._used - reserved

    def _flush(self) -> Piece:
        kept = self._lines
        rest: list[str] = []
        if _after(self._lines, self._begun_in) is None:
            at = self._paragraph_break()
            kept, rest = self._lines[:at], self._lines[at:]
        piece = self._piece(kept)
        self._begun_in = _after(kept, self._begun_in)
        self._lines = rest
        self._used = sum(map(size, rest))
        return piece

    def _paragraph_break(self) -> int:
        """Where to end the piece: after the last empty line outside a fence in its second half, else at its end."""
        fence, used, best = self._begun_in, 0, len(self._lines)
        for index, line in enumerate(self._lines):
            fence = _next(line, fence)
            used += size(line)
            if fence is None and not line.strip() and used * 2 >= self._used:
                best = index + 1
        return best

    def _piece(self, lines: Sequence[str]) -> Piece:
        body = "".join(lines)
        end = _after(lines, self._begun_in)
        closing = end.closing.removeprefix("\n" if body.endswith("\n") else "") if end else ""
        return Piece(body, self._begun_in.opening if self._begun_in else "", closing)


def _cut(line: str, room: int) -> int:
    """Where to cut a long line: after the last space in the second half of what fits, else at the end of that."""
    fits = head(line, max(room, 2))
    space = fits.rfind(" ")
    return space + 1 if space * 2 >= len(fits) else len(fits)
