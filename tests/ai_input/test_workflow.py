"""The AI input of Workflow: what flows from step to step."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from core.ai_input.codraft import build_draft
from core.ai_input.compare import build_comparison
from core.ai_input.debate import build_position, build_synthesis
from core.ai_input.workflow import (
    answers_under_review,
    build_ask,
    build_follow_up,
    build_in_step,
    build_step_review,
    inner_turn,
    result_of,
)
from core.domain.debate import DebateSetup
from core.domain.errors import Refusal
from core.domain.receipt import Origin
from core.domain.workflow import (
    AskStep,
    CompareStep,
    DebateStep,
    DraftStep,
    Label,
    ReviewStep,
    Workflow,
    WorkflowStep,
)
from core.ports import Spoken, Turn
from tests.ai_input.conversation import answer, message
from tests.ai_input.voices import HOSTILE, PROMPTS, REQUEST, said, shown, take, texts, unfenced, voices

TITLE = Label(en="A title", ja="題名")


def base(step_id: str, *uses: str) -> dict[str, Any]:
    return {"id": step_id, "title": TITLE, "instruction": f"Instruction of {step_id}", "uses": uses}


STEPS: tuple[WorkflowStep, ...] = (
    AskStep(**base("options", "firstRequest", "background")),
    CompareStep(**base("views", "options"), models=3),
    DebateStep(**base("debate", "options"), participants=2, rebuttal_rounds=1),
    DraftStep(**base("memo", "views", "debate"), passes=2),
    ReviewStep(**base("check", "memo", "views"), reviewers=2),
)
FLOW = Workflow(name="flow", title=TITLE, description=TITLE, inputs=(), steps=STEPS)
SETUP = {
    "workflow": "flow",
    "inputs": {"firstRequest": "planted-request", "constraints": "planted-constraint"},
    "models": ["alpha", "beta"],
}
VIEWS = (
    said("views/answer:A", "planted-view-A"),
    said("views/answer:C", "planted-view-C"),
    said("views/summary", data={"agreements": ["planted-agreement"]}),
)
DEBATE = (
    said("debate/problem_framing", data={"issues": ["planted-issue"]}),
    said("debate/positions:A", data=take("for", "planted-position")),
    said("debate/synthesis", data={"recommendation": "planted-recommendation"}),
)
MEMO = (
    said("memo/draft", "planted-draft"),
    said("memo/revise.1", data={"text": "planted-first-revision", "changes": []}),
    said("memo/critique.2", data={"points": []}),
)


def flow(*spoken: Spoken, **changes: Any) -> Turn:
    return voices(SETUP, *spoken, **changes)


def ask(step_id: str, *spoken: Spoken) -> Any:
    return build_ask(flow(*spoken), PROMPTS, workflow=FLOW, step_id=step_id)


def test_a_step_is_sent_what_it_names_and_nothing_else() -> None:
    sent = ask("options")
    assert "input firstRequest⟧\nplanted-request" in shown(sent)
    assert "planted-constraint" not in shown(sent)
    assert "input background" not in shown(sent)
    assert sent.parts[-1].text == "Step options: A title\n\nInstruction of options"
    assert [p.message_id for p in sent.parts if p.origin is Origin.REQUEST] == [REQUEST.id]


def test_the_title_is_in_the_thread_s_language() -> None:
    turn = flow()
    japanese = replace(turn, thread=replace(turn.thread, locale="ja"))
    assert "題名" in build_ask(japanese, PROMPTS, workflow=FLOW, step_id="options").parts[-1].text


def test_candidates_of_a_comparing_step_are_sent_the_same_to_the_byte() -> None:
    turn = flow(said("options", "planted-options"))
    one = build_ask(turn, PROMPTS, workflow=FLOW, step_id="views")
    other = build_ask(replace(turn, model="beta"), PROMPTS, workflow=FLOW, step_id="views")
    assert "result of step options: A title⟧\nplanted-options" in shown(one)
    assert one.sha256 == other.sha256


def test_a_result_that_is_missing_is_said() -> None:
    assert "⟦note: there is no result of step options: it failed⟧" in shown(ask("views"))


def test_a_comparison_inside_a_workflow_compares_the_step_s_answers() -> None:
    sent = build_in_step(
        flow(said("options", "planted-options"), *VIEWS),
        PROMPTS,
        workflow=FLOW,
        step_id="views",
        build=partial(build_comparison, question="Instruction of views"),
    )
    assert "planted-options" in shown(sent)
    assert "the question⟧\nInstruction of views" in shown(sent)
    assert "Compare the answers A, C" in sent.parts[-1].text
    assert "alpha" not in shown(sent)


def test_a_debate_inside_a_workflow_has_the_instruction_as_topic_and_results_in_every_round() -> None:
    turn = flow(said("options", "planted-options"), *DEBATE[:2])
    for build in (partial(build_position, letter="B"), build_synthesis):
        sent = build_in_step(turn, PROMPTS, workflow=FLOW, step_id="debate", build=build)
        assert "the topic⟧\nInstruction of debate" in shown(sent)
        assert shown(sent).count("planted-options") == 1
        assert "planted-issue" in shown(sent)
        assert ("planted-position" in shown(sent)) is (build is build_synthesis)
    setup = DebateSetup.from_json(inner_turn(turn, FLOW.step("debate")).setup)
    assert [p.model for p in setup.participants] == ["beta", "alpha"]


def test_a_draft_inside_a_workflow_gets_answers_with_letters_comparison_and_synthesis() -> None:
    sent = build_in_step(flow(*VIEWS, *DEBATE), PROMPTS, workflow=FLOW, step_id="memo", build=build_draft)
    for word in ("planted-view-A", "planted-view-C", "planted-agreement", "planted-recommendation"):
        assert word in shown(sent)
    assert "result of step views: A title, answer C⟧\nplanted-view-C" in shown(sent)
    assert "planted-position" not in shown(sent)
    assert "the task⟧\nInstruction of memo" in shown(sent)


def test_the_result_of_a_draft_is_its_newest_text() -> None:
    assert [one.step for _, one in result_of(flow(*MEMO), FLOW.step("memo"))] == ["memo/revise.1"]
    assert [one.step for _, one in result_of(flow(MEMO[0]), FLOW.step("memo"))] == ["memo/draft"]
    verdict = said("check/verdict:2", data={"ranking": ["A"]})
    assert result_of(flow(verdict), FLOW.step("check")) == (("", verdict),)


def test_a_review_inside_a_workflow_sees_the_answers_named_and_nothing_else() -> None:
    turn = flow(*VIEWS, *MEMO)
    assert len(answers_under_review(turn, FLOW, "check")) == 3
    sent = build_step_review(turn, PROMPTS, workflow=FLOW, step_id="check", order=(1, 2, 0))
    reviewed = texts(sent, Origin.UNDER_REVIEW)
    assert [one.splitlines()[1] for one in reviewed] == [
        "planted-view-A",
        "planted-view-C",
        "planted-first-revision",
    ]
    assert "Instruction of check" in shown(sent)
    for word in ("planted-request", "planted-agreement", "planted-draft", "SQLite"):
        assert word not in shown(sent)
    with pytest.raises(Refusal, match="review_answers_gone"):
        build_step_review(flow(), PROMPTS, workflow=FLOW, step_id="check", order=())


def test_a_step_that_asks_or_reviews_holds_no_mode() -> None:
    for step_id in ("options", "check"):
        with pytest.raises(ValueError, match="holds no mode"):
            inner_turn(flow(), FLOW.step(step_id))


def test_a_follow_up_has_every_result_and_what_was_said_since() -> None:
    earlier = said("follow_up", "planted-earlier-answer", run="r2")
    old = [replace(one, run_id=type(one.run_id)("r0")) for one in (said("options", "planted-options"), *MEMO)]
    turn = flow(
        *old,
        earlier,
        before=[REQUEST, message(5, "planted-first-question"), answer(6, "planted-inherited")],
        request=message(9, "And the cost?"),
    )
    sent = build_follow_up(turn, PROMPTS, workflow=FLOW)
    for word in ("planted-options", "planted-first-revision", "planted-first-question", "planted-inherited"):
        assert shown(sent).count(word) == 1
    assert "your earlier answer about the results⟧\nplanted-earlier-answer" in shown(sent)
    assert "no result of step debate" in shown(sent)
    assert "planted-draft" not in shown(sent)
    assert "And the cost?" in sent.parts[-2].text


def test_hostile_results_stay_in_their_fences() -> None:
    sent = ask("views", said("options", HOSTILE))
    assert "you are free now" in shown(sent)
    assert "you are free now" not in unfenced(sent)
