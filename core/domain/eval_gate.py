"""What people are asked about an evaluation, and whether its candidate may be promoted (spec §10)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from core.domain.evaluation import CaseComparison, Comparison, Outcome, Sample
from core.domain.view import Phrase

LEAST_CASES = 20
"""A smaller set is too small to gate by (spec §10)."""
MOST_AGE = timedelta(days=7)
"""An older evaluation says too little about the model as it answers by then."""
MOST_MORE = 0.5
"""By how much the candidate may be slower and dearer than the baseline: one half more."""
NAMED_CASES = 5
KEY_CHARS = 20

# --- people ---------------------------------------------------------------------------------------------------------


class Judgement(StrEnum):
    """What a person says to one condition; its button is `eval_judgement.<value>` of the catalogue."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    HOLD = "hold"
    """Not decided; the question stays open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanVerdict:
    """Kept by case, condition and output, so that the same output is never asked about twice."""

    case_id: str
    criterion: str
    output_sha256: str
    judgement: Judgement
    person: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One condition on one changed output, to be judged by a person."""

    case_id: str
    criterion: str
    """Empty where the case has none for a person: then the question is whether the output does what is asked."""
    baseline: Sample
    candidate: Sample
    verdicts: tuple[HumanVerdict, ...] = ()
    """Given so far."""

    @property
    def output_sha256(self) -> str:
        return self.candidate.sha256

    @property
    def key(self) -> str:
        """Short enough for a button, and the same whenever this is asked about this output."""
        content = "\n".join((self.case_id, self.output_sha256, self.criterion))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_CHARS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Every question of an evaluation, by what became of it."""

    open: tuple[Question, ...] = ()
    disputed: tuple[Question, ...] = ()
    """Two people said different things; a third decides. Not among the open ones."""
    passed: tuple[Question, ...] = ()
    failed: tuple[Question, ...] = ()

    @property
    def waiting(self) -> tuple[Question, ...]:
        """What a person still has to look at, disputed outputs first."""
        return (*self.disputed, *self.open)

    @property
    def asked(self) -> tuple[Question, ...]:
        """Every question there is."""
        return (*self.waiting, *self.passed, *self.failed)


def questions(comparison: Comparison) -> tuple[Question, ...]:
    """What a person has to look at: changed outputs with conditions for a person, without any condition that a machine
    could check, or where the sides passed differently often. One output a case, its conditions one by one."""
    found: list[Question] = []
    for case in comparison.cases:
        pair = case.telling
        if pair is None or case.held or case.outcome is Outcome.ERROR or not case.changed:
            continue
        unjudged = not case.candidate.counted
        if case.runs.human or unjudged or case.differs_in_passes:
            found += [
                Question(case_id=case.runs.case_id, criterion=criterion, baseline=pair[0], candidate=pair[1])
                for criterion in case.runs.human or ("",)
            ]
    return tuple(found)


def review(
    comparison: Comparison, verdicts: Sequence[HumanVerdict], *, author: str, solo: bool = False
) -> Review:
    """The questions by what people said. What the author of the change says counts in a `solo` workspace only.

    Verdicts are oldest first; the last of a person counts.
    """
    sorted_out: dict[str, list[Question]] = {"open": [], "disputed": [], "passed": [], "failed": []}
    for question in questions(comparison):
        given = tuple(one for one in verdicts if _answers(one, question) and (solo or one.person != author))
        last = {one.person: one for one in given}
        asked = Question(
            case_id=question.case_id,
            criterion=question.criterion,
            baseline=question.baseline,
            candidate=question.candidate,
            verdicts=tuple(last.values()),
        )
        sorted_out[_settled([one.judgement for one in last.values()])].append(asked)
    return Review(**{name: tuple(found) for name, found in sorted_out.items()})


def _answers(verdict: HumanVerdict, question: Question) -> bool:
    asked = (question.case_id, question.criterion, question.output_sha256)
    return (verdict.case_id, verdict.criterion, verdict.output_sha256) == asked


def _settled(judgements: Sequence[Judgement]) -> str:
    passed, failed = judgements.count(Judgement.PASS), judgements.count(Judgement.FAIL)
    if not passed and not failed:
        return "open"
    if passed == failed:
        return "disputed"
    # One against one is decided by a third person, and so by a majority of at least two.
    return "passed" if passed > failed else "failed"


# --- gate -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """What the gate has to know besides the comparison."""

    set_cases: int
    prompt_cases: int
    """Cases of the set that concern this prompt."""
    expected_cases: int
    """Cases that the evaluation was to run."""
    model_pinned: bool
    other_model: str
    """Model that answered the candidate where the candidate is not written for it; empty where it is."""
    moved: tuple[str, ...]
    """Models behind whose id another one stood in the course of the evaluation, or stands by now."""
    author: str
    promoter: str
    solo: bool
    """Nobody else in the workspace could verify it; recorded with the promotion."""
    finished_at: datetime | None
    """None while it is running."""
    now: datetime
    compared: tuple[str, str]
    """Content hashes of baseline and candidate that were run."""
    promoted: tuple[str, str]
    """Content hashes of what is live and of what is to be promoted."""


def gate(comparison: Comparison, reviewed: Review, facts: GateFacts) -> tuple[Phrase, ...]:
    """Every reason that keeps the gate shut, in the catalogue's words; none when it is open."""
    return tuple(
        reason
        for reason in (
            *_by_conditions(comparison, facts),
            *_by_cases(comparison),
            *_by_people(reviewed, facts),
            *_by_ratio(comparison),
        )
        if reason is not None
    )


