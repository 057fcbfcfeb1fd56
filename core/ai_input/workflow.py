"""The AI input of Workflow: a step is sent what it names in `uses`, inputs and results of earlier steps (spec §3).

Steps of several voices are built by the builders of their modes, from a turn that looks to them like their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, assert_never

from core.ai_input.cross_review import review_of
from core.ai_input.estimate import estimate_parts
from core.ai_input.framing import FRAGMENTS_PROMPT
from core.ai_input.handover import Words, handover_of, workflow_inputs
from core.ai_input.material import MODE_FRAGMENTS, Material, compose
from core.ai_input.thread_order import opening_of, said_in
from core.domain.codraft import DRAFT, revise_step
from core.domain.compare import SUMMARY
from core.domain.debate import SYNTHESIS
from core.domain.errors import Refusal
from core.domain.receipt import AiInput, CapApplied, InputPart, Origin, Role
from core.domain.review import MOST_REVIEWERS, verdict_step
from core.domain.setup import Json
from core.domain.workflow import (
    FOLLOW_UP,
    AskStep,
    CompareStep,
    DebateStep,
    DraftStep,
    PromptedStep,
    ReviewStep,
    Workflow,
    WorkflowSetup,
    WorkflowStep,
    codraft_setup,
    compare_setup,
    debate_setup,
    inner_step,
)
from core.ports import Spoken, Turn
from core.prompts.placeholder import placeholders
from core.prompts.registry import PromptLibrary
from core.prompts.render import render_examples, render_system, render_task
from core.prompts.version import PromptVersion

STEP_PROMPT = "workflow.step"
FOLLOW_UP_PROMPT = "workflow.follow_up"
PROMPT_NAMES = (STEP_PROMPT, FOLLOW_UP_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""The prompts that a run of Workflow works with, besides those of the modes in its steps."""


class BuildsWithMaterials(Protocol):
    """A builder of a mode that can be a step of a workflow, its other arguments bound."""

    def __call__(
        self, turn: Turn, prompts: PromptLibrary, *, materials: tuple[InputPart, ...]
    ) -> AiInput: ...


def build_ask(turn: Turn, prompts: PromptLibrary, *, workflow: Workflow, step_id: str) -> AiInput:
    """What a model is sent in an asking step, and every candidate of a comparing one: the same to the byte.

    Raises Refusal for a prompt of the workspace that the run did not begin with.
    """
    step = workflow.step(step_id)
    task = {
        "step": step.id,
        "title": step.title.in_locale(turn.thread.locale),
        "instruction": step.instruction,
    }
    ai_input = compose(
        turn,
        prompts,
        STEP_PROMPT,
        data=_materials(turn, prompts, workflow, step),
        task=task,
        caps=_carried(turn, prompts, workflow, step)[1],
    )
    if not isinstance(step, PromptedStep) or not step.prompt:
        return ai_input
    if step.prompt not in prompts.versions:
        raise prompt_missing(workflow, step)
    return _with_prompt(turn, ai_input, prompts.get(step.prompt), task)


def prompt_missing(workflow: Workflow, step: PromptedStep) -> Refusal:
    """Says that a step names a prompt which the workspace has not made live."""
    return Refusal(
        "workflow_prompt_missing",
        file=workflow.file,
        line=step.prompt_line,
        step=step.id,
        name=step.prompt,
    )


def _with_prompt(turn: Turn, ai_input: AiInput, prompt: PromptVersion, task: Mapping[str, str]) -> AiInput:
    """With a prompt of the workspace: its system text behind the product's, whose rules for data hold on, its examples,
    and its task before the step's own."""
    system, *rest = ai_input.parts
    text = render_system(prompt, _used(prompt.parts.system, task))
    examples = [
        InputPart(role=role, origin=Origin.EXAMPLE, text=text)
        for pair in render_examples(prompt)
        for role, text in zip((Role.USER, Role.ASSISTANT), pair, strict=True)
    ]
    asked = render_task(prompt, _used(prompt.parts.task, task))
    besides = [InputPart(role=Role.USER, origin=Origin.INSTRUCTION, text=asked)] if asked else []
    head = replace(system, text="\n\n".join(filter(None, (system.text, text))))
    parts = (head, *examples, *rest[:-1], *besides, rest[-1])
    tokens, room = estimate_parts(parts), turn.context_tokens - turn.max_output_tokens
    if tokens > room:
        raise Refusal("request_too_large", needed=tokens, allowed=max(room, 0), model=turn.model)
    return replace(ai_input, parts=parts, prompts=(*ai_input.prompts, prompt.ref), estimate_tokens=tokens)


