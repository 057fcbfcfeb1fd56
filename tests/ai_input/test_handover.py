"""A handover on the sent side: each field in each mode, and its caps."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ai_input.caps import Cap
from core.ai_input.chat import build_chat
from core.ai_input.codraft import build_critique, build_draft, build_revision
from core.ai_input.compare import build_candidate, build_comparison, is_shared, shared_sha256
from core.ai_input.cross_review import build_review
from core.ai_input.debate import build_position, build_problem_framing, build_rebuttal, build_synthesis
from core.ai_input.delivery import delivery
from core.ai_input.handover import (
    Words,
    block,
    cuts,
    declared_inputs,
    premises,
    prior_context,
    workflow_inputs,
)
from core.ai_input.material import Material
from core.ai_input.workflow import build_ask, build_in_step
from core.domain.handover import DeliveryState, Field, HandoverFields
from core.domain.prior_context import PriorCap
from core.domain.receipt import AiInput, Origin, Role
from core.domain.thread import Mode
from core.domain.workflow import (
    CompareStep,
    DebateStep,
    DraftStep,
    WorkflowStep,
)
from core.ports import Turn
from tests.ai_input.conversation import message, read_window, talk
from tests.ai_input.handing import (
    FLOW,
    FLOW_SETUP,
    PLANTED,
    TARGETS,
    TOPIC,
    WORDS,
    WORDS_OF,
    carried_turn,
    debate_setup,
    first_call,
    flow,
    sent,
    states,
    step,
    without,
)
from tests.ai_input.voices import PROMPTS, said, shown, take, texts

# --- Chat -----------------------------------------------------------------------------------------------------------


def test_the_block_is_one_user_message_at_the_very_top() -> None:
    ai_input = sent(PLANTED, Mode.CHAT, before=talk(4), request=message(5, "And now?"))
    assert [part.origin for part in ai_input.parts] == [
        Origin.SYSTEM_PROMPT,
        Origin.HANDOVER,
        *[Origin.HISTORY] * 4,
        Origin.REQUEST,
    ]
    assert ai_input.parts[1].role is Role.USER


def test_constraints_come_first_then_open_questions_then_the_summary() -> None:
    text = sent(PLANTED, Mode.CHAT).parts[1].text
    places = [text.index(word) for word in ("planted-constraint-1", "planted-question-1", "planted-summary")]
    assert places == sorted(places)


@pytest.mark.parametrize("count", [0, 5, 19, 20, 21, 61, 90])
def test_the_block_survives_however_long_the_chat_grows(count: int) -> None:
    ai_input = sent(PLANTED, Mode.CHAT, before=talk(count), request=message(200, "Still there?"))
    assert ai_input.parts[1].text == sent(PLANTED, Mode.CHAT).parts[1].text
    assert states(PLANTED, Mode.CHAT, ai_input)[Field.CONSTRAINTS] is DeliveryState.FOUND


def test_the_first_message_of_such_a_chat_is_one_like_any_other() -> None:
    ai_input = sent(PLANTED, Mode.CHAT, before=talk(60), request=message(200, "?"))
    assert Origin.FIRST_MESSAGE not in {part.origin for part in ai_input.parts}
    assert "word 1\n" not in shown(ai_input) + "\n"
    assert [(one.what, one.count) for one in ai_input.omissions] == [("messages", 40)]
    heavy = [message(1, "x" * 60_000), *talk(3)[1:]]
    ai_input = sent(PLANTED, Mode.CHAT, before=heavy, request=message(200, "?"))
    assert Origin.FIRST_MESSAGE not in {part.origin for part in ai_input.parts}
    assert [(one.what, one.count) for one in ai_input.omissions] == [("messages", 1)]


def test_the_block_does_not_count_into_the_window() -> None:
    fields = replace(PLANTED, summary="s" * 4_000, background="")
    with_block = sent(fields, Mode.CHAT, before=talk(20), request=message(30, "?"))
    assert sum(part.origin is Origin.HISTORY for part in with_block.parts) == 20


def test_a_chat_without_handover_is_sent_as_ever() -> None:
    plain = replace(carried_turn(PLANTED, Mode.CHAT, before=talk(40)), handover=None)
    ai_input = build_chat(plain, PROMPTS)
    assert [part.origin for part in ai_input.parts[1:3]] == [Origin.FIRST_MESSAGE, Origin.OMITTED_NOTE]


@pytest.mark.parametrize(
    ("locale", "headings"),
    [
        ("en", ["# Handover context", "## Constraints", "## Open questions", "## Summary"]),
        ("ja", ["# 引き継ぎコンテキスト", "## 制約", "## 未解決の問い", "## 要約"]),
    ],
)
@pytest.mark.parametrize("target", [Mode.CHAT, Mode.COMPARE])
def test_headings_are_in_the_thread_s_language(locale: str, headings: list[str], target: Mode) -> None:
    lines = sent(PLANTED, target, locale=locale).parts[1].text.splitlines()
    assert [line for line in lines if line.startswith("#")] == headings


# --- caps of the block ----------------------------------------------------------------------------------------------

LARGEST = replace(
    PLANTED,
    summary="s" * 4_000,
    background="",
    open_questions=tuple(f"q{number} ".ljust(300, "q") for number in range(10)),
    constraints=tuple(f"c{number} ".ljust(300, "c") for number in range(10)),
)


def test_the_largest_handover_stays_within_the_block() -> None:
    carried = block(LARGEST, WORDS)
    assert len(carried.text) <= 6_000
    assert all(item in carried.text for item in LARGEST.constraints)
    items = carried.text[carried.text.index("## Constraints") : carried.text.index("## Summary")]
    assert 4_600 < len(items) <= 5_001
    assert carried.left_out == LARGEST.open_questions[5:]
    assert all((item in carried.text) is (item not in carried.left_out) for item in LARGEST.open_questions)
    assert [cap.name for cap in carried.caps] == [Cap.HANDOVER_ITEMS_CHARS, Cap.HANDOVER_BLOCK_CHARS]


def test_the_line_says_what_a_cap_cut_and_what_it_did_not() -> None:
    ai_input = sent(LARGEST, Mode.CHAT, before=talk(80), request=message(100, "?"))
    found = {one.field: one for one in delivery(LARGEST, Mode.CHAT, ai_input)}
    assert found[Field.CONSTRAINTS].state is DeliveryState.FOUND
    assert found[Field.OPEN_QUESTIONS].state is DeliveryState.CUT
    assert [cap.name for cap in found[Field.OPEN_QUESTIONS].caps] == [Cap.HANDOVER_ITEMS_CHARS]
    assert found[Field.SUMMARY].state is DeliveryState.CUT
    assert [(cap.name, cap.had) for cap in found[Field.SUMMARY].caps] == [(Cap.HANDOVER_BLOCK_CHARS, 4_000)]


def test_a_summary_that_is_shorter_than_its_cap_left_it_is_missing() -> None:
    ai_input = sent(LARGEST, Mode.CHAT)
    shorter = replace(
        ai_input,
        parts=tuple(replace(part, text=part.text.replace("s" * 100, "", 1)) for part in ai_input.parts),
    )
    assert states(LARGEST, Mode.CHAT, shorter)[Field.SUMMARY] is DeliveryState.MISSING


def test_the_summary_is_cut_exactly_where_the_block_is_full() -> None:
    fields = replace(LARGEST, open_questions=LARGEST.open_questions[:5], constraints=LARGEST.constraints[:5])
    rest = 6_000 - len(block(replace(fields, summary="s"), WORDS).text) + 1
    whole, cut = (block(replace(fields, summary="s" * length), WORDS) for length in (rest, rest + 1))
    assert whole.caps == ()
    assert len(whole.text) == 6_000
    assert [(cap.name, cap.had) for cap in cut.caps] == [(Cap.HANDOVER_BLOCK_CHARS, rest + 1)]
    assert len(cut.text) <= 6_000


def test_open_questions_are_left_out_exactly_where_their_room_ends() -> None:
    def items_of_length(last: int) -> HandoverFields:
        questions = (*(("q" * 300,) * 5), "q" * last)
        return replace(LARGEST, open_questions=questions, summary="")

    kept = [last for last in range(1, 301) if not block(items_of_length(last), WORDS).left_out]
    assert kept == list(range(1, len(kept) + 1))
    border = block(items_of_length(kept[-1]), WORDS).text
    assert len(border) - border.index("## Constraints") == 5_000


@pytest.mark.parametrize("locale", ["en", "ja"])
@settings(max_examples=40, deadline=None)
@given(
    constraints=st.lists(st.integers(1, 300), max_size=10),
    questions=st.lists(st.integers(1, 300), max_size=10),
    summary=st.integers(0, 4_000),
)
def test_the_block_is_never_too_long_and_never_drops_a_constraint(
    locale: str, constraints: list[int], questions: list[int], summary: int
) -> None:
    fields = HandoverFields(
        source_mode=Mode.CHAT,
        summary="s" * summary,
        constraints=tuple("c" * length for length in constraints),
        open_questions=tuple("q" * length for length in questions),
    )
    carried = block(fields, Words(material=Material.of(PROMPTS), locale=locale))
    assert len(carried.text) <= 6_000
    assert "\n".join(f"- {item}" for item in fields.constraints) in carried.text
    assert carried.left_out == fields.open_questions[len(fields.open_questions) - len(carried.left_out) :]


def test_a_handover_with_nothing_for_a_chat_leaves_no_empty_message() -> None:
    fields = HandoverFields(source_mode=Mode.CHAT, background="b")
    assert [part.origin for part in sent(fields, Mode.CHAT).parts] == [Origin.SYSTEM_PROMPT, Origin.REQUEST]


# --- Compare --------------------------------------------------------------------------------------------------------


def test_every_candidate_gets_the_block_byte_for_byte_the_same() -> None:
    base = carried_turn(LARGEST, Mode.COMPARE)
    alpha = build_candidate(replace(base, line="alpha", model="alpha"), PROMPTS)
    grown = replace(base, line="beta", model="beta", window=read_window(talk(50)), late=(message(77, "x"),))
    beta = build_candidate(grown, PROMPTS)
    first, second = (texts(one, Origin.HANDOVER) for one in (alpha, beta))
    assert first == second
    assert first[0].encode() == second[0].encode()
    assert first[0].startswith("# Handover context\n")
    assert all(one.parts[1].origin is Origin.HANDOVER for one in (alpha, beta))


def test_the_block_is_part_of_what_candidates_share() -> None:
    one, other = sent(PLANTED, Mode.COMPARE), sent(replace(PLANTED, constraints=("x",)), Mode.COMPARE)
    assert all(is_shared(part) for part in one.parts if part.origin is Origin.HANDOVER)
    assert shared_sha256(one) != shared_sha256(other)
    assert "modes.fragments" in {ref.name for ref in one.prompts}


def test_the_comparison_and_a_cross_review_hold_nothing_of_the_handover() -> None:
    spoken = (said("answer:alpha", "one"), said("answer:beta", "two"))
    base = carried_turn(PLANTED, Mode.COMPARE, spoken=spoken, reviewed=spoken)
    assert "planted" not in shown(build_comparison(base, PROMPTS))
    assert "planted" not in shown(build_review(base, PROMPTS, order=(0, 1)))


# --- Debate ---------------------------------------------------------------------------------------------------------


def later_rounds(one: Turn) -> list[AiInput]:
    spoken = (
        said("problem_framing", "framing"),
        said("positions:A", data=take("a", "a")),
        said("positions:B", data=take("b", "b")),
    )
    one = replace(one, spoken=spoken)
    return [
        build_position(one, PROMPTS, letter="A"),
        build_rebuttal(one, PROMPTS, letter="A", number=1, last=True),
        build_synthesis(one, PROMPTS),
    ]


def test_the_structure_goes_into_problem_framing_and_the_premises_into_every_later_round() -> None:
    one = carried_turn(PLANTED, Mode.DEBATE)
    framing = first_call(Mode.DEBATE, one)
    assert texts(framing, Origin.BACKGROUND) == []
    for word in ("planted-summary", "planted-constraint-1", "planted-question-1"):
        assert shown(framing).count(word) == 1
    for later in later_rounds(one):
        assert texts(later, Origin.PRIOR_CONTEXT) == []
        for word in ("planted-summary", "planted-constraint-1", "planted-question-1"):
            assert shown(later).count(word) == 1
        assert "planted-first-request" not in shown(later)
        assert "planted-background" not in shown(later)


def test_premises_that_somebody_edited_are_sent_in_problem_framing_too() -> None:
    filled = premises("", PLANTED, WORDS).text
    setup = debate_setup(PLANTED, background=filled + "\nand no overtime")
    framing = build_problem_framing(
        replace(carried_turn(PLANTED, Mode.DEBATE), setup=setup),
        PROMPTS,
    )
    assert len(texts(framing, Origin.BACKGROUND)) == 1
    assert "and no overtime" in shown(framing)


@pytest.mark.parametrize("given_text", ["", "  \n", "filled"])
def test_premises_that_nobody_edited_are_known_as_such(given_text: str) -> None:
    filled = premises("", PLANTED, WORDS)
    given_text = filled.text if given_text == "filled" else given_text
    assert premises(given_text, PLANTED, WORDS) == filled
    assert filled.auto
    assert debate_setup(PLANTED, background=given_text)["background_auto"] is True


def test_premises_of_a_person_stay_and_count_as_edited() -> None:
    filled = premises(" at most two weeks ", PLANTED, WORDS)
    assert (filled.text, filled.auto) == ("at most two weeks", False)


def test_premises_are_filled_from_summary_open_questions_and_constraints_alone() -> None:
    text = premises("", PLANTED, WORDS).text
    for field, words in WORDS_OF.items():
        carried = field not in (Field.BACKGROUND, Field.FIRST_REQUEST)
        assert all((word in text) is carried for word in words)
    nothing = HandoverFields(source_mode=Mode.CHAT, background="b", first_request="f")
    assert premises("", nothing, WORDS).text == ""
    assert premises("", nothing, WORDS).auto is False


def test_premises_of_the_largest_handover_are_cut_and_say_so() -> None:
    filled = premises("", LARGEST, WORDS)
    assert len(filled.text) == 8_000
    assert all(item in filled.text for item in (*LARGEST.constraints, *LARGEST.open_questions))
    assert [(cap.name, cap.kept) for cap in filled.caps] == [(Cap.HANDOVER_PREMISES_CHARS, 8_000)]
    assert debate_setup(LARGEST)["background_auto"] is True


def test_conclusions_are_written_into_the_summary_and_survive_its_cap() -> None:
    fields = replace(LARGEST, conclusions=("planted-conclusion",))
    ai_input = sent(fields, Mode.DEBATE)
    found = {one.field: one for one in delivery(fields, Mode.DEBATE, ai_input)}
    assert found[Field.CONCLUSIONS].state is DeliveryState.FOUND
    assert found[Field.SUMMARY].state is DeliveryState.CUT
    assert [cap.name for cap in found[Field.SUMMARY].caps] == [PriorCap.OVERVIEW]
    assert set(prior_context(fields, WORDS)) == {
        "summary",
        "background",
        "openQuestions",
        "constraints",
        "firstRequest",
    }


def test_a_background_without_any_room_is_cut_and_not_missing() -> None:
    fields = replace(PLANTED, summary="s" * 3_500, background="b" * 400, conclusions=("k" * 300, "l" * 300))
    ai_input = sent(fields, Mode.DEBATE)
    found = states(fields, Mode.DEBATE, ai_input)
    assert found[Field.BACKGROUND] is DeliveryState.CUT
    dropped = sent(without(fields, Field.BACKGROUND), Mode.DEBATE)
    assert (
        states(replace(fields, summary="s"), Mode.DEBATE, dropped)[Field.BACKGROUND] is DeliveryState.MISSING
    )


# --- Co-Draft -------------------------------------------------------------------------------------------------------


def test_co_draft_gets_it_under_headings_inside_the_first_request() -> None:
    ai_input = sent(PLANTED, Mode.CODRAFT)
    requests = texts(ai_input, Origin.REQUEST)
    assert len(requests) == 1
    lines = [line for line in requests[0].splitlines() if line.startswith("#")]
    assert lines == ["# Handover context", "## Conclusions", "## Open questions", "## Constraints"]
    assert requests[0].index("planted-constraint-1") < requests[0].index(TOPIC)


def test_co_draft_is_sent_nothing_but_its_task_where_nothing_is_carried() -> None:
    fields = HandoverFields(source_mode=Mode.CHAT, background="b")
    plain = replace(carried_turn(fields, Mode.CODRAFT), handover=None)
    assert sent(fields, Mode.CODRAFT).parts == build_draft(plain, PROMPTS).parts


def test_co_draft_gets_the_summary_where_there_are_no_conclusions() -> None:
    fields = replace(PLANTED, conclusions=())
    ai_input = sent(fields, Mode.CODRAFT)
    assert "planted-summary" in shown(ai_input)
    assert states(fields, Mode.CODRAFT, ai_input)[Field.SUMMARY] is DeliveryState.FOUND
    assert "planted-summary" not in shown(sent(PLANTED, Mode.CODRAFT))


def test_whoever_criticises_and_revises_works_from_the_same_first_request() -> None:
    one = carried_turn(PLANTED, Mode.CODRAFT)
    draft = texts(build_draft(one, PROMPTS), Origin.REQUEST)
    assert texts(build_critique(one, PROMPTS, text="t"), Origin.REQUEST) == draft
    assert texts(build_revision(one, PROMPTS, text="t", number=1), Origin.REQUEST) == draft


# --- Workflow -------------------------------------------------------------------------------------------------------


def test_the_first_step_gets_the_five_under_their_names_whatever_it_asks_for() -> None:
    ai_input = sent(PLANTED, Mode.WORKFLOW)
    labels = [text.splitlines()[0].partition(": ")[2] for text in texts(ai_input, Origin.HANDOVER)]
    assert labels == [
        "input summary⟧",
        "input background⟧",
        "input openQuestions⟧",
        "input constraints⟧",
        "input firstRequest⟧",
    ]


def test_what_the_person_asks_now_is_sent_besides_the_first_request() -> None:
    ai_input = sent(PLANTED, Mode.WORKFLOW)
    assert shown(ai_input).count(TOPIC) == 1
    inputs = declared_inputs(PLANTED, FLOW, WORDS)
    setup = {**FLOW_SETUP, "inputs": inputs}
    ai_input = first_call(Mode.WORKFLOW, replace(carried_turn(PLANTED, Mode.WORKFLOW), setup=setup))
    assert shown(ai_input).count(TOPIC) == 1
    assert shown(ai_input).count("planted-first-request") == 1


def test_later_steps_get_the_declared_inputs_that_they_use_and_no_more() -> None:
    inputs = declared_inputs(PLANTED, FLOW, WORDS)
    assert inputs == {
        "firstRequest": "planted-first-request",
        "constraints": "- planted-constraint-1\n- planted-constraint-2",
    }
    one = replace(
        carried_turn(PLANTED, Mode.WORKFLOW),
        setup={**FLOW_SETUP, "inputs": inputs},
        spoken=(said("first", "result-of-first"),),
    )
    later = shown(build_ask(one, PROMPTS, workflow=FLOW, step_id="second"))
    assert "planted-constraint-1" in later
    assert "planted-summary" not in later
    assert "planted-first-request" not in later


@pytest.mark.parametrize(
    ("first", "build"),
    [
        (CompareStep(**step("first"), models=2), None),
        (DebateStep(**step("first"), participants=2, rebuttal_rounds=1), build_problem_framing),
        (DraftStep(**step("first"), passes=1), build_draft),
    ],
)
def test_a_first_step_of_several_voices_gets_them_too(first: WorkflowStep, build: Any) -> None:
    one, steps = carried_turn(LARGEST, Mode.WORKFLOW), flow(first)
    if build is None:
        ai_input = build_ask(one, PROMPTS, workflow=steps, step_id="first")
    else:
        ai_input = build_in_step(one, PROMPTS, workflow=steps, step_id="first", build=build)
    found = states(LARGEST, Mode.WORKFLOW, ai_input)
    assert found[Field.CONSTRAINTS] is DeliveryState.FOUND
    assert found[Field.SUMMARY] is DeliveryState.CUT
    assert [cap.name for cap in ai_input.caps].count(PriorCap.OVERVIEW) == 1


def test_inputs_that_hold_nothing_are_not_sent() -> None:
    fields = HandoverFields(source_mode=Mode.CHAT, constraints=("c",))
    assert workflow_inputs(fields, WORDS) == ({"constraints": "- c"}, ())


# --- before the start -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_header_calls_cut_is_what_the_input_records(target: Mode) -> None:
    ai_input = sent(LARGEST, target)
    told = cuts(LARGEST, target, WORDS)
    assert [cap for cap in ai_input.caps if cap in told.caps] == list(told.caps)
    assert bool(told.left_out) is (target in (Mode.CHAT, Mode.COMPARE))
