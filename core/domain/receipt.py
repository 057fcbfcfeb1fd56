"""AI input, exactly as it is sent to a model in one call, and the receipt that keeps it (spec §2)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from core.domain.ids import MessageId, ReceiptId, RunId, ThreadId

REPAIR = ".repair"
"""Added to a step's name for the one call that mends malformed output."""


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """Where a part of the AI input comes from; people read it as `origin.<value>` of the catalogue."""

    SYSTEM_PROMPT = "system_prompt"
    EXAMPLE = "example"
    FIRST_MESSAGE = "first_message"
    OMITTED_NOTE = "omitted_note"
    HISTORY = "history"
    ATTACHMENT = "attachment"
    REQUEST = "request"
    BACKGROUND = "background"
    PRIOR_CONTEXT = "prior_context"
    HANDOVER = "handover"
    """What a handover brought into a Chat, a Compare or the first step of a Workflow."""
    SPOKEN = "spoken"
    """What participants of the same run said before."""
    UNDER_REVIEW = "under_review"
    INSTRUCTION = "instruction"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputImage:
    """An image sent along with a part. The bytes are read from the store by `sha256` when the call leaves."""

    name: str
    media_type: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPart:
    """One message of the AI input; sent in this order, with this role and exactly this text."""

    role: Role
    origin: Origin
    text: str
    message_id: MessageId | None = None
    """The stored message it was made from; this is how erasing a person's content finds it."""
    images: tuple[InputImage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRef:
    """A version of a prompt. `sha256` is the content hash of its parts."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapApplied:
    """A limit that cut something: `name` is the limit (`cap.<name>` in the catalogue), in its own unit."""

    name: str
    limit: int
    had: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Items left out and how many; `what` is `omitted.<what>` in the catalogue."""

    what: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AiInput:
    """What is sent in one call. Only builders in `core.ai_input` make one."""

    parts: tuple[InputPart, ...]
    prompts: tuple[PromptRef, ...]
    estimate_tokens: int
    caps: tuple[CapApplied, ...] = ()
    omissions: tuple[Omission, ...] = ()
    params: Mapping[str, float | int] = field(default_factory=dict)
    """Sampling parameters by their usual names (`temperature`, `max_tokens`)."""
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer must satisfy; None for free text."""
    shared_sha256: str = ""
    """Hash of the part that every candidate of a Compare is sent alike; empty elsewhere. No part of `sha256`."""

    @property
    def sha256(self) -> str:
        """Content hash over roles, texts, images, parameters and schema, in order."""
        content: dict[str, Any] = {
            "parts": [[p.role, p.text, [i.sha256 for i in p.images]] for p in self.parts],
            "params": dict(sorted(self.params.items())),
        }
        if self.output_schema is not None:
            content["schema"] = self.output_schema
        return hashlib.sha256(
            json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        ).hexdigest()


class Finish(StrEnum):
    """How a call ended."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    UNKNOWN = "unknown"
    STOPPED = "stopped"
    """A person stopped it."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and money of one call. `cost_usd` is None when no price is known; then only tokens are shown."""

    input_tokens: int
    output_tokens: int
    estimated: bool
    """True when the provider reported nothing and the numbers are our estimate."""
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    id: ReceiptId
    thread_id: ThreadId
    run_id: RunId
    step: str
    answer_id: MessageId | None
    """The stored answer; None when the call brought no text."""
    model: str
    """Catalogue alias."""
    model_id: str
    """Provider model id that was asked for."""
    reported_model_id: str
    """Model id that the provider says it used; empty when it said nothing."""
    ai_input: AiInput
    input_sha256: str
    """Hash at the time of sending; stays when the text is erased."""
    usage: Usage | None
    finish: Finish
    failure: str
    """FailureKind value, empty for a success."""
    reasoning: str
    """What a model reported of its reasoning; never posted and never sent back."""
    duration_s: float
    created_at: datetime
    erased: bool = False
    """A person's content in it was erased."""
    expired: bool = False
    """Its texts were let go when the workspace's retention was over."""
