"""The setups of the modes: what they take, what they refuse, and with which words."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from core.domain.codraft import CoDraftSetup
from core.domain.compare import CompareSetup
from core.domain.debate import (
    DEFAULT_ROLES,
    DebateRole,
    DebateSetup,
    RoundKind,
    participants_of,
    rebuttals_in,
)
from core.domain.errors import Refusal
from core.domain.review import ReviewSetup
from core.domain.setup import repeated, spread
from core.domain.workflow import (
    AskStep,
    CompareStep,
    DebateStep,
    DraftStep,
    Label,
    ReviewStep,
    StepKind,
    Workflow,
    WorkflowInput,
    WorkflowSetup,
    codraft_setup,
    compare_setup,
    debate_setup,
    kind_of,
)
from core.i18n import refusal

LABEL = Label(en="Title", ja="題")
STEP: dict[str, Any] = {"id": "s", "title": LABEL, "instruction": "Do it", "uses": ()}
WORKFLOWS = {
    "memo": Workflow(
        name="memo",
        title=LABEL,
        description=LABEL,
        inputs=(
            WorkflowInput(name="firstRequest", title=LABEL, required=True),
            WorkflowInput(name="background", title=LABEL, required=False),
        ),
        steps=(AskStep(**STEP),),
    )
}
COMPARE = {"models": ["a", "b"], "blind": True}
DEBATE = {
    "topic": "SQLite or Postgres?",
    "background": "Budget 300 EUR",
    "participants": [{"model": "a"}, {"model": "b", "role": "analyst"}],
    "moderator": "m",
    "rebuttal_rounds": 2,
}
CODRAFT = {"task": "Write it", "models": ["a", "b", "c"], "passes": 3}
WORKFLOW = {"workflow": "memo", "inputs": {"firstRequest": "What?"}, "models": ["a"]}
REVIEW = {"answers": ["m1", "m2"], "reviewers": ["r"], "asked": 2, "focus": "numbers", "seed": "s"}


def read_workflow(raw: Mapping[str, object]) -> WorkflowSetup:
    return WorkflowSetup.from_json(raw, WORKFLOWS)


Read = Callable[[Mapping[str, object]], Any]
GOOD: dict[str, tuple[Read, dict[str, Any]]] = {
    "compare": (CompareSetup.from_json, COMPARE),
    "debate": (DebateSetup.from_json, DEBATE),
    "codraft": (CoDraftSetup.from_json, CODRAFT),
    "workflow": (read_workflow, WORKFLOW),
    "review": (ReviewSetup.from_json, REVIEW),
}


@pytest.mark.parametrize("mode", GOOD)
def test_a_setup_that_was_read_is_written_and_read_the_same(mode: str) -> None:
    read, raw = GOOD[mode]
    assert read(read(raw).to_json()) == read(raw)


@pytest.mark.parametrize(
    ("mode", "change", "code"),
    [
        ("compare", {"models": ["a"]}, "compare_model_count"),
        ("compare", {"models": list("abcdefg")}, "compare_model_count"),
        ("compare", {"models": "a, b"}, "setting_not_list"),
        ("compare", {"models": ["a", 3]}, "setting_not_list"),
        ("compare", {"models": ["a", " "]}, "setting_not_list"),
        ("compare", {"models": 3}, "setting_not_list"),
        ("compare", {"blind": "yes"}, "setting_not_flag"),
        ("compare", {"rounds": 1}, "setting_unknown"),
        ("debate", {"topic": "  "}, "topic_empty"),
        ("debate", {"topic": None}, "setting_not_text"),
        ("debate", {"topic": "t" * 4_001}, "topic_too_long"),
        ("debate", {"background": "b" * 100_000}, "background_too_long"),
        ("debate", {"moderator": ""}, "moderator_missing"),
        ("debate", {"moderator": "m" * 201}, "setting_too_long"),
        ("debate", {"participants": [{"model": "a"}]}, "debate_participant_count"),
        ("debate", {"participants": [{"model": c} for c in "abcde"]}, "debate_participant_count"),
        ("debate", {"participants": ["a", "b"]}, "setting_not_table"),
        ("debate", {"participants": [{"model": "a"}, {"model": ""}]}, "participant_model_missing"),
        ("debate", {"participants": [{"model": "a"}, {"model": "b", "role": "judge"}]}, "unknown_role"),
        ("debate", {"participants": [{"model": "a"}, {"name": "b"}]}, "setting_unknown"),
        ("debate", {"rebuttal_rounds": 0}, "setting_out_of_range"),
        ("debate", {"rebuttal_rounds": 4}, "setting_out_of_range"),
        ("debate", {"rebuttal_rounds": "2"}, "setting_not_number"),
        ("debate", {"rebuttal_rounds": True}, "setting_not_number"),
        ("debate", {"priorContext": "text"}, "setting_not_table"),
        ("codraft", {"task": ""}, "task_empty"),
        ("codraft", {"task": "t" * 20_001}, "task_too_long"),
        ("codraft", {"models": ["a"]}, "codraft_model_count"),
        ("codraft", {"passes": 0}, "setting_out_of_range"),
        ("codraft", {"passes": 6}, "setting_out_of_range"),
        ("workflow", {"workflow": "nothing"}, "unknown_workflow"),
        ("workflow", {"inputs": {}}, "workflow_input_missing"),
        ("workflow", {"inputs": {"firstRequest": "x", "else": "y"}}, "setting_unknown"),
        ("workflow", {"inputs": {"firstRequest": "x" * 20_001}}, "setting_too_long"),
        ("workflow", {"models": []}, "workflow_model_count"),
        ("review", {"answers": []}, "review_answer_count"),
        ("review", {"answers": list("abcdefg")}, "review_answer_count"),
        ("review", {"reviewers": list("abcde")}, "review_reviewer_count"),
        ("review", {"focus": "f" * 2_001}, "focus_too_long"),
        ("review", {"question": "q"}, "setting_unknown"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(mode: str, change: dict[str, Any], code: str) -> None:
    read, raw = GOOD[mode]
    with pytest.raises(Refusal) as caught:
        read({**raw, **change})
    assert caught.value.code == code
    for locale in ("en", "ja"):
        assert refusal(locale, caught.value)


@pytest.mark.parametrize(("topic", "background"), [("t" * 4_000, "b" * 8_000), ("t", "b" * 7_999), ("t", "")])
def test_topic_and_background_are_taken_up_to_their_limits(topic: str, background: str) -> None:
    setup = DebateSetup.from_json({**DEBATE, "topic": topic, "background": background})
    assert (setup.topic, setup.background) == (topic, background)


# --- Compare --------------------------------------------------------------------------------------------------------


def test_the_same_model_twice_has_two_lines_and_is_told() -> None:
    setup = CompareSetup(models=("alpha", "beta", "alpha", "alpha"))
    assert [c.line for c in setup.candidates] == ["alpha", "beta", "alpha#2", "alpha#3"]
    assert [c.letter for c in setup.candidates] == ["A", "B", "C", "D"]
    assert setup.candidate("alpha#2").step == "answer:alpha#2"
    assert repeated(setup.models) == ("alpha",)
    assert repeated(("a", "b")) == ()


def test_a_line_s_name_is_never_given_twice_even_by_a_confusing_alias() -> None:
    lines = [c.line for c in CompareSetup(models=("a", "a#2", "a")).candidates]
    assert len(set(lines)) == 3


def test_a_model_that_joins_gets_a_line_and_the_others_keep_theirs() -> None:
    setup = CompareSetup(models=("a", "b"))
    joined = setup.joined_by("a")
    assert [c.line for c in joined.candidates] == ["a", "b", "a#2"]
    with pytest.raises(Refusal) as caught:
        CompareSetup(models=tuple("abcdef")).joined_by("g")
    assert caught.value.code == "compare_model_count"
    assert caught.value.fields["had"] == 7


def test_different_models_come_first_where_a_form_fills_itself() -> None:
    assert spread(("a", "b", "a", "c"), 4) == ("a", "b", "c", "a")
    assert spread((), 3) == ()


# --- Debate ---------------------------------------------------------------------------------------------------------


def test_a_debate_is_a_plan_of_rounds() -> None:
    setup = DebateSetup.from_json(DEBATE)
    rounds = setup.rounds()
    assert [(r.kind, [s.step for s in r.speakers], r.at_once, r.last_rebuttal) for r in rounds] == [
        (RoundKind.PROBLEM_FRAMING, ["problem_framing"], False, False),
        (RoundKind.POSITIONS, ["positions:A", "positions:B"], True, False),
        (RoundKind.REBUTTALS, ["rebuttals.1:A", "rebuttals.1:B"], False, False),
        (RoundKind.REBUTTALS, ["rebuttals.2:A", "rebuttals.2:B"], False, True),
        (RoundKind.SYNTHESIS, ["synthesis"], False, False),
    ]
    assert [s.model for r in rounds for s in r.speakers] == ["m", "a", "b", "a", "b", "a", "b", "m"]


def test_a_follow_up_is_one_more_rebuttal_round_and_a_synthesis() -> None:
    setup = DebateSetup.from_json(DEBATE)
    done = [s.step for r in setup.rounds() for s in r.speakers]
    follow_up = setup.follow_up_rounds(rebuttals_in(done))
    assert [[s.step for s in r.speakers] for r in follow_up] == [
        ["rebuttals.3:A", "rebuttals.3:B"],
        ["synthesis"],
    ]
    assert follow_up[0].last_rebuttal
    assert rebuttals_in(["synthesis"]) == 0


def test_roles_have_defaults_by_letter_and_an_empty_background_is_never_automatic() -> None:
    setup = DebateSetup.from_json({**DEBATE, "background": "", "background_auto": True})
    assert [p.role for p in setup.participants] == [DebateRole.PROPONENT, DebateRole.ANALYST]
    assert not setup.background_auto
    assert setup.participant("B").model == "b"
    assert setup.letters == ("A", "B")
    assert [p.role for p in participants_of("abcd")] == list(DEFAULT_ROLES)


def test_a_handover_enters_by_the_entry_point_and_is_kept_with_its_caps() -> None:
    setup = DebateSetup.from_json({**DEBATE, "priorContext": {"summary": "s" * 4_001, "constraints": 1}})
    assert setup.prior_context is not None
    assert len(setup.prior_context.context.summary) == 4_000
    assert len(setup.prior_context.caps) == len(setup.prior_context.warnings) == 1
    assert DebateSetup.from_json(setup.to_json()) == setup


# --- Co-Draft -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("models", [("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d", "e", "f")])
def test_passes_go_round_and_nobody_criticises_its_own_text(models: tuple[str, ...]) -> None:
    setup = CoDraftSetup(task="t", models=models, passes=5)
    writers = [models[0], *(one.model for one in setup.plan())]
    assert all(writer != critic for writer, critic in pairwise(writers))
    assert set(writers) == set(models)
    assert setup.steps[:3] == ("draft", "critique.1", "revise.1")
    assert len(setup.steps) == 11
    assert setup.next_pass(5).revise == "revise.6"


# --- Workflow -------------------------------------------------------------------------------------------------------


def test_steps_of_a_workflow_run_with_setups_of_their_modes() -> None:
    setup = WorkflowSetup(workflow="memo", inputs={}, models=("a", "b"))
    compare = CompareStep(**STEP, models=3)
    debate = DebateStep(**STEP, participants=3, rebuttal_rounds=2)
    draft = DraftStep(**STEP, passes=2)
    assert compare_setup(compare, setup).models == ("a", "b", "a")
    assert [p.model for p in debate_setup(debate, setup).participants] == ["b", "a", "b"]
    assert debate_setup(debate, setup).moderator == "a"
    assert codraft_setup(draft, setup).models == ("a", "b")
    alone = WorkflowSetup(workflow="memo", inputs={}, models=("a",))
    assert codraft_setup(draft, alone).models == ("a", "a")
    for made in (compare_setup(compare, setup), debate_setup(debate, setup), codraft_setup(draft, alone)):
        assert type(made).from_json(made.to_json()) == made
    kinds = [kind_of(s) for s in (AskStep(**STEP), compare, debate, draft, ReviewStep(**STEP, reviewers=1))]
    assert kinds == list(StepKind)


def test_optional_inputs_may_be_blank_and_labels_know_both_languages() -> None:
    given = {**WORKFLOW, "inputs": {"firstRequest": " What? ", "background": "  "}}
    assert read_workflow(given).inputs == {"firstRequest": "What?"}
    assert (LABEL.in_locale("en"), LABEL.in_locale("ja")) == ("Title", "題")
