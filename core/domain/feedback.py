"""What people hold of an answer: a thumb up or down, and why."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.domain.errors import Refusal

COMMENT_CHARS = 1_000


class Thumb(StrEnum):
    """People read it as `thumb.<value>` of the catalogue."""

    UP = "up"
    DOWN = "down"

    @classmethod
    def read(cls, value: str) -> "Thumb":
        """Raises Refusal that says what is allowed."""
        try:
            return cls(value)
        except ValueError:
            raise Refusal("unknown_thumb", allowed=", ".join(cls)) from None


def comment_text(text: str) -> str:
    """A comment as it is kept. Raises Refusal for one that is too long."""
    text = text.strip()
    if len(text) > COMMENT_CHARS:
        raise Refusal("comment_too_long", had=len(text), limit=COMMENT_CHARS)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One person's feedback on one answer."""

    message_id: str
    person: str
    """Name."""
    thumb: Thumb
    comment: str
    updated_at: datetime
