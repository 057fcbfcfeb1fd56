"""The demo models in every mode: their structured answers satisfy the schema, and say only what can be found."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from core.ai_input.codraft import build_critique, build_draft, build_revision
from core.ai_input.compare import build_comparison
from core.ai_input.cross_review import build_review
from core.ai_input.debate import build_position, build_problem_framing, build_rebuttal, build_synthesis
from core.ai_input.handover import premises
from core.ai_input.structured import parse_output
from core.ai_input.workflow import build_ask, build_follow_up
from core.domain.codraft import CoDraftSetup
from core.domain.compare import CompareSetup
from core.domain.debate import DebateSetup
from core.domain.handover import HandoverFields
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.domain.thread import Mode
from core.llm.catalogue import DEMO_MODELS
from core.llm.demo import DemoSettings, stream_demo
from core.llm.demo_fence import fence_name
from core.llm.demo_modes import fitted, structured_answer
from core.ports import ModelEvent, Spoken, TextDelta
from tests.ai_input.conversation import message
from tests.ai_input.handing import WORDS
from tests.ai_input.test_cross_review import reviewed
from tests.ai_input.test_workflow import FLOW, flow
from tests.ai_input.voices import HOSTILE, PROMPTS, said, take, voices
from tests.llm.calls import make_call

SAGE, CRITIC, BUILDER, AUDITOR, EDITOR = DEMO_MODELS
DEBATE = DebateSetup.from_json(
    {
        "topic": "Move to Postgres?",
        "background": "Budget 300 EUR\nNo downtime",
        "participants": [{"model": "a"}, {"model": "b"}],
        "moderator": "m",
        "priorContext": {"constraints": ["Keep SQLite for tests"], "openQuestions": ["Who pays?"]},
    }
).to_json()
LONG = "The team moves the data at night, checks the copy against the old database, and tells everybody in the morning."
CODRAFT = CoDraftSetup(task="Write a notice.\nAt most 400 characters.", models=("a", "b")).to_json()


async def answer(ai_input: AiInput, model: Any = SAGE) -> str:
    events: AsyncGenerator[ModelEvent] = stream_demo(
        model, make_call(model.alias, ai_input=ai_input), DemoSettings(word_s=0.0)
    )
    async with aclosing(events):
        return "".join([event.text async for event in events if isinstance(event, TextDelta)])


async def structured(ai_input: AiInput, model: Any = SAGE) -> dict[str, Any]:
    """The answer, read as the product reads it."""
    assert ai_input.output_schema is not None
    return parse_output(await answer(ai_input, model), ai_input.output_schema)


def debate(*spoken: Spoken) -> Any:
    return voices(DEBATE, *spoken)


async def test_framing_keeps_every_constraint_word_for_word_and_says_what_reached_it() -> None:
    data = await structured(build_problem_framing(debate(), PROMPTS))
    assert data["constraints"] == ["Budget 300 EUR", "No downtime", "Keep SQLite for tests"]
    assert data["open_questions"][0] == "Who pays?"
    assert "premises for every round (26 characters)" in data["open_questions"][-1]
    assert "Move to Postgres?" in data["issues"][0]["question"]


async def test_of_premises_that_a_handover_filled_only_the_constraints_are_limits() -> None:
    fields = HandoverFields(
        source_mode=Mode.CHAT,
        summary="Two suppliers are left.",
        constraints=("Names stay in-house", "500 EUR"),
        open_questions=("Who signs?",),
        conclusions=("Not abroad.",),
    )
    for locale in ("en", "ja"):
        filled = premises("", fields, replace(WORDS, locale=locale)).text
        setup = {**DEBATE, "background": filled, "priorContext": {}}
        turn = voices(setup, said("positions:A", data=take("for", "x")))
        kept = "I keep to: "
        text = (await structured(build_position(turn, PROMPTS, letter="B")))["text"]
        assert [line for line in text.splitlines() if line.startswith(kept)] == [
            f"{kept}Names stay in-house",
            f"{kept}500 EUR",
        ]
        synthesis = await structured(build_synthesis(turn, PROMPTS))
        assert [c["constraint"] for c in synthesis["constraints"]] == ["Names stay in-house", "500 EUR"]


async def test_positions_follow_the_role_and_are_labelled() -> None:
    stances = {}
    for letter in ("A", "B"):
        data = await structured(build_position(debate(), PROMPTS, letter=letter))
        stances[letter] = data["stance"]
        assert "scripted, offline, not an AI" in data["text"]
        assert "I keep to: Budget 300 EUR" in data["text"]
    assert stances["A"] == "For “Move to Postgres?”"
    assert stances["B"].startswith("Against")


async def test_the_builder_alone_lets_itself_be_convinced() -> None:
    spoken = [said(f"positions:{x}", data=take(f"stance of {x}", "x")) for x in "AB"]
    last = build_rebuttal(debate(*spoken), PROMPTS, letter="A", number=1, last=True)
    assert "Changed after hearing B" in (await structured(last, BUILDER))["stance"]
    assert (await structured(last, CRITIC))["stance"].startswith("For “")
    assert "B says: “stance of B”" in (await structured(last, CRITIC))["text"]


async def test_a_rebuttal_and_a_follow_up_answer_what_was_said() -> None:
    spoken = [said("positions:A", data=take("stance of A", "x"))]
    turn = voices(DEBATE, *spoken, request=message(9, "And backups?"))
    text = await answer(build_rebuttal(turn, PROMPTS, letter="B", number=2, last=False, follow_up=True))
    assert "A says: “stance of A”" in text
    assert "The new message is: “And backups?”" in text
    assert text.startswith("**Demo model: scripted, offline, not an AI.**")


async def test_a_synthesis_keeps_every_stance_and_finds_changes_by_their_words() -> None:
    spoken = [
        said("positions:A", data=take("for", "x")),
        said("positions:B", data=take("against", "x")),
        said("rebuttals.1:A", data=take("for", "x")),
        said("rebuttals.1:B", data=take("for a trial", "x")),
    ]
    data = await structured(build_synthesis(debate(*spoken), PROMPTS))
    assert data["agreed"] == []
    assert data["dissent"] == [{"participant": "B", "view": "for a trial"}]
    assert [(c["participant"], c["changed"]) for c in data["changes"]] == [("A", False), ("B", True)]
    assert [c["status"] for c in data["constraints"]] == ["unclear", "unclear"]
    assert "A script recommends nothing" in data["recommendation"]
    agreeing = await structured(build_synthesis(debate(*spoken[:1], spoken[2]), PROMPTS))
    assert (agreeing["agreed"], agreeing["unresolved"], agreeing["dissent"]) == (["for"], [], [])


async def test_a_comparison_finds_lines_that_are_equal_and_lines_that_are_not() -> None:
    setup = CompareSetup(models=("a", "b", "c")).to_json()
    turn = voices(
        setup,
        said("answer:a", "**Demo model: scripted, offline, not an AI.**\n- shared\n- only a\n- last of a"),
        said("answer:b", "**Demo model: scripted, offline, not an AI.**\n* shared\n* only b"),
        said("answer:c", "**Demo model: scripted, offline, not an AI.**\nshared"),
    )
    data = await structured(build_comparison(turn, PROMPTS))
    assert data["agreements"] == ["shared"]
    assert data["differences"][0]["views"] == [
        {"answer": "A", "view": "only a"},
        {"answer": "B", "view": "only b"},
    ]
    assert data["only_one"] == [{"answer": "A", "point": "last of a"}]
    assert "only lines that are equal" in data["missing"][0]
    alike = voices(setup, said("answer:a", "same"), said("answer:b", "same"))
    assert (await structured(build_comparison(alike, PROMPTS)))["differences"] == []


async def test_a_draft_is_criticised_and_revised_as_it_stands() -> None:
    turn = voices(CODRAFT)
    draft = await answer(build_draft(turn, PROMPTS))
    assert "- At most 400 characters." in draft
    critique = await structured(build_critique(turn, PROMPTS, text=draft))
    (point,) = critique["points"]
    assert point["quote"] in draft
    revision = await structured(build_revision(turn, PROMPTS, text=draft, number=1))
    assert revision["text"] != draft
    assert len(revision["changes"]) == 1
    again = await structured(build_critique(turn, PROMPTS, text=LONG))
    assert again["points"][0]["quote"] == LONG


async def test_a_text_without_a_fault_it_can_find_stays_as_it_is() -> None:
    turn = voices(CODRAFT, request=message(9, "Make it funny"))
    assert (await structured(build_critique(turn, PROMPTS, text="Short.")))["points"] == []
    revision = await structured(build_revision(turn, PROMPTS, text="Short.", number=1))
    assert revision == {"text": "Short.", "changes": []}
    wish = await structured(build_critique(turn, PROMPTS, text="Short.", follow_up=True))
    assert [(p["quote"], p["problem"]) for p in wish["points"]] == [("", "Make it funny")]


async def test_japanese_text_is_divided_and_answered_in_japanese() -> None:
    setup = CoDraftSetup(task="お知らせを書いてください。400文字以内。", models=("a", "b")).to_json()
    turn = voices(setup)
    draft = await answer(build_draft(turn, PROMPTS))
    assert "デモモデル" in draft
    revision = await structured(build_revision(turn, PROMPTS, text=draft, number=1))
    assert revision["text"].count("。") == draft.count("。") + 1
    assert "2つの文に分けました" in revision["changes"][0]["change"]


async def test_a_review_checks_sums_and_does_not_depend_on_the_order_of_reading() -> None:
    answers = [
        said("a", "- 2 + 2 = 5\n- point"),
        said("b", "- one\n- two\n2 + 3 = 5"),
        said("c", "no list"),
    ]
    rankings = []
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        data = await structured(build_review(reviewed(*answers), PROMPTS, order=order))
        letters = dict(zip("ABC", order, strict=True))
        by_answer = {letters[letter]: one for letter, one in data["answers"].items()}
        assert by_answer[0]["errors"] == [{"quote": "2 + 2 = 5", "problem": "The sum is 4."}]
        assert [by_answer[n]["verdict"] for n in range(3)] == [
            "unsound",
            "usable_with_fixes",
            "usable_with_fixes",
        ]
        assert (by_answer[1]["strengths"], by_answer[2]["strengths"]) != ([], [])
        rankings.append([letters[letter] for letter in data["ranking"]])
    assert rankings == [[1, 2, 0]] * 3


async def test_the_two_reviewers_that_the_defaults_leave_like_different_things() -> None:
    answers = [
        said("a", "- one\n- two\n- three, which takes more room"),
        said("b", "- one"),
        said("c", "1 + 1 = 3"),
    ]
    rankings = {}
    for model in (AUDITOR, EDITOR):
        data = await structured(build_review(reviewed(*answers), PROMPTS, order=(0, 1, 2)), model)
        rankings[model.id] = data["ranking"]
        assert data["answers"]["C"]["verdict"] == "unsound"
    assert rankings == {"demo/auditor": ["A", "B", "C"], "demo/editor": ["B", "A", "C"]}


async def test_a_workflow_step_and_a_question_after_it_tell_what_reached_them() -> None:
    step = await answer(build_ask(flow(), PROMPTS, workflow=FLOW, step_id="options"))
    assert "input firstRequest (15 characters)" in step
    assert "Instruction of options" in step
    turn = flow(said("options", "planted"), request=message(9, "And the cost?"))
    later = await answer(build_follow_up(turn, PROMPTS, workflow=FLOW))
    assert "I am asked: “And the cost?”" in later
    assert "result of step options: A title (7 characters)" in later


async def test_no_answer_names_the_model_and_the_same_input_gives_the_same_answer() -> None:
    turn = debate(said("positions:A", data=take("for", "x")))
    inputs = [
        build_problem_framing(turn, PROMPTS),
        build_position(turn, PROMPTS, letter="B"),
        build_rebuttal(turn, PROMPTS, letter="B", number=1, last=False),
        build_synthesis(turn, PROMPTS),
        build_review(reviewed(), PROMPTS, order=(0, 1, 2)),
    ]
    for ai_input in inputs:
        for model in DEMO_MODELS:
            text = await answer(ai_input, model)
            assert text == await answer(ai_input, model)
            assert "not an AI" in text
            assert model.alias not in text


async def test_what_reached_a_model_is_named_in_the_language_of_its_answer() -> None:
    setup = {**DEBATE, "topic": "移転するか"}
    spoken = [
        said("problem_framing", data={"issues": [], "constraints": [], "open_questions": []}),
        said("positions:A", data=take("賛成", "x")),
        said("rebuttals.1:A", "y"),
    ]
    turn = voices(setup, *spoken, request=message(1, "移転するか"))
    told = await answer(build_rebuttal(turn, PROMPTS, letter="B", number=2, last=False))
    (line,) = [line for line in told.splitlines() if line.startswith("指示のほかに")]
    for name in ("議題(", "毎回渡す前提(26文字)", "司会の論点整理(", "参加者 A の立場(", "参加者 A の反論1("):
        assert name in line
    assert not re.search(r"[a-z]{3}", line)


@pytest.mark.parametrize(
    ("what", "english", "japanese"),
    [
        ("answer B", "answer B", "回答 B"),
        (
            "contribution of participant C, round rebuttals.2",
            "contribution of participant C, rebuttals 2",
            "参加者 C の反論2",
        ),
        ("result of step a-b: One: two", "result of step a-b: One: two", "手順 a-b「One: two」の結果"),
        ("result of step a: T, answer C", "result of step a: T, answer C", "手順 a「T」の回答 C"),
        ("message of Aki", "message of Aki", "Aki さんのメッセージ"),
        ("a label of the team's own", "a label of the team's own", "a label of the team's own"),
        ("contribution of participant A, round seven", *["contribution of participant A, round seven"] * 2),
    ],
)
def test_a_fence_is_called_by_what_it_holds(what: str, english: str, japanese: str) -> None:
    assert (fence_name("en", what), fence_name("ja", what)) == (english, japanese)


async def test_hostile_text_changes_nothing_of_what_a_demo_model_finds() -> None:
    data = await structured(
        build_review(reviewed(said("a", HOSTILE), said("b", "- fine")), PROMPTS, order=(0, 1))
    )
    assert data["ranking"] == ["B", "A"]
    assert set(data["answers"]) == {"A", "B"}


# --- any schema -----------------------------------------------------------------------------------------------------

leaves = st.one_of(
    st.just({"type": "string", "minLength": 1, "maxLength": 40}),
    st.just({"type": "string"}),
    st.just({"type": "boolean"}),
    st.just({"type": "integer", "minimum": 3, "maximum": 5}),
    st.just({"type": "number", "maximum": -1}),
    st.just({"enum": ["x", "y"]}),
    st.just({}),
)
names = st.sampled_from(
    ["text", "stance", "answers", "ranking", "points", "keep", "agreements", "differences"]
)


def objects(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(names, children, max_size=4).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


def nested(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.builds(
        lambda items, least, more: {
            "type": "array",
            "items": items,
            "minItems": least,
            "maxItems": least + more,
        },
        children,
        st.integers(0, 2),
        st.integers(0, 2),
    )
    return objects(children) | lists


HABITS = [model.id.partition("/")[2] for model in DEMO_MODELS]
REQUEST = InputPart(
    role=Role.USER, origin=Origin.REQUEST, text="⟦data a1: the topic⟧\nMove?\n⟦end of data a1⟧"
)


@given(
    objects(st.recursive(leaves, nested, max_leaves=8)),
    st.sampled_from(HABITS),
)
def test_whatever_the_schema_the_answer_satisfies_it(schema: dict[str, Any], habit: str) -> None:
    data = structured_answer(habit, (REQUEST,), schema)
    Draft202012Validator(schema).validate(json.loads(json.dumps(data)))


@pytest.mark.parametrize(
    ("schema", "wish", "value"),
    [
        ({"type": "string", "pattern": "^[^\n]+$"}, "two\nlines", "two lines"),
        ({"type": "string", "minLength": 5}, "abc", "fallback"),
        ({"type": "string", "maxLength": 3}, "abcdef", "abc"),
        ({"enum": ["a", "b"]}, "b", "b"),
        ({"enum": ["a", "b"]}, "c", "a"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, ["a", "b"], ["a"]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "no list", ["fallback"]),
        ({"type": "integer", "minimum": 1, "maximum": 9}, 12, 9),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, "no table", {"a": False}),
    ],
)
def test_a_wish_is_fitted_to_its_schema(schema: dict[str, Any], wish: object, value: object) -> None:
    assert fitted(schema, wish, "fallback") == value
