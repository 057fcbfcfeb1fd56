"""A prompt's folder, read and checked. Pure: file contents in, one immutable version out.

```
<name>/prompt.yaml          name, version, description, target_models, last_updated, output_format; eval_set, inputs
<name>/system.md            role and rules; never holds a placeholder for data from outside
<name>/task.md              template of the request
<name>/fragments.yaml       short texts by name, put around stored data
<name>/few_shot.yaml        list of {input: {placeholder: value}, output: text}
<name>/output.schema.json   for output_format json
```
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Set
from datetime import date
from types import MappingProxyType

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

from core.domain.errors import ConfigurationError, ConfigurationErrors
from core.prompts.placeholder import NAME, placeholders, stray_marks
from core.prompts.problem import problem
from core.prompts.schema_sense import contradiction
from core.prompts.strict_yaml import Node, read_yaml
from core.prompts.version import Example, Input, OutputFormat, Parts, PromptVersion, Trust

METADATA, SYSTEM, TASK = "prompt.yaml", "system.md", "task.md"
FRAGMENTS, FEW_SHOT, SCHEMA = "fragments.yaml", "few_shot.yaml", "output.schema.json"
FILES = (METADATA, SYSTEM, TASK, FRAGMENTS, FEW_SHOT, SCHEMA)

REQUIRED_KEYS = ("name", "version", "description", "target_models", "last_updated", "output_format")
OPTIONAL_KEYS = ("eval_set", "inputs")
MAX_FILE_BYTES = 200_000

_PROMPT_NAME = re.compile(rf"{NAME}(\.{NAME})*")
SEMVER = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
_CONFLICT = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse_prompt(folder: str, files: Mapping[str, bytes]) -> PromptVersion:
    """The prompt in a folder of that name, from its files' contents.

    Text is read as UTF-8 without byte order mark, with LF line ends, in NFC, so that its hash does not depend on an
    editor. Raises ConfigurationErrors with everything that is wrong.
    """
    reading = _Reading(folder, files)
    version = reading.version()
    if reading.problems:
        raise ConfigurationErrors(reading.problems)
    return version


class _Reading:
    """One pass over one folder. Problems are collected; what is wrong reads as empty, so that the pass goes on."""

    def __init__(self, folder: str, files: Mapping[str, bytes]) -> None:
        self.folder = folder
        self.problems: list[ConfigurationError] = []
        for name in sorted(files.keys() - set(FILES)):
            self.problem(name, "unknown_file", parts=", ".join(FILES))
        self.texts = {name: self.normal_text(name, files[name]) for name in FILES if name in files}

    def problem(self, file: str, code: str, line: int = 0, **fields: str | int) -> None:
        self.problems.append(problem(f"{self.folder}/{file}", code, line=line, **fields))

    def normal_text(self, name: str, data: bytes) -> str:
        if len(data) > MAX_FILE_BYTES:
            self.problem(name, "too_large", limit=MAX_FILE_BYTES)
            return ""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            self.problem(name, "not_utf8", data.count(b"\n", 0, error.start) + 1)
            return ""
        text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        if not text.strip():
            self.problem(name, "empty")
        if marks := _CONFLICT.search(text):
            line = text.count("\n", 0, marks.start()) + 1
            self.problem(name, "conflict_marks", line)
        return unicodedata.normalize("NFC", text)

    def tree(self, name: str) -> Node | None:
        """The YAML of a part; None when there is none or it cannot be read, which is then noted."""
        if not self.texts.get(name, "").strip():
            return None
        try:
            return read_yaml(f"{self.folder}/{name}", self.texts[name])
        except ConfigurationError as error:
            self.problems.append(error)
            return None

    # --- metadata ---------------------------------------------------------------------------------------------------

    def version(self) -> PromptVersion:
        metadata = self.metadata()
        parts = self.parts(metadata)
        return PromptVersion(
            name=self.scalar(metadata, "name", self.check_name),
            version=self.scalar(metadata, "version", self.check_semver),
            description=self.scalar(metadata, "description"),
            last_updated=self.last_updated(metadata),
            eval_set=self.scalar(metadata, "eval_set"),
            parts=parts,
            sha256=parts.sha256,
        )

    def metadata(self) -> Mapping[str, Node]:
        if METADATA not in self.texts:
            self.problem(METADATA, "file_missing")
        node = self.tree(METADATA)
        if node is None:
            return {}
        table = self.table(METADATA, node, "file_no_table")
        for key in table.keys() - {*REQUIRED_KEYS, *OPTIONAL_KEYS}:
            self.problem(METADATA, "unknown_key", table[key].line, name=key)
        for key in REQUIRED_KEYS:
            if key not in table:
                self.problem(METADATA, "key_missing", name=key)
        return table

    def table(self, file: str, node: Node, code: str, **fields: str) -> Mapping[str, Node]:
        if isinstance(node.value, Mapping):
            return node.value
        self.problem(file, code, node.line, **fields)
        return {}

    def scalar(
        self, metadata: Mapping[str, Node], key: str, check: Callable[[str], str] | None = None
    ) -> str:
        """Text under a key; `check` gives the code of what is wrong with it, empty for nothing."""
        node = metadata.get(key)
        if node is None:
            return ""
        if not isinstance(node.value, str) or (not node.value.strip() and key in REQUIRED_KEYS):
            self.problem(METADATA, "no_text", node.line, name=key)
            return ""
        code = check(node.value) if check else ""
        if code:
            self.problem(METADATA, code, node.line, folder=self.folder)
        return node.value

    def check_name(self, name: str) -> str:
        if not _PROMPT_NAME.fullmatch(name):
            return "name_words"
        return "" if name == self.folder else "name_folder"

    @staticmethod
    def check_semver(version: str) -> str:
        return "" if SEMVER.fullmatch(version) else "version"

    def last_updated(self, metadata: Mapping[str, Node]) -> date:
        found: list[date] = []

        def check(value: str) -> str:
            try:
                found.append(date.fromisoformat(value if _DATE.fullmatch(value) else ""))
            except ValueError:
                return "last_updated"
            return ""

        self.scalar(metadata, "last_updated", check)
        return found[0] if found else date.min

    def target_models(self, metadata: Mapping[str, Node]) -> tuple[str, ...]:
        node = metadata.get("target_models")
        if node is None:
            return ()
        items = node.value if isinstance(node.value, tuple) else ()
        models = tuple(item.value for item in items if isinstance(item.value, str) and item.value.strip())
        if not models or len(models) != len(items) or len(set(models)) != len(models):
            self.problem(METADATA, "target_models", node.line)
        return models

    def inputs(self, metadata: Mapping[str, Node]) -> dict[str, Input]:
        if "inputs" not in metadata:
            return {}
        declared = self.table(METADATA, metadata["inputs"], "inputs_no_table")
        return {name: self.declared_input(name, node) for name, node in declared.items()}

    def declared_input(self, name: str, node: Node) -> Input:
        if not re.fullmatch(NAME, name):
            self.problem(METADATA, "input_word", node.line, name=name)
        fields = self.table(METADATA, node, "input_no_table", name=name)
        texts = {key: field.value for key, field in fields.items() if isinstance(field.value, str)}
        if fields.keys() != {"trust", "description"} or not all(texts.get(key) for key in fields):
            self.problem(METADATA, "input_keys", node.line, name=name)
        trust = texts.get("trust", "")
        if trust in set(Trust):
            return Input(trust=Trust(trust), description=texts.get("description", ""))
        self.problem(METADATA, "input_trust", node.line, name=name)
        return Input(trust=Trust.UNTRUSTED, description="")

    # --- parts ------------------------------------------------------------------------------------------------------

    def parts(self, metadata: Mapping[str, Node]) -> Parts:
        inputs = self.inputs(metadata)
        system, task = (self.texts.get(name, "").strip() for name in (SYSTEM, TASK))
        fragments = self.fragments()
        if not (SYSTEM in self.texts or TASK in self.texts or FRAGMENTS in self.texts):
            self.problem(METADATA, "no_text_part", parts=f"{SYSTEM}, {TASK}, {FRAGMENTS}")
        self.check_placeholders(metadata, inputs, fragments)
        output_format = self.output_format(metadata)
        schema_json = self.schema_json(output_format)
        return Parts(
            system=system,
            task=task,
            fragments=MappingProxyType(fragments),
            few_shot=self.few_shot(task, schema_json),
            output_format=output_format,
            schema_json=schema_json,
            inputs=MappingProxyType(inputs),
            target_models=self.target_models(metadata),
        )

    def fragments(self) -> dict[str, str]:
        node = self.tree(FRAGMENTS)
        if node is None:
            return {}
        fragments: dict[str, str] = {}
        for name, item in self.table(FRAGMENTS, node, "file_no_table").items():
            if not isinstance(item.value, str) or not item.value.strip():
                self.problem(FRAGMENTS, "no_text", item.line, name=name)
            else:
                fragments[name] = item.value.strip()
        if node.value == {}:
            self.problem(FRAGMENTS, "empty")
        return fragments

    def check_placeholders(
        self, metadata: Mapping[str, Node], inputs: Mapping[str, Input], fragments: Mapping[str, str]
    ) -> None:
        used = self.used_in(SYSTEM) | self.used_in(TASK) | self.used_in_fragments(fragments)
        for name in sorted(inputs.keys() - used):
            self.problem(METADATA, "input_unused", metadata["inputs"].line, name=name)
        for file in (SYSTEM, TASK, FRAGMENTS):
            for name, line in placeholders(self.texts.get(file, "")).items():
                if name not in inputs:
                    self.problem(file, "placeholder_undeclared", line, name=name)
                elif file == SYSTEM and inputs[name].trust is Trust.UNTRUSTED:
                    self.problem(file, "placeholder_untrusted", line, name=name)

    def used_in(self, file: str) -> set[str]:
        text = self.texts.get(file, "")
        for line, mark in stray_marks(text):
            self.problem(file, "stray_mark", line, mark=mark)
        return set(placeholders(text))

    def used_in_fragments(self, fragments: Mapping[str, str]) -> set[str]:
        self.used_in(FRAGMENTS)
        return {name for text in fragments.values() for name in placeholders(text)}

    def output_format(self, metadata: Mapping[str, Node]) -> OutputFormat:
        def check(value: str) -> str:
            return "" if value in set(OutputFormat) else "output_format"

        value = self.scalar(metadata, "output_format", check)
        return OutputFormat(value) if value in set(OutputFormat) else OutputFormat.TEXT

    def schema_json(self, output_format: OutputFormat) -> str:
        """The output schema as canonical JSON; empty when there is none."""
        if (output_format is OutputFormat.JSON) != (SCHEMA in self.texts):
            self.problem(METADATA, "schema_apart")
        if not self.texts.get(SCHEMA, "").strip():
            return ""
        try:
            text = _canonical(self.texts[SCHEMA])
        except json.JSONDecodeError as error:
            self.problem(SCHEMA, "no_json", error.lineno, detail=error.msg)
        except UnicodeEncodeError:
            self.problem(SCHEMA, "half_character")
        except RecursionError:
            self.problem(SCHEMA, "too_deep")
        except (ValueError, SchemaError) as error:
            self.problem(SCHEMA, "no_schema", detail=getattr(error, "message", str(error)))
        else:
            if reason := contradiction(text):
                self.problem(SCHEMA, "no_value", detail=reason)
            return text
        return ""

    # --- examples ---------------------------------------------------------------------------------------------------

    def few_shot(self, task: str, schema_json: str) -> tuple[Example, ...]:
        node = self.tree(FEW_SHOT)
        if node is None:
            return ()
        if not isinstance(node.value, tuple):
            self.problem(FEW_SHOT, "examples_no_list", node.line)
            return ()
        if not task:
            self.problem(FEW_SHOT, "examples_without_task")
        return tuple(self.example(item, placeholders(task).keys(), schema_json) for item in node.value)

    def example(self, node: Node, wanted: Set[str], schema_json: str) -> Example:
        plain = node.plain()
        given = plain if isinstance(plain, dict) else {}
        values, output = given.get("input"), given.get("output")
        if (
            given.keys() != {"input", "output"}
            or not isinstance(values, dict)
            or not isinstance(output, str)
            or not all(isinstance(value, str) for value in values.values())
        ):
            self.problem(FEW_SHOT, "example_shape", node.line)
            return Example(values={}, output="")
        if values.keys() != wanted:
            self.problem(FEW_SHOT, "example_input", node.line, names=", ".join(sorted(wanted)))
        if schema_json:
            self.check_output(output, schema_json, node.line)
        return Example(
            values=MappingProxyType({key: str(value) for key, value in values.items()}), output=output
        )

    def check_output(self, output: str, schema_json: str, line: int) -> None:
        try:
            value = json.loads(output)
        except json.JSONDecodeError as error:
            self.problem(FEW_SHOT, "example_no_json", line, detail=error.msg)
            return
        except RecursionError:
            self.problem(FEW_SHOT, "example_too_deep", line)
            return
        mismatch = best_match(Draft202012Validator(json.loads(schema_json)).iter_errors(value))
        if mismatch is not None:
            self.problem(FEW_SHOT, "example_unlike_schema", line, detail=mismatch.message)


def _canonical(schema_text: str) -> str:
    schema = json.loads(schema_text, object_pairs_hook=_distinct, parse_constant=_no_json_number)
    _refuse_references(schema)
    Draft202012Validator.check_schema(schema)
    text = json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    text.encode()
    return unicodedata.normalize("NFC", text)


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("holds a key twice")
    return table


def _no_json_number(word: str) -> object:
    raise ValueError(f"{word} is no number in JSON")


def _refuse_references(schema: object) -> None:
    """A reference may be circular, or lead to another place from which a validator would fetch it."""
    if isinstance(schema, dict):
        for key in schema.keys() & {"$ref", "$dynamicRef"}:
            raise ValueError(f"{key} is not allowed: write the schema out in full")
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _refuse_references(inner)
