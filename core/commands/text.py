"""Commands typed as text, after a slash or a mention: the same words on every platform (architecture §9)."""

from dataclasses import dataclass
from enum import StrEnum


class Word(StrEnum):
    """The first word of a command."""

    BRANCH = "branch"
    RETRY = "retry"
    STOP = "stop"
    INPUT = "input"
    RENAME = "rename"
    THREADS = "threads"
    MODELS = "models"
    USAGE = "usage"
    HELP = "help"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCommand:
    """What was typed. `position` is as typed and checked by the command it goes to."""

    word: Word
    position: str | None = None
    rest: str = ""
    """The name of a branch, the new title, or the model for a retry."""


def parse_command(text: str) -> TextCommand | None:
    """The command that a text is, None when it is none of ours.

    `branch` may be followed by a position, with or without `#`, and a name. Words are recognised in lower and upper
    case, full-width slashes and digits count like the usual ones.
    """
    stripped = text.strip().removeprefix("/").removeprefix("／").strip()
    head, _, rest = stripped.partition(" ")
    try:
        word = Word(head.lower())
    except ValueError:
        return None
    rest = rest.strip()
    if word is not Word.BRANCH:
        return TextCommand(word=word, rest=rest)
    first, _, name = rest.partition(" ")
    digits = first.lstrip("#").translate(FULL_WIDTH_DIGITS)
    if first and digits.lstrip("-+").isdigit():
        return TextCommand(word=word, position=digits, rest=name.strip())
    return TextCommand(word=word, rest=rest)


FULL_WIDTH_DIGITS = {ord("０") + n: str(n) for n in range(10)}
