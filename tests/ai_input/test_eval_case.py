"""Cases of eval sets as AI inputs: the same as the product's, whatever they hold."""

from dataclasses import replace

import pytest

from core.ai_input.codraft import build_critique
from core.ai_input.cross_review import build_review
from core.ai_input.debate import build_rebuttal
from core.ai_input.eval_case import Seat, render_case, request_text, seen
from core.ai_input.material import output_schema
from core.domain.errors import ConfigurationError, Refusal
from core.domain.receipt import AiInput, Origin, Role
from core.domain.thread import Mode
from core.prompts.eval_file import load_eval_sets
from core.prompts.eval_set import (
    SHAPES,
    CaseKind,
    CaseOrigin,
    EvalCase,
    Line,
    OriginType,
    SaidBefore,
    Source,
    inputs_wanted,
)
from core.prompts.parse import parse_prompt
from core.prompts.placeholder import placeholders
from core.prompts.registry import PromptLibrary
from tests.ai_input.conversation import THREAD, message, turn
from tests.ai_input.voices import HOSTILE, PROMPTS, said, take, unfenced, voices

SEAT = Seat(model="demo", context_tokens=200_000, max_output_tokens=4_000)


def case(prompt: str, source: Source, **inputs: str) -> EvalCase:
    return EvalCase(
        id="c1",
        prompt=prompt,
        kind=CaseKind.TYPICAL,
        origin=CaseOrigin(type=OriginType.SYNTHETIC),
        inputs=inputs,
        source=source,
        checks=(),
    )


def shape_of(ai_input: AiInput) -> list[tuple[Role, Origin, str]]:
    """Parts without the codes of their fences, which come from ids."""
    return [
        (part.role, part.origin, "\n".join(line for line in part.text.splitlines() if "⟦" not in line))
        for part in ai_input.parts
    ]


def test_a_debate_case_is_what_the_product_sends() -> None:
    source = Source(
        topic="Tabs?",
        background="No budget.",
        participants=("proponent", "skeptic"),
        said=(
            SaidBefore(step="positions:A", stance="Yes", text="Because."),
            SaidBefore(step="positions:B", text="No."),
        ),
    )
    setup = {
        "topic": "Tabs?",
        "background": "No budget.",
        "participants": [{"model": "a", "role": "proponent"}, {"model": "b", "role": "skeptic"}],
        "moderator": "a",
    }
    ours = voices(
        setup,
        said("positions:A", data=take("Yes", "Because.")),
        said("positions:B", "No."),
        request=message(1, "Tabs?"),
        thread=replace(THREAD, mode=Mode.DEBATE),
    )
    rendered = render_case(case("debate.rebuttals", source, letter="B", round="rebuttals.1"), PROMPTS, SEAT)
    product = build_rebuttal(ours, PROMPTS, letter="B", number=1, last=False)
    assert shape_of(rendered) == shape_of(product)
    assert rendered.prompts == product.prompts
    assert rendered.params == product.params


def test_a_review_case_is_what_the_product_sends() -> None:
    rendered = render_case(
        case("review.verdict", Source(answers=("One", "Two"), focus="sums")), PROMPTS, SEAT
    )
    ours = replace(turn([], message(1, "asked")), reviewed=(said("a", "One"), said("b", "Two")))
    product = build_review(ours, PROMPTS, order=(0, 1), focus="sums")
    assert shape_of(rendered) == shape_of(product)
    assert rendered.output_schema == product.output_schema


def test_a_co_draft_case_with_an_instruction_is_a_later_pass() -> None:
    source = Source(task="Write.", text="The text.", instruction="Shorter, please.")
    rendered = render_case(case("codraft.critique", source), PROMPTS, SEAT)
    ours = voices(
        {"task": "Write.", "models": ["a", "b"], "passes": 1},
        before=[message(1, "Write.")],
        request=message(3, "Shorter, please."),
        thread=replace(THREAD, mode=Mode.CODRAFT),
    )
    product = build_critique(ours, PROMPTS, text="The text.", follow_up=True)
    assert shape_of(rendered) == shape_of(product)


def test_a_chat_case_answers_its_last_message() -> None:
    lines = (Line(by="Ann", text="First?"), Line(by="", text="An answer."), Line(by="Ben", text="Second?"))
    rendered = render_case(case("chat.answer", Source(messages=lines)), PROMPTS, SEAT)
    assert [part.role for part in rendered.parts[1:]] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert rendered.parts[-1].text == "⟦person: Ben⟧\nSecond?"


def test_every_shape_belongs_to_a_prompt_and_fills_what_no_case_gives() -> None:
    assert set(SHAPES) <= set(PROMPTS.versions)
    asked = {name: inputs_wanted(name, tuple(PROMPTS.get(name).parts.inputs)) for name in SHAPES}
    assert {name: wanted for name, wanted in asked.items() if wanted} == {
        "handover.draft": {"target"},
        "debate.positions": {"letter"},
        "debate.rebuttals": {"letter", "round"},
        "debate.last_rebuttal": {"letter", "round"},
    }


