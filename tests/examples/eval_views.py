"""Evaluations as people see them, with hostile text wherever people's or models' text can stand."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

from core.domain.eval_gate import Judgement, Review
from core.domain.eval_run import (
    OPEN,
    EvalEstimate,
    EvalItem,
    EvalModel,
    EvalPage,
    EvalQuestion,
    EvalRequest,
    EvalStatus,
    Side,
)
from core.domain.eval_set import (
    EvalCaseView,
    EvalSetItem,
    EvalSetPage,
    EvalSetVersionView,
    HeldCase,
    LogCase,
    QuarantineKind,
)
from core.domain.evaluation import CaseRuns, CheckResult, CheckStatus, Comparison, Conditions, Sample, compare
from core.domain.receipt import PromptRef
from core.domain.view import (
    Button,
    ButtonAction,
    EvalCardView,
    EvalQuestionView,
    Phrase,
    PostView,
    Said,
)
from tests.examples.views import HOSTILE

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
PAST_WORDS = Phrase(key="eval_check.language_none", fields={})
FAILURE = Phrase(key="eval_failure.unusable", fields={"problem": HOSTILE})


def sample(output: str, status: CheckStatus = CheckStatus.PASS, failure: Phrase | None = None) -> Sample:
    check = CheckResult(name=HOSTILE, status=status, reason=PAST_WORDS)
    return Sample(output=output, checks=(check,), failure=failure, latency_ms=900, cost_usd=0.01)


def case(case_id: str, before: Sample, after: Sample, *, hard: bool = False) -> CaseRuns:
    return CaseRuns(
        case_id=case_id,
        baseline=(before,) * 8,
        candidate=(after,) * 8,
        hard=hard,
        human=(HOSTILE,),
        shown_input=HOSTILE,
    )


def comparison() -> Comparison:
    given = Conditions(set_name=HOSTILE, set_sha256="0" * 64, repeats=3, checks_version=1, models=(HOSTILE,))
    good, bad = sample(HOSTILE), sample(f"worse {HOSTILE}", CheckStatus.FAIL)
    runs = [
        case("broken", good, bad, hard=True),
        case("fixed", bad, good),
        case("different", good, sample("other")),
        case("unchanged", good, good),
        case("long", sample("word " * 5_000), sample("text " * 5_000)),
        case("failed", good, sample("", CheckStatus.ERROR, FAILURE)),
    ]
    return compare(runs, baseline=given, candidate=given, today=date(2026, 3, 2))


COMPARISON = comparison()
QUESTIONS = tuple(
    EvalQuestion(
        run_id="run-1",
        prompt="codraft.draft",
        case_id=f"case-{number}",
        criterion=criterion,
        output_sha256="0" * 64,
        shown_input=HOSTILE,
        baseline=sample("before"),
        candidate=sample(HOSTILE),
        disputed=disputed,
        mine=mine,
    )
    for number, (criterion, disputed, mine) in enumerate(
        ((HOSTILE, True, Judgement.HOLD), ("", False, None)), start=1
    )
)


def item(status: EvalStatus) -> EvalItem:
    done = status is EvalStatus.DONE
    return EvalItem(
        run_id="run-1",
        prompt="codraft.draft",
        baseline=PromptRef(name="codraft.draft", version="1.0.0", sha256="0" * 64),
        candidate=PromptRef(name="codraft.draft", version="1.1.0", sha256="1" * 64),
        baseline_model=HOSTILE,
        candidate_model="other" if done else HOSTILE,
        eval_set=HOSTILE,
        status=status,
        done=12,
        expected=120,
        who=HOSTILE,
        started_at=AT,
        finished_at=AT if done else None,
        cost_usd=0.12,
        counts=COMPARISON.counts if done else {},
        failure=FAILURE if status is EvalStatus.FAILED else None,
    )


def pages() -> Iterator[EvalPage]:
    for status in EvalStatus:
        closed = (Phrase(key="eval_gate.own_change", fields={}),)
        yield EvalPage(
            item=item(status),
            comparison=COMPARISON,
            review=Review(),
            closed=() if status is EvalStatus.DONE else closed,
            reported={Side.BASELINE: (HOSTILE,)},
            can_judge=status is EvalStatus.DONE,
            held={"broken": held(counts=False)},
            can_hold=True,
        )


REQUEST = EvalRequest(prompt="codraft.draft", candidate_id="id-1.3.0", model=HOSTILE, acknowledged=True)
ESTIMATES = tuple(
    EvalEstimate(
        eval_set=HOSTILE,
        cases=20,
        calls=120,
        most_calls=320,
        input_tokens=90_000,
        cost_usd=cost,
        models=tuple(
            EvalModel(alias=HOSTILE, id=HOSTILE, pinned=trains == "no", trains_on_data=trains)
            for trains in ("yes", "no", "unknown")
        ),
        from_logs=logs,
        masked={"personal.mail": 2} if logs else {},
        warnings=(Phrase(key="eval_warning.prompt_without_case", fields={"prompts": HOSTILE}),) * logs,
    )
    for cost, logs in ((0.42, 1), (None, 0))
)


def held(*, lifted: bool = False, counts: bool = True) -> HeldCase:
    return HeldCase(
        held_id="h1",
        eval_set=HOSTILE,
        case_id="broken",
        kind=QuarantineKind.WRONG,
        reason=HOSTILE,
        who=HOSTILE,
        owner_id="p1",
        since=AT,
        until=AT,
        lifted_at=AT if lifted else None,
        lifted_by=HOSTILE if lifted else "",
        counts=counts,
    )


LOG_CASE = LogCase(
    receipt_id="r1",
    thread_id="t1",
    prompt="chat.answer",
    eval_set=HOSTILE,
    is_new_set=True,
    sets=(HOSTILE,),
    case_id=HOSTILE,
    kind="past_failure",
    lines=((HOSTILE, HOSTILE), ("", HOSTILE)),
    masked={"personal.mail": 2},
    doubts=((Phrase(key="personal_doubt.seven_digits"), HOSTILE),),
    blind_spots=(Phrase(key="personal_blind.address"),),
    left_out=(Phrase(key="origin.attachment"),),
    sha256="0" * 64,
)


def eval_set_page(*, shipped: bool = False) -> EvalSetPage:
    """A workspace's own set with every kind of thing that people may have written in it, or a shipped one."""
    kept = EvalCaseView(
        case_id=HOSTILE,
        prompt=HOSTILE,
        kind="typical",
        hard=False,
        from_log=True,
        shown=HOSTILE,
        checks=(HOSTILE,),
        human=(HOSTILE,),
        held=(held(), held(lifted=True)),
        is_held=not shipped,
    )
    version = EvalSetVersionView(version=2, sha256="0" * 64, who=HOSTILE, reason=HOSTILE, saved_at=AT)
    item = EvalSetItem(
        name=HOSTILE,
        version=2,
        shipped=shipped,
        prompts=(HOSTILE, "chat.answer"),
        cases=1,
        kinds={"typical": 1},
        from_logs=1,
        warnings=(Phrase(key="eval_warning.prompt_without_case", fields={"prompts": HOSTILE}),),
        who="" if shipped else HOSTILE,
        reason="" if shipped else HOSTILE,
        saved_at=None if shipped else AT,
    )
    return EvalSetPage(item=item, cases=(kept,), versions=() if shipped else (version,), can_edit=not shipped)


