"""Neutral views: what people are shown, before a platform renders it. All are frozen and close over their kinds.

A text that depends on the reader's language is a `Phrase`: a key of the catalogue and its fields. Buttons carry the id
of a row, never state; a click is decided from the database.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from core.domain.adoption import AdoptionStatus, Choice, ReviewTexts
from core.domain.feedback import Thumb
from core.domain.handover import DeliveryState, Field, FieldDelivery
from core.domain.ids import MessageId, ReceiptId, RunId, ThreadId
from core.domain.message import AuthorKind, Cut
from core.domain.receipt import CapApplied, InputPart, Omission, PromptRef, Usage
from core.domain.reported import ReportedModel
from core.domain.thread import Mode, Place, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A sentence of the catalogue in the reader's language."""

    key: str
    fields: Mapping[str, str | int | float] = field(default_factory=dict)


class ButtonAction(StrEnum):
    """What a button asks for; its label is `button.<value>` of the catalogue."""

    BRANCH = "branch"
    RETRY = "retry"
    OTHER_MODEL = "other_model"
    SHOW_INPUT = "show_input"
    STOP = "stop"
    STOP_ONE = "stop_one"
    """One answer among several of a run, which goes on."""
    STOP_RUN = "stop_run"
    """What STOP is called where a run has several answers."""
    KEEP_ANSWER = "keep_answer"
    COMPARE_ANSWERS = "compare_answers"
    VOTE = "vote"
    REVEAL = "reveal"
    REVIEW = "review"
    SAVE = "save"
    CONTINUE = "continue"
    """Hand over with one answer of a Compare in the centre."""
    CONTINUE_BEST = "continue_best"
    """Hand over with the answer in the centre that a Cross Review puts first."""
    HAND_OVER = "hand_over"
    START = "start"
    OPEN_AGAIN = "open_again"
    """Open the thread of a branch or handover that the platform did not open."""
    PIN = "pin"
    ADOPT = "adopt"
    APPROVE = "approve"
    REJECT = "reject"
    SHOW_CHANGES = "show_changes"
    WITHDRAW = "withdraw"
    EVAL_STOP = "eval_stop"
    EVAL_REPORT = "eval_report"
    """Send the whole comparison as a file to whoever asks for it."""
    EVAL_PASS = "eval_pass"  # noqa: S105
    EVAL_FAIL = "eval_fail"
    EVAL_HOLD = "eval_hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    action: ButtonAction
    ref: str
    """Id of the row it acts on."""