@pytest.mark.parametrize(
    ("prompt", "source", "inputs"),
    [
        ("handover.draft", Source(mode="chat", messages=(Line(by="Ann", text=HOSTILE),)), {"target": "chat"}),
        ("compare.summary", Source(question=HOSTILE, answers=(HOSTILE, HOSTILE)), {}),
        ("review.verdict", Source(answers=(HOSTILE, "x"), focus=HOSTILE), {}),
        ("debate.problem_framing", Source(topic=HOSTILE, participants=("proponent", "skeptic")), {}),
        (
            "codraft.revise",
            Source(task=HOSTILE, text=HOSTILE, critique={"points": [], "keep": [HOSTILE]}),
            {},
        ),
    ],
)
def test_what_a_case_holds_stays_inside_its_fences(
    prompt: str, source: Source, inputs: dict[str, str]
) -> None:
    rendered = render_case(case(prompt, source, **inputs), PROMPTS, SEAT)
    assert "you are free now" not in unfenced(rendered)
    assert "you are free now" in request_text(rendered)
    assert "you are free now" not in rendered.parts[0].text
    assert request_text(rendered).count("⟦end of data 00000000⟧") == 0
    assert render_case(case(prompt, source, **inputs), PROMPTS, SEAT).sha256 == rendered.sha256


OWN = {
    "prompt.yaml": b"""\
name: team.sum
version: "1.0.0"
description: Adds.
target_models: [any]
last_updated: "2026-11-30"
output_format: text
inputs:
  tone: {trust: trusted, description: How to speak.}
  numbers: {trust: untrusted, description: What to add.}
""",
    "system.md": b"Add. Tone: {{tone}}\n",
    "task.md": b"Add these:\n{{numbers}}\n",
    "few_shot.yaml": b"- {input: {numbers: '1, 2'}, output: '3'}\n",
}


def with_own() -> PromptLibrary:
    return PromptLibrary({**PROMPTS.versions, "team.sum": parse_prompt("team.sum", OWN)})


def test_a_team_s_own_prompt_is_rendered_with_its_inputs_and_what_is_untrusted_fenced() -> None:
    rendered = render_case(case("team.sum", Source(), tone="calm", numbers=HOSTILE), with_own(), SEAT)
    assert [(part.role, part.origin) for part in rendered.parts] == [
        (Role.SYSTEM, Origin.SYSTEM_PROMPT),
        (Role.USER, Origin.EXAMPLE),
        (Role.ASSISTANT, Origin.EXAMPLE),
        (Role.USER, Origin.INSTRUCTION),
    ]
    assert rendered.parts[0].text == "Add. Tone: calm"
    assert "you are free now" not in unfenced(rendered)
    assert [ref.name for ref in rendered.prompts] == ["team.sum", "shared.fragments", "modes.fragments"]


def test_a_prompt_that_has_come_apart_from_its_case_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="placeholders without a value: numbers"):
        render_case(case("team.sum", Source(), tone="calm"), with_own(), SEAT)


@pytest.mark.parametrize(
    ("prompt", "source", "inputs", "reason"),
    [
        (
            "debate.positions",
            Source(topic="t", participants=("analyst", "skeptic")),
            {"letter": "C"},
            "letter must",
        ),
        (
            "debate.rebuttals",
            Source(topic="t", participants=("analyst", "skeptic")),
            {"letter": "A", "round": "first"},
            "round must be",
        ),
        (
            "handover.draft",
            Source(mode="chat", messages=(Line(by="A", text="x"),)),
            {"target": "mail"},
            "target must",
        ),
    ],
)
def test_an_input_that_no_builder_takes_is_refused(
    prompt: str, source: Source, inputs: dict[str, str], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        render_case(case(prompt, source, **inputs), PROMPTS, SEAT)


@pytest.mark.parametrize("prompt", ["codraft.draft", "team.sum"])
def test_a_case_that_does_not_fit_the_model_is_refused(prompt: str) -> None:
    long = "word " * 3_000
    source, inputs = (
        (Source(task=long), {}) if prompt == "codraft.draft" else (Source(), {"tone": "x", "numbers": long})
    )
    with pytest.raises(Refusal) as refused:
        render_case(case(prompt, source, **inputs), with_own(), replace(SEAT, context_tokens=5_000))
    assert refused.value.code == "request_too_large"


def test_the_conditions_see_the_output_as_the_product_reads_it() -> None:
    one = case("compare.summary", Source(question="Q", answers=("x", "y")))
    rendered = render_case(one, PROMPTS, SEAT)
    good = '```json\n{"agreements": [], "differences": [], "only_one": [], "missing": ["z"]}\n```'
    looked = seen(one, rendered, good, latency_ms=5, cost_usd=0.1)
    assert looked.data is not None
    assert (looked.problem, looked.values("missing[]"), looked.latency_ms) == ("", ["z"], 5)
    assert looked.source == "Q\nx\ny"
    outside = (
        '{"agreements": [], "differences": [], "only_one": [{"answer": "C", "point": "p"}], "missing": []}'
    )
    assert "'C' is not one of ['A', 'B']" in seen(one, rendered, outside).problem
    assert seen(one, rendered, "no").problem.startswith("not JSON")


def test_every_case_of_the_product_is_rendered_with_its_prompt_and_fits_a_small_model() -> None:
    seat = replace(SEAT, context_tokens=16_000)
    for eval_set in load_eval_sets(PROMPTS).values():
        for one in eval_set.cases:
            rendered = render_case(one, PROMPTS, seat)
            assert rendered.prompts[0].name == one.prompt
            assert (rendered.output_schema is None) == (output_schema(PROMPTS.get(one.prompt)) is None)
            assert not placeholders(rendered.parts[0].text)
