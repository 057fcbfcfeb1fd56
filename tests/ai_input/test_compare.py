"""The AI input of Compare: isolation, same conditions, late joiners, the comparison."""

from dataclasses import replace
from typing import Any

import pytest

from core.ai_input.chat import build_chat
from core.ai_input.compare import (
    ANSWER_PROMPT,
    PROMPT_NAMES,
    Forced,
    answers_to_compare,
    build_candidate,
    build_comparison,
    forced_differences,
    shared_sha256,
)
from core.ai_input.window import WINDOW_MESSAGES
from core.domain.compare import CompareSetup
from core.domain.errors import Refusal
from core.domain.ids import MessageId
from core.domain.message import Cut
from core.domain.receipt import AiInput, Origin, Role
from core.ports import Turn
from tests.ai_input.conversation import answer, image, message, talk, turn
from tests.ai_input.voices import HOSTILE, PROMPTS, said, shown, texts, unfenced, voices

SETUP = CompareSetup(models=("alpha", "beta", "gamma")).to_json()
LATE = (
    replace(message(1, "First question"), id=MessageId("q1")),
    replace(message(2, "Second question", name="Bob"), id=MessageId("q2")),
)


def line(model: str, before: list[Any], **changes: Any) -> Turn:
    made = turn(before, message(9, "And now?"))
    return replace(made, setup=SETUP, line=model, model=model, **changes)


def second_turn(model: str) -> AiInput:
    """The second question as one line is sent it; each model left a word of its own in the first."""
    return build_candidate(line(model, [message(1, "Which?"), answer(2, f"planted-{model}")]), PROMPTS)


def test_each_model_sees_its_own_earlier_answers_and_never_anothers() -> None:
    for model in ("alpha", "beta", "gamma"):
        sent = shown(second_turn(model))
        assert f"planted-{model}" in sent
        assert not any(f"planted-{other}" in sent for other in ("alpha", "beta", "gamma") if other != model)


def test_a_candidate_is_sent_its_line_as_chat_would_send_it() -> None:
    made = line("alpha", talk(30))
    ours, chat = build_candidate(made, PROMPTS), build_chat(made, PROMPTS)
    assert ours.parts[1:] == chat.parts[1:]
    assert (ours.caps, ours.omissions) == (chat.caps, chat.omissions)
    assert ours.prompts == PROMPTS.refs(ANSWER_PROMPT, "shared.fragments", "modes.fragments")
    assert set(PROMPT_NAMES) > {ref.name for ref in ours.prompts}


def test_the_shared_part_is_the_same_to_the_byte_whatever_they_answered() -> None:
    inputs = {model: second_turn(model) for model in ("alpha", "beta", "gamma")}
    assert len({shared_sha256(one) for one in inputs.values()}) == 1
    assert len({one.sha256 for one in inputs.values()}) == 3
    assert forced_differences(inputs) == ()


def test_what_had_to_differ_is_found_and_changes_the_hash() -> None:
    seeing = replace(line("alpha", []), vision=True, request=message(9, "Look", attachments=[image(1)]))
    inputs = {
        "alpha": build_candidate(seeing, PROMPTS, max_tokens=100),
        "beta": build_candidate(replace(seeing, vision=False, line="beta"), PROMPTS, max_tokens=200),
    }
    assert len({shared_sha256(one) for one in inputs.values()}) == 2
    found = {(one.what, one.name): dict(one.values) for one in forced_differences(inputs)}
    assert found == {
        (Forced.PARAMETER, "max_tokens"): {"alpha": 100, "beta": 200},
        (Forced.IMAGES, ""): {"alpha": 1, "beta": 0},
    }


def test_texts_that_differ_and_nothing_else_are_named_too() -> None:
    one, other = (build_candidate(replace(line("a", []), request=message(9, t)), PROMPTS) for t in "xy")
    assert [d.what for d in forced_differences({"a": one, "b": other})] == [Forced.TEXT]


def test_the_same_parameters_hold_for_all_candidates_where_the_run_gives_them() -> None:
    assert build_candidate(line("alpha", []), PROMPTS, max_tokens=500).params == {"max_tokens": 500}
    assert build_candidate(line("alpha", []), PROMPTS).params == {"max_tokens": 4_000}


# --- joining late ---------------------------------------------------------------------------------------------------


def test_a_late_joiner_is_told_and_gets_the_questions_so_far_without_answers() -> None:
    late = build_candidate(line("gamma", [], late=LATE), PROMPTS)
    origins = [part.origin for part in late.parts]
    assert origins == [
        Origin.SYSTEM_PROMPT,
        Origin.INSTRUCTION,
        Origin.HISTORY,
        Origin.HISTORY,
        Origin.REQUEST,
    ]
    assert "you join this conversation late" in late.parts[1].text
    assert texts(late, Origin.HISTORY) == [
        "⟦person: Alice⟧\nFirst question",
        "⟦person: Bob⟧\nSecond question",
    ]
    assert [part.message_id for part in late.parts[2:4]] == ["q1", "q2"]
    assert all(part.role is not Role.ASSISTANT for part in late.parts)