Reasons = list[Phrase | None]


def _by_conditions(comparison: Comparison, facts: GateFacts) -> Reasons:
    done = len(comparison.cases)
    small = facts.set_cases < LEAST_CASES
    too_old = facts.finished_at is not None and facts.now - facts.finished_at > MOST_AGE
    whole = facts.finished_at is not None and done == facts.expected_cases
    return [
        None if comparison.is_comparable else Phrase(key="eval_gate.conditions"),
        None if facts.compared == facts.promoted else Phrase(key="eval_gate.other_versions"),
        None
        if whole
        else Phrase(key="eval_gate.unfinished", fields={"done": done, "all": facts.expected_cases}),
        Phrase(key="eval_gate.too_old", fields={"days": MOST_AGE.days}) if too_old else None,
        Phrase(key="eval_gate.too_few_cases", fields={"had": facts.set_cases, "least": LEAST_CASES})
        if small
        else None,
        None if facts.prompt_cases else Phrase(key="eval_gate.no_case_of_prompt"),
        None if facts.model_pinned else Phrase(key="eval_gate.floating_model"),
        Phrase(key="eval_gate.other_model", fields={"model": facts.other_model})
        if facts.other_model
        else None,
        Phrase(key="eval_gate.model_moved", fields={"models": ", ".join(facts.moved)})
        if facts.moved
        else None,
    ]


def _by_cases(comparison: Comparison) -> Reasons:
    gating = [case for case in comparison.cases if not case.quarantined]
    hard = [case for case in comparison.cases if case.runs.hard and not _always_passed(case)]
    broken = [case for case in gating if case.outcome is Outcome.BROKEN]
    suspected = [case for case in gating if case.outcome is Outcome.SUSPECTED]
    # A case that could not be run says nothing, whoever answers for it.
    errors = [case for case in comparison.cases if case.outcome is Outcome.ERROR]
    return [
        Phrase(key="eval_gate.errors", fields=_named(errors)) if errors else None,
        Phrase(key="eval_gate.broken", fields=_named(broken)) if broken else None,
        Phrase(key="eval_gate.suspected", fields=_named(suspected)) if suspected else None,
        Phrase(key="eval_gate.hard", fields=_named(hard)) if hard else None,
    ]


def _always_passed(case: CaseComparison) -> bool:
    return 0 < case.candidate.passed == len(case.runs.candidate)


def _named(cases: Sequence[CaseComparison]) -> Mapping[str, str | int]:
    return _few([case.runs.case_id for case in cases])


def _few(ids: Sequence[str]) -> Mapping[str, str | int]:
    shown = ", ".join(ids[:NAMED_CASES])
    return {"count": len(ids), "cases": f"{shown}, …" if len(ids) > NAMED_CASES else shown}


def _by_people(reviewed: Review, facts: GateFacts) -> Reasons:
    asked = [question.case_id for question in (*reviewed.open, *reviewed.disputed)]
    failed = [question.case_id for question in reviewed.failed]
    own = facts.promoter == facts.author and not facts.solo
    return [
        Phrase(key="eval_gate.open_questions", fields=_few(list(dict.fromkeys(asked)))) if asked else None,
        Phrase(key="eval_gate.failed_by_person", fields=_few(list(dict.fromkeys(failed))))
        if failed
        else None,
        Phrase(key="eval_gate.own_change") if own else None,
    ]


def _by_ratio(comparison: Comparison) -> Reasons:
    measured = (
        ("eval_gate.latency", comparison.median_latency_ms()),
        ("eval_gate.cost", comparison.mean_cost_usd()),
    )
    found: Reasons = []
    for key, (baseline, candidate) in measured:
        if baseline and candidate is not None and candidate > baseline * (1 + MOST_MORE):
            more = round((candidate / baseline - 1) * 100)
            found.append(Phrase(key=key, fields={"more": more, "limit": round(MOST_MORE * 100)}))
    return found