def _used(template: str, values: Mapping[str, str]) -> Mapping[str, str]:
    return {name: values[name] for name in placeholders(template) if name in values}


def build_in_step(
    turn: Turn, prompts: PromptLibrary, *, workflow: Workflow, step_id: str, build: BuildsWithMaterials
) -> AiInput:
    """What a model is sent within a comparing, debating or drafting step, by the builder of that mode.

    For a comparing step `build` compares; its candidates are built by `build_ask`.
    """
    step = workflow.step(step_id)
    ai_input = build(inner_turn(turn, step), prompts, materials=_materials(turn, prompts, workflow, step))
    return replace(ai_input, caps=(*ai_input.caps, *_carried(turn, prompts, workflow, step)[1]))


def build_step_review(
    turn: Turn, prompts: PromptLibrary, *, workflow: Workflow, step_id: str, order: Sequence[int]
) -> AiInput:
    """What a reviewer is sent in a reviewing step: the results under review, as in any Cross Review.

    Raises Refusal `review_answers_gone` when `order` does not fit them.
    """
    step = workflow.step(step_id)
    answers = answers_under_review(turn, workflow, step_id)
    if not answers or len(order) != len(answers):
        raise Refusal("review_answers_gone", had=len(order), left=len(answers))
    return review_of(turn, prompts, answers=answers, order=order, focus=step.instruction)


def build_follow_up(turn: Turn, prompts: PromptLibrary, *, workflow: Workflow) -> AiInput:
    """What the last step's model is sent when people ask about the finished workflow: results, and all said since."""
    material, said = Material.of(prompts), said_in(turn)
    results = [part for step in workflow.steps for part in _result_parts(turn, material, step)]
    since = [
        material.spoken(one, "answer_since") if isinstance(one, Spoken) else material.said(one)
        for one in said.before
        if not isinstance(one, Spoken) or one.step == FOLLOW_UP
    ]
    asked = material.data(Origin.REQUEST, "follow_up", turn.request.text, turn.request.id)
    return compose(turn, prompts, FOLLOW_UP_PROMPT, data=[*results, *since, asked])


# --- results --------------------------------------------------------------------------------------------------------


def answers_under_review(turn: Turn, workflow: Workflow, step_id: str) -> tuple[Spoken, ...]:
    """The results that a reviewing step judges, in the order in which it names their steps.

    Of a comparing step these are its answers without their comparison. A workflow file names six at most.
    """
    used = (workflow.step(name) for name in workflow.step(step_id).uses)
    return tuple(
        spoken
        for step in used
        for letter, spoken in result_of(turn, step)
        if letter or not isinstance(step, CompareStep)
    )


def result_of(turn: Turn, step: WorkflowStep) -> tuple[tuple[str, Spoken], ...]:
    """What a step left for later ones, each with its letter where there are several; nothing when it failed."""
    last = {one.step: one for one in turn.spoken}
    names = {inner_step(step.id, name): letter for name, letter in _result_steps(turn, step).items()}
    found = tuple((letter, last[name]) for name, letter in names.items() if name in last)
    if isinstance(step, AskStep):
        return (("", last[step.id]),) if step.id in last else ()
    return found[:1] if isinstance(step, DraftStep) else found


def place_of(turn: Turn, workflow: Workflow | None, one: Spoken) -> tuple[str, str, str]:
    """Where a contribution stands in a workflow: its step, the step's title, and its letter in a comparing step.

    The id is the title where the file was changed or taken away since. No model is named.
    """
    step_id, _, inner = one.step.partition("/")
    step = next((each for each in workflow.steps if each.id == step_id), None) if workflow else None
    if step is None:
        return step_id, step_id, ""
    letter = _result_steps(turn, step).get(inner, "") if isinstance(step, CompareStep) else ""
    return step_id if letter else one.step, step.title.in_locale(turn.thread.locale), letter


