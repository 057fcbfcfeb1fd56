import json
from datetime import date

import pytest

from core.domain.errors import ConfigurationError, ConfigurationErrors
from core.i18n import reason
from core.prompts.parse import FILES, MAX_FILE_BYTES
from core.prompts.problem import FIELD_CHARS
from core.prompts.version import Example, Input, OutputFormat, Trust
from tests.prompts.sample import METADATA, NAME, metadata, parse, problems

JSON_METADATA = METADATA.replace("output_format: text", "output_format: json")
SCHEMA = '{"type": "object", "required": ["sum"], "properties": {"sum": {"type": "integer"}}}'
JSON_PROMPT = {"prompt.yaml": JSON_METADATA, "output.schema.json": SCHEMA}


def test_a_correct_folder_gives_a_version_with_its_parts_apart() -> None:
    version = parse()
    assert (version.name, version.version, version.description) == (NAME, "1.2.3", "Adds numbers.")
    assert (version.last_updated, version.eval_set) == (date(2026, 11, 30), "")
    assert version.parts.system == "You add numbers. Tone: {{tone}}"
    assert version.parts.task == "Add:\n{{ numbers }}"
    assert version.parts.target_models == ("any",)
    assert version.parts.inputs["numbers"] == Input(trust=Trust.UNTRUSTED, description="What to add.")
    assert version.parts.output_format is OutputFormat.TEXT
    assert (version.ref.name, version.ref.version, version.ref.sha256) == (NAME, "1.2.3", version.sha256)


def test_the_eval_set_is_read() -> None:
    assert parse({"prompt.yaml": METADATA + "eval_set: sums-v1\n"}).eval_set == "sums-v1"


def test_fragments_examples_and_schema_are_read() -> None:
    version = parse(
        {
            **JSON_PROMPT,
            "fragments.yaml": "note: |\n  in {{tone}}\n",
            "few_shot.yaml": "- input: {numbers: 1 2}\n  output: '{\"sum\": 3}'\n",
        }
    )
    assert dict(version.parts.fragments) == {"note": "in {{tone}}"}
    assert version.parts.few_shot == (Example(values={"numbers": "1 2"}, output='{"sum": 3}'),)
    assert json.loads(version.parts.schema_json) == json.loads(SCHEMA)
    assert version.parts.output_format is OutputFormat.JSON


# --- hash -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "system",
    [
        "\ufeffYou add numbers. Tone: {{tone}}\n",
        "\ufeff\ufeffYou add numbers. Tone: {{tone}}\n",
        "You add numbers. Tone: {{tone}}\r\n",
        "You add numbers. Tone: {{tone}}\n\n\n",
        "You add numbers. Tone: {{tone}}",
    ],
)
def test_the_hash_does_not_depend_on_the_editor(system: str) -> None:
    assert parse({"system.md": system}).sha256 == parse().sha256


def test_composed_and_decomposed_letters_hash_alike() -> None:
    composed, decomposed = (parse({"system.md": word + " {{tone}}"}) for word in ("がé", "か\u3099e\u0301"))
    assert composed.parts.system == decomposed.parts.system
    assert composed.sha256 == decomposed.sha256


def test_letters_written_as_escapes_hash_like_any_other() -> None:
    plain, escaped = (parse({"fragments.yaml": f'note: "{word}"'}) for word in ("é", r"e\u0301"))
    assert plain.sha256 == escaped.sha256
    plain, escaped = (parse(schema_titled(word)) for word in ("é", r"e\u0301"))
    assert plain.sha256 == escaped.sha256


def schema_titled(title: str) -> dict[str, str]:
    return {**JSON_PROMPT, "output.schema.json": f'{{"title": "{title}"}}'}


@pytest.mark.parametrize(
    "changes",
    [
        {"system.md": "You add numbers! Tone: {{tone}}"},
        {"task.md": "Sum:\n{{numbers}}"},
        {"fragments.yaml": "note: hello"},
        {"few_shot.yaml": "- {input: {numbers: 1 1}, output: '2'}"},
        JSON_PROMPT,
        metadata("[any]", "[other]"),
    ],
)
def test_every_part_is_in_the_hash(changes: dict[str, str]) -> None:
    assert parse(changes).sha256 != parse().sha256


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.2.3", "1.2.4"),
        ("Adds numbers.", "Sums."),
        ("2026-11-30", "2026-12-01"),
        ("How to speak.", "Tone."),
    ],
)
def test_what_only_describes_a_prompt_is_not_in_its_hash(old: str, new: str) -> None:
    assert parse(metadata(old, new)).sha256 == parse().sha256