class AnswerState(StrEnum):
    QUEUED = "queued"
    WRITING = "writing"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """One answer of a model, from the first sign of life to its end."""

    run_id: RunId
    step: str
    model: str
    """Alias as people see it."""
    state: AnswerState
    text: str
    """As far as it is written; whole when the state is final."""
    label: Phrase | None = None
    """Which part of its run this is, where a run has several speakers."""
    message_id: MessageId | None = None
    position: int | None = None
    """Position in the conversation, counted from 1; None while unfinished or no longer the kept answer."""
    answers_id: MessageId | None = None
    kept: bool = True
    """False for an earlier answer that the history no longer keeps."""
    cut: Cut = Cut.NONE
    failure: Phrase | None = None
    receipt_id: ReceiptId | None = None
    usage: Usage | None = None
    omitted: int = 0
    """Messages that did not fit the window and were left out of the AI input."""
    shared_sha256: str = ""
    """Hash of what all candidates of a Compare were sent alike; empty elsewhere."""
    notices: tuple[Phrase, ...] = ()
    """What people should know beside the text, such as a file that could not be read."""
    demo: bool = False
    buttons: tuple[Button, ...] = ()
    feedback_ref: str = ""
    """What `give_feedback` is told to rate this answer; empty where there is nothing to rate."""
    thumb: Thumb | None = None
    """The reader's own feedback, where the view was made for one reader."""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentView:
    name: str
    size_bytes: int
    problem: Phrase | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """One message of a person or another bot."""

    message_id: MessageId
    author: str
    author_kind: AuthorKind
    text: str
    created_at: datetime
    position: int | None
    attachments: tuple[AttachmentView, ...] = ()
    mine: bool = False
    """The reader wrote it and may edit or delete it."""
    inherited: bool = False
    """Copied into this branch from its parent."""
    edited: bool = False
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    author: str
    text: str
    """Cut short, one paragraph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHeaderView:
    """First post of a branch: where it comes from and what it holds (spec §5)."""

    thread_id: ThreadId
    name: str
    reason: str
    parent_id: ThreadId
    parent_title: str
    parent_place: Place
    split_position: int
    inherited: int
    """Number of messages copied."""
    split_quote: Quote | None
    quotes: tuple[Quote, ...]
    """The last inherited messages, oldest first."""
    transcript: str
    """All inherited messages as Markdown, to be attached as a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeView:
    """A line of the product itself; not part of any conversation."""

    phrase: Phrase
    link: ThreadId | None = None
    link_place: Place | None = None
    """Where the linked thread lives, for platforms that link to places."""
    created_at: datetime | None = None
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadItem:
    """One line of the thread list; branches stand under their parent."""

    thread_id: ThreadId
    title: str
    branch_name: str
    mode: Mode
    status: Status
    depth: int
    place: Place
    busy: bool
    children: tuple["ThreadItem", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelItem:
    external_id: str
    name: str
    visibility: str
    """`public`, `private` or `direct`."""
    threads: tuple[ThreadItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    """A thread as one reader sees it: entries oldest first, notices and headers between them by time."""

    thread_id: ThreadId
    title: str
    branch_name: str
    mode: Mode
    status: Status
    depth: int
    place: Place
    model: str
    locale: str
    """The thread's language: posts are shown in it, the page around them in the reader's (spec §11)."""
    parent_id: ThreadId | None
    parent_title: str
    chain: tuple[str, ...]
    """Titles from the top-level thread down to this one."""
    items: tuple["ItemView", ...]
    earlier: int
    """Messages before the first one shown; ask for an earlier page to see them."""
    can_rename: bool
    targets: tuple[Mode, ...]
    """Modes in which the work may go on by handover, as the workspace allows them."""
    can_adopt: bool
    """It is a branch whose result may be asked into its parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptView:
    """ "Show AI input": exactly what one call sent, part by part."""

    receipt_id: ReceiptId
    thread_id: ThreadId
    model: str
    model_id: str
    reported_model_id: str
    parts: tuple[InputPart, ...]
    prompts: tuple[PromptRef, ...]
    caps: tuple[CapApplied, ...]
    omissions: tuple[Omission, ...]
    params: Mapping[str, float | int]
    input_sha256: str
    hash_matches: bool
    """The stored parts still hash to `input_sha256`; False when texts are gone."""
    estimate_tokens: int
    usage: Usage | None
    finish: str
    failure: Phrase | None
    reasoning: str
    duration_s: float
    created_at: datetime
    erased: bool
    """A person's content in it was erased."""
    expired: bool
    """Its texts were let go when the workspace's retention was over."""
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer had to satisfy; None for free text."""
    shared_sha256: str = ""
    """Hash of what all candidates of a Compare were sent alike; empty elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelItem:
    alias: str
    model_id: str
    demo: bool
    local: bool
    """The small model of this machine; whoever chooses it is told what it is worth."""
    context_tokens: int
    input_price: float | None
    output_price: float | None
    vision: bool
    trains_on_data: str
    fixed: bool
    """False for an id behind which another model can stand tomorrow."""
    reported: ReportedModel | None
    """What the provider said last; None before the first call."""
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionItem:
    """One version of an artifact in a list."""

    number: int
    author: str
    author_kind: AuthorKind
    reason: str
    chars: int
    sha256: str
    message_id: str | None
    receipt_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactItem:
    """One line of a thread's artifacts."""

    artifact_id: str
    thread_id: ThreadId
    name: str
    newest: VersionItem


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateView:
    """What a run that calls more than one model is expected to cost; shown and confirmed before it starts."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    """Of the calls whose price is known."""
    unpriced: tuple[str, ...]
    """Models whose price is not known and which `cost_usd` leaves out."""
    notes: tuple[Phrase, ...] = ()
    models: tuple[str, ...] = ()
    """Who would be called, where the product picks them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLine:
    """Calls, tokens and money of one day, model or person."""

    label: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int
    """Calls whose price is not known and which `cost_usd` leaves out."""


# --- handover and adoption ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkItem:
    """Something that stays reachable from a handover or a review: a thread, an artifact, a pinned reference."""

    label: str
    thread_id: ThreadId | None = None
    place: Place | None = None
    """Where the linked thread lives, for platforms that link to places."""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverHeaderView:
    """First post of a thread that came by handover: what is carried, what was cut, what stays behind (spec §9)."""

    thread_id: ThreadId
    target: Mode
    source: LinkItem
    source_mode: Mode
    summary: str
    open_questions: tuple[str, ...]
    constraints: tuple[str, ...]
    more: tuple[tuple[Field, str], ...]
    """The other fields that hold something, as text."""
    sent: tuple[Field, ...]
    """The fields that this mode receives; every other one is named as not carried."""
    caps: tuple[CapApplied, ...] = ()
    """What a cap cuts on the way."""
    left_out: tuple[str, ...] = ()
    """Items that a cap leaves out whole."""
    links: tuple[LinkItem, ...] = ()
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDelivery:
    """What one model received of a handover, looked up in the receipt of its first call."""

    model: str
    """Alias as people see it."""
    receipt_id: ReceiptId | None
    fields: tuple[FieldDelivery, ...]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "ModelDelivery":
        """What the store keeps of it."""
        return cls(
            model=raw["model"],
            receipt_id=ReceiptId(raw["receipt_id"]) if raw["receipt_id"] else None,
            fields=tuple(
                FieldDelivery(
                    field=Field(one["field"]),
                    state=DeliveryState(one["state"]),
                    caps=tuple(
                        CapApplied(name=name, limit=limit, had=had, kept=kept)
                        for name, limit, had, kept in one["caps"]
                    ),
                )
                for one in raw["fields"]
            ),
        )

    @property
    def missing(self) -> tuple[Field, ...]:
        """What it must have received and did not."""
        return tuple(one.field for one in self.fields if one.state is DeliveryState.MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryView:
    """The delivery line of a thread that came by handover. A missing field makes it a failure that cannot be missed."""

    thread_id: ThreadId
    target: Mode
    models: tuple[ModelDelivery, ...]

    @property
    def failed(self) -> bool:
        return any(one.missing for one in self.models)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedMessageView:
    """One message that an adoption would append, whole."""

    message_id: MessageId
    author: str
    author_kind: AuthorKind
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedLineView:
    """What an adoption would append to one conversation, in its order."""

    line: str
    """As people call it; empty where a thread has one line only."""
    whole: bool
    """The conversation exists in the branch only and is added whole."""
    messages: tuple[AdoptedMessageView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictItem:
    """An artifact that both threads have under one name, and the choice made for it."""

    artifact_id: str
    """The branch's."""
    name: str
    branch_version: int
    parent_version: int
    choice: Choice | None = None
    new_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionReviewView:
    """What the requester reads and edits before asking, and what Show changes opens later (spec §6)."""

    branch_id: ThreadId
    branch_name: str
    parent_id: ThreadId
    parent_title: str
    texts: ReviewTexts
    constraints: tuple[str, ...]
    """Pinned in the branch, to the letter; likewise the three below."""
    conclusions: tuple[str, ...]
    open_questions: tuple[str, ...]
    links: tuple[LinkItem, ...]
    lines: tuple[AdoptedLineView, ...]
    artifacts: int
    """Artifacts with something new of the branch's own."""
    conflicts: tuple[ConflictItem, ...]
    contradictions: tuple[str, ...] = ()
    """Points on which branch and parent disagree, as far as a model saw them; people decide."""
    notes: tuple[Phrase, ...] = ()
    adoption_id: str = ""
    """Empty before the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionCardView:
    """The card in the parent's thread; shown again from its state whenever that changes."""

    adoption_id: str
    status: AdoptionStatus
    branch: LinkItem
    parent_id: ThreadId
    requester: str
    reason: str
    texts: ReviewTexts
    messages: int
    artifacts: int
    conflicts: tuple[ConflictItem, ...]
    created_at: datetime
    """What was posted in the branch after this moment is not included."""
    expires_at: datetime
    decided_by: str = ""
    decided_at: datetime | None = None
    decision_reason: str = ""
    newer: int = 0
    """Messages in the branch since the request."""
    open_conflicts: tuple[str, ...] = ()
    """Names that came to be in both threads since the request and need a choice first."""
    quotes: tuple[Quote, ...] = ()
    """After an approval, the adopted messages cut short."""
    transcript: str = ""
    """After an approval, all of them as Markdown, to be attached as a file."""
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCardView:
    """An evaluation in the thread that tells of it: how far it is, and then what it found (spec §10)."""

    eval_id: str
    prompt: str
    baseline: str
    """How people call the version; likewise the candidate's."""
    candidate: str
    models: tuple[str, ...]
    """Baseline's and candidate's; one when they are the same."""
    eval_set: str
    who: str
    status: str
    """An `EvalStatus`; people read it as `eval_run_status.<value>` of the catalogue."""
    running: bool
    done: int
    """Calls whose results are stored."""
    expected: int
    """Calls without those that confirm."""
    cost_usd: float
    """What is known of the cost so far."""
    counts: tuple[tuple[str, int], ...] = ()
    """Cases by outcome, each `eval_outcome.<value>` of the catalogue; empty until it is done."""
    waiting: int = 0
    """Questions that wait for a person."""
    closed: tuple[Phrase, ...] = ()
    """Every reason that keeps the gate shut for whoever did not make the change."""
    failure: Phrase | None = None
    """Why it ended without all results."""
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one person said of an output."""

    who: str
    judgement: str
    """A `Judgement`; people read it as `eval_judgement.<value>` of the catalogue."""
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalQuestionView:
    """One condition on one changed output, put to people in the thread of its evaluation (spec §10)."""

    eval_id: str
    prompt: str
    case_id: str
    criterion: str
    """Empty: whether the output does what is asked."""
    shown_input: str
    baseline: str
    """The output of the baseline; empty where none came, likewise the candidate's."""
    candidate: str
    said: tuple[Said, ...] = ()
    disputed: bool = False
    """Two people said different things; a third decides."""
    buttons: tuple[Button, ...] = ()
    """None once people have decided."""


PageView = AnswerView | BranchHeaderView | NoticeView | HandoverHeaderView | DeliveryView | AdoptionCardView
"""What a page draws from rows besides people's messages."""

PostView = PageView | EvalCardView | EvalQuestionView
"""What a Poster can be asked to post."""

ItemView = MessageView | PageView
"""What a thread shows."""
