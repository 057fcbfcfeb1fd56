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
            self.problem(name, f"is no part of a prompt; parts are {', '.join(FILES)}")
        self.texts = {name: self.normal_text(name, files[name]) for name in FILES if name in files}

    def problem(self, file: str, reason: str, line: int = 0) -> None:
        self.problems.append(ConfigurationError(f"{self.folder}/{file}", reason, line=line))

    def normal_text(self, name: str, data: bytes) -> str:
        if len(data) > MAX_FILE_BYTES:
            self.problem(name, f"is larger than {MAX_FILE_BYTES} bytes")
            return ""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            self.problem(name, "is not UTF-8", data.count(b"\n", 0, error.start) + 1)
            return ""
        text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        if not text.strip():
            self.problem(name, "is empty")
        if marks := _CONFLICT.search(text):
            line = text.count("\n", 0, marks.start()) + 1
            self.problem(
                name, "holds marks of a conflict: keep one of the two texts and take the marks out", line
            )
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
            self.problem(METADATA, "is missing")
        node = self.tree(METADATA)
        if node is None:
            return {}
        table = self.table(METADATA, node, "the file")
        for key in table.keys() - {*REQUIRED_KEYS, *OPTIONAL_KEYS}:
            self.problem(METADATA, f"unknown key: {key}", table[key].line)
        for key in REQUIRED_KEYS:
            if key not in table:
                self.problem(METADATA, f"key missing: {key}")
        return table

    def table(self, file: str, node: Node, what: str) -> Mapping[str, Node]:
        if isinstance(node.value, Mapping):
            return node.value
        self.problem(file, f"{what} must be a table of keys and values", node.line)
        return {}

    def scalar(
        self, metadata: Mapping[str, Node], key: str, check: Callable[[str], str] | None = None
    ) -> str:
        """Text under a key; what `check` has against it is noted."""
        node = metadata.get(key)
        if node is None:
            return ""
        if not isinstance(node.value, str) or (not node.value.strip() and key in REQUIRED_KEYS):
            self.problem(METADATA, f"{key} must be a text", node.line)
            return ""
        objection = check(node.value) if check else ""
        if objection:
            self.problem(METADATA, f"{key} {objection}", node.line)
        return node.value

    def check_name(self, name: str) -> str:
        if not _PROMPT_NAME.fullmatch(name):
            return "must be lower-case words joined by dots, such as chat.answer"
        return "" if name == self.folder else f"must equal the folder's name, {self.folder}"

    @staticmethod
    def check_semver(version: str) -> str:
        return "" if SEMVER.fullmatch(version) else "must be a semantic version, such as 1.0.0"

    def last_updated(self, metadata: Mapping[str, Node]) -> date:
        found: list[date] = []

        def check(value: str) -> str:
            try:
                found.append(date.fromisoformat(value if _DATE.fullmatch(value) else ""))
            except ValueError:
                return "must be a date, such as 2026-01-31"
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
            self.problem(METADATA, "target_models must be a list of different names", node.line)
        return models

    def inputs(self, metadata: Mapping[str, Node]) -> dict[str, Input]:
        if "inputs" not in metadata:
            return {}
        declared = self.table(METADATA, metadata["inputs"], "inputs")
        return {name: self.declared_input(name, node) for name, node in declared.items()}

    def declared_input(self, name: str, node: Node) -> Input:
        if not re.fullmatch(NAME, name):
            self.problem(METADATA, f"input {name} must be a lower-case word", node.line)
        fields = self.table(METADATA, node, f"input {name}")
        texts = {key: field.value for key, field in fields.items() if isinstance(field.value, str)}
        if fields.keys() != {"trust", "description"} or not all(texts.get(key) for key in fields):
            self.problem(
                METADATA, f"input {name} must have a trust and a description, nothing else", node.line
            )
        trust = texts.get("trust", "")
        if trust in set(Trust):
            return Input(trust=Trust(trust), description=texts.get("description", ""))
        self.problem(METADATA, f"trust of input {name} must be {' or '.join(Trust)}", node.line)
        return Input(trust=Trust.UNTRUSTED, description="")

    # --- parts ------------------------------------------------------------------------------------------------------

    def parts(self, metadata: Mapping[str, Node]) -> Parts:
        inputs = self.inputs(metadata)
        system, task = (self.texts.get(name, "").strip() for name in (SYSTEM, TASK))
        fragments = self.fragments()
        if not (SYSTEM in self.texts or TASK in self.texts or FRAGMENTS in self.texts):
            self.problem(METADATA, f"has none of {SYSTEM}, {TASK}, {FRAGMENTS} beside it")
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
        for name, item in self.table(FRAGMENTS, node, "the file").items():
            if not isinstance(item.value, str) or not item.value.strip():
                self.problem(FRAGMENTS, f"{name} must be a text", item.line)
            else:
                fragments[name] = item.value.strip()
        if node.value == {}:
            self.problem(FRAGMENTS, "is empty")
        return fragments

    def check_placeholders(
        self, metadata: Mapping[str, Node], inputs: Mapping[str, Input], fragments: Mapping[str, str]
    ) -> None:
        used = self.used_in(SYSTEM) | self.used_in(TASK) | self.used_in_fragments(fragments)
        for name in sorted(inputs.keys() - used):
            self.problem(METADATA, f"input {name} is used in no part", metadata["inputs"].line)
        for file in (SYSTEM, TASK, FRAGMENTS):
            for name, line in placeholders(self.texts.get(file, "")).items():
                if name not in inputs:
                    self.problem(file, f"placeholder {name} is not declared under inputs", line)
                elif file == SYSTEM and inputs[name].trust is Trust.UNTRUSTED:
                    self.problem(
                        file, f"placeholder {name} is untrusted: data has no place in {SYSTEM}", line
                    )

    def used_in(self, file: str) -> set[str]:
        text = self.texts.get(file, "")
        for line, mark in stray_marks(text):
            self.problem(file, f"stray {mark}: write {{{{name}}}}, or a backslash before it to keep it", line)
        return set(placeholders(text))

    def used_in_fragments(self, fragments: Mapping[str, str]) -> set[str]:
        self.used_in(FRAGMENTS)
        return {name for text in fragments.values() for name in placeholders(text)}

    def output_format(self, metadata: Mapping[str, Node]) -> OutputFormat:
        def check(value: str) -> str:
            return "" if value in set(OutputFormat) else f"must be {' or '.join(OutputFormat)}"

        value = self.scalar(metadata, "output_format", check)
        return OutputFormat(value) if value in set(OutputFormat) else OutputFormat.TEXT

    def schema_json(self, output_format: OutputFormat) -> str:
        """The output schema as canonical JSON; empty when there is none."""
        if (output_format is OutputFormat.JSON) != (SCHEMA in self.texts):
            self.problem(METADATA, f"output_format json and {SCHEMA} belong together")
        if not self.texts.get(SCHEMA, "").strip():
            return ""
        try:
            schema = json.loads(
                self.texts[SCHEMA], object_pairs_hook=_distinct, parse_constant=_no_json_number
            )
            _refuse_references(schema)
            Draft202012Validator.check_schema(schema)
            text = json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            text.encode()
        except json.JSONDecodeError as error:
            self.problem(SCHEMA, f"is not JSON: {error.msg}", error.lineno)
            return ""
        except UnicodeEncodeError:
            self.problem(SCHEMA, "half of a character is not allowed")
            return ""
        except RecursionError:
            self.problem(SCHEMA, "is nested too deeply")
            return ""
        except (ValueError, SchemaError) as error:
            self.problem(SCHEMA, getattr(error, "message", str(error)))
            return ""
        return unicodedata.normalize("NFC", text)

    # --- examples ---------------------------------------------------------------------------------------------------

    def few_shot(self, task: str, schema_json: str) -> tuple[Example, ...]:
        node = self.tree(FEW_SHOT)
        if node is None:
            return ()
        if not isinstance(node.value, tuple):
            self.problem(FEW_SHOT, "must be a list of examples", node.line)
            return ()
        if not task:
            self.problem(FEW_SHOT, f"needs {TASK}, which its inputs fill")
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
            self.problem(
                FEW_SHOT,
                "an example is a table with input (texts by placeholder) and output (a text)",
                node.line,
            )
            return Example(values={}, output="")
        if values.keys() != wanted:
            self.problem(FEW_SHOT, f"input must hold exactly: {', '.join(sorted(wanted))}", node.line)
        if schema_json:
            self.check_output(output, schema_json, node.line)
        return Example(
            values=MappingProxyType({key: str(value) for key, value in values.items()}), output=output
        )

    def check_output(self, output: str, schema_json: str, line: int) -> None:
        try:
            value = json.loads(output)
        except json.JSONDecodeError as error:
            self.problem(FEW_SHOT, f"output is not JSON: {error.msg}", line)
            return
        except RecursionError:
            self.problem(FEW_SHOT, "output is nested too deeply", line)
            return
        mismatch = best_match(Draft202012Validator(json.loads(schema_json)).iter_errors(value))
        if mismatch is not None:
            self.problem(FEW_SHOT, f"output does not satisfy {SCHEMA}: {mismatch.message}", line)


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
