"""The AI input of Cross Review: what is in it, and above all what is not."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from core.ai_input.cross_review import build_review, verdict_schema
from core.ai_input.fencing import inert
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.message import Cut
from core.domain.receipt import Origin, Role
from core.domain.review import shuffled_order
from core.ports import Spoken, Turn
from tests.ai_input.conversation import THREAD, answer, attachment, message, turn
from tests.ai_input.voices import HOSTILE, PROMPTS, said, shown, take, texts, unfenced

ANSWERS = (said("answer:alpha", "First answer"), said("answer:beta", "Second answer"), said("x", "Third"))


def reviewed(*answers: Spoken) -> Turn:
    """A turn with something planted everywhere that a review must not look at."""
    files = [attachment(1, name="planted-file.txt", text="planted-file")]
    history = [message(1, "planted-history", name="planted-person"), answer(2, "planted-earlier-answer")]
    made = turn(history, message(3, "planted-question", name="planted-person", attachments=files))
    return replace(
        made,
        thread=replace(THREAD, title="planted-title", id=ThreadId("planted-thread")),
        setup={
            "topic": "planted-topic",
            "background": "planted-background",
            "priorContext": {"summary": "planted-handover", "constraints": ["planted-pin"]},
            "models": ["planted-model"],
        },
        args={"question": "planted-argument"},
        spoken=(
            said("verdict:1", "planted-other-reviewer"),
            said("summary", "planted-summary", model="planted-model"),
        ),
        model="planted-reviewer",
        line="planted-line",
        reviewed=answers or ANSWERS,
    )


def test_a_reviewer_is_sent_the_answers_and_its_instructions_and_nothing_else() -> None:
    sent = build_review(reviewed(), PROMPTS, order=(2, 0, 1), focus="the sums")
    assert [(part.role, part.origin) for part in sent.parts] == [
        (Role.SYSTEM, Origin.SYSTEM_PROMPT),
        (Role.USER, Origin.UNDER_REVIEW),
        (Role.USER, Origin.UNDER_REVIEW),
        (Role.USER, Origin.UNDER_REVIEW),
        (Role.USER, Origin.INSTRUCTION),
        (Role.USER, Origin.INSTRUCTION),
    ]
    whole = shown(sent) + str(sent.params) + str(sent.output_schema) + str(sent.prompts)
    assert "planted" not in whole
    assert "secret-model" not in whole
    assert not any(part.images for part in sent.parts)
    assert sent.omissions == ()
    assert sent.caps == ()


def test_beside_the_answers_two_reviews_of_different_threads_are_the_same_to_the_byte() -> None:
    elsewhere = replace(turn([], message(9, "another question")), reviewed=ANSWERS, model="planted-reviewer")
    ours = build_review(reviewed(), PROMPTS, order=(0, 1, 2))
    assert build_review(elsewhere, PROMPTS, order=(0, 1, 2)).sha256 == ours.sha256


def test_answers_stand_in_the_reviewer_s_order_under_letters() -> None:
    sent = build_review(reviewed(), PROMPTS, order=(2, 0, 1))
    labels = [re.sub(r"^⟦data \w+: |⟧$", "", t.splitlines()[0]) for t in texts(sent, Origin.UNDER_REVIEW)]
    assert labels == ["answer A", "answer B", "answer C"]
    assert [t.splitlines()[1] for t in texts(sent, Origin.UNDER_REVIEW)] == [
        "Third",
        "First answer",
        "Second answer",
    ]
    assert sent.parts[-1].text == "Review the answers A, B, C."


def test_the_focus_is_data_and_is_left_out_when_there_is_none() -> None:
    sent = build_review(reviewed(), PROMPTS, order=(0, 1, 2), focus=HOSTILE)
    assert "you are free now" in shown(sent)
    assert "you are free now" not in unfenced(sent)
    assert "what the reviewers are asked to look at⟧" not in shown(
        build_review(reviewed(), PROMPTS, order=(0, 1, 2))
    )


def test_an_answer_with_structure_is_shown_without_the_names_that_people_read() -> None:
    position = said("positions:A", "gpt-9 says", data=take("For it", "Because."))
    synthesis = said("synthesis", "gpt-9 (skeptic) changed", data={"recommendation": "Wait", "dissent": []})
    revision = said("revise.1", "What gpt-9 changed", data={"text": "The text", "changes": []})
    sent = build_review(reviewed(position, synthesis, revision), PROMPTS, order=(0, 1, 2))
    assert "gpt-9" not in shown(sent)
    one, two, three = texts(sent, Origin.UNDER_REVIEW)
    assert "Stance: For it\n\nBecause." in one
    assert '"recommendation": "Wait"' in two
    assert three.splitlines()[1] == "The text"


def test_an_answer_that_was_cut_off_says_so() -> None:
    sent = build_review(reviewed(said("x", "half", cut=Cut.LENGTH)), PROMPTS, order=(0,))
    assert "reached the length limit" in texts(sent, Origin.UNDER_REVIEW)[0]


def test_an_order_that_does_not_fit_the_answers_left_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        build_review(reviewed(ANSWERS[0]), PROMPTS, order=(0, 1))
    assert (caught.value.code, caught.value.fields) == ("review_answers_gone", {"had": 2, "left": 1})


@given(st.lists(st.text(max_size=200) | st.just(HOSTILE), min_size=1, max_size=6), st.text(max_size=10))
def test_whatever_answers_hold_each_is_whole_and_in_a_fence_of_its_own(
    contents: list[str], seed: str
) -> None:
    answers = [said(f"x{n}", content) for n, content in enumerate(contents)]
    order = shuffled_order(seed, 1, len(answers))
    sent = build_review(reviewed(*answers), PROMPTS, order=order)
    parts = texts(sent, Origin.UNDER_REVIEW)
    for part, place in zip(parts, order, strict=True):
        opening, _, rest = part.partition("\n")
        code = opening.removeprefix("⟦data ").partition(":")[0]
        assert rest == f"{inert(answers[place].text)}\n⟦end of data {code}⟧"
        assert part.count("⟦") == part.count("⟧") == 2


# --- the schema -----------------------------------------------------------------------------------------------------

FINE = {"strengths": [], "errors": [], "verdict": "sound", "reason": "fine"}


@pytest.mark.parametrize(
    ("data", "valid"),
    [
        ({"answers": {"A": FINE, "B": FINE}, "ranking": ["B", "A"], "reason": "r"}, True),
        ({"answers": {"A": FINE}, "ranking": ["B", "A"], "reason": "r"}, False),
        ({"answers": {"A": FINE, "B": FINE, "C": FINE}, "ranking": ["B", "A"], "reason": "r"}, False),
        ({"answers": {"A": FINE, "B": FINE}, "ranking": ["B"], "reason": "r"}, False),
        ({"answers": {"A": FINE, "B": FINE}, "ranking": ["B", "B"], "reason": "r"}, False),
        ({"answers": {"A": FINE, "B": FINE}, "ranking": ["B", "C"], "reason": "r"}, False),
        (
            {"answers": {"A": FINE, "B": {**FINE, "verdict": "great"}}, "ranking": ["B", "A"], "reason": "r"},
            False,
        ),
    ],
)
def test_only_a_verdict_on_exactly_these_answers_satisfies_the_schema(
    data: dict[str, object], valid: bool
) -> None:
    assert Draft202012Validator(verdict_schema(PROMPTS, ("A", "B"))).is_valid(data) is valid
