"""Comparisons of a candidate with its baseline: outcomes, confirmation, questions for people, the gate."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.eval_gate import (
    GateFacts,
    HumanVerdict,
    Judgement,
    Review,
    gate,
    questions,
    review,
)
from core.domain.evaluation import (
    CONFIRM_REPEATS,
    CaseRuns,
    CheckResult,
    CheckStatus,
    Comparison,
    Conditions,
    Outcome,
    Quarantine,
    Sample,
    Tally,
    chance_of_worse,
    compare,
)
from core.domain.view import Phrase
from core.i18n import LOCALES, phrase

TODAY = date(2026, 11, 30)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
REASON = Phrase(key="eval_check.schema_ok")
CONDITIONS = Conditions(
    set_name="s", set_sha256="0" * 64, repeats=3, checks_version=1, models=("m-2026-01-01",)
)


def sample(mark: str, output: str = "", *, latency_ms: int = 100, cost_usd: float | None = 0.01) -> Sample:
    """One call by its mark: `+` passed, `-` failed, `!` error in a check, `x` no answer, `?` for a person."""
    statuses = {"+": CheckStatus.PASS, "-": CheckStatus.FAIL, "!": CheckStatus.ERROR}
    checks = (CheckResult(name="c", status=statuses[mark], reason=REASON),) if mark in statuses else ()
    return Sample(
        output=output or mark,
        checks=checks,
        failure=Phrase(key="model_failure.timeout_total", fields={"model": "m"}) if mark == "x" else None,
        latency_ms=latency_ms,
        cost_usd=cost_usd,
    )


def runs(
    baseline: str, candidate: str, case_id: str = "c1", *, hard: bool = False, human: Sequence[str] = ()
) -> CaseRuns:
    return CaseRuns(
        case_id=case_id,
        baseline=tuple(sample(mark) for mark in baseline),
        candidate=tuple(sample(mark) for mark in candidate),
        hard=hard,
        human=tuple(human),
    )


def compared(*cases: CaseRuns, quarantine: Sequence[Quarantine] = ()) -> Comparison:
    return compare(cases, baseline=CONDITIONS, candidate=CONDITIONS, quarantine=quarantine, today=TODAY)


@pytest.mark.parametrize(
    ("baseline", "candidate", "outcome"),
    [
        ("+++", "+++", Outcome.UNCHANGED),
        ("---", "---", Outcome.UNCHANGED),
        ("???", "???", Outcome.UNCHANGED),
        ("---", "+++", Outcome.FIXED),
        ("-", "+", Outcome.FIXED),
        ("+++", "++-", Outcome.SUSPECTED),
        ("+++", "---", Outcome.SUSPECTED),
        ("+", "-", Outcome.SUSPECTED),
        ("++++++++", "--------", Outcome.BROKEN),
        ("++++++++", "++++----", Outcome.BROKEN),
        ("++++++++", "+++++---", Outcome.FLAKY),
        ("+++++++-", "++++++--", Outcome.FLAKY),
        ("++-", "++-", Outcome.FLAKY),
        ("++-", "+++", Outcome.FLAKY),
        ("--------", "+-++++-+", Outcome.FIXED),
        ("+++", "++!", Outcome.ERROR),
        ("++x", "+++", Outcome.ERROR),
        ("+++", "", Outcome.ERROR),
        ("", "+++", Outcome.ERROR),
    ],
)
def test_a_case_has_one_outcome(baseline: str, candidate: str, outcome: Outcome) -> None:
    (case,) = compared(runs(baseline, candidate)).cases
    assert case.outcome is outcome


def test_a_case_that_passes_with_other_words_is_different() -> None:
    case = CaseRuns(case_id="c", baseline=(sample("+", "old"),), candidate=(sample("+", "new"),))
    other = compared(case)
    assert other.cases[0].outcome is Outcome.DIFFERENT
    assert other.cases[0].changed == case.candidate


def test_only_what_did_worse_is_run_again_and_then_decided() -> None:
    first = compared(runs("+++", "++-", "worse"), runs("---", "+++", "better"), runs("+++", "+++", "same"))
    assert first.to_confirm == ("worse",)
    again = "+" * CONFIRM_REPEATS
    second = compared(runs("+++" + again, "++-" + again, "worse"))
    assert second.to_confirm == ()
    assert second.cases[0].outcome is Outcome.FLAKY


def test_a_case_whose_runs_say_nothing_is_not_run_again_for_ever() -> None:
    again = "?" * CONFIRM_REPEATS
    assert compared(runs("+++" + again, "---" + again)).to_confirm == ()


@pytest.mark.parametrize(
    ("baseline", "candidate", "chance"),
    [
        ((3, 3), (0, 3), 1 / 20),
        ((8, 8), (4, 8), comb(8, 4) / comb(16, 12)),
        ((8, 8), (8, 8), 1.0),
        ((0, 3), (3, 3), 1.0),
    ],
)
def test_chance_is_worked_out_exactly(
    baseline: tuple[int, int], candidate: tuple[int, int], chance: float
) -> None:
    def tally(pair: tuple[int, int]) -> Tally:
        return Tally(passed=pair[0], counted=pair[1])

    assert chance_of_worse(tally(baseline), tally(candidate)) == pytest.approx(chance)


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_a_chance_is_between_none_and_certain_and_grows_with_the_passes(
    before: int, after: int, data: st.DataObject
) -> None:
    baseline = Tally(passed=data.draw(st.integers(0, before)), counted=before)
    passed = data.draw(st.integers(0, after))
    chance = chance_of_worse(baseline, Tally(passed=passed, counted=after))
    assert 0 < chance <= 1 + 1e-9
    assert passed < after or chance == pytest.approx(1.0)


def test_flaky_before_is_quarantined_and_flaky_only_now_is_not() -> None:
    before, now = compared(runs("++-", "++-", "a"), runs("++++++++", "+++++++-", "b")).cases
    assert (before.outcome, before.quarantined) == (Outcome.FLAKY, True)
    assert (now.outcome, now.quarantined) == (Outcome.FLAKY, False)


def test_a_case_that_somebody_answers_for_does_not_gate_until_its_day() -> None:
    broken = runs("++++++++", "--------")
    held = Quarantine(case_id="c1", owner="Ann", until=TODAY)
    assert compared(broken, quarantine=[held]).cases[0].quarantined
    assert (
        not compared(broken, quarantine=[replace(held, until=TODAY - timedelta(days=1))]).cases[0].quarantined
    )
    assert not compared(replace(broken, hard=True), quarantine=[held]).cases[0].quarantined


def test_counts_name_every_outcome() -> None:
    counts = compared(runs("+", "+"), runs("-", "+", "b")).counts
    assert counts[Outcome.UNCHANGED] == counts[Outcome.FIXED] == 1
    assert set(counts) == set(Outcome)


@pytest.mark.parametrize(
    "changed",
    [
        {"set_sha256": "1" * 64},
        {"repeats": 4},
        {"checks_version": 2},
        {"params": {"temperature": 0.5}},
        {"models": ("other",)},
        {"set_name": "t"},
    ],
)
def test_other_conditions_have_another_hash(changed: dict[str, object]) -> None:
    other = replace(CONDITIONS, **changed)  # type: ignore[arg-type]
    assert other.sha256 != CONDITIONS.sha256
    assert not replace(compared(), candidate=other).is_comparable
    assert compared().is_comparable


# --- people ---------------------------------------------------------------------------------------------------------


def changed(case_id: str = "c1", *, human: Sequence[str] = (), mark: str = "+") -> CaseRuns:
    return CaseRuns(
        case_id=case_id, baseline=(sample(mark, "old"),), candidate=(sample(mark, "new"),), human=tuple(human)
    )


def test_a_person_is_asked_only_about_changed_outputs() -> None:
    comparison = compared(
        changed("with", human=["real", "clear"]),
        changed("without"),
        runs("+", "+", "same", human=["real"]),
        changed("unjudged", mark="?"),
        runs("-", "+", "fixed"),
        runs("x", "+", "error", human=["real"]),
    )
    assert [(one.case_id, one.criterion) for one in questions(comparison)] == [
        ("with", "real"),
        ("with", "clear"),
        ("unjudged", ""),
        ("fixed", ""),
    ]
    assert questions(comparison)[0].candidate.output == "new"


def test_of_a_case_that_did_worse_the_failing_output_is_shown_beside_a_passing_one() -> None:
    case = CaseRuns(
        case_id="c",
        baseline=(sample("-", "b1"), *(sample("+", "b2") for _ in range(7))),
        candidate=(sample("+", "c1"), *(sample("-", "c2") for _ in range(7))),
    )
    (one,) = questions(compared(case))
    assert (one.baseline.output, one.candidate.output) == ("b2", "c2")


def verdict(
    person: str, judgement: Judgement, *, output: str = "new", criterion: str = "real"
) -> HumanVerdict:
    return HumanVerdict(
        case_id="c1",
        criterion=criterion,
        output_sha256=sample("+", output).sha256,
        judgement=judgement,
        person=person,
    )


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ([], "open"),
        ([("ann", Judgement.PASS)], "passed"),
        ([("ann", Judgement.FAIL)], "failed"),
        ([("ann", Judgement.HOLD)], "open"),
        ([("author", Judgement.PASS)], "open"),
        ([("ann", Judgement.PASS), ("ben", Judgement.FAIL)], "disputed"),
        ([("ann", Judgement.PASS), ("ben", Judgement.FAIL), ("eve", Judgement.PASS)], "passed"),
        ([("ann", Judgement.PASS), ("ben", Judgement.FAIL), ("eve", Judgement.FAIL)], "failed"),
        ([("ann", Judgement.PASS), ("ann", Judgement.FAIL)], "failed"),
    ],
)
def test_a_question_is_settled_by_others_than_the_author(
    given: list[tuple[str, Judgement]], settled: str
) -> None:
    comparison = compared(changed(human=["real"]))
    found = review(comparison, [verdict(*one) for one in given], author="author")
    assert [name for name in ("open", "disputed", "passed", "failed") if getattr(found, name)] == [settled]


def test_in_a_workspace_of_one_the_author_s_word_counts() -> None:
    found = review(
        compared(changed(human=["real"])), [verdict("author", Judgement.PASS)], author="author", solo=True
    )
    assert found.passed
    assert not found.open


def test_a_verdict_holds_for_the_same_output_only() -> None:
    comparison = compared(changed(human=["real"]))
    for other in (verdict("ann", Judgement.PASS, output="x"), verdict("ann", Judgement.PASS, criterion="y")):
        assert review(comparison, [other], author="author").open


# --- gate -----------------------------------------------------------------------------------------------------------

OPEN = GateFacts(
    set_cases=20,
    prompt_cases=5,
    expected_cases=1,
    model_pinned=True,
    other_model="",
    moved=(),
    author="author",
    promoter="ann",
    solo=False,
    finished_at=NOW - timedelta(days=1),
    now=NOW,
    compared=("a", "b"),
    promoted=("a", "b"),
)
GOOD = compared(runs("+++", "+++"))


def reasons(
    comparison: Comparison = GOOD, reviewed: Review | None = None, *, facts: GateFacts = OPEN
) -> list[str]:
    found = gate(comparison, reviewed or Review(), facts)
    for locale in LOCALES:
        assert all(phrase(locale, one) for one in found)
    return [one.key.removeprefix("eval_gate.") for one in found]


def test_the_gate_is_open_when_nothing_stands_against_it() -> None:
    assert reasons() == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"set_cases": 19}, "too_few_cases"),
        ({"prompt_cases": 0}, "no_case_of_prompt"),
        ({"expected_cases": 2}, "unfinished"),
        ({"finished_at": None}, "unfinished"),
        ({"finished_at": NOW - timedelta(days=7, seconds=1)}, "too_old"),
        ({"model_pinned": False}, "floating_model"),
        ({"other_model": "demo-sage"}, "other_model"),
        ({"moved": ("alpha",)}, "model_moved"),
        ({"promoter": "author"}, "own_change"),
        ({"promoted": ("a", "c")}, "other_versions"),
        ({"promoted": ("z", "b")}, "other_versions"),
    ],
)
def test_each_fact_can_keep_the_gate_shut(changes: dict[str, object], reason: str) -> None:
    assert reasons(facts=replace(OPEN, **changes)) == [reason]  # type: ignore[arg-type]


def test_alone_one_may_promote_one_s_own_change() -> None:
    assert reasons(facts=replace(OPEN, promoter="author", solo=True)) == []


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (runs("++++++++", "--------"), ["broken"]),
        (runs("+++", "++-"), ["suspected"]),
        (runs("+++", "++x"), ["errors"]),
        (runs("++++++++", "+++++++-"), []),
        (runs("++++++++", "+++++++-", hard=True), ["hard"]),
        (runs("---", "---", hard=True), ["hard"]),
        (runs("+++", "++?", hard=True), ["hard"]),
        (runs("++-", "++-"), []),
        (runs("---", "+++"), []),
    ],
)
def test_what_became_of_the_cases_can_keep_the_gate_shut(case: CaseRuns, found: list[str]) -> None:
    assert reasons(compared(case)) == found


def test_a_quarantined_case_does_not_gate_and_an_error_does_all_the_same() -> None:
    held = [Quarantine(case_id="c1", owner="Ann", until=TODAY)]
    assert reasons(compared(runs("++++++++", "--------"), quarantine=held)) == []
    assert reasons(compared(runs("+++", "++x"), quarantine=held)) == ["errors"]


def test_other_conditions_keep_the_gate_shut() -> None:
    assert reasons(replace(GOOD, candidate=replace(CONDITIONS, repeats=5))) == ["conditions"]


def test_questions_that_are_open_disputed_or_failed_keep_the_gate_shut() -> None:
    comparison = compared(changed(human=["real"]))
    ann, ben = verdict("ann", Judgement.PASS), verdict("ben", Judgement.FAIL)
    for given_verdicts, expected in (
        ([], ["open_questions"]),
        ([ann, ben], ["open_questions"]),
        ([ben], ["failed_by_person"]),
        ([ann], []),
    ):
        assert reasons(comparison, review(comparison, given_verdicts, author="author")) == expected


def test_a_slower_or_dearer_candidate_keeps_the_gate_shut() -> None:
    def priced(latency_ms: int, cost_usd: float | None) -> Comparison:
        case = CaseRuns(
            case_id="c",
            baseline=(sample("+"),),
            candidate=(sample("+", latency_ms=latency_ms, cost_usd=cost_usd),),
        )
        return compared(case)

    assert reasons(priced(150, 0.015)) == []
    assert reasons(priced(151, 0.01)) == ["latency"]
    assert reasons(priced(100, 0.016)) == ["cost"]
    assert reasons(priced(100, None)) == []


def test_every_reason_is_told_at_once_with_the_cases_named() -> None:
    cases = [runs("++++++++", "--------", f"b{number}") for number in range(7)]
    found = gate(compared(*cases), Review(), replace(OPEN, model_pinned=False, promoter="author"))
    assert [one.key for one in found] == [
        "eval_gate.unfinished",
        "eval_gate.floating_model",
        "eval_gate.broken",
        "eval_gate.own_change",
    ]
    assert phrase("en", found[2]) == "7 cases passed before and fail now: b0, b1, b2, b3, b4, …."
