"""Workflow (Beta): named steps whose results flow from one to the next (spec §3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.domain.codraft import CoDraftSetup
from core.domain.compare import CompareSetup
from core.domain.debate import DebateSetup, participants_of
from core.domain.errors import Refusal
from core.domain.prior_context import KEYS
from core.domain.setup import Fields, Json, spread

INPUT_NAMES = KEYS
"""What a workflow can ask for: the names of `priorContext`, so that a handover fills them (spec §4)."""

STEP_ID_CHARS = 30
"""So that the names of run steps, which begin with it, stay within what the store holds."""

INPUT_CHARS = 20_000
MOST_STEPS = 12
INSTRUCTION_CHARS = 4_000
"""No more than a debate takes as its topic."""

FOLLOW_UP = "follow_up"
"""Step that answers a question after the last one."""


class StepKind(StrEnum):
    """People read it as `step_kind.<value>` of the catalogue."""

    ASK = "ask"
    COMPARE = "compare"
    DEBATE = "debate"
    DRAFT = "draft"
    REVIEW = "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text of a workflow file in both languages."""

    en: str
    ja: str

    def in_locale(self, locale: str) -> str:
        return self.ja if locale == "ja" else self.en


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What every kind of step has."""

    id: str
    """Unique in its workflow; names its run steps and its result."""
    title: Label
    instruction: str
    uses: tuple[str, ...]
    """Inputs and earlier steps whose text or result it is given, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedStep(Step):
    """A step that a prompt of the workspace can give its instructions to, besides the product's own."""

    prompt: str = ""
    """Name of that prompt; empty for none."""
    prompt_line: int = 0
    """Where the file names it."""


STEP_PLACEHOLDERS = frozenset({"step", "title", "instruction"})
"""What a step can fill in a prompt of the workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskStep(PromptedStep):
    """One model answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareStep(PromptedStep):
    """Several models answer the same, and one compares the answers."""

    models: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateStep(Step):
    participants: int
    rebuttal_rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftStep(Step):
    """One model writes a text; in each pass another criticises and revises it."""

    passes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStep(Step):
    """Reviewers judge results of earlier steps; as in any Cross Review they see nothing else.

    `uses` names the steps whose results are under review; `instruction` is the focus.
    """

    reviewers: int


WorkflowStep = AskStep | CompareStep | DebateStep | DraftStep | ReviewStep


def kind_of(step: WorkflowStep) -> StepKind:
    kinds = {
        AskStep: StepKind.ASK,
        CompareStep: StepKind.COMPARE,
        DebateStep: StepKind.DEBATE,
        DraftStep: StepKind.DRAFT,
        ReviewStep: StepKind.REVIEW,
    }
    return kinds[type(step)]


def inner_step(step_id: str, step: str) -> str:
    """Name of a run step inside a workflow step of several voices, such as `options/answer:alpha`."""
    return f"{step_id}/{step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowInput:
    name: str
    """One of `INPUT_NAMES`."""
    title: Label
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow file that was found right."""

    name: str
    title: Label
    description: Label
    inputs: tuple[WorkflowInput, ...]
    steps: tuple[WorkflowStep, ...]

    @property
    def file(self) -> str:
        return f"{self.name}.yaml"

    @property
    def prompted(self) -> tuple[PromptedStep, ...]:
        """The steps that name a prompt of the workspace, in order."""
        return tuple(step for step in self.steps if isinstance(step, PromptedStep) and step.prompt)

    def step(self, step_id: str) -> WorkflowStep:
        """Raises KeyError for an id that no step has."""
        return {step.id: step for step in self.steps}[step_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSetup:
    workflow: str
    """Name of the workflow."""
    inputs: Mapping[str, str]
    models: tuple[str, ...]
    """Aliases that its steps draw on, in order."""

    @classmethod
    def from_json(cls, raw: Mapping[str, object], workflows: Mapping[str, Workflow]) -> "WorkflowSetup":
        """Raises Refusal that says what is allowed. `workflows` are the ones there are, by name."""
        fields = Fields(raw)
        fields.only("workflow", "inputs", "models")
        name = fields.text("workflow", limit=200)
        if name not in workflows:
            raise Refusal("unknown_workflow", workflow=name, allowed=", ".join(workflows))
        return cls(
            workflow=name,
            inputs=_inputs(fields.table("inputs"), workflows[name]),
            models=fields.names("models", least=1, most=6, code="workflow_model_count"),
        )

    def to_json(self) -> Json:
        return {"workflow": self.workflow, "inputs": dict(self.inputs), "models": list(self.models)}


def _inputs(given: Fields, workflow: Workflow) -> dict[str, str]:
    """The inputs that hold something, in the order of the workflow."""
    given.only(*(declared.name for declared in workflow.inputs))
    inputs = {}
    for declared in workflow.inputs:
        text = given.text(declared.name, limit=INPUT_CHARS)
        if text:
            inputs[declared.name] = text
        elif declared.required:
            raise Refusal("workflow_input_missing", name=declared.name, workflow=workflow.name)
    return inputs


def compare_setup(step: CompareStep, setup: WorkflowSetup) -> CompareSetup:
    """What a step that compares runs with; its lines are letters, so that names of run steps stay short."""
    return CompareSetup(models=spread(setup.models, step.models), lettered=True)


def debate_setup(step: DebateStep, setup: WorkflowSetup) -> DebateSetup:
    """What a step that debates runs with; the first model moderates, the others speak first."""
    speakers = (*setup.models[1:], setup.models[0])
    return DebateSetup(
        topic=step.instruction,
        participants=participants_of(spread(speakers, step.participants)),
        moderator=setup.models[0],
        rebuttal_rounds=step.rebuttal_rounds,
    )


def codraft_setup(step: DraftStep, setup: WorkflowSetup) -> CoDraftSetup:
    """What a step that drafts runs with."""
    models = spread(setup.models, max(2, len(set(setup.models))))
    return CoDraftSetup(task=step.instruction, models=models, passes=step.passes)


def planned_calls(workflow: Workflow, setup: WorkflowSetup) -> tuple[str, ...]:
    """The model of each call that a workflow makes, in order; reviewers, who are chosen later, as the first model."""
    calls: list[str] = []
    for number, step in enumerate(workflow.steps):
        match step:
            case AskStep():
                calls.append(setup.models[number % len(setup.models)])
            case CompareStep():
                calls += [*compare_setup(step, setup).models, setup.models[0]]
            case DebateStep():
                inner = debate_setup(step, setup)
                calls += [speaker.model for each in inner.rounds() for speaker in each.speakers]
            case DraftStep():
                draft = codraft_setup(step, setup)
                calls += [draft.models[0], *(each.model for each in draft.plan() for _ in range(2))]
            case ReviewStep():
                calls += [setup.models[0]] * step.reviewers
    return tuple(calls)
