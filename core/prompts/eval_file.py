"""An eval set's folder, read and checked. Pure: file contents in, one immutable set out.

```
<id>/set.yaml        id, version, prompts; defaults (conditions of every case)
<id>/cases/*.yaml    lists of cases
```
A case: `id`, `kind` (typical, boundary, past_failure), `origin` (synthetic, or a table of type, masked_by, masked_at),
`source` and `inputs` as its prompt's shape wants them, `checks`, `human`, `tags`; `prompt` where the set has several.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType

from core.domain.errors import ConfigurationError, ConfigurationErrors
from core.domain.view import Phrase
from core.prompts import eval_check_file
from core.prompts.eval_check import Check, SchemaCheck
from core.prompts.eval_set import (
    HARD,
    SHAPES,
    CaseKind,
    CaseOrigin,
    EvalCase,
    EvalSet,
    OriginType,
    Source,
    inputs_wanted,
    shape_of,
)
from core.prompts.eval_source_file import input_problem, read_source
from core.prompts.masking import find_personal
from core.prompts.parse import MAX_FILE_BYTES
from core.prompts.problem import problem
from core.prompts.registry import PromptLibrary
from core.prompts.schema_sense import contradiction
from core.prompts.strict_yaml import Node, read_yaml
from core.prompts.version import OutputFormat, PromptVersion

EVALS_FOLDER = Path(__file__).parent / "evals"
"""The product's own eval sets."""
SET_FILE = "set.yaml"
CASES = "cases/"
MOST_SET_CASES = 200
MOST_HUMAN_CHARS = 500

_SET_KEYS = ("id", "version", "prompts")
_CASE_KEYS = ("id", "kind", "origin", "source", "inputs", "checks", "human", "tags", "prompt")
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_CASE_ID = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")


def load_eval_sets(prompts: PromptLibrary, folder: Path = EVALS_FOLDER) -> Mapping[str, EvalSet]:
    """Every eval set under `folder` by id, one a subfolder.

    Reads files, so call it at start and not on the event loop. Raises ConfigurationErrors with every problem of every
    set.
    """
    sets: dict[str, EvalSet] = {}
    problems: list[ConfigurationError] = []
    for place in sorted(path for path in folder.iterdir() if (path / SET_FILE).is_file()):
        files = {
            path.relative_to(place).as_posix(): path.read_bytes() for path in sorted(place.rglob("*.yaml"))
        }
        try:
            sets[place.name] = parse_eval_set(place.name, files, prompts)
        except ConfigurationErrors as errors:
            problems.extend(errors.problems)
    if problems:
        raise ConfigurationErrors(problems)
    return MappingProxyType(sets)


def parse_eval_set(folder: str, files: Mapping[str, bytes], prompts: PromptLibrary) -> EvalSet:
    """The set in a folder of that name, from its files' contents by path; it names prompts of `prompts`.

    Raises ConfigurationErrors with everything that is wrong.
    """
    return _parsed(_Reading(folder, files, prompts))


def stored_eval_set(folder: str, files: Mapping[str, str]) -> EvalSet:
    """A set that was found right when it was stored: what its prompts are by now does not change what it says.

    Raises ConfigurationErrors when this release cannot read it.
    """
    return _parsed(_Reading(folder, {path: text.encode() for path, text in files.items()}, None))


def _parsed(reading: "_Reading") -> EvalSet:
    eval_set = reading.eval_set()
    if reading.problems:
        raise ConfigurationErrors(reading.problems)
    return eval_set


