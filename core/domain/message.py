"""Messages and what is attached to them. Rows of both never change once stored, except when erased."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from core.domain.ids import AttachmentId, MessageId, PersonId, RunId, ThreadId

MAX_MESSAGE_CHARS = 100_000
"""A message of a person longer than this is refused; a file is the way to bring more."""

PRODUCT = "promptflow"
"""Stands in place of a model where the product itself worked something out."""


class AuthorKind(StrEnum):
    PERSON = "person"
    MODEL = "model"
    PRODUCT = "product"
    """The product itself: the structure that a handover begins with (spec §9). Stands in no conversation."""
    BOT = "bot"
    """Another program in the channel; labelled as such and never taken for the assistant (spec §4)."""


class Cut(StrEnum):
    """Why a stored answer is not complete."""

    NONE = "none"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    LENGTH = "length"
    CONTENT_POLICY = "content_policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    kind: AuthorKind
    name: str
    """Display name of a person or bot; the model alias for a model."""
    person_id: PersonId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    id: AttachmentId
    name: str
    media_type: str
    size_bytes: int
    sha256: str
    text: str
    """Text taken from the file; empty for an image and for a file that could not be read."""
    problem: str
    """Code of why it could not be read, or not whole (`attachment.<code>` in the catalogue); empty when it could."""

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/") and not self.problem

    @property
    def is_unread(self) -> bool:
        """Nothing of it could be read. A file that was only cut has a problem and a text."""
        return bool(self.problem) and not self.text

    @property
    def readable(self) -> bool:
        return bool(self.text) or self.is_image


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    id: MessageId
    thread_id: ThreadId
    """The thread it was first written in; branches refer to the same row."""
    author: Author
    text: str
    created_at: datetime
    attachments: tuple[Attachment, ...] = ()
    run_id: RunId | None = None
    """The run that wrote it, for an answer."""
    answers_id: MessageId | None = None
    """The message it answers, for an answer."""
    step: str = ""
    """The step of its run that wrote it, for an answer."""
    data: Mapping[str, Any] | None = None
    """Structured output behind the text, where the step has one."""
    cut: Cut = Cut.NONE
    external_id: str = ""
    """Id of the platform's message; empty for answers, whose posts are recorded apart."""
    erased: bool = False

    @property
    def is_answer(self) -> bool:
        return self.author.kind is AuthorKind.MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One place in a conversation. Positions count from 1 without gaps."""

    position: int
    message: Message
