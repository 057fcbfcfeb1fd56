"""What the core needs from outside. Few methods, none optional; every adapter passes the suites in tests/contracts."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from core.domain.ids import MessageId, RunId, WorkspaceId
from core.domain.message import Cut, Entry, Message
from core.domain.pin import Pin
from core.domain.receipt import AiInput, Finish, PromptRef, Usage
from core.domain.thread import Conversation, Place, Thread
from core.domain.view import PostView


class Clock(Protocol):
    """Time and ids, so that tests can hold both still."""

    def now(self) -> datetime:
        """The present moment, in UTC with time zone."""
        ...

    def new_id(self) -> str:
        """A new UUIDv7; later ids sort after earlier ones of the same process."""
        ...


# --- models ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call to one model. `model` is a catalogue alias; `images` holds the bytes by sha256."""

    request_id: str
    workspace_id: WorkspaceId
    model: str
    ai_input: AiInput
    images: dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The call left for the provider after waiting `queued_s` for a free place."""

    queued_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """Reasoning text that a provider reports apart; kept apart, never posted."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Last event of a complete call."""

    finish: Finish
    usage: Usage
    reported_model_id: str
    first_delta_s: float
    total_s: float


ModelEvent = Started | TextDelta | ReasoningDelta | Done


class ModelGateway(Protocol):
    def stream(self, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        """Events of one call: Started, deltas in order, Done last.

        Raises ModelFailure when no complete answer comes. Closing the iterator or cancelling its task closes the
        provider's connection. Retries happen inside, and only before the first delta.
        """
        ...


# --- platforms ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRef:
    """A post that stands on a platform: where, and the platform's id of each of its parts, in order."""

    place: Place
    ids: tuple[str, ...]


class Poster(Protocol):
    """Sends what people see to one platform. Raises PlatformFailure; never retries a call that may have landed."""

    async def open_thread(
        self, workspace_id: WorkspaceId, channel: str, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        """Open a new thread in `channel` with `view` as its first post; the ref's place names the new thread."""
        ...

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        """Add a post to a thread, in the thread's language. `key` identifies it for `find`."""
        ...

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        """The post that an earlier try with this key left behind, or None when there is none.

        An empty `place.thread` asks for a thread that an earlier `open_thread` opened in the channel.
        """
        ...

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        """Show `view` in place of the post. Updates that are not final may be skipped when a newer one is waiting;
        a final one always lands. The ref that comes back may have more parts."""
        ...


class ChannelAccess(Protocol):
    async def can_see(self, workspace_id: WorkspaceId, channel: str, person: str) -> bool:
        """Whether the person (platform id) can see the channel at this moment; False for an unknown one."""
        ...


# --- runs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What the store reads for an AI input: a bounded piece of a conversation, whatever its length.

    `first` is the conversation's first message, None when it is inside `recent` or is the request itself; `recent` is
    oldest first and ends before the request.
    """

    first: Entry | None
    recent: tuple[Entry, ...]
    total_before_request: int
    """Messages before the request in the whole conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a model said in one step of a run, for modes in which several speak."""

    run_id: RunId
    step: str
    model: str
    message_id: MessageId
    text: str
    """As people read it."""
    data: Mapping[str, Any] | None
    """The structured output behind the text, for steps that have one."""
    cut: Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Everything one answer needs, read in one transaction."""

    thread: Thread
    conversation: Conversation
    window: Window
    request: Message
    model: str
    context_tokens: int
    max_output_tokens: int
    vision: bool
    prompts: tuple[PromptRef, ...]
    """Prompt versions this run began with."""
    run_id: RunId
    line: str
    """The line of the thread that this call belongs to."""
    setup: Mapping[str, Any] = field(default_factory=dict)
    """What the thread was started with, as its mode's setup in `core.domain` reads it."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """What this one run was asked to do beyond answering its request."""
    spoken: tuple[Spoken, ...] = ()
    """What models said so far in the thread's own runs, oldest first; steps that failed are missing."""
    late: tuple[Message, ...] = ()
    """What people said before this line's model joined, oldest first; empty for a line that is not late."""
    handover: Mapping[str, Any] | None = None
    """The fields of the handover that the thread came by, as `HandoverFields` reads them; None for other threads."""
    handover_id: MessageId | None = None
    """Id under which those fields are stored; the parts made from them carry it, so that erasing finds them."""
    pins: tuple[Pin, ...] = ()
    """What is pinned in the thread, oldest first; read for drafting only."""
    reviewed: tuple[Spoken, ...] = ()
    """The answers under Cross Review, in the order in which they were named; nothing else of their thread is read."""
