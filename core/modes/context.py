"""The port between a mode and the engine, which implements it in `core.engine.context`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.ai_input.compare import ForcedDifference
from core.domain.adoption import ReviewDraft
from core.domain.drafting import HandoverDraft
from core.domain.ids import MessageId, ReceiptId, ThreadId
from core.domain.message import Cut
from core.domain.pin import Pin
from core.domain.receipt import AiInput, Finish
from core.domain.thread import MAIN_LINE, Thread
from core.domain.view import Phrase
from core.domain.workflow import Workflow
from core.ports import Turn
from core.prompts.registry import PromptLibrary

Builder = Callable[[Turn, PromptLibrary], AiInput]
"""A builder of `core.ai_input`. Pure; raises Refusal when the request cannot be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one model call left in the store."""

    step: str
    message_id: MessageId | None
    receipt_id: ReceiptId | None
    """None when the call was refused before it was made."""
    text: str
    finish: Finish
    cut: Cut
    failure: str
    data: Mapping[str, Any] | None = None
    """Structured output, where the step has one and it is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One turn of one speaker: which model is called with what, and where its answer goes."""

    step: str
    """Names the turn within its run."""
    model: str
    build: Builder
    line: str | None = MAIN_LINE
    """The conversation the answer joins; None stores it with the run alone, out of every later AI input."""
    replaces: bool = False
    """It takes the place of an earlier answer to the same message."""
    present: Callable[[Mapping[str, Any], Turn], str] | None = None
    """Structured output as people read it, beside the turn it was asked in; used when there is structured output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One version of an artifact."""

    number: int
    text: str
    message_id: MessageId | None


class RunContext(Protocol):
    """What a mode sees of the engine. Each call is made of durable steps; a finished one is not repeated."""

    @property
    def model(self) -> str:
        """The model the run was started for."""
        ...

    @property
    def locale(self) -> str:
        """The thread's language."""
        ...

    @property
    def thread(self) -> Thread:
        """The thread that the run is in, as it stood when the run began, but for a place that it got since."""
        ...

    @property
    def setup(self) -> Mapping[str, Any]:
        """What the thread was started with."""
        ...

    @property
    def args(self) -> Mapping[str, Any]:
        """What this run was asked to do beyond answering its request."""
        ...

    @property
    def workflows(self) -> Mapping[str, Workflow]:
        """The workflows there are, by name."""
        ...

    async def answer(self, ask: Ask) -> Answer:
        """Post a card, build the AI input from what is stored now, call the model, and stream its answer into the card.

        Answer, receipt and usage are stored in one transaction. A stop keeps what was written. A refusal before the
        call, or a failed call, comes back as an Answer with `failure` set, not as an exception.
        """
        ...

    async def answer_all(self, asks: Sequence[Ask]) -> tuple[Answer, ...]:
        """The same for several speakers at once: cards in this order, calls side by side, answers in this order."""
        ...

    async def stopped(self) -> bool:
        """Whether a person asked this run to stop; asked between turns."""
        ...

    async def steps_before(self) -> tuple[str, ...]:
        """Names of the turns whose answers stand in the thread's main conversation before this run, oldest first."""
        ...

    def least_output_tokens(self, models: Sequence[str]) -> int:
        """The longest answer that every one of these models can give."""
        ...

    async def newest_version(self, name: str) -> Draft | None:
        """The newest version of an artifact of the thread as it stands when this is first asked; None without one."""
        ...

    async def save_version(self, step: str, name: str, body: str, *, answer: Answer, reason: str) -> Draft:
        """Store a text that a model wrote as the next version of an artifact, which is made when it is new."""
        ...

    async def reviewers(self, count: int) -> tuple[str, ...]:
        """At most `count` models that took no part in the thread, as it stands when this is first asked."""
        ...

    async def differences(self, answers: Sequence[Answer]) -> tuple[ForcedDifference, ...]:
        """In what the AI inputs of these answers differed though they should be the same; by step."""
        ...

    async def publish(self, step: str, body: str, data: Mapping[str, Any]) -> None:
        """Post a result that the product worked out itself, and keep it with the run, in no conversation."""
        ...

    async def open_thread(self, step: str) -> None:
        """Open the run's thread on its platform, with the header of the branch as first post."""
        ...

    async def note_origin(self, step: str, told: Phrase, *, again: bool = False) -> None:
        """Tell the thread that the run's thread came from, a branch's parent or a handover's source, of it.

        With `again` a button opens it once more. The line is no part of a conversation.
        """
        ...


class HandoverContext(RunContext, Protocol):
    """What drafting sees besides, of a handover or of a review; steps within a workflow need none of it."""

    async def pins(self) -> tuple[Pin, ...]:
        """What is pinned in the thread as it stands when this is first asked, oldest first."""
        ...

    async def consult(self, ask: Ask) -> Answer:
        """As `answer`, for words that are not for the thread: nothing is posted, and the answer joins no conversation.

        The turn reaches to the thread's end: its `request` is the first message of a person, its window holds the
        newest messages, `spoken` all contributions (in a Compare the kept answers to the last question and their
        newest comparison), and its `pins` are read.
        """
        ...

    async def keep_draft(self, finish: Callable[[Turn], HandoverDraft]) -> None:
        """Store what `finish` makes of the turn that `consult` reads as the draft of the handover this run is for."""
        ...

    async def keep_review(self, finish: Callable[[Turn], ReviewDraft]) -> None:
        """Store what `finish` makes of the turn that `consult` reads as the review of the branch this run is for."""
        ...


class AdoptionContext(RunContext, Protocol):
    """What showing an adoption needs besides."""

    async def post_adoption(self, step: str) -> None:
        """Post the card of the request that this run is for, and remember where it stands."""
        ...

    async def close_adoption(self, step: str) -> None:
        """Bring the card up to date; after an approval post what the thread now holds, whole as a file."""
        ...


class SendingContext(RunContext, Protocol):
    """What telling of something that was sent needs besides."""

    async def tell(self, step: str, phrase: Phrase, *, link: ThreadId) -> None:
        """Post a line of the product in the run's thread, with a link to another one; no part of a conversation."""
        ...


class EvaluationContext(RunContext, Protocol):
    """What telling a thread of an evaluation needs besides."""

    async def post_evaluation(self) -> None:
        """Post the card of the evaluation that this run is for, as the first post of the thread where it opens one."""
        ...

    async def ask_people(self) -> None:
        """Post a card for the next questions that wait for a person and have none yet, as many as may stand at once."""
        ...

    async def show_evaluation(self) -> None:
        """Bring the card of the evaluation up to date, and that of the question that this run is for."""
        ...


class CarryingContext(HandoverContext, AdoptionContext, SendingContext, EvaluationContext, Protocol):
    """Everything that a run of any kind can ask for."""

    async def redraw(self, request_id: str, *, most: int) -> None:
        """Show the newest posts of the thread's answers as they stand now: of those to one message (root id), or, for
        an empty id, of all. A post that a platform does not show any more is passed over."""
        ...
