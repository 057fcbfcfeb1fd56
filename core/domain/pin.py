"""Pins: what someone marked in a thread as binding, decided, open or worth pointing at (spec §2).

A pin goes to the letter into handover drafts and pre-adoption reviews; only a person may shorten one, in the form.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.domain.errors import Refusal

PIN_CHARS = 4_000
"""More than a handover carries of one item, so that a pin can be marked first and shortened later, in the form."""

MOST_PINS = 100
"""Pins a thread can have at a time, of all kinds together."""


class PinKind(StrEnum):
    """People read it as `pin_kind.<value>` of the catalogue."""

    CONSTRAINT = "constraint"
    DECISION = "decision"
    OPEN_QUESTION = "open_question"
    REFERENCE = "reference"

    @classmethod
    def read(cls, given: str) -> "PinKind":
        """The kind that a person named, in either language. Raises Refusal `unknown_pin_kind`."""
        word = "_".join(given.split()).replace("-", "_").casefold()
        kind = _WORDS.get(word)
        if kind is None:
            raise Refusal("unknown_pin_kind", kind=given.strip(), allowed=", ".join(cls))
        return kind


_WORDS = {
    **{kind.value: kind for kind in PinKind},
    "question": PinKind.OPEN_QUESTION,
    "制約": PinKind.CONSTRAINT,
    "決定": PinKind.DECISION,
    "未解決": PinKind.OPEN_QUESTION,
    "未解決の質問": PinKind.OPEN_QUESTION,
    "質問": PinKind.OPEN_QUESTION,
    "参照": PinKind.REFERENCE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One version of a pin; editing one adds a version, and all stay as its history."""

    id: str
    root_id: str
    """Id of the first version; its own id for the first."""
    kind: PinKind
    text: str
    message_id: str | None
    """The message that was marked; None for typed text."""
    author: str
    """Display name of whoever marked or edited it."""
    created_at: datetime
    ended_at: datetime | None = None
    """When a newer version took its place, or it was removed."""
    removed: bool = False


def pin_text(given: str) -> str:
    """The text as it is kept: to the letter, without blanks around it. Raises Refusal."""
    text = given.strip()
    if not text:
        raise Refusal("pin_empty")
    if len(text) > PIN_CHARS:
        raise Refusal("pin_too_long", had=len(text), limit=PIN_CHARS)
    return text
