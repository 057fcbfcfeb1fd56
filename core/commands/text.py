"""Commands typed as text, after a slash or a mention: the same words on every platform (architecture §9)."""

from dataclasses import dataclass
from enum import StrEnum


class Word(StrEnum):
    """The first word of a command."""

    COMPARE = "compare"
    DEBATE = "debate"
    CODRAFT = "codraft"
    WORKFLOW = "workflow"
    BRANCH = "branch"
    RETRY = "retry"
    STOP = "stop"
    INPUT = "input"
    RENAME = "rename"
    REVIEW = "review"
    SAVE = "save"
    ARTIFACTS = "artifacts"
    PIN = "pin"
    PINS = "pins"
    HANDOVER = "handover"
    ADOPT = "adopt"
    APPROVE = "approve"
    REJECT = "reject"
    WITHDRAW = "withdraw"
    ADOPTIONS = "adoptions"
    PROMPTS = "prompts"
    THREADS = "threads"
    MODELS = "models"
    USAGE = "usage"
    HELP = "help"


STARTS = frozenset({Word.COMPARE, Word.DEBATE, Word.CODRAFT, Word.WORKFLOW})
"""Words that begin a thread in another mode than Chat, named as the mode is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCommand:
    """What was typed. `position` is as typed and checked by the command it goes to."""

    word: Word
    position: str | None = None
    rest: str = ""
    """What follows: the name of a branch or artifact, a title, the model for a retry, the question of a new thread."""


def parse_command(text: str) -> TextCommand | None:
    """The command that a text is, None when it is none of ours.

    `branch` may be followed by a position, with or without `#`, and a name. Words are recognised in lower and upper
    case, full-width slashes and digits count like the usual ones.
    """
    head, rest = _cut(text.strip().removeprefix("/").removeprefix("／"))
    try:
        word = Word(head.lower())
    except ValueError:
        return None
    if word is not Word.BRANCH:
        return TextCommand(word=word, rest=rest)
    first, name = _cut(rest)
    digits = first.lstrip("#＃").translate(FULL_WIDTH_DIGITS)
    if digits.lstrip("-+").isdigit():
        return TextCommand(word=word, position=digits, rest=name)
    return TextCommand(word=word, rest=rest)


def _cut(text: str) -> tuple[str, str]:
    """The first word and the rest; any white space divides them, the full-width space of Japanese keyboards too."""
    words = text.split(maxsplit=1)
    return (words[0], words[1].strip()) if len(words) > 1 else (text.strip(), "")


FULL_WIDTH_DIGITS = {ord("０") + n: str(n) for n in range(10)}