# --- in chat --------------------------------------------------------------------------------------------------------

EVAL_ID = "0192f3a4-5b6c-7d8e-9f00-112233445566"


def card(status: EvalStatus) -> EvalCardView:
    running, done = status in OPEN, status is EvalStatus.DONE
    action = ButtonAction.EVAL_STOP if running else ButtonAction.EVAL_REPORT
    reasons = tuple(Phrase(key=f"eval_gate.{name}", fields={}) for name in ("conditions", "own_change"))
    return EvalCardView(
        eval_id=EVAL_ID,
        prompt="codraft.draft",
        baseline="1.0.0",
        candidate="1.1.0",
        models=(HOSTILE, "other"),
        eval_set=HOSTILE,
        who=HOSTILE,
        status=status.value,
        running=running,
        done=1_200,
        expected=12_000,
        cost_usd=0.12,
        counts=() if running else tuple((one.value, n) for one, n in COMPARISON.counts.items()),
        waiting=12 if done else 0,
        closed=() if done else reasons,
        failure=FAILURE if status is EvalStatus.FAILED else None,
        buttons=(Button(action=action, ref=EVAL_ID),),
    )


def question(output: str, *, said: int = 0, decided: bool = False) -> EvalQuestionView:
    actions = (ButtonAction.EVAL_PASS, ButtonAction.EVAL_FAIL, ButtonAction.EVAL_HOLD)
    return EvalQuestionView(
        eval_id=EVAL_ID,
        prompt="codraft.draft",
        case_id="case-with-a-long-name",
        criterion=HOSTILE * 2 if said else "",
        shown_input=output,
        baseline=output,
        candidate=output if decided else "",
        said=(Said(who=HOSTILE, judgement="fail", comment=HOSTILE * 10),) * said,
        disputed=said > 1 and not decided,
        buttons=() if decided else tuple(Button(action=one, ref=f"{EVAL_ID}/{'f' * 20}") for one in actions),
    )


LONG_OUTPUT = f"{HOSTILE}\n日本語 👍 & <b>\n" * 400
CARDS: dict[str, PostView] = {
    **{f"eval_{status.value}": card(status) for status in EvalStatus},
    "eval_question": question("before"),
    "eval_question_hostile": question(HOSTILE, said=2),
    "eval_question_long": question(LONG_OUTPUT, said=5),
    "eval_question_decided": question(LONG_OUTPUT, said=1, decided=True),
}