# --- refused at load ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: demo.sum", "name: demo.add", ":1: name must equal the folder's name, demo.sum"),
        (
            "name: demo.sum",
            "name: Demo Sum",
            ":1: name must be lower-case words joined by dots, such as chat.answer",
        ),
        ('"1.2.3"', "1.2", ":2: version must be a semantic version, such as 1.0.0"),
        ('"1.2.3"', "01.2.3", ":2: version must be a semantic version, such as 1.0.0"),
        ('"1.2.3"', '"1.2.3\\n"', ":2: version must be a semantic version, such as 1.0.0"),
        ('"1.2.3"', "[1]", ":2: version must be a text"),
        ("Adds numbers.", "", ":3: description must be a text"),
        ("[any]", "[]", ":4: target_models must be a list of different names"),
        ("[any]", "any", ":4: target_models must be a list of different names"),
        ("[any]", "[a, a]", ":4: target_models must be a list of different names"),
        ("[any]", "[a, [b]]", ":4: target_models must be a list of different names"),
        ('"2026-11-30"', "2026-02-30", ":5: last_updated must be a date, such as 2026-01-31"),
        ('"2026-11-30"', "20261130", ":5: last_updated must be a date, such as 2026-01-31"),
        ("output_format: text", "output_format: xml", ":6: output_format must be text or json"),
        ("output_format: text\n", "output_format: text\ncolour: red\n", ":7: unknown key: colour"),
        ("output_format: text\n", "", ": key missing: output_format"),
        ("inputs:\n", "name: x\ninputs:\n", ":7: key given twice: name"),
        ("trust: trusted", "trust: maybe", ":8: trust of input tone must be trusted or untrusted"),
        ("trust: trusted, ", "", ":8: input tone must have a trust and a description, nothing else"),
        ("How to speak.", "", ":8: input tone must have a trust and a description, nothing else"),
        ("How to speak.", "x, y: z", ":8: input tone must have a trust and a description, nothing else"),
        (
            "  tone: {trust: trusted, description: How to speak.}",
            "  tone: x",
            ":8: input tone must be a table of keys and values",
        ),
    ],
)
def test_bad_metadata_is_refused_with_file_line_and_reason(old: str, new: str, problem: str) -> None:
    assert f"{NAME}/prompt.yaml{problem}" in problems(metadata(old, new))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"prompt.yaml": None}, "prompt.yaml: is missing"),
        ({"prompt.yaml": "- a"}, "prompt.yaml:1: the file must be a table of keys and values"),
        (
            {"prompt.yaml": METADATA + "  Tone: {trust: trusted, description: x}\n"},
            "prompt.yaml:10: input Tone must be a lower-case word",
        ),
        (
            {"prompt.yaml": METADATA.split("inputs:")[0] + "inputs: [tone]"},
            "prompt.yaml:7: inputs must be a table of keys and values",
        ),
        (
            {"sytem.md": "x"},
            f"sytem.md: is no part of a prompt; parts are {', '.join(FILES)}",
        ),
        ({"system.md": " \n"}, "system.md: is empty"),
        ({"system.md": b"ok\n\xff"}, "system.md:2: is not UTF-8"),
        ({"system.md": "x" * (MAX_FILE_BYTES + 1)}, f"system.md: is larger than {MAX_FILE_BYTES} bytes"),
        (
            {"system.md": None, "task.md": None},
            "prompt.yaml: has none of system.md, task.md, fragments.yaml beside it",
        ),
        ({"system.md": "a\n{{tone}} {{mood}}"}, "system.md:2: placeholder mood is not declared under inputs"),
        ({"task.md": "no numbers"}, "prompt.yaml:7: input numbers is used in no part"),
        (
            {"system.md": "{{tone}}\n{{numbers}}"},
            "system.md:2: placeholder numbers is untrusted: data has no place in system.md",
        ),
        (
            {"system.md": "{{tone}}\n{{ Tone }}"},
            "system.md:2: stray {{: write {{name}}, or a backslash before it to keep it",
        ),
        (
            {"task.md": "{{numbers}}\n\n}}"},
            "task.md:3: stray }}: write {{name}}, or a backslash before it to keep it",
        ),
        (
            {"task.md": "{{numbers}} {% if x %}"},
            "task.md:1: stray {%: write {{name}}, or a backslash before it to keep it",
        ),
        (
            {"fragments.yaml": "a: ok\nb: {{"},
            "fragments.yaml:2: stray {{: write {{name}}, or a backslash before it to keep it",
        ),
        ({"fragments.yaml": "a: '{{x}}'"}, "fragments.yaml:1: placeholder x is not declared under inputs"),
        ({"fragments.yaml": "a: ok\nb: [x]"}, "fragments.yaml:2: b must be a text"),
        ({"fragments.yaml": "- a"}, "fragments.yaml:1: the file must be a table of keys and values"),
        (
            {"output.schema.json": SCHEMA},
            "prompt.yaml: output_format json and output.schema.json belong together",
        ),
        (
            {"prompt.yaml": JSON_METADATA},
            "prompt.yaml: output_format json and output.schema.json belong together",
        ),
        (
            {**JSON_PROMPT, "output.schema.json": "{\n,"},
            "output.schema.json:2: is not JSON: Expecting property name enclosed in double quotes",
        ),
        (
            {**JSON_PROMPT, "output.schema.json": '{"a": 1, "a": 2}'},
            "output.schema.json: is no schema that can be used: holds a key twice",
        ),
        (
            {**JSON_PROMPT, "output.schema.json": '{"type": "integer", "minimum": 2, "maximum": 1}'},
            "output.schema.json: is a schema that nothing satisfies: $: minimum 2 is more than maximum 1",
        ),
        (
            {**JSON_PROMPT, "output.schema.json": '{"type": "number!"}'},
            "output.schema.json: is no schema that can be used: 'number!' is not valid under any of the given schemas",
        ),
        (
            {**JSON_PROMPT, "output.schema.json": '{"items": [{"$ref": "http://127.0.0.1/x.json"}]}'},
            "output.schema.json: is no schema that can be used: $ref is not allowed: write the schema out in full",
        ),
        ({**JSON_PROMPT, "output.schema.json": "[" * 100_000}, "output.schema.json: is nested too deeply"),
        (
            {**JSON_PROMPT, "output.schema.json": '{"title": "\\ud800"}'},
            "output.schema.json: half of a character is not allowed",
        ),
        (
            {**JSON_PROMPT, "output.schema.json": '{"maximum": NaN}'},
            "output.schema.json: is no schema that can be used: NaN is no number in JSON",
        ),
        (
            {**JSON_PROMPT, "few_shot.yaml": "- {input: {numbers: 1}, output: '" + "[" * 100_000 + "'}"},
            "few_shot.yaml:1: output is nested too deeply",
        ),
        ({"fragments.yaml": "{}"}, "fragments.yaml: is empty"),
        ({"fragments.yaml": 'a: ok\nb: "\\ud800"'}, "fragments.yaml:2: half of a character is not allowed"),
        ({"few_shot.yaml": "input: x"}, "few_shot.yaml:1: must be a list of examples"),
        (
            {"few_shot.yaml": "- a"},
            "few_shot.yaml:1: an example is a table with input (texts by placeholder) and output (a text)",
        ),
        (
            {"few_shot.yaml": "- {input: {numbers: [1]}, output: x}"},
            "few_shot.yaml:1: an example is a table with input (texts by placeholder) and output (a text)",
        ),
        (
            {"few_shot.yaml": "- {input: {numbers: 1}, output: x}\n- {input: {}, output: x}"},
            "few_shot.yaml:2: input must hold exactly: numbers",
        ),
        (
            {"few_shot.yaml": "- {input: {}, output: x}", "task.md": None},
            "few_shot.yaml: needs task.md, which its inputs fill",
        ),
        (
            {**JSON_PROMPT, "few_shot.yaml": "- {input: {numbers: 1}, output: x}"},
            "few_shot.yaml:1: output is not JSON: Expecting value",
        ),
        (
            {**JSON_PROMPT, "few_shot.yaml": "- input: {numbers: 1}\n  output: '{}'"},
            "few_shot.yaml:1: output does not satisfy output.schema.json: 'sum' is a required property",
        ),
    ],
)
def test_a_bad_part_is_refused_with_file_line_and_reason(
    changes: dict[str, str | bytes | None], expected: str
) -> None:
    assert f"{NAME}/{expected}" in problems(changes)


