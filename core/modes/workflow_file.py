"""Workflow files: read, checked, and refused with file, line and reason (spec §3).

```yaml
name: decision_memo                 # equals the file's name
title: {en: …, ja: …}
description: {en: …, ja: …}
inputs:                             # names of priorContext, so that a handover fills them
  firstRequest: {title: {en: …, ja: …}, required: yes}
steps:                              # in the order in which they run
  - id: options
    kind: ask                       # ask, compare, debate, draft, review
    title: {en: …, ja: …}
    uses: [firstRequest]            # inputs and earlier steps
    instruction: …
```
Besides: `prompt` of ask and compare, which may name a prompt of the workspace (`team.…`); `models` of compare,
`participants` and `rebuttal_rounds` of debate, `passes` of draft, `reviewers` of review.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from core.domain import compare, debate
from core.domain.artifact import artifact_name, name_key
from core.domain.codraft import LEAST_PASSES, MOST_PASSES
from core.domain.errors import ConfigurationError, ConfigurationErrors, Refusal
from core.domain.prompt import TEAM_NAME
from core.domain.review import MOST_ANSWERS, MOST_REVIEWERS
from core.domain.workflow import (
    FOLLOW_UP,
    INPUT_NAMES,
    INSTRUCTION_CHARS,
    MOST_STEPS,
    STEP_ID_CHARS,
    AskStep,
    CompareStep,
    DebateStep,
    DraftStep,
    Label,
    PromptedStep,
    ReviewStep,
    StepKind,
    Workflow,
    WorkflowInput,
    WorkflowStep,
)
from core.prompts.placeholder import NAME
from core.prompts.strict_yaml import Node, read_yaml

WORKFLOW_FOLDER = Path(__file__).parent / "workflows"
"""The product's own workflows."""

TITLE_CHARS = 120
_MARKS = re.compile("[⟦⟧〚〛\n\r]")

_NUMBERS: Mapping[StepKind, Mapping[str, tuple[int, int]]] = {
    StepKind.ASK: {},
    StepKind.COMPARE: {"models": (compare.LEAST_MODELS, compare.MOST_MODELS)},
    StepKind.DEBATE: {
        "participants": (debate.LEAST_PARTICIPANTS, debate.MOST_PARTICIPANTS),
        "rebuttal_rounds": (debate.LEAST_REBUTTALS, debate.MOST_REBUTTALS),
    },
    StepKind.DRAFT: {"passes": (LEAST_PASSES, MOST_PASSES)},
    StepKind.REVIEW: {"reviewers": (1, MOST_REVIEWERS)},
}
"""What a kind of step must say besides, with least and most."""


def load_workflows(*folders: Path) -> Mapping[str, Workflow]:
    """Every workflow in these folders, by name, those of the first folder first; the product's own where none is given.

    Reads files, so call it at start and not on the event loop. Raises ConfigurationErrors with every problem of
    every file.
    """
    workflows: dict[str, Workflow] = {}
    problems: list[ConfigurationError] = []
    for file in (file for folder in folders or (WORKFLOW_FOLDER,) for file in sorted(folder.glob("*.yaml"))):
        if file.stem in workflows:
            problems.append(ConfigurationError(str(file), "there is a workflow of this name already"))
            continue
        try:
            workflows[file.stem] = parse_workflow(file.name, file.read_bytes())
        except ConfigurationErrors as errors:
            problems.extend(errors.problems)
    if problems:
        raise ConfigurationErrors(problems)
    return MappingProxyType(workflows)


def parse_workflow(file: str, data: bytes) -> Workflow:
    """The workflow in a file of that name. Raises ConfigurationErrors with everything that is wrong."""
    reading = _Reading(file)
    workflow = reading.workflow(data)
    if reading.problems:
        raise ConfigurationErrors(reading.problems)
    return workflow