def _result_steps(turn: Turn, step: WorkflowStep) -> dict[str, str]:
    """Inner steps that hold the result, with the letter each has there. Of a draft the first that exists counts."""
    match step:
        case AskStep():
            return {}
        case CompareStep():
            candidates = compare_setup(step, _setup(turn)).candidates
            return {**{c.step: c.letter for c in candidates}, SUMMARY: ""}
        case DebateStep():
            return {SYNTHESIS: ""}
        case DraftStep():
            return {**{revise_step(n): "" for n in range(step.passes, 0, -1)}, DRAFT: ""}
        case ReviewStep():
            return {verdict_step(n): "" for n in range(1, MOST_REVIEWERS + 1)}
        case _:
            assert_never(step)


def _setup(turn: Turn) -> WorkflowSetup:
    """What the thread was started with; it was checked then."""
    return WorkflowSetup(
        workflow=str(turn.setup["workflow"]),
        inputs=turn.setup["inputs"],
        models=tuple(turn.setup["models"]),
    )


def inner_turn(turn: Turn, step: WorkflowStep) -> Turn:
    """The turn as the mode of the step sees it: its own setup, and what was said in this step."""
    prefix = inner_step(step.id, "")
    spoken = tuple(
        replace(one, step=one.step.removeprefix(prefix))
        for one in turn.spoken
        if one.run_id == turn.run_id and one.step.startswith(prefix)
    )
    return replace(turn, setup=_inner_setup(step, _setup(turn)), spoken=spoken)


def _inner_setup(step: WorkflowStep, setup: WorkflowSetup) -> Json:
    match step:
        case CompareStep():
            return compare_setup(step, setup).to_json()
        case DebateStep():
            return debate_setup(step, setup).to_json()
        case DraftStep():
            return codraft_setup(step, setup).to_json()
        case AskStep() | ReviewStep():
            raise ValueError(f"step {step.id} holds no mode")
        case _:
            assert_never(step)


# --- materials ------------------------------------------------------------------------------------------------------


def _materials(
    turn: Turn, prompts: PromptLibrary, workflow: Workflow, step: WorkflowStep
) -> tuple[InputPart, ...]:
    """What a step is given: in a thread that came by handover the first one gets all that is carried, asked for or not.

    What people wrote to start such a thread is besides what they asked for first, and goes wherever that goes.
    """
    material, inputs = Material.of(prompts), _setup(turn).inputs
    opening = opening_of(turn) or turn.request
    steps = {one.id: one for one in workflow.steps}
    carried, _ = _carried(turn, prompts, workflow, step)
    parts = [
        material.data(Origin.HANDOVER, "input", content, turn.handover_id, input=name)
        for name, content in carried.items()
    ]
    sent = list(carried.values())
    for name in step.uses:
        if name in steps:
            parts += _result_parts(turn, material, steps[name])
        elif name in inputs and carried.get(name) != inputs[name]:
            sent.append(inputs[name])
            parts.append(material.data(Origin.REQUEST, "input", inputs[name], opening.id, input=name))
    asked = turn.handover is not None and ("firstRequest" in step.uses or step.id == workflow.steps[0].id)
    if asked and opening.text.strip() and opening.text.strip() not in sent:
        parts.append(material.data(Origin.REQUEST, "question", opening.text, opening.id))
    if opening is not turn.request and turn.request.text.strip() not in {"", *inputs.values()}:
        # It has the workflow go on after a stop or failure.
        parts.append(material.data(Origin.REQUEST, "message", turn.request.text, turn.request.id))
    return tuple(parts)


def _carried(
    turn: Turn, prompts: PromptLibrary, workflow: Workflow, step: WorkflowStep
) -> tuple[dict[str, str], tuple[CapApplied, ...]]:
    """The inputs that a handover brings for the first step, by name, and the caps that cut them."""
    fields = handover_of(turn)
    if fields is None or step.id != workflow.steps[0].id:
        return {}, ()
    return workflow_inputs(fields, Words(material=Material.of(prompts), locale=turn.thread.locale))


def _result_parts(turn: Turn, material: Material, step: WorkflowStep) -> list[InputPart]:
    title = step.title.in_locale(turn.thread.locale)
    found = result_of(turn, step)
    if not found:
        return [material.note("no_result", step=step.id)]
    return [
        material.spoken(spoken, "result_answer", step=step.id, title=title, letter=letter)
        if letter
        else material.spoken(spoken, "result", step=step.id, title=title)
        for letter, spoken in found
    ]
