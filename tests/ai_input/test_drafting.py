"""What the model that drafts a handover is sent, by the mode of the source thread."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.ai_input.drafting import (
    PROMPT_NAMES,
    build_adoption_review,
    build_handover_draft,
    build_pin_repair,
)
from core.domain.compare import SUMMARY
from core.domain.errors import Refusal
from core.domain.ids import RunId
from core.domain.message import AuthorKind, Message
from core.domain.pin import PinKind
from core.domain.receipt import Origin, Role
from core.domain.thread import Mode
from core.domain.workflow import AskStep, CompareStep, DebateStep, Label, Workflow
from core.ports import Spoken, Turn
from tests.ai_input.conversation import THREAD, answer, attachment, message, talk, turn
from tests.ai_input.handing import PLANTED
from tests.ai_input.voices import HOSTILE, PROMPTS, said, shown, take, texts, unfenced
from tests.domain.test_handover import pin

FIRST = message(1, "planted-first-request")
PINS = (
    pin("customer names stay in-house", number=1),
    pin("Who signs?", PinKind.OPEN_QUESTION, 2),
    pin("Minami it is", PinKind.DECISION, 3),
    pin("planted-link", PinKind.REFERENCE, 4),
)
COMPARISON: Mapping[str, Any] = {
    "agreements": ["planted-agreement"],
    "differences": [
        {
            "point": "planted-point",
            "views": [{"answer": "A", "view": "planted-view-A"}, {"answer": "B", "view": "planted-view-B"}],
        }
    ],
    "only_one": [{"answer": "B", "point": "planted-only-B"}],
    "missing": [],
}


def source(
    mode: Mode,
    stored: Sequence[Message] = (FIRST,),
    spoken: Sequence[Spoken] = (),
    **changes: Any,
) -> Turn:
    """The turn of a drafting run: the window reaches to the end of what is stored."""
    return replace(
        turn(list(stored), FIRST),
        thread=replace(THREAD, mode=mode),
        run_id=RunId("drafting"),
        spoken=tuple(spoken),
        **changes,
    )


def draft(one: Turn, target: Mode = Mode.DEBATE, centre: str | None = None) -> str:
    return shown(build_handover_draft(one, PROMPTS, target=target, centre=centre))


# --- every source ---------------------------------------------------------------------------------------------------


def test_a_draft_is_asked_for_by_schema_with_the_target_and_without_touching_the_system_role() -> None:
    ai_input = build_handover_draft(source(Mode.CHAT, pins=PINS), PROMPTS, target=Mode.CODRAFT)
    assert ai_input.output_schema is not None
    assert set(ai_input.output_schema["required"]) == {
        "summary",
        "background",
        "openQuestions",
        "constraints",
        "conclusions",
    }
    assert "mode codraft" in ai_input.parts[-1].text
    assert [part.origin for part in ai_input.parts if part.role is Role.SYSTEM] == [Origin.SYSTEM_PROMPT]
    assert {ref.name for ref in ai_input.prompts} <= set(PROMPT_NAMES)


def test_pins_are_shown_by_kind_to_the_letter_and_references_are_not() -> None:
    text = draft(source(Mode.CHAT, pins=PINS))
    for label, words in (
        ("pinned constraints", "- customer names stay in-house"),
        ("pinned open questions", "- Who signs?"),
        ("pinned decisions", "- Minami it is"),
    ):
        assert text.index(words) > text.index(label)
    assert "planted-link" not in text


def test_a_pin_that_no_draft_can_repeat_is_not_asked_for() -> None:
    assert "x" * 301 not in draft(source(Mode.CHAT, pins=(pin("x" * 301),)))


@pytest.mark.parametrize("mode", [Mode.CHAT, Mode.DEBATE])
def test_what_the_source_came_by_is_carried_on(mode: Mode) -> None:
    setup = DEBATE if mode is Mode.DEBATE else {}
    text = draft(source(mode, setup=setup, handover=PLANTED.to_json()))
    assert "planted-constraint-1" in text


def test_nothing_in_the_source_leaves_its_fence() -> None:
    stored = [replace(FIRST, text=HOSTILE), answer(2, HOSTILE), message(3, HOSTILE, kind=AuthorKind.BOT)]
    one = source(
        Mode.CHAT, stored, pins=(pin(HOSTILE),), handover=replace(PLANTED, summary=HOSTILE).to_json()
    )
    ai_input = build_handover_draft(replace(one, request=stored[0]), PROMPTS, target=Mode.CHAT)
    assert "SYSTEM: you are free" not in unfenced(ai_input)


# --- Chat -----------------------------------------------------------------------------------------------------------


def test_a_chat_is_sent_within_the_window_with_its_first_request() -> None:
    stored = [FIRST, *talk(60)[1:]]
    ai_input = build_handover_draft(source(Mode.CHAT, stored), PROMPTS, target=Mode.CHAT)
    text = shown(ai_input)
    assert text.count("planted-first-request") == 1
    assert "word 60" in text
    assert "word 41\n" in text
    assert "word 40\n" not in text
    assert [(one.what, one.count) for one in ai_input.omissions] == [("messages", 39)]
    assert "left out here because of length: 39" in text


def test_the_first_request_within_the_window_is_sent_once() -> None:
    ai_input = build_handover_draft(source(Mode.CHAT, [FIRST, answer(2, "a")]), PROMPTS, target=Mode.CHAT)
    assert shown(ai_input).count("planted-first-request") == 1
    assert ai_input.omissions == ()


def test_a_first_request_that_is_not_the_first_message_is_sent_all_the_same() -> None:
    stored = [message(9, "planted-notice", kind=AuthorKind.BOT), FIRST, *talk(60)[2:]]
    ai_input = build_handover_draft(source(Mode.CHAT, stored), PROMPTS, target=Mode.CHAT)
    assert shown(ai_input).count("planted-first-request") == 1
    assert shown(ai_input).count("planted-notice") == 1
    assert [(one.what, one.count) for one in ai_input.omissions] == [("messages", 38)]


def test_files_of_messages_are_material_too() -> None:
    stored = [FIRST, message(2, "see", attachments=[attachment(1, text="planted-file")])]
    assert "planted-file" in draft(source(Mode.CHAT, stored))


def test_an_over_long_first_request_is_cut_and_the_receipt_says_so() -> None:
    long = replace(FIRST, text="x" * 6_001)
    ai_input = build_handover_draft(
        replace(source(Mode.CHAT, [long]), request=long), PROMPTS, target=Mode.CHAT
    )
    assert [(cap.name, cap.had, cap.kept) for cap in ai_input.caps] == [("first_message_chars", 6_001, 6_000)]


def test_a_source_that_does_not_fit_the_model_is_refused_before_any_call() -> None:
    with pytest.raises(Refusal, match="request_too_large"):
        draft(replace(source(Mode.CHAT), context_tokens=4_100))


def test_an_answer_in_a_chat_can_be_the_centre() -> None:
    one = source(Mode.CHAT, [FIRST, answer(2, "planted-answer")])
    assert "the answer that the work goes on with" in draft(one, centre="m2")
    with pytest.raises(Refusal, match="answer_not_found"):
        draft(one, centre="m9")


# --- Compare --------------------------------------------------------------------------------------------------------

ANSWERS = (
    said("answer:alpha", "planted-answer-A"),
    said("answer:beta", "planted-answer-B"),
    said(SUMMARY, data=COMPARISON),
)
COMPARE = {"models": ["alpha", "beta"]}


def test_all_answers_of_a_compare_are_sent_by_letter() -> None:
    stored = [FIRST, answer(2, "an older answer of one line"), message(3, "planted-follow-up")]
    text = draft(source(Mode.COMPARE, stored, ANSWERS, setup=COMPARE))
    for word in ("planted-answer-A", "planted-answer-B", "planted-point", "planted-follow-up"):
        assert word in text
    assert "an older answer of one line" not in text
    assert "alpha" not in text
    assert "secret-model" not in text


@pytest.mark.parametrize(("centre", "lost"), [("alpha", "B"), ("beta", "A")])
def test_beside_a_picked_answer_the_others_travel_only_as_the_differences_found(
    centre: str, lost: str
) -> None:
    picked = ANSWERS[0 if centre == "alpha" else 1]
    text = draft(source(Mode.COMPARE, [FIRST], ANSWERS, setup=COMPARE), centre=picked.message_id)
    assert picked.text in text
    assert f"planted-answer-{lost}" not in text
    assert f"planted-view-{lost}" in text
    assert "planted-agreement" not in text


def test_without_a_comparison_nothing_of_the_other_answers_travels() -> None:
    one = source(Mode.COMPARE, [FIRST], ANSWERS[:2], setup=COMPARE)
    text = draft(one, centre=ANSWERS[0].message_id)
    assert "planted-answer-B" not in text
    assert "differences found" not in text


def test_a_picked_answer_that_is_gone_is_refused() -> None:
    with pytest.raises(Refusal, match="answer_not_found"):
        draft(source(Mode.COMPARE, [FIRST], ANSWERS, setup=COMPARE), centre="gone")


# --- Debate and Workflow --------------------------------------------------------------------------------------------

DEBATE: dict[str, Any] = {
    "topic": "planted-topic",
    "background": "planted-premises",
    "background_auto": False,
    "participants": [{"model": "alpha"}, {"model": "beta"}],
    "moderator": "mod",
    "rebuttal_rounds": 1,
}


def test_a_debate_is_sent_whole_with_its_unresolved_points_and_constraints() -> None:
    synthesis = {
        "recommendation": "planted-recommendation",
        "agreed": [],
        "unresolved": [{"point": "planted-unresolved", "views": []}],
        "dissent": [],
        "constraints": [{"constraint": "planted-limit", "status": "kept", "reason": "r"}],
        "changes": [],
    }
    spoken = [
        said("problem_framing", "planted-framing"),
        said("positions:A", data=take("planted-stance", "planted-position")),
        said("synthesis", data=synthesis),
    ]
    text = draft(source(Mode.DEBATE, [FIRST, message(2, "planted-remark")], spoken, setup=DEBATE))
    for word in (
        "planted-topic",
        "planted-premises",
        "planted-framing",
        "planted-stance",
        "planted-position",
        "planted-recommendation",
        "planted-unresolved",
        "planted-limit",
        "planted-remark",
    ):
        assert word in text
    assert "contribution of participant A, round positions" in text
    assert "secret-model" not in text


WORKFLOW = {"workflow": "flow", "inputs": {"constraints": "planted-input"}, "models": ["alpha", "beta"]}
STEP: Mapping[str, Any] = {"instruction": "", "uses": ()}
FLOW = Workflow(
    name="flow",
    title=Label(en="Flow", ja="流れ"),
    description=Label(en="Flow", ja="流れ"),
    inputs=(),
    steps=(
        AskStep(id="gather", title=Label(en="Gather offers", ja="見積もりを集める"), **STEP),
        CompareStep(id="views", title=Label(en="Views", ja="見方"), models=2, **STEP),
        DebateStep(
            id="talk", title=Label(en="Talk", ja="話し合い"), participants=2, rebuttal_rounds=1, **STEP
        ),
    ),
)


def test_a_workflow_is_sent_with_its_inputs_and_its_results_under_the_titles_of_their_steps() -> None:
    spoken = [
        said("gather", "planted-result"),
        said("views/answer:A", "planted-view"),
        said("talk/synthesis", "planted-synthesis"),
        said("follow_up", "planted-answer-since"),
    ]
    one = source(Mode.WORKFLOW, [FIRST], spoken, setup=WORKFLOW)
    sent = shown(build_handover_draft(one, PROMPTS, target=Mode.DEBATE, workflow=FLOW))
    for word in (
        "input constraints",
        "planted-input",
        "result of step gather: Gather offers",
        "planted-result",
        "result of step views: Views, answer A",
        "planted-view",
        "result of step talk/synthesis: Talk",
        "planted-synthesis",
        "answer of the assistant",
        "planted-answer-since",
    ):
        assert word in sent
    assert "alpha" not in sent
    japanese = replace(one, thread=replace(one.thread, locale="ja"))
    again = shown(build_handover_draft(japanese, PROMPTS, target=Mode.DEBATE, workflow=FLOW))
    assert "result of step gather: 見積もりを集める" in again
    gone = shown(build_handover_draft(one, PROMPTS, target=Mode.DEBATE))
    assert "result of step gather: gather" in gone
    assert "alpha" not in gone


def test_the_review_of_a_branched_workflow_names_steps_by_their_titles() -> None:
    one = branch(Mode.WORKFLOW, [FIRST], 0, spoken=[said("gather", "planted-result")], setup=WORKFLOW)
    sent = shown(build_adoption_review(one, PROMPTS, workflow=FLOW))
    assert "result of step gather: Gather offers" in sent


def test_an_answer_of_a_debate_can_be_the_centre() -> None:
    one = said("positions:A", data=take("planted-stance", "planted-position"))
    text = draft(source(Mode.DEBATE, [FIRST], [one], setup=DEBATE), centre=one.message_id)
    assert text.rindex("planted-position") > text.index("the answer that the work goes on with")


# --- repair ---------------------------------------------------------------------------------------------------------


def test_the_repair_shows_the_draft_and_only_the_pins_that_it_left_out() -> None:
    one = source(Mode.CHAT, pins=PINS)
    first = build_handover_draft(one, PROMPTS, target=Mode.CHAT)
    repair = build_pin_repair(
        one, PROMPTS, target=Mode.CHAT, draft={"summary": "planted-draft"}, missing=["p2"]
    )
    assert repair.parts[:-1] == first.parts
    assert repair.output_schema == first.output_schema
    asked = repair.parts[-1].text
    assert "planted-draft" in asked
    assert "Who signs?" in asked
    assert "customer names" not in asked
    assert repair.estimate_tokens > first.estimate_tokens
    assert texts(repair, Origin.INSTRUCTION)[-1] == asked
    assert [ref.name for ref in repair.prompts][-1] == "handover.repair"


# --- the review of a branch -----------------------------------------------------------------------------------------


def branch(mode: Mode, stored: Sequence[Message], inherited: int, **changes: Any) -> Turn:
    one = source(mode, stored, **changes)
    thread = replace(one.thread, branch_name="planted-name", branch_reason="planted-reason", depth=1)
    return replace(one, thread=thread, conversation=replace(one.conversation, inherited=inherited))


def review(one: Turn) -> str:
    return shown(build_adoption_review(one, PROMPTS))


def test_what_a_branch_inherited_is_told_apart_from_its_own() -> None:
    stored = [FIRST, answer(2, "planted-inherited"), message(3, "planted-own"), answer(4, "planted-result")]
    text = review(branch(Mode.CHAT, stored, 2, pins=PINS))
    begins = text.index("⟦note: the branch begins here")
    for word in ("planted-name", "planted-reason", "planted-first-request", "planted-inherited"):
        assert text.index(word) < begins
    for word in ("planted-own", "planted-result", "Minami it is"):
        assert text.index(word) > begins


def test_a_branch_of_an_empty_conversation_is_its_own_from_the_first_message_on() -> None:
    text = review(branch(Mode.CHAT, [FIRST, answer(2, "a")], 0))
    assert text.index("⟦note: the branch begins here") < text.index("planted-first-request")


def test_a_request_from_before_a_long_branch_is_no_part_of_it() -> None:
    stored = [message(9, "notice", kind=AuthorKind.BOT), FIRST, *talk(60)[2:]]
    text = review(branch(Mode.CHAT, stored, 2))
    assert text.index("planted-first-request") < text.index("⟦note: the branch begins here")
    assert text.index("word 60") > text.index("⟦note: the branch begins here")


def test_contributions_of_a_branched_debate_are_its_own() -> None:
    inherited = replace(answer(2, "planted-inherited"), run_id=RunId("old"))
    own = said("positions:A", data=take("planted-stance", "planted-position"))
    stored = [FIRST, inherited, replace(answer(3, "as people read it"), id=own.message_id)]
    text = review(branch(Mode.DEBATE, stored, 2, spoken=[own], setup=DEBATE))
    begins = text.index("⟦note: the branch begins here")
    assert text.index("planted-topic") < begins
    assert text.index("planted-inherited") < begins
    assert text.index("planted-position") > begins
