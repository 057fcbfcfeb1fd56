"""What changed between two texts, word by word. Pure, and bounded: texts beyond a size are not compared."""

import difflib
import re
from dataclasses import dataclass
from enum import StrEnum

MOST_WORDS = 4_000
"""On either side; comparing takes their product at worst."""

_WORD = re.compile(r"[A-Za-z0-9_'’]+|[ \t]+|\n|.", re.DOTALL)
"""Japanese has no blanks between words, so there a character is a word."""


class Piece(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPiece:
    piece: Piece
    text: str


def word_diff(before: str, after: str) -> tuple[DiffPiece, ...] | None:
    """Both texts in one, in order; without what was removed it is `after`. None when they are too long for it."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return None
    pieces: list[DiffPiece] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            pieces.append(DiffPiece(piece=Piece.SAME, text="".join(old[i1:i2])))
            continue
        for piece, words in ((Piece.REMOVED, old[i1:i2]), (Piece.ADDED, new[j1:j2])):
            if words:
                pieces.append(DiffPiece(piece=piece, text="".join(words)))
    return tuple(pieces)