def test_all_problems_are_reported_together() -> None:
    found = problems({**metadata('"1.2.3"', "one"), "system.md": "{{tone}} {%", "junk.txt": "x"})
    assert [problem.partition(": ")[0] for problem in found] == [
        f"{NAME}/junk.txt",
        f"{NAME}/system.md:1",
        f"{NAME}/prompt.yaml:2",
    ]


def test_the_error_names_the_first_problem_and_reads_as_all_of_them() -> None:
    with pytest.raises(ConfigurationErrors) as error:
        parse({"system.md": "{{tone}}\n{%", "task.md": "{{numbers}} }}"})
    assert (error.value.file, error.value.line) == (f"{NAME}/system.md", 2)
    assert str(error.value).count("\n") == 1
    assert f"{NAME}/task.md:1: stray }}}}" in str(error.value)


def test_a_problem_reads_in_the_language_of_whoever_edits_and_a_long_word_in_it_is_cut() -> None:
    with pytest.raises(ConfigurationErrors) as error:
        parse({"system.md": "{{tone}}\n{%", "prompt.yaml": METADATA + f"x{'y' * 2 * FIELD_CHARS}: 1\n"})
    second, first = error.value.problems
    assert (first.line, reason("ja", first)) == (
        2,
        "{% が余っています。{{name}} の形で書くか、文字として残すなら前にバックスラッシュを付けてください",
    )
    assert reason("en", second) == second.reason == f"unknown key: x{'y' * (FIELD_CHARS - 1)}"
    assert reason("ja", error.value) == reason("ja", second)


def test_an_error_without_a_sentence_of_the_catalogue_stays_english() -> None:
    assert (
        reason("ja", ConfigurationError("promptflow.toml", "the file does not exist"))
        == "the file does not exist"
    )
