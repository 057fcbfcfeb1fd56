import json

import pytest

from core.i18n import LOCALES, phrase
from core.prompts.contract import contract_problems
from core.prompts.registry import load_library
from tests.prompts.sample import METADATA, metadata, parse

SCHEMA = {
    "type": "object",
    "title": "Sum",
    "properties": {"sum": {"type": "integer", "description": "The sum."}, "title": {"type": "string"}},
    "required": ["sum", "title"],
}
JSON = {
    "prompt.yaml": METADATA.replace("output_format: text", "output_format: json"),
    "output.schema.json": json.dumps(SCHEMA),
}
FRAGMENTS = {"fragments.yaml": "note: 'In {{tone}}.'\nlabel: The material\n"}


def found(shipped: dict[str, str], edited: dict[str, str | None]) -> list[tuple[str, object]]:
    problems = contract_problems(parse(shipped), parse({**shipped, **edited}))
    assert all(phrase(locale, one) for one in problems for locale in LOCALES)
    return [
        (one.key.removeprefix("contract."), one.fields.get("names", one.fields.get("given")))
        for one in problems
    ]


@pytest.mark.parametrize(
    "edited",
    [
        {"system.md": "You are somebody else altogether. Speak like this: {{tone}}"},
        {"task.md": "{{numbers}}, add {{numbers}}"},
        {"few_shot.yaml": "- {input: {numbers: 1 2}, output: '3'}"},
        metadata("[any]", "[openai/gpt-5.4-2026-03-05]"),
        metadata("How to speak.", "The tone."),
        {"prompt.yaml": METADATA + "eval_set: sums-v1\n"},
        {"fragments.yaml": "note: 'Always in {{tone}}!'\nlabel: Material\n"},
    ],
)
def test_what_a_team_may_change_and_promote(edited: dict[str, str]) -> None:
    assert found(FRAGMENTS, dict(edited)) == []


@pytest.mark.parametrize(
    ("shipped", "edited", "problems"),
    [
        (
            FRAGMENTS,
            {"fragments.yaml": "note: 'In {{tone}}.'\nextra: '{{tone}}'\n"},
            [("fragments_missing", "label"), ("fragments_unknown", "extra")],
        ),
        (
            FRAGMENTS,
            {"fragments.yaml": "note: In.\nlabel: The material\n"},
            [("placeholders_missing", "tone")],
        ),
        ({}, {"task.md": "{{numbers}} {{tone}}"}, [("placeholders_unknown", "tone")]),
        (
            {},
            {"system.md": "Add.", "task.md": "{{numbers}} {{tone}}"},
            [("placeholders_missing", "tone"), ("placeholders_unknown", "tone")],
        ),
        (
            {"system.md": "Add.", "task.md": "{{numbers}} {{tone}}"},
            metadata("{trust: trusted,", "{trust: untrusted,"),
            [("trust", "tone")],
        ),
        ({}, JSON, [("output_format", "json")]),
    ],
)
def test_what_only_a_release_can_change(
    shipped: dict[str, str], edited: dict[str, str | None], problems: list[tuple[str, object]]
) -> None:
    assert found(shipped, edited) == problems


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({"title": "Total", "description": "What comes out."}, True),
        (
            {
                "properties": {
                    "title": {"type": "string"},
                    "sum": {"type": "integer", "description": "Total."},
                }
            },
            True,
        ),
        ({"required": ["title", "sum"]}, True),
        ({"required": ["sum"]}, False),
        ({"properties": {"sum": {"type": "integer"}}, "required": ["sum"]}, False),
        ({"properties": {**SCHEMA["properties"], "more": {}}}, False),  # type: ignore[dict-item]
        ({"properties": {"sum": {"type": "number"}, "title": {"type": "string"}}}, False),
    ],
)
def test_of_the_output_schema_only_what_explains_it_may_change(
    changes: dict[str, object], fits: bool
) -> None:
    edited = json.dumps({**SCHEMA, **changes})
    assert found(JSON, {"output.schema.json": edited}) == ([] if fits else [("schema", None)])


def test_every_prompt_of_the_library_fits_itself() -> None:
    assert [
        contract_problems(one, one) for one in load_library().versions.values() if contract_problems(one, one)
    ] == []
