"""What an evaluation of a prompt found, and how a candidate compares with its baseline (spec §10).

Both sides run in one evaluation under the same conditions, each case `repeats` times. Where a case did worse, both
are run again, and only a difference that chance hardly makes counts as broken. An error is neither a pass nor a fail.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from math import comb
from statistics import fmean, median
from typing import Any

from core.domain.setup import Json
from core.domain.view import Phrase

CONFIRM_REPEATS = 5
"""Runs added on both sides of a case that did worse, before it counts as broken."""

SIGNIFICANCE = 0.05
"""One-sided. With three runs a side and five more, about 1 evaluation in 20 of an unchanged prompt raises an alarm."""


class CheckStatus(StrEnum):
    """People read it as `eval_status.<value>` of the catalogue."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    ERROR = "error"
    """It could not be found out; says nothing about the output."""
    NEEDS_HUMAN = "needs_human"
    """No machine condition says anything about it."""
    SKIPPED = "skipped"
    """There was nothing to look at, such as a price that nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    name: str
    """Kind of the check; after an `@` the part of the output that it looked at."""
    status: CheckStatus
    reason: Phrase
    """One sentence that names what was found."""

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "status": self.status.value,
            "key": self.reason.key,
            "fields": dict(self.reason.fields),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "CheckResult":
        """What `to_json` wrote."""
        return cls(
            name=raw["name"],
            status=CheckStatus(raw["status"]),
            reason=Phrase(key=raw["key"], fields=raw["fields"]),
        )


def output_sha256(output: str) -> str:
    """By which outputs are the same; verdicts of people are kept under it."""
    return hashlib.sha256(output.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One call: one case on one side, once."""

    output: str
    checks: tuple[CheckResult, ...]
    failure: Phrase | None = None
    """Why no whole answer came; None when one did."""
    latency_ms: int | None = None
    cost_usd: float | None = None
    """None when no price is known."""

    @property
    def sha256(self) -> str:
        return output_sha256(self.output)

    @property
    def status(self) -> CheckStatus:
        found = {check.status for check in self.checks}
        if self.failure is not None or CheckStatus.ERROR in found:
            return CheckStatus.ERROR
        for status in (CheckStatus.FAIL, CheckStatus.PASS):
            if status in found:
                return status
        return CheckStatus.NEEDS_HUMAN


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRuns:
    """All that was run of one case."""

    case_id: str
    baseline: tuple[Sample, ...]
    candidate: tuple[Sample, ...]
    hard: bool = False
    """The candidate must pass it every time."""
    human: tuple[str, ...] = ()
    """Conditions for a person."""
    shown_input: str = ""
    """What people read of its input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What must be equal on both sides besides what is compared; prompt or model, one of them, differs."""

    set_name: str
    set_sha256: str
    repeats: int
    checks_version: int
    """`core.prompts.eval_check.CHECKS_VERSION` at the time."""
    params: Mapping[str, float | int] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    """Model ids: one when versions are compared, baseline's and candidate's when models are."""

    @property
    def sha256(self) -> str:
        content = {
            "set": [self.set_name, self.set_sha256],
            "repeats": self.repeats,
            "checks": self.checks_version,
            "params": dict(sorted(self.params.items())),
            "models": list(self.models),
        }
        return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> Json:
        return {
            "set_name": self.set_name,
            "set_sha256": self.set_sha256,
            "repeats": self.repeats,
            "checks_version": self.checks_version,
            "params": dict(self.params),
            "models": list(self.models),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Conditions":
        """What `to_json` wrote."""
        return cls(**{**raw, "models": tuple(raw["models"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A case that somebody answers for and that does not gate until a day; a hard case gates all the same."""

    case_id: str
    owner: str
    until: date
    """The last day on which it holds."""


# --- one case -------------------------------------------------------------------------------------------------------


class Outcome(StrEnum):
    """People read it as `eval_outcome.<value>` of the catalogue; in the order in which reports show them."""

    BROKEN = "broken"
    """Passed less often than before, and chance hardly makes such a difference."""
    SUSPECTED = "suspected"
    """Passed less often; both sides have to be run again before it says anything."""
    ERROR = "error"
    FLAKY = "flaky"
    """Passed at times on one side, and nothing more can be said."""
    FIXED = "fixed"
    """Never passed before and passes every time, or passes more often than chance makes it."""
    DIFFERENT = "different"
    """As good as before by the machine's conditions, with other outputs."""
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How often a side passed, out of the runs that passed or failed."""

    passed: int
    counted: int

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "Tally":
        statuses = [sample.status for sample in samples]
        passed = statuses.count(CheckStatus.PASS)
        return cls(passed=passed, counted=passed + statuses.count(CheckStatus.FAIL))

    @property
    def is_mixed(self) -> bool:
        return 0 < self.passed < self.counted

    def __str__(self) -> str:
        return f"{self.passed}/{self.counted}"


def chance_of_worse(baseline: Tally, candidate: Tally) -> float:
    """Fisher's exact test, one-sided: how likely the candidate passes this seldom when both sides are equally good."""
    passed, runs = baseline.passed + candidate.passed, baseline.counted + candidate.counted
    least = max(passed - baseline.counted, 0)
    ways = sum(
        comb(candidate.counted, count) * comb(baseline.counted, passed - count)
        for count in range(least, candidate.passed + 1)
    )
    return ways / comb(runs, passed)


def is_worse(baseline: Tally, candidate: Tally) -> bool:
    """Whether the candidate passed less often, as a share of its runs."""
    return candidate.passed * baseline.counted < baseline.passed * candidate.counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseComparison:
    runs: CaseRuns
    outcome: Outcome
    quarantined: bool
    """Visible and not gating: it was flaky before, or somebody answers for it."""
    held: bool = False
    """Somebody answers for it, so people are not asked about its outputs either."""

    @property
    def baseline(self) -> Tally:
        return Tally.of(self.runs.baseline)

    @property
    def candidate(self) -> Tally:
        return Tally.of(self.runs.candidate)

    @property
    def differs_in_passes(self) -> bool:
        """Whether the sides passed a different share of their runs."""
        baseline, candidate = self.baseline, self.candidate
        return is_worse(baseline, candidate) or is_worse(candidate, baseline)

    @property
    def changed(self) -> tuple[Sample, ...]:
        """The candidate's samples with an output that the baseline never gave."""
        known = {sample.sha256 for sample in self.runs.baseline}
        return tuple(sample for sample in self.runs.candidate if sample.sha256 not in known)

    @property
    def telling(self) -> tuple[Sample, Sample] | None:
        """The pair to lay side by side: baseline and candidate, where they differ most; None without a pair."""
        if not self.runs.baseline or not self.runs.candidate:
            return None
        worse = is_worse(self.baseline, self.candidate)
        wanted = CheckStatus.FAIL if worse else CheckStatus.PASS
        before = CheckStatus.PASS if worse else CheckStatus.FAIL
        pool = self.changed or self.runs.candidate
        return _first(self.runs.baseline, before), _first(pool, wanted)


def _first(samples: Sequence[Sample], status: CheckStatus) -> Sample:
    return next((sample for sample in samples if sample.status is status), samples[0])


def _outcome(runs: CaseRuns, repeats: int) -> Outcome:
    samples = (*runs.baseline, *runs.candidate)
    if not runs.baseline or not runs.candidate or any(s.status is CheckStatus.ERROR for s in samples):
        return Outcome.ERROR
    baseline, candidate = Tally.of(runs.baseline), Tally.of(runs.candidate)
    if baseline.counted and candidate.counted:
        if is_worse(baseline, candidate):
            if min(len(runs.baseline), len(runs.candidate)) < repeats + CONFIRM_REPEATS:
                return Outcome.SUSPECTED
            confirmed = chance_of_worse(baseline, candidate) < SIGNIFICANCE
            return Outcome.BROKEN if confirmed else Outcome.FLAKY
        if is_worse(candidate, baseline):
            whole = baseline.passed == 0 and candidate.passed == candidate.counted
            fixed = whole or chance_of_worse(candidate, baseline) < SIGNIFICANCE
            return Outcome.FIXED if fixed else Outcome.FLAKY
        if baseline.is_mixed:
            return Outcome.FLAKY
    known = {sample.sha256 for sample in runs.baseline}
    same = all(sample.sha256 in known for sample in runs.candidate)
    return Outcome.UNCHANGED if same else Outcome.DIFFERENT


# --- all cases ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Baseline and candidate side by side."""

    baseline: Conditions
    candidate: Conditions
    cases: tuple[CaseComparison, ...]
    """In the order of the set."""

    @property
    def is_comparable(self) -> bool:
        """Whether both sides ran under the same conditions."""
        return self.baseline.sha256 == self.candidate.sha256

    def of(self, outcome: Outcome) -> tuple[CaseComparison, ...]:
        return tuple(case for case in self.cases if case.outcome is outcome)

    @property
    def counts(self) -> Mapping[Outcome, int]:
        return {outcome: len(self.of(outcome)) for outcome in Outcome}

    @property
    def to_confirm(self) -> tuple[str, ...]:
        """Ids of cases to run `CONFIRM_REPEATS` more times on both sides."""
        return tuple(case.runs.case_id for case in self.of(Outcome.SUSPECTED))

    def median_latency_ms(self) -> tuple[float | None, float | None]:
        """Of baseline and candidate; None where nothing was measured."""
        return _pair(self.cases, lambda sample: sample.latency_ms, median)

    def mean_cost_usd(self) -> tuple[float | None, float | None]:
        """Of one call on either side; None where no price is known."""
        return _pair(self.cases, lambda sample: sample.cost_usd, fmean)


def compare(
    runs: Sequence[CaseRuns],
    *,
    baseline: Conditions,
    candidate: Conditions,
    quarantine: Sequence[Quarantine] = (),
    today: date,
) -> Comparison:
    """What became of each case, in the order of `runs`; samples are oldest first."""
    held = {one.case_id for one in quarantine if today <= one.until}
    cases = []
    for one in runs:
        outcome = _outcome(one, candidate.repeats)
        shaky = outcome is Outcome.FLAKY and Tally.of(one.baseline).is_mixed
        aside = one.case_id in held and not one.hard
        quarantined = aside or (shaky and not one.hard)
        cases.append(CaseComparison(runs=one, outcome=outcome, quarantined=quarantined, held=aside))
    return Comparison(baseline=baseline, candidate=candidate, cases=tuple(cases))


Measured = Callable[[Sample], float | None]


def _pair(
    cases: Sequence[CaseComparison], measured: Measured, middle: Callable[[Sequence[float]], float]
) -> tuple[float | None, float | None]:
    sides = (
        [measured(sample) for case in cases for sample in case.runs.baseline],
        [measured(sample) for case in cases for sample in case.runs.candidate],
    )
    known = [[value for value in side if value is not None] for side in sides]
    baseline, candidate = (middle(side) if side else None for side in known)
    return baseline, candidate