class _Reading:
    """One pass over one file. Problems are collected; what is wrong reads as empty, so that the pass goes on."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[ConfigurationError] = []

    def problem(self, line: int, reason: str) -> None:
        self.problems.append(ConfigurationError(self.file, reason, line=line))

    def workflow(self, data: bytes) -> Workflow:
        root = self.root(data)
        table = self.table(root, "the file", ("name", "title", "description", "inputs", "steps"))
        name = self.text(table, "name", root, "the file")
        if name and name != self.file.removesuffix(".yaml"):
            self.problem(table["name"].line, f"name must equal the file's name, {self.file}")
        inputs = self.inputs(table["inputs"]) if "inputs" in table else ()
        return Workflow(
            name=name,
            title=self.label(table, "title", root),
            description=self.label(table, "description", root),
            inputs=inputs,
            steps=self.steps(table["steps"], inputs) if "steps" in table else (),
        )

    def root(self, data: bytes) -> Node:
        try:
            return read_yaml(self.file, data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            self.problem(data.count(b"\n", 0, error.start) + 1, "is not UTF-8")
        except ConfigurationError as error:
            self.problems.append(error)
        # The problem is noted; a table without keys would only add noise to it.
        raise ConfigurationErrors(self.problems)

    # --- values -----------------------------------------------------------------------------------------------------

    def table(
        self, node: Node, what: str, keys: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> Mapping[str, Node]:
        """The values under exactly `keys`, and under those of `optional` that are there."""
        if not isinstance(node.value, Mapping):
            self.problem(node.line, f"{what} must be a table of keys and values")
            return {}
        allowed = (*keys, *optional)
        for key in node.value.keys() - set(allowed):
            self.problem(
                node.value[key].line, f"{what} has an unknown key: {key}; it may hold {', '.join(allowed)}"
            )
        for key in keys:
            if key not in node.value:
                self.problem(node.line, f"{what} lacks {key}")
        return {key: node.value[key] for key in allowed if key in node.value}

    def text(self, table: Mapping[str, Node], key: str, parent: Node, what: str) -> str:
        """Text under a key; a missing one was noted when the table was read."""
        node = table.get(key)
        if node is None:
            return ""
        if not isinstance(node.value, str) or not node.value.strip():
            self.problem(node.line or parent.line, f"{key} of {what} must be a text")
            return ""
        return node.value.strip()

    def label(self, table: Mapping[str, Node], key: str, parent: Node) -> Label:
        if key not in table:
            return Label(en="", ja="")
        node = table[key]
        languages = self.table(node, key, ("en", "ja"))
        texts = {name: self.text(languages, name, parent, key) for name in ("en", "ja")}
        for text in texts.values():
            if (
                len(text) > TITLE_CHARS * 3
                or (key == "title" and len(text) > TITLE_CHARS)
                or _MARKS.search(text)
            ):
                self.problem(node.line, f"{key} must be one short line without ⟦ and ⟧")
        return Label(**texts)

    def number(self, table: Mapping[str, Node], key: str, limits: tuple[int, int], what: str) -> int:
        least, most = limits
        node = table.get(key)
        if node is None:
            return least
        value = node.value if isinstance(node.value, str) else ""
        if not re.fullmatch("[0-9]{1,4}", value) or not least <= int(value) <= most:
            self.problem(node.line, f"{key} of {what} must be a whole number from {least} to {most}")
            return least
        return int(value)

    # --- inputs -----------------------------------------------------------------------------------------------------

    def inputs(self, node: Node) -> tuple[WorkflowInput, ...]:
        if not isinstance(node.value, Mapping):
            self.problem(node.line, "inputs must be a table of keys and values")
            return ()
        return tuple(self.input(name, item) for name, item in node.value.items())

    def input(self, name: str, node: Node) -> WorkflowInput:
        if name not in INPUT_NAMES:
            self.problem(node.line, f"unknown input: {name}; inputs are {', '.join(INPUT_NAMES)}")
        table = self.table(node, f"input {name}", ("title", "required"))
        required = self.text(table, "required", node, f"input {name}")
        if required not in {"", "yes", "no"}:
            self.problem(table["required"].line, f"required of input {name} must be yes or no")
        return WorkflowInput(name=name, title=self.label(table, "title", node), required=required == "yes")

    # --- steps ------------------------------------------------------------------------------------------------------

    def steps(self, node: Node, inputs: tuple[WorkflowInput, ...]) -> tuple[WorkflowStep, ...]:
        items = node.value if isinstance(node.value, tuple) else ()
        if not 1 <= len(items) <= MOST_STEPS:
            self.problem(node.line, f"steps must be a list of 1 to {MOST_STEPS}")
            return ()
        ids = [_id_of(item) for item in items]
        steps: dict[str, WorkflowStep] = {}
        for item in items:
            step = self.step(item, {one.name for one in inputs}, steps, ids)
            if step is not None:
                steps[step.id] = step
        return tuple(steps.values())

    def step(
        self, node: Node, inputs: set[str], before: Mapping[str, WorkflowStep], ids: list[str]
    ) -> WorkflowStep | None:
        """One step, or None when not even its kind or id can be told."""
        kind = self.kind(node)
        if kind is None:
            return None
        numbers = _NUMBERS[kind]
        keys = ("id", "kind", "title", "uses", "instruction", *numbers)
        optional = ("prompt",) if kind in (StepKind.ASK, StepKind.COMPARE) else ()
        table = self.table(node, f"step {_id_of(node) or '?'}", keys, optional)
        step_id = self.text(table, "id", node, "a step")
        self.check_id(step_id, node, inputs, before)
        what = f"step {step_id}"
        title = self.label(table, "title", node)
        uses = self.uses(table, what, inputs, before, ids) if "uses" in table else ()
        instruction = self.text(table, "instruction", node, what)
        if len(instruction) > INSTRUCTION_CHARS:
            self.problem(
                table["instruction"].line,
                f"instruction of {what} is longer than {INSTRUCTION_CHARS} characters",
            )
        given = {key: self.number(table, key, limits, what) for key, limits in numbers.items()}
        if kind is StepKind.REVIEW:
            self.check_review(table, what, uses, before)
        if kind is StepKind.DRAFT:
            self.check_draft(table, what, title, before)
        step = _step(kind, given, step_id, title, instruction, uses)
        return self.prompted(step, table, node, what) if "prompt" in table else step

    def prompted(self, step: WorkflowStep, table: Mapping[str, Node], node: Node, what: str) -> WorkflowStep:
        """The step with the prompt that it names; which prompts a workspace has is found out when it starts."""
        name, line = self.text(table, "prompt", node, what), table["prompt"].line
        if name and not TEAM_NAME.fullmatch(name):
            self.problem(line, f"prompt of {what} must name a prompt of the workspace, such as team.summary")
        return replace(step, prompt=name, prompt_line=line) if isinstance(step, PromptedStep) else step

    def check_draft(
        self, table: Mapping[str, Node], what: str, title: Label, before: Mapping[str, WorkflowStep]
    ) -> None:
        """The title becomes the name of an artifact, in the thread's language."""
        taken = [each.title for each in before.values() if isinstance(each, DraftStep)]
        for locale in ("en", "ja"):
            name = title.in_locale(locale)
            if any(name_key(name) == name_key(each.in_locale(locale)) for each in taken):
                self.problem(table["title"].line, f"title of {what} is that of an earlier draft")
                return
            try:
                artifact_name(name)
            except Refusal:
                self.problem(table["title"].line, f"title of {what} cannot be the name of an artifact")
                return

    def kind(self, node: Node) -> StepKind | None:
        value = node.value.get("kind") if isinstance(node.value, Mapping) else None
        kind = value.value if value else None
        if isinstance(kind, str) and kind in set(StepKind):
            return StepKind(kind)
        name = kind if isinstance(kind, str) else "none"
        line = value.line if value else node.line
        self.problem(line, f"unknown kind of step: {name}; kinds are {', '.join(StepKind)}")
        return None

    def check_id(
        self, step_id: str, node: Node, inputs: set[str], before: Mapping[str, WorkflowStep]
    ) -> None:
        if step_id and (
            not re.fullmatch(NAME, step_id) or step_id == FOLLOW_UP or len(step_id) > STEP_ID_CHARS
        ):
            self.problem(
                node.line,
                f"id {step_id} must be a lower-case word such as options, of at most {STEP_ID_CHARS} letters, "
                f"and not {FOLLOW_UP}",
            )
        if step_id in before or step_id in inputs:
            self.problem(node.line, f"id {step_id} is taken by another step or an input")

    def uses(
        self,
        table: Mapping[str, Node],
        what: str,
        inputs: set[str],
        before: Mapping[str, WorkflowStep],
        ids: list[str],
    ) -> tuple[str, ...]:
        node = table["uses"]
        items = node.value if isinstance(node.value, tuple) else None
        if not items:
            self.problem(
                node.line, f"uses of {what} must be a list of inputs and earlier steps, at least one"
            )
            return ()
        names = [item.value if isinstance(item.value, str) else "" for item in items]
        for item, name in zip(items, names, strict=True):
            if name in before or name in inputs:
                continue
            if f"step {name}" == what:
                self.problem(item.line, f"{what} uses its own result: a loop")
            elif name in ids:
                self.problem(
                    item.line, f"{what} uses step {name}, which comes later: only earlier results can flow on"
                )
            elif name in INPUT_NAMES:
                self.problem(item.line, f"{what} uses input {name}, which is missing under inputs")
            else:
                self.problem(item.line, f"{what} uses {name or 'something'}, which is no input and no step")
        return tuple(dict.fromkeys(names))

    def check_review(
        self,
        table: Mapping[str, Node],
        what: str,
        uses: tuple[str, ...],
        before: Mapping[str, WorkflowStep],
    ) -> None:
        """Reviewers get answers only, and never another review."""
        line = table["uses"].line if "uses" in table else 0
        reviewed = [before.get(name) for name in uses]
        if any(step is None or isinstance(step, ReviewStep) for step in reviewed):
            self.problem(line, f"{what} can review results of ask, compare, debate and draft steps only")
        count = sum(step.models if isinstance(step, CompareStep) else 1 for step in reviewed)
        if count > MOST_ANSWERS:
            self.problem(line, f"{what} reviews {count} answers; {MOST_ANSWERS} are the most")


def _id_of(node: Node) -> str:
    value = node.value.get("id") if isinstance(node.value, Mapping) else None
    return value.value if value and isinstance(value.value, str) else ""


def _step(
    kind: StepKind,
    given: Mapping[str, int],
    step_id: str,
    title: Label,
    instruction: str,
    uses: tuple[str, ...],
) -> WorkflowStep:
    kinds: Mapping[StepKind, Callable[..., WorkflowStep]] = {
        StepKind.ASK: AskStep,
        StepKind.COMPARE: CompareStep,
        StepKind.DEBATE: DebateStep,
        StepKind.DRAFT: DraftStep,
        StepKind.REVIEW: ReviewStep,
    }
    return kinds[kind](id=step_id, title=title, instruction=instruction, uses=uses, **given)
