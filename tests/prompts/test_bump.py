import json
from dataclasses import replace

import pytest

from core.domain.errors import Refusal
from core.i18n import LOCALES, phrase, refusal
from core.prompts.bump import Level, check_version, minimum_bump, next_version, step
from core.prompts.registry import load_library
from tests.prompts.sample import FILES, METADATA, metadata, parse

MAJOR, MINOR, PATCH = Level

ENGLISH = """\
You are the secretary of a team. {{tone}}
Keep every date, name and limit of the material.
Answer in at most 300 words, in plain sentences.
Do not invent facts, numbers or sources; say what you assume.
Name the person who promised something.
"""
JAPANESE = """\
あなたは会議の記録係です。{{tone}}
日付と金額は原文のまま残すこと。
要点は3つ以内にまとめる。
推測で補わないこと。
担当者の名前を書くこと。
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "sum": {"type": "integer", "description": "The sum."},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
    "required": ["sum"],
    "additionalProperties": False,
}
FRAGMENTS = "note: 'Keep it short, {{tone}}.'\nlabel: The material\n"
EXAMPLES = "- {input: {numbers: 1 2}, output: '3'}\n"


def edit(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


TEXT_EDITS: list[tuple[str, str, str, Level, str]] = [
    # wording
    (ENGLISH, "plain sentences", "simple sentences", PATCH, "wording"),
    (ENGLISH, "secretary of a team", "secretary of the team", PATCH, "wording"),
    (ENGLISH, "material.\n", "material.\n\n", PATCH, "wording"),
    (ENGLISH, "sources; say", "sources;\nsay", PATCH, "wording"),
    (ENGLISH, "Do not invent", "Never invent", PATCH, "wording"),
    (ENGLISH, "Do not invent", "Don't invent", PATCH, "wording"),
    (ENGLISH, "300 words", "３００ words", PATCH, "wording"),
    (JAPANESE, "残すこと。", "残してください。", PATCH, "wording"),
    (JAPANESE, "残すこと。", "残さなければならない。", PATCH, "wording"),
    (JAPANESE, "3つ以内", "三つ以内", PATCH, "wording"),
    (JAPANESE, "書くこと。", "必ず書くこと。", PATCH, "wording"),
    (JAPANESE, "補わないこと。", "補わないでください。", PATCH, "wording"),
    (JAPANESE, "推測で補わないこと。", "推測では補わないこと。", PATCH, "wording"),
    # numbers and negations
    (ENGLISH, "300 words", "400 words", MINOR, "number"),
    (ENGLISH, "at most 300", "at most 3,000", MINOR, "number"),
    (ENGLISH, "Name the person", "Do not name the person", MINOR, "negation"),
    (ENGLISH, "Do not invent facts", "Invent facts", MINOR, "negation"),
    (ENGLISH, "in plain sentences", "without plain sentences", MINOR, "negation"),
    (
        ENGLISH,
        "Do not invent facts, numbers or sources; say what you assume.",
        "Invent facts, numbers or sources; do not say what you assume.",
        MINOR,
        "negation",
    ),
    (JAPANESE, "残すこと", "残さないこと", MINOR, "negation"),
    (JAPANESE, "補わないこと", "補うこと", MINOR, "negation"),
    (JAPANESE, "書くこと。", "書くな。", MINOR, "negation"),
    (JAPANESE, "書くこと。", "書かずに済ませること。", MINOR, "negation"),
    (JAPANESE, "書くこと。", "書くことは禁止。", MINOR, "negation"),
    (JAPANESE, "3つ以内", "5つ以内", MINOR, "number"),
    # lines
    (ENGLISH, "Name the person who promised something.\n", "", MINOR, "lines_removed"),
    (ENGLISH, "Name the person", "Use short words.\nName the person", MINOR, "lines_added"),
    (
        JAPANESE,
        "担当者の名前を書くこと。",
        "担当者の名前を書くこと。\n敬称は付けること。",
        MINOR,
        "lines_added",
    ),
    (
        ENGLISH,
        "Name the person who promised something.",
        "Put whatever is urgent at the top.",
        MINOR,
        "line_rewritten",
    ),
    (
        ENGLISH,
        "Name the person who promised something.",
        "Name the person who promised something, with the day on which it was promised and to whom it was.",
        MINOR,
        "line_rewritten",
    ),
    (JAPANESE, "担当者の名前を書くこと。", "担当者を書く。", MINOR, "line_rewritten"),
    # role and placeholders
    (ENGLISH, "You are the secretary of a team.", "Act as a hostile reviewer of contracts!", MAJOR, "role"),
    (JAPANESE, "あなたは会議の記録係です。", "契約書を厳しく審査する法務担当として振る舞う。", MAJOR, "role"),
    (ENGLISH, ENGLISH, "You are the secretary of a team. {{tone}}\nTranslate.\n", MAJOR, "role"),
    (ENGLISH, " {{tone}}", "", MAJOR, "placeholders"),
]


@pytest.mark.parametrize(("text", "old", "new", "level", "code"), TEXT_EDITS)
def test_the_least_step_of_an_edited_system_part(
    text: str, old: str, new: str, level: Level, code: str
) -> None:
    # The task uses the tone too, so that an edit that takes it out of the system part still loads.
    task = {"task.md": "{{numbers}} {{tone}}"}
    bump = minimum_bump(
        parse({**task, "system.md": text}), parse({**task, "system.md": edit(text, old, new)})
    )
    assert (bump.level, bump.reasons[0].key) == (level, f"bump.{code}")


JSON = {
    "prompt.yaml": METADATA.replace("output_format: text", "output_format: json"),
    "output.schema.json": json.dumps(SCHEMA),
}


def schema(**changes: object) -> dict[str, str]:
    return {**JSON, "output.schema.json": json.dumps({**SCHEMA, **changes})}


PROPERTIES = {"sum": {"type": "integer"}, "parts": SCHEMA["properties"]["parts"]}  # type: ignore[index]

PART_EDITS: list[tuple[dict[str, str], dict[str, str], Level, str]] = [
    ({}, JSON, MAJOR, "output_format"),
    (JSON, schema(required=["sum", "parts"]), MAJOR, "schema"),
    (JSON, schema(required=[]), MAJOR, "schema"),
    (JSON, schema(properties={"sum": {"type": "integer"}}), MAJOR, "schema"),
    (JSON, schema(properties={**PROPERTIES, "sum": {"type": "number"}}), MAJOR, "schema"),
    (JSON, schema(properties={**PROPERTIES, "sum": {"type": "integer", "maximum": 9}}), MAJOR, "schema"),
    (JSON, schema(properties={**PROPERTIES, "parts": {"type": "array", "items": {}}}), MAJOR, "schema"),
    (
        JSON,
        schema(properties={**PROPERTIES, "unit": {"type": "string"}}, required=["sum", "unit"]),
        MAJOR,
        "schema",
    ),
    (JSON, schema(properties={**PROPERTIES, "unit": {"type": "string"}}), MINOR, "schema_fields"),
    (
        JSON,
        schema(
            properties={
                **PROPERTIES,
                "parts": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"n": {"type": "integer"}, "of": {}}},
                },
            }
        ),
        MINOR,
        "schema_fields",
    ),
    (JSON, schema(properties=PROPERTIES), PATCH, "schema_texts"),
    ({"fragments.yaml": FRAGMENTS}, {"fragments.yaml": FRAGMENTS + "more: x"}, MAJOR, "fragments"),
    (
        {"fragments.yaml": FRAGMENTS},
        {"fragments.yaml": "note: 'Keep it short, {{tone}}.'"},
        MAJOR,
        "fragments",
    ),
    (
        {"fragments.yaml": FRAGMENTS},
        {"fragments.yaml": FRAGMENTS.replace("short, {{tone}}", "short")},
        MAJOR,
        "placeholders",
    ),
    (
        {"fragments.yaml": FRAGMENTS},
        {"fragments.yaml": FRAGMENTS.replace("material", "materials")},
        PATCH,
        "wording",
    ),
    (
        {"fragments.yaml": FRAGMENTS},
        {"fragments.yaml": FRAGMENTS.replace("Keep", "Never keep")},
        MINOR,
        "negation",
    ),
    ({}, {"task.md": "Add {{numbers}} in {{tone}}"}, MAJOR, "placeholders"),
    ({}, {"task.md": "Add these:\n{{ numbers }}"}, MINOR, "line_rewritten"),
    ({}, metadata("{trust: trusted,", "{trust: untrusted,") | {"system.md": "Add."}, MAJOR, "placeholders"),
    ({}, {"few_shot.yaml": EXAMPLES}, MINOR, "examples"),
    ({"few_shot.yaml": EXAMPLES}, {"few_shot.yaml": EXAMPLES.replace("'3'", "three")}, MINOR, "examples"),
    ({"few_shot.yaml": EXAMPLES}, {}, MINOR, "examples"),
    ({}, metadata("[any]", "[openai/gpt-5.4-2026-03-05]"), MINOR, "target_models"),
    ({}, metadata("Adds numbers.", "Sums numbers."), PATCH, "description"),
    ({}, {"prompt.yaml": METADATA + "eval_set: sums-v1\n"}, PATCH, "description"),
    ({}, metadata("How to speak.", "The tone."), PATCH, "description"),
]


@pytest.mark.parametrize(("old", "new", "level", "code"), PART_EDITS)
def test_the_least_step_of_an_edited_part(
    old: dict[str, str], new: dict[str, str], level: Level, code: str
) -> None:
    if "{trust: untrusted, description: How" in new.get("prompt.yaml", ""):
        new = {**new, "task.md": "{{numbers}} {{tone}}"}
    bump = minimum_bump(parse(old), parse(new))
    assert (bump.level, bump.reasons[0].key) == (level, f"bump.{code}")


def test_a_changed_trust_needs_a_major_step() -> None:
    files = {"system.md": "Add.", "task.md": "{{numbers}} {{tone}}"}
    bump = minimum_bump(parse(files), parse({**files, **metadata("{trust: trusted,", "{trust: untrusted,")}))
    assert (bump.level, [one.key for one in bump.reasons]) == (MAJOR, ["bump.trust"])


def test_a_lost_system_part_is_another_role() -> None:
    old = {"task.md": "{{numbers}} {{tone}}", "system.md": "Add."}
    bump = minimum_bump(parse(old), parse({**old, "system.md": None}))
    assert (bump.level, [one.key for one in bump.reasons]) == (MAJOR, ["bump.role"])


def test_the_same_content_is_no_step_whatever_its_number_and_date() -> None:
    same = metadata('"1.2.3"', '"9.0.0"') | {"system.md": FILES["system.md"] + "\n\n"}
    bump = minimum_bump(parse(), parse(same))
    assert (bump.level, bump.reasons) == (None, ())
    assert (
        minimum_bump(parse(), replace(parse(), last_updated=parse().last_updated.replace(2020))).level is None
    )


def test_only_the_reasons_for_the_greatest_step_are_given_and_all_of_them() -> None:
    new = {
        "task.md": "Sum:\n{{numbers}} {{tone}}",
        "few_shot.yaml": "- {input: {numbers: 1, tone: x}, output: '1'}",
    }
    bump = minimum_bump(parse(), parse({**new, **metadata("[any]", "[other]"), "fragments.yaml": "a: b"}))
    assert [one.key for one in bump.reasons] == ["bump.placeholders", "bump.fragments"]


def test_every_reason_reads_in_both_languages_and_quotes_the_line() -> None:
    old, new = (
        parse({"system.md": JAPANESE}),
        parse({"system.md": edit(JAPANESE, "残すこと", "残さないこと")}),
    )
    (reason,) = minimum_bump(old, new).reasons
    for locale in LOCALES:
        assert "日付と金額は原文のまま残さないこと。" in phrase(locale, reason)
        assert "system.md" in phrase(locale, reason)


def test_every_prompt_of_the_library_equals_itself() -> None:
    assert {minimum_bump(one, one).level for one in load_library().versions.values()} == {None}


def test_parts_of_the_greatest_size_are_compared() -> None:
    lines = [f"Keep {n} and the rest of it." for n in range(6_000)]
    old, new = ("{{tone}}\n" + "\n".join(some) for some in (lines, lines[:-1]))
    bump = minimum_bump(parse({"system.md": old}), parse({"system.md": new}))
    assert [one.key for one in bump.reasons] == ["bump.lines_removed"]
    same = "{{tone}}" + "\na" * 60_000
    assert minimum_bump(parse({"system.md": same}), parse({"system.md": same + "\nb"})).level is MINOR
    words = " ".join(str(hash((n, "x"))) for n in range(8_000))
    assert minimum_bump(
        parse({"system.md": "{{tone}}" + words}), parse({"system.md": "{{tone}}" + words[::-1]})
    ).level


# --- version numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "after"), [(MAJOR, "2.0.0"), (MINOR, "1.3.0"), (PATCH, "1.2.4")])
def test_the_next_version_of_each_step(level: Level, after: str) -> None:
    assert next_version("1.2.3", level) == after
    assert step("1.2.3", after) is level


@pytest.mark.parametrize(
    ("wanted", "minimum"),
    [
        ("1.2.4", PATCH),
        ("1.3.0", PATCH),
        ("2.0.0", PATCH),
        ("1.3.0", MINOR),
        ("1.10.0", MINOR),
        ("2.0.0", MINOR),
        ("2.0.0", MAJOR),
        ("3.1.0", MAJOR),
    ],
)
def test_an_author_may_raise_the_step(wanted: str, minimum: Level) -> None:
    check_version(parse(), wanted, minimum)


@pytest.mark.parametrize(
    ("wanted", "minimum", "code", "allowed"),
    [
        ("1.2.3", PATCH, "version_not_newer", "1.2.4, 1.3.0, 2.0.0"),
        ("1.2.2", PATCH, "version_not_newer", "1.2.4, 1.3.0, 2.0.0"),
        ("0.9.9", MAJOR, "version_not_newer", "2.0.0"),
        ("1.2.4", MINOR, "version_step_too_small", "1.3.0, 2.0.0"),
        ("1.2.99", MINOR, "version_step_too_small", "1.3.0, 2.0.0"),
        ("1.9.0", MAJOR, "version_step_too_small", "2.0.0"),
        ("one", PATCH, "version_not_semantic", None),
        ("1.3", MINOR, "version_not_semantic", None),
        ("01.3.0", MINOR, "version_not_semantic", None),
        ("1.3.0-rc1", MINOR, "version_not_semantic", None),
        ("1.3." + "9" * 5_000, MINOR, "version_not_semantic", None),
    ],
)
def test_a_version_that_is_too_low_or_none_is_refused_with_what_is_allowed(
    wanted: str, minimum: Level, code: str, allowed: str | None
) -> None:
    with pytest.raises(Refusal) as refused:
        check_version(parse(), wanted, minimum)
    assert refused.value.code == code
    assert refused.value.fields.get("allowed") == allowed
    assert all(len(refusal(locale, refused.value)) < 250 for locale in LOCALES)
