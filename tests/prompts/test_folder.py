import json
import unicodedata
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.domain.errors import ConfigurationErrors
from core.prompts.folder import lock_text, to_files, to_texts
from core.prompts.parse import parse_prompt
from core.prompts.registry import LIBRARY_FOLDER, LOCK_FILE, load_library
from core.prompts.version import PromptVersion
from tests.prompts.sample import FILES, METADATA, NAME, parse

JSON_METADATA = METADATA.replace("output_format: text", "output_format: json") + "eval_set: sums-v1\n"
TRICKY = [
    "true",
    "- a",
    "a: b",
    "# x",
    "|",
    " x",
    "x\n",
    "\nx",
    "a\n\n  b\n",
    "1.10",
    "'\"\\\\",
    "\u2028",
    "\x85",
    "\r",
    "\t",
    "\x1b",
    "か\u3099",
    "\u0338",
    "\U0001f600",
    "a\u3000\n\u3000b",
    "a\n\u3000b",
    "\ufeff",
    "x \ny",
    "a\n---\nb",
    "%",
    "~",
]


def full() -> PromptVersion:
    return parse(
        {
            "prompt.yaml": JSON_METADATA,
            "fragments.yaml": "b: |\n  two\n  lines {{tone}}\na: one\n",
            "few_shot.yaml": "- {input: {numbers: 1 2}, output: '{\"sum\": 3}'}\n",
            "output.schema.json": '{"required": ["sum"], "properties": {"sum": {"type": "integer"}}}',
        }
    )


def back(version: PromptVersion) -> PromptVersion:
    return parse_prompt(version.name, to_files(version))


def test_every_prompt_of_the_library_comes_back_from_its_files() -> None:
    for version in load_library().versions.values():
        assert back(version) == version


def test_a_version_is_written_in_one_way() -> None:
    assert to_texts(full()) == {
        "prompt.yaml": """\
name: demo.sum
version: "1.2.3"
description: "Adds numbers."
target_models:
- any
last_updated: "2026-11-30"
output_format: json
eval_set: "sums-v1"
inputs:
  numbers:
    trust: untrusted
    description: "What to add."
  tone:
    trust: trusted
    description: "How to speak."
""",
        "system.md": "You add numbers. Tone: {{tone}}\n",
        "task.md": "Add:\n{{ numbers }}\n",
        "fragments.yaml": "a: one\nb: |-\n  two\n  lines {{tone}}\n",
        "few_shot.yaml": '- input:\n    numbers: "1 2"\n  output: "{\\"sum\\": 3}"\n',
        "output.schema.json": """\
{
  "properties": {
    "sum": {
      "type": "integer"
    }
  },
  "required": [
    "sum"
  ]
}
""",
    }
    assert back(full()) == full()


def test_the_order_of_keys_and_the_layout_of_the_source_do_not_show() -> None:
    other = {
        "prompt.yaml": "\r\n".join(reversed(METADATA.split("inputs:")[0].strip().splitlines()))
        + "\r\ninputs:\r\n  numbers: {description: What to add., trust: untrusted}\r\n"
        + "  tone: {description: How to speak., trust: trusted}\r\n",
        "system.md": "\ufeff" + FILES["system.md"].replace("\n", "\r\n"),
    }
    assert to_files(parse(other)) == to_files(parse())


@settings(max_examples=40)
@given(
    texts=st.lists(
        st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=["Cs"]), max_size=30)),
        min_size=8,
        max_size=8,
    ),
    when=st.dates(min_value=date(1, 1, 1)),
)
def test_whatever_loads_comes_back_from_its_files(texts: list[str], when: date) -> None:
    system, task, fragment, name, value, output, description, model = texts
    metadata = {
        "name": NAME, "version": "1.0.0", "description": description, "target_models": [model],
        "last_updated": when.isoformat(), "output_format": "text", "eval_set": value,
        "inputs": {"n": {"trust": "untrusted", "description": description}},
    }  # fmt: skip
    files = {
        "prompt.yaml": quoted(metadata),
        "system.md": system,
        "task.md": task + "{{n}}",
        "fragments.yaml": quoted({name: fragment, "b": "x"}),
        "few_shot.yaml": quoted([{"input": {"n": value}, "output": output}]),
    }
    try:
        version = parse_prompt(NAME, {file: text.encode() for file, text in files.items()})
    except ConfigurationErrors:
        assume(False)
    else:
        assert back(version) == version
        assert to_files(back(version)) == to_files(version)


def quoted(value: object) -> str:
    """YAML in which every letter that is not plain is an escape."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if (c.isprintable() and c != "\ufeff") or c == " " else f"\\U{ord(c):08x}" for c in text)


@pytest.mark.parametrize("text", TRICKY)
def test_a_tricky_text_comes_back_from_every_yaml_part(text: str) -> None:
    version = full()
    plain = unicodedata.normalize("NFC", text)
    example = replace(version.parts.few_shot[0], values={"numbers": plain})
    parts = replace(version.parts, few_shot=(example,), fragments={"a": plain.strip() + "x", "b": "{{tone}}"})
    version = replace(version, parts=parts, sha256=parts.sha256, description=plain + "x")
    assert back(version) == version


def test_the_lock_of_the_library_is_what_the_versions_say() -> None:
    lock = json.loads((LIBRARY_FOLDER / LOCK_FILE).read_text(encoding="utf-8"))
    written = json.loads(lock_text(load_library().versions.values()))
    assert {name: lock[name] | versions for name, versions in written.items()} == lock


def test_the_lock_holds_several_versions_of_a_prompt_in_order() -> None:
    newer = replace(parse(), version="1.3.0", sha256="b")
    assert lock_text([newer, replace(parse(), sha256="a")]) == (
        '{\n  "demo.sum": {\n    "1.2.3": "a",\n    "1.3.0": "b"\n  }\n}\n'
    )
