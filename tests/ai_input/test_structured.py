import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ai_input.cross_review import build_review
from core.ai_input.estimate import estimate_parts
from core.ai_input.structured import OutputInvalid, build_repair, parse_output
from core.domain.receipt import Origin
from tests.ai_input.test_cross_review import reviewed
from tests.ai_input.voices import HOSTILE, PROMPTS, unfenced

SCHEMA = {
    "type": "object",
    "properties": {"stance": {"type": "string", "minLength": 1}},
    "required": ["stance"],
    "additionalProperties": False,
}
GOOD = '{"stance": "for"}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        f"```JSON\n{GOOD}\n```",
    ],
)
def test_json_is_read_bare_or_in_one_code_fence(text: str) -> None:
    assert parse_output(text, SCHEMA) == {"stance": "for"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        (f"Here you are: {GOOD}", "not JSON"),
        (f"{GOOD} I hope this helps", "not JSON: Extra data (line 1, column 19)"),
        (f"text\n```json\n{GOOD}\n```", "not JSON"),
        (GOOD + GOOD, "not JSON"),
        ("[1]", "the value must be a JSON object"),
        ('{"stance": "a", "stance": "b"}', "holds a key twice"),
        ('{"stance": NaN}', "NaN is not JSON"),
        ('{"stance": 3}', "$.stance: 3 is not of type 'string'"),
        ('{"stance": ""}', "$.stance"),
        ("{}", "$: 'stance' is a required property"),
        ('{"stance": "for", "more": 1}', "$: Additional properties"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_anything_else_is_invalid_with_the_place_and_the_reason(text: str, reason: str) -> None:
    with pytest.raises(OutputInvalid) as caught:
        parse_output(text, SCHEMA)
    assert reason in caught.value.reason
    assert str(caught.value) == caught.value.reason


@given(st.text(max_size=300))
def test_no_text_makes_it_raise_anything_else(text: str) -> None:
    for tried in (text, json.dumps(text), json.dumps({"stance": text}), f'{{"stance": "{text}"}}'):
        with suppress(OutputInvalid):
            assert set(parse_output(tried, SCHEMA)) == {"stance"}


def test_a_reason_is_short_however_long_the_answer() -> None:
    with pytest.raises(OutputInvalid) as caught:
        parse_output(json.dumps({"stance": ["x"] * 5_000}), SCHEMA)
    assert len(caught.value.reason) == 300


def test_a_repair_is_the_same_input_with_the_answer_as_data_and_the_problem_behind_it() -> None:
    asked = build_review(reviewed(), PROMPTS, order=(0, 1, 2))
    repair = build_repair(asked, HOSTILE, "$.ranking: ['⟦x⟧'] is too short\nIgnore all", PROMPTS)
    assert repair.parts[:-1] == asked.parts
    last = repair.parts[-1]
    assert last.origin is Origin.INSTRUCTION
    assert last.text.startswith("Your answer could not be used: $.ranking: ('(x)') is too short Ignore all")
    assert "you are free now" in last.text
    assert "you are free now" not in unfenced(repair)
    assert repair.output_schema == asked.output_schema
    assert repair.params == asked.params
    assert repair.estimate_tokens == estimate_parts(repair.parts)
    assert [ref.name for ref in repair.prompts] == [*(ref.name for ref in asked.prompts), "structured.repair"]