def test_only_the_late_line_is_told_and_its_shared_part_stays_equal() -> None:
    history = [message(1, "First question"), answer(2, "mine"), message(3, "Second question", name="Bob")]
    early = build_candidate(line("alpha", history), PROMPTS)
    late = build_candidate(line("gamma", [], late=LATE), PROMPTS)
    assert "late" not in shown(early).split("Be accurate")[1]
    assert shared_sha256(early) == shared_sha256(late)
    assert [one.what for one in forced_differences({"alpha": early, "gamma": late})] == [Forced.LATE]


def test_on_its_next_turn_a_late_joiner_has_questions_and_its_own_answers() -> None:
    own = [message(3, "Third"), answer(4, "planted-gamma")]
    late = build_candidate(line("gamma", own, late=LATE), PROMPTS)
    assert [t.rpartition("\n")[2] for t in texts(late, Origin.HISTORY)] == [
        "First question",
        "Second question",
        "Third",
        "planted-gamma",
    ]


def test_questions_of_a_late_joiner_keep_within_the_window() -> None:
    many = tuple(replace(message(1, f"question {n}"), id=MessageId(f"q{n}")) for n in range(30))
    few = build_candidate(line("gamma", [], late=many), PROMPTS)
    assert len(texts(few, Origin.HISTORY)) == WINDOW_MESSAGES
    assert "question 0" in texts(few, Origin.FIRST_MESSAGE)[0]
    assert "9" in texts(few, Origin.OMITTED_NOTE)[0]
    long = build_candidate(line("gamma", talk(40), late=LATE), PROMPTS)
    assert "First question" in texts(long, Origin.FIRST_MESSAGE)[0]
    assert "21" in texts(long, Origin.OMITTED_NOTE)[0]


# --- comparison -----------------------------------------------------------------------------------------------------


def compared(*spoken: Any, **changes: Any) -> AiInput:
    return build_comparison(voices(SETUP, *spoken, **changes), PROMPTS)


def test_answers_are_called_by_letters_in_the_thread_s_order_and_never_by_model() -> None:
    sent = compared(said("answer:gamma"), said("answer:alpha"), said("answer:beta", cut=Cut.STOPPED))
    labels = [text.splitlines()[0].partition(": ")[2] for text in texts(sent, Origin.SPOKEN)]
    assert labels == ["answer A⟧", "answer B⟧", "answer C⟧"]
    assert "words of answer:alpha" in texts(sent, Origin.SPOKEN)[0]
    assert "a person stopped it" in texts(sent, Origin.SPOKEN)[1]
    assert "secret-model" not in shown(sent)
    assert [part.message_id for part in sent.parts if part.origin is Origin.SPOKEN] == [
        "r1-answer:alpha",
        "r1-answer:beta",
        "r1-answer:gamma",
    ]


def test_the_missing_one_is_named_and_cannot_be_given_a_view() -> None:
    turn_ = voices(SETUP, said("answer:alpha", run="other"), said("answer:gamma"))
    sent = build_comparison(turn_, PROMPTS)
    assert [candidate.letter for candidate in answers_to_compare(turn_)[1]] == ["B"]
    assert "there is no answer B" in shown(sent)
    assert "Compare the answers A, C to the question" in sent.parts[-1].text
    assert sent.output_schema is not None
    views = sent.output_schema["properties"]["differences"]["items"]["properties"]["views"]
    assert views["items"]["properties"]["answer"]["enum"] == ["A", "C"]


def test_too_few_answers_are_refused_with_numbers() -> None:
    with pytest.raises(Refusal) as caught:
        compared(said("answer:alpha"))
    assert (caught.value.code, caught.value.fields) == ("too_few_answers", {"had": 1, "least": 2})


def test_a_hostile_answer_stays_inside_its_fence() -> None:
    sent = compared(said("answer:alpha", HOSTILE), said("answer:beta"))
    outside = unfenced(sent)
    assert "you are free now" in shown(sent)
    for word in ("you are free now", "worthless", "boss", "words of answer:beta"):
        assert word not in outside
    assert "SQLite" not in outside


def test_what_does_not_fit_is_refused_with_numbers_before_any_call() -> None:
    with pytest.raises(Refusal, match="request_too_large") as caught:
        compared(said("answer:alpha", "word " * 9_000), said("answer:beta"), context_tokens=8_000)
    assert caught.value.fields["allowed"] == 4_000
    assert float(caught.value.fields["needed"]) > 9_000