class _Reading:
    """One pass over one folder. Problems are collected; what is wrong reads as empty, so that the pass goes on.

    Without prompts nothing is held against them, nor looked through for personal data.
    """

    def __init__(self, folder: str, files: Mapping[str, bytes], prompts: PromptLibrary | None) -> None:
        self.folder = folder
        self.library = prompts
        self.problems: list[ConfigurationError] = []
        self.file = SET_FILE
        self.roots: dict[str, Node] = {}
        for name in sorted(files):
            self.file = name
            if name != SET_FILE and not (name.startswith(CASES) and name.endswith(".yaml")):
                self.problem("set_unknown_file", 0, set_file=SET_FILE, cases=f"{CASES}*.yaml")
            else:
                self.read(files[name])

    def problem(self, code: str, line: int, **fields: str | float) -> None:
        self.problems.append(problem(f"{self.folder}/{self.file}", code, line=line, **fields))

    def report(self, reason: Phrase, line: int) -> None:
        self.problem(reason.key.removeprefix("problem."), line, **reason.fields)

    def read(self, data: bytes) -> None:
        if len(data) > MAX_FILE_BYTES:
            self.problem("too_large", 0, limit=MAX_FILE_BYTES)
            return
        try:
            text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
            self.roots[self.file] = read_yaml(
                f"{self.folder}/{self.file}", unicodedata.normalize("NFC", text)
            )
        except UnicodeDecodeError as error:
            self.problem("not_utf8", data.count(b"\n", 0, error.start) + 1)
        except ConfigurationError as error:
            self.problems.append(error)

    # --- the set ----------------------------------------------------------------------------------------------------

    def eval_set(self) -> EvalSet:
        self.file = SET_FILE
        root = self.roots.get(SET_FILE)
        if root is None:
            if not self.problems:
                self.problem("file_missing", 0)
            raise ConfigurationErrors(self.problems)
        table = self.table(root, "file", (*_SET_KEYS, "defaults"), _SET_KEYS)
        set_id = self.text(table, "id")
        if set_id and (set_id != self.folder or not _ID.fullmatch(set_id)):
            line = table["id"].line
            self.problem("set_id", line, folder=self.folder)
        names = self.prompts(table)
        defaults = self.checks(table.get("defaults"))
        cases: list[EvalCase] = []
        seen: dict[str, str] = {}
        for file in sorted(self.roots.keys() - {SET_FILE}):
            self.file = file
            for node in self.items(self.roots[file], "file"):
                case = self.case(node, names, defaults)
                if case.id and case.id in seen:
                    self.problem("case_twice", node.line, case=case.id, first=seen[case.id])
                seen.setdefault(case.id, f"{file}:{node.line}")
                cases.append(case)
        self.file = SET_FILE
        if not 1 <= len(cases) <= MOST_SET_CASES and not self.problems:
            self.problem("set_case_count", 0, count=len(cases), most=MOST_SET_CASES)
        return EvalSet(id=set_id, version=self.version(table), prompts=names, cases=tuple(cases))

    def version(self, table: Mapping[str, Node]) -> int:
        text = self.text(table, "version")
        if text and not re.fullmatch(r"[1-9][0-9]{0,5}", text):
            self.problem("set_version", table["version"].line)
            return 0
        return int(text or 0)

    def prompts(self, table: Mapping[str, Node]) -> tuple[str, ...]:
        node = table.get("prompts")
        names = self.texts(node, "prompts") if node else ()
        for name in names:
            if node and not self.knows(name):
                self.problem("set_prompt_unknown", node.line, name=name)
        if node and len(set(names)) != len(names):
            self.problem("set_prompts_twice", node.line)
        return names

    def knows(self, prompt: str) -> bool:
        return self.library is None or prompt in self.library.versions

    # --- a case -----------------------------------------------------------------------------------------------------

    def case(self, node: Node, prompts: Sequence[str], defaults: Sequence[tuple[Check, int]]) -> EvalCase:
        required = ("id", "kind", "origin", *(("prompt",) if len(prompts) > 1 else ()))
        table = self.table(node, "case", _CASE_KEYS, required)
        case_id = self.text(table, "id")
        if case_id and not _CASE_ID.fullmatch(case_id):
            self.problem("case_id", table["id"].line, case=case_id)
        prompt = self.text(table, "prompt") or (prompts[0] if len(prompts) == 1 else "")
        known = prompt in prompts and self.knows(prompt)
        if prompt and prompt not in prompts:
            self.problem("case_prompt", node.line, case=case_id, prompt=prompt, allowed=", ".join(prompts))
        source = (
            read_source(table.get("source"), prompt, case_id, self.report, node.line) if known else Source()
        )
        checks = self.checks(table.get("checks"))
        case = EvalCase(
            id=case_id,
            prompt=prompt,
            kind=self.kind(table),
            origin=self.origin(table),
            inputs=self.inputs(table, prompt, case_id, source) if known else {},
            source=source,
            checks=tuple(check for check, _ in (*defaults, *checks)),
            human=self.texts(table["human"], "human") if "human" in table else (),
            tags=self.texts(table["tags"], "tags") if "tags" in table else (),
        )
        if self.library is not None:
            prompt_now = self.library.versions[prompt] if known else None
            self.check_case(case, node, (*defaults, *checks), prompt_now)
        return case

    def check_case(
        self,
        case: EvalCase,
        node: Node,
        checks: Sequence[tuple[Check, int]],
        prompt: PromptVersion | None,
    ) -> None:
        for reason in eval_check_file.contradictions(case.id, case.checks):
            self.report(reason, node.line)
        if any(len(condition) > MOST_HUMAN_CHARS for condition in case.human):
            self.problem("case_human_long", node.line, case=case.id, limit=MOST_HUMAN_CHARS)
        if case.is_hard and not case.checks:
            self.problem("case_hard", node.line, case=case.id, tag=HARD)
        for span in find_personal("\n".join([case.source_text, *case.human])):
            self.problem(f"case_holds_{span.kind.value}", node.line, case=case.id)
        if prompt is None:
            return
        parts = prompt.parts
        target = eval_check_file.Target(
            is_json=parts.output_format is OutputFormat.JSON, texts=frozenset(case.source.texts)
        )
        for check, line in checks:
            if away := eval_check_file.misplaced(case.id, check, target):
                self.report(away, line)
            elif isinstance(check, SchemaCheck) and (detail := contradiction(parts.schema_json)):
                self.problem("case_no_value", line, case=case.id, prompt=case.prompt, detail=detail)

    def origin(self, table: Mapping[str, Node]) -> CaseOrigin:
        node = table.get("origin")
        if node is None or node.value == OriginType.SYNTHETIC:
            return CaseOrigin(type=OriginType.SYNTHETIC)
        keys = ("type", "masked_by", "masked_at")
        given = node.value if isinstance(node.value, Mapping) else {}
        texts = {key: inner.value for key, inner in given.items() if isinstance(inner.value, str)}
        if texts.keys() != set(keys) or texts["type"] != OriginType.MASKED_LOG or not all(texts.values()):
            self.problem("case_origin", node.line)
            return CaseOrigin(type=OriginType.SYNTHETIC)
        try:
            date.fromisoformat(texts["masked_at"])
        except ValueError:
            self.problem("case_masked_at", node.line)
        return CaseOrigin(
            type=OriginType.MASKED_LOG, masked_by=texts["masked_by"], masked_at=texts["masked_at"]
        )

    def inputs(
        self, table: Mapping[str, Node], prompt: str, case_id: str, source: Source
    ) -> Mapping[str, str]:
        node = table.get("inputs")
        given = self.table(node, "inputs", None, ()) if node else {}
        values = {key: self.text(given, key) for key in given}
        if self.library is None:
            return values
        wanted = inputs_wanted(prompt, tuple(self.library.get(prompt).parts.inputs))
        if values.keys() != wanted:
            line = node.line if node else table["id"].line if "id" in table else 0
            filled = ", ".join(shape_of(prompt).filled)
            code = "case_inputs" if wanted else "case_inputs_none"
            names = ", ".join(sorted(wanted))
            self.problem(f"{code}_filled" if filled else code, line, case=case_id, names=names, filled=filled)
        for name, value in values.items() if prompt in SHAPES else ():
            if name in wanted and (reason := input_problem(case_id, name, value, source)):
                self.report(reason, given[name].line)
        return values

    def checks(self, node: Node | None) -> tuple[tuple[Check, int], ...]:
        """Conditions with their lines."""
        if node is None:
            return ()
        read = [
            (eval_check_file.read_check(item, self.report), item.line) for item in self.items(node, "checks")
        ]
        return tuple((check, line) for check, line in read if check is not None)

    # --- values -----------------------------------------------------------------------------------------------------

    def table(
        self, node: Node, what: str, allowed: Sequence[str] | None, required: Sequence[str]
    ) -> Mapping[str, Node]:
        if not isinstance(node.value, Mapping):
            code = {"case": "set_case_no_table", "file": "file_no_table"}.get(what, "set_no_table")
            self.problem(code, node.line, what=what)
            return {}
        for key, inner in node.value.items():
            if allowed is not None and key not in allowed:
                self.problem(f"set_{what}_unknown_key", inner.line, name=key, allowed=", ".join(allowed))
        for key in required:
            if key not in node.value:
                self.problem(f"set_{what}_lacks", node.line, name=key)
        return node.value

    def items(self, node: Node, what: str) -> tuple[Node, ...]:
        if isinstance(node.value, tuple):
            return node.value
        self.problem("set_file_no_list" if what == "file" else "set_no_list", node.line, what=what)
        return ()

    def text(self, table: Mapping[str, Node], key: str) -> str:
        node = table.get(key)
        if node is None:
            return ""
        if not isinstance(node.value, str) or not node.value.strip():
            self.problem("no_text", node.line, name=key)
            return ""
        return node.value.strip()

    def texts(self, node: Node, what: str) -> tuple[str, ...]:
        items = self.items(node, what)
        texts = tuple(item.value for item in items if isinstance(item.value, str) and item.value.strip())
        if len(texts) != len(items) or not items:
            self.problem("set_texts", node.line, what=what)
        return texts

    def kind(self, table: Mapping[str, Node]) -> CaseKind:
        text = self.text(table, "kind")
        if text and text not in set(CaseKind):
            self.problem("case_kind", table["kind"].line, allowed=", ".join(CaseKind))
        return CaseKind(text) if text in set(CaseKind) else CaseKind.TYPICAL
