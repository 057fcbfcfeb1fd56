"""Evaluations as people start, watch and judge them (spec §10).

An evaluation compares two versions of a prompt under one model, or two models under one version; each case of the
prompt's eval set runs on both sides, side by side, under the same conditions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from core.domain.eval_gate import Judgement, Review
from core.domain.eval_set import HeldCase
from core.domain.evaluation import Comparison, Outcome, Sample
from core.domain.ids import ThreadId
from core.domain.receipt import PromptRef
from core.domain.view import Phrase

USUAL_REPEATS = 3
"""Runs of a case on either side: the fewest with which a case that fails at times is seen to."""
MOST_REPEATS = 10
MAX_COMMENT_CHARS = 500


class EvalStatus(StrEnum):
    """People read it as `eval_run_status.<value>` of the catalogue."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


OPEN = (EvalStatus.QUEUED, EvalStatus.RUNNING)


class Side(StrEnum):
    BASELINE = "baseline"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRequest:
    """What is to be compared: two versions of a prompt, or with `candidate_model` two models."""

    prompt: str
    candidate_id: str
    """Version to be tried; SHIPPED for the file of this release."""
    baseline_id: str | None = None
    """Version to compare it with; None for the live one."""
    model: str = ""
    """Alias for both sides, or for the baseline when models are compared; empty takes the usual one."""
    candidate_model: str = ""
    """Alias for the candidate; empty for the same as `model`."""
    repeats: int = USUAL_REPEATS
    acknowledged: bool = False
    """The person was shown that the provider may train on what is sent, and that cases come from real threads."""
    channel: str = ""
    """Channel that is told of it in a thread of its own; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalModel:
    """One of the models that cases would be sent to."""

    alias: str
    id: str
    pinned: bool
    """False for an id behind which another model can stand tomorrow; then the gate stays shut."""
    trains_on_data: str
    """`yes`, `no` or `unknown`; people read it as `eval_trains.<value>` of the catalogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalEstimate:
    """What an evaluation would do, before anything leaves."""

    eval_set: str
    cases: int
    calls: int
    most_calls: int
    """When every case has to be run again to confirm that it got worse."""
    input_tokens: int
    """Of `calls`, estimated."""
    cost_usd: float | None
    """Of `calls`, estimated; None when a price is not known."""
    models: tuple[EvalModel, ...]
    """Baseline's and candidate's; one when they are the same."""
    from_logs: int
    """Cases that come from real threads."""
    masked: Mapping[str, int] = field(default_factory=dict)
    """Personal data replaced in them before they leave: how often, by `personal.<kind>` of the catalogue."""
    warnings: tuple[Phrase, ...] = ()
    """What the eval set should be and is not."""

    @property
    def needs_acknowledgement(self) -> bool:
        """Cases from real threads would go where they may be trained on."""
        return self.from_logs > 0 and any(model.trains_on_data != "no" for model in self.models)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalItem:
    """One line of the list of evaluations."""

    run_id: str
    prompt: str
    baseline: PromptRef
    candidate: PromptRef
    baseline_model: str
    candidate_model: str
    """Aliases; the same unless models are compared."""
    eval_set: str
    status: EvalStatus
    done: int
    """Calls whose results are stored."""
    expected: int
    """Calls without those that confirm."""
    who: str
    """Empty for the operator's own command."""
    started_at: datetime
    finished_at: datetime | None
    cost_usd: float
    """What is known of the cost so far."""
    counts: Mapping[Outcome, int]
    """Cases by outcome; empty until it is done."""
    failure: Phrase | None = None
    """Why it ended without all results."""
    thread_id: ThreadId | None = None
    """The thread that is told of it."""

    @property
    def compares_models(self) -> bool:
        return self.baseline_model != self.candidate_model


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPage:
    """One evaluation, whole."""

    item: EvalItem
    comparison: Comparison
    """Of the cases that have results on both sides."""
    review: Review
    closed: tuple[Phrase, ...]
    """Every reason that keeps the gate shut; empty when the candidate may be made live by it."""
    reported: Mapping[Side, tuple[str, ...]]
    """Model ids that the provider reported, as far as it reported any."""
    can_judge: bool
    """The reader may judge outputs of this evaluation."""
    held: Mapping[str, HeldCase] = field(default_factory=dict)
    """Cases that people set aside, by id."""
    can_hold: bool = False
    """The reader may set cases aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalQuestion:
    """One condition on one changed output, as a person is asked about it."""

    run_id: str
    prompt: str
    case_id: str
    criterion: str
    """Empty: whether the output does what is asked."""
    output_sha256: str
    shown_input: str
    baseline: Sample
    candidate: Sample
    disputed: bool
    """Two people said different things; a third decides."""
    mine: Judgement | None
    """What the reader said so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRequest:
    run_id: str
    case_id: str
    criterion: str
    output_sha256: str
    judgement: Judgement
    comment: str = ""
    """Required with FAIL."""
