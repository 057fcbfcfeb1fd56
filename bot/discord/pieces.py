"""Long texts in the inputs of a form, each of which holds 4,000 units: taken apart, and put together again. Pure.

A field is called `<name>.<number><joint>`: the joint says how its piece follows the one before. What fits into no
input stays as it is; a mark says how much that is and what it was, so that nothing is put behind another text.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.discord.card import Field, Form
from bot.discord.limit import FIELD_LABEL, FIELD_VALUE, FORM_FIELDS, FORM_TITLE, head, size
from core.domain.errors import Refusal

NEW_LINE: Final = "n"
GOES_ON: Final = "j"
JOINTS: Final = {NEW_LINE: "\n", GOES_ON: ""}
NOTHING: Final = "0"
MARK: Final = re.compile(r"([0-9]{1,6})([nj])([0-9a-f]{4})")


@dataclass(frozen=True, slots=True)
class Apart:
    """A text taken apart."""

    pieces: tuple[tuple[str, str], ...]
    """Joint and words, in order; at least one."""
    joint: str
    rest: str
    """What fits into no input, and how it follows."""

    @property
    def mark(self) -> str:
        if not self.rest:
            return NOTHING
        return f"{len(self.rest)}{self.joint}{_digest(self.rest)}"


def apart(text: str, inputs: int, *, full: int = FIELD_VALUE) -> Apart:
    """A text in at most so many inputs of at most `full` units, broken at the ends of lines where there are any."""
    pieces: list[tuple[str, str]] = []
    joint, rest = NEW_LINE, text
    while rest and len(pieces) < inputs:
        words, after, following = _first(rest, full)
        pieces.append((joint, words))
        joint, rest = after, following
    return Apart(tuple(pieces) or ((NEW_LINE, ""),), joint, rest)


def _first(text: str, full: int) -> tuple[str, str, str]:
    """The words of one input, how the rest follows, and the rest."""
    if size(text) <= full:
        return text, NEW_LINE, ""
    words = head(text, full)
    # Blanks at the ends of an input may be lost on the way: no piece begins or ends with one where it can be helped.
    # So a line that begins with some, or an empty one, is no place to break at.
    at = words.rfind("\n")
    while at > 0 and (text[at - 1].isspace() or text[at + 1].isspace()):
        at = words.rfind("\n", 0, at)
    if 2 * at > len(words):
        return words[:at], NEW_LINE, text[at + 1 :]
    cut = len(words)
    while cut > 1 and (text[cut - 1].isspace() or text[cut].isspace()):
        cut -= 1
    cut = cut if cut > 1 else len(words)
    return text[:cut], GOES_ON, text[cut:]


def fields_for(name: str, label: str, parts: Apart, *, note: str) -> tuple[Field, ...]:
    """The inputs that hold a text; `note` stands under the last one when a rest stays behind."""
    many = len(parts.pieces) > 1
    last = len(parts.pieces) - 1
    return tuple(
        Field(
            name=f"{name}.{number}{joint}",
            label=f"{label} {number + 1}" if many else label,
            description=note if parts.rest and number == last else "",
            value=words,
            long=True,
        )
        for number, (joint, words) in enumerate(parts.pieces)
    )


def together(name: str, fields: Mapping[str, str], mark: str, current: str) -> str:
    """The text that a person left in the inputs, and the rest of the `current` one behind it.

    Raises Refusal `form_outdated` when that rest is no longer what it was when the form was opened.
    """
    text = ""
    for number, field in enumerate(sorted(one for one in fields if one.startswith(f"{name}."))):
        joint = JOINTS.get(field[-1], "\n") if number else ""
        text += joint + fields[field].replace("\r\n", "\n")
    found = MARK.fullmatch(mark)
    if found is None:
        return text
    rest = current[-int(found[1]) :]
    if _digest(rest) != found[3]:
        raise Refusal("form_outdated")
    return text + JOINTS[found[2]] + rest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:4]


# --- whole forms ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A text that a form is about."""

    name: str
    label: str
    text: str


def form_of(title: str, action: str, ref: str, entries: Sequence[Entry], *, note: str) -> Form:
    """One form for texts of any length, the inputs shared out evenly; `left_in` reads what comes back."""
    parts = [apart(entry.text, FORM_FIELDS // len(entries)) for entry in entries]
    fields = [
        field
        for entry, part in zip(entries, parts, strict=True)
        for field in fields_for(entry.name, head(entry.label, FIELD_LABEL - 2), part, note=note)
    ]
    marks = ".".join(part.mark for part in parts)
    return Form(title=head(title, FORM_TITLE), action=action, ref=f"{ref}:{marks}", fields=tuple(fields))


def left_in(fields: Mapping[str, str], marks: str, current: Mapping[str, str]) -> dict[str, str]:
    """The texts that a person left in such a form, by name; `current` are those stored, in the form's order.

    Raises Refusal `form_outdated`.
    """
    found = marks.split(".")
    if len(found) != len(current):
        raise Refusal("form_outdated")
    return {
        name: together(name, fields, mark, text)
        for (name, text), mark in zip(current.items(), found, strict=True)
    }
