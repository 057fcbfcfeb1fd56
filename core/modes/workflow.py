"""Workflow (Beta): named steps from a file, each with a mode's own control flow, results passed on (spec §3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, assert_never, cast

from core.ai_input import codraft as codraft_input
from core.ai_input import compare as compare_input
from core.ai_input import cross_review as review_input
from core.ai_input import debate as debate_input
from core.ai_input.compare import ForcedDifference, build_comparison
from core.ai_input.structured import REPAIR_PROMPT
from core.ai_input.workflow import (
    PROMPT_NAMES,
    BuildsWithMaterials,
    answers_under_review,
    build_ask,
    build_follow_up,
    build_in_step,
    build_step_review,
)
from core.domain.artifact import artifact_name
from core.domain.codraft import revise_step
from core.domain.compare import SUMMARY
from core.domain.debate import SYNTHESIS
from core.domain.receipt import AiInput
from core.domain.review import MOST_REVIEWERS, shuffled_order, verdict_step
from core.domain.thread import Thread
from core.domain.view import Phrase
from core.domain.workflow import (
    FOLLOW_UP,
    AskStep,
    CompareStep,
    DebateStep,
    DraftStep,
    ReviewStep,
    Workflow,
    WorkflowSetup,
    WorkflowStep,
    codraft_setup,
    compare_setup,
    debate_setup,
    inner_step,
)
from core.i18n import text
from core.modes.codraft import codraft
from core.modes.context import Answer, Ask, Draft, RunContext
from core.modes.cross_review import RESULT
from core.modes.debate import debate
from core.modes.presenting import present_comparison, present_in_step, present_verdict
from core.ports import Turn
from core.prompts.registry import PromptLibrary

PROMPTS = tuple(
    dict.fromkeys(
        (
            *PROMPT_NAMES,
            *compare_input.PROMPT_NAMES,
            *debate_input.PROMPT_NAMES,
            *codraft_input.PROMPT_NAMES,
            *review_input.PROMPT_NAMES,
            REPAIR_PROMPT,
        )
    )
)


async def workflow(run: RunContext) -> None:
    """The steps of a workflow in order.

    A message in a finished one is a question to the last step's model; in one that a stop or failure cut short it has
    the workflow go on at the step that lacks its result.
    """
    setup = WorkflowSetup.from_json(run.setup, run.workflows)
    steps = run.workflows[setup.workflow]
    begin = await _next_step(run, steps)
    if begin == len(steps.steps):
        model = _model(setup, begin - 1)
        await run.answer(Ask(step=FOLLOW_UP, model=model, build=partial(build_follow_up, workflow=steps)))
        return
    for number, step in enumerate(steps.steps[begin:], start=begin):
        if await run.stopped() or not await _take(run, steps, step, setup, number):
            return


async def _next_step(run: RunContext, steps: Workflow) -> int:
    """Number of the step to go on with; as many as there are steps when the workflow is finished."""
    before = await run.steps_before()
    if FOLLOW_UP in before:
        return len(steps.steps)
    begun = [n for n, step in enumerate(steps.steps) if any(_is_in(step, said) for said in before)]
    if not begun:
        return 0
    last = steps.steps[begun[-1]]
    left = begun[-1] + any(said in _closing(last) for said in before)
    reviews = [step for step in steps.steps[left:] if isinstance(step, ReviewStep)]
    if len(reviews) == len(steps.steps) - left and not await run.reviewers(1):
        # Nothing but reviews is left, and nobody to make them: that was said before.
        return len(steps.steps)
    return left


def _is_in(step: WorkflowStep, said: str) -> bool:
    return said == step.id or said.startswith(inner_step(step.id, ""))


def _closing(step: WorkflowStep) -> tuple[str, ...]:
    """The turns that close a step, any of them."""
    match step:
        case AskStep():
            return (step.id,)
        case CompareStep():
            return (inner_step(step.id, SUMMARY),)
        case DebateStep():
            return (inner_step(step.id, SYNTHESIS),)
        case DraftStep():
            return (inner_step(step.id, revise_step(step.passes)),)
        case ReviewStep():
            return tuple(inner_step(step.id, verdict_step(seat)) for seat in range(1, MOST_REVIEWERS + 1))
        case _:
            assert_never(step)


async def _take(
    run: RunContext, steps: Workflow, step: WorkflowStep, setup: WorkflowSetup, number: int
) -> bool:
    """Carry out one step; whether it left something for the steps after it."""
    match step:
        case AskStep():
            build = partial(build_ask, workflow=steps, step_id=step.id)
            answer = await run.answer(Ask(step=step.id, model=_model(setup, number), build=build))
            return answer.message_id is not None
        case CompareStep():
            return await _compare(run, steps, step, setup)
        case DebateStep():
            inside = InStep(run, steps, step, debate_setup(step, setup).to_json())
            await debate(inside)
            return inside.brought
        case DraftStep():
            inside = InStep(run, steps, step, codraft_setup(step, setup).to_json())
            await codraft(inside)
            return inside.brought
        case ReviewStep():
            return await _review(run, steps, step)
        case _:
            assert_never(step)


def _model(setup: WorkflowSetup, number: int) -> str:
    """Steps of one voice take the models in turn."""
    return setup.models[number % len(setup.models)]


async def _compare(run: RunContext, steps: Workflow, step: CompareStep, setup: WorkflowSetup) -> bool:
    inner = compare_setup(step, setup)
    build = partial(build_ask, workflow=steps, step_id=step.id)
    answers = await run.answer_all(
        [
            Ask(step=inner_step(step.id, candidate.step), model=candidate.model, build=build)
            for candidate in inner.candidates
        ]
    )
    if await run.stopped():
        return False
    inside = InStep(run, steps, step, inner.to_json())
    await inside.answer(
        Ask(
            step=SUMMARY,
            model=setup.models[0],
            build=partial(build_comparison, question=step.instruction),
            present=partial(present_comparison, setup=inner, locale=run.locale),
        )
    )
    return any(answer.message_id for answer in answers)


async def _review(run: RunContext, steps: Workflow, step: ReviewStep) -> bool:
    """Results judged by models that took no part; where there is none, that is said and the workflow goes on."""
    reviewers = await run.reviewers(step.reviewers)
    if not reviewers:
        await run.publish(inner_step(step.id, RESULT), text(run.locale, "mode_notice.no_reviewer"), {})
        return True
    answers = await run.answer_all(
        [
            Ask(
                step=inner_step(step.id, verdict_step(seat)),
                model=reviewer,
                build=partial(_review_input, steps=steps, step_id=step.id, seat=seat),
                present=partial(_verdict, steps=steps, step_id=step.id, seat=seat),
            )
            for seat, reviewer in enumerate(reviewers, start=1)
        ]
    )
    return any(answer.message_id for answer in answers)


def _order(turn: Turn, steps: Workflow, step_id: str, seat: int) -> tuple[int, ...]:
    return shuffled_order(f"{turn.run_id}/{step_id}", seat, len(answers_under_review(turn, steps, step_id)))


def _review_input(turn: Turn, prompts: PromptLibrary, *, steps: Workflow, step_id: str, seat: int) -> AiInput:
    order = _order(turn, steps, step_id, seat)
    return build_step_review(turn, prompts, workflow=steps, step_id=step_id, order=order)


def _verdict(data: Mapping[str, Any], turn: Turn, *, steps: Workflow, step_id: str, seat: int) -> str:
    present = partial(present_verdict, order=_order(turn, steps, step_id, seat), locale=turn.thread.locale)
    return present_in_step(data, turn, workflow=steps, step_id=step_id, present=present)


@dataclass(slots=True)
class InStep:
    """A step of a workflow as a mode sees it: a run of its own, whose turns are named after the step."""

    run: RunContext
    steps: Workflow
    step: WorkflowStep
    inner: Mapping[str, Any]
    brought: bool = False
    """Whether anything was said in the step."""

    @property
    def model(self) -> str:
        return self.run.model

    @property
    def locale(self) -> str:
        return self.run.locale

    @property
    def thread(self) -> Thread:
        return self.run.thread

    @property
    def setup(self) -> Mapping[str, Any]:
        return self.inner

    @property
    def args(self) -> Mapping[str, Any]:
        return self.run.args

    @property
    def workflows(self) -> Mapping[str, Workflow]:
        return self.run.workflows

    async def answer(self, ask: Ask) -> Answer:
        answer = await self.run.answer(self._inside(ask))
        self.brought = self.brought or answer.message_id is not None
        return answer

    async def answer_all(self, asks: Sequence[Ask]) -> tuple[Answer, ...]:
        answers = await self.run.answer_all([self._inside(ask) for ask in asks])
        self.brought = self.brought or any(answer.message_id for answer in answers)
        return answers

    def _inside(self, ask: Ask) -> Ask:
        present = ask.present and partial(
            present_in_step, workflow=self.steps, step_id=self.step.id, present=ask.present
        )
        # Every builder of a mode that a step can hold takes the materials of the step besides.
        inner = cast(BuildsWithMaterials, ask.build)
        build = partial(build_in_step, workflow=self.steps, step_id=self.step.id, build=inner)
        return replace(ask, step=inner_step(self.step.id, ask.step), build=build, present=present)

    async def stopped(self) -> bool:
        return await self.run.stopped()

    async def steps_before(self) -> tuple[str, ...]:
        return ()

    def least_output_tokens(self, models: Sequence[str]) -> int:
        return self.run.least_output_tokens(models)

    async def newest_version(self, name: str) -> Draft | None:
        return await self.run.newest_version(self._artifact)

    async def save_version(self, step: str, name: str, body: str, *, answer: Answer, reason: str) -> Draft:
        kept = inner_step(self.step.id, step)
        return await self.run.save_version(kept, self._artifact, body, answer=answer, reason=reason)

    @property
    def _artifact(self) -> str:
        """What people find the text under that the step writes."""
        return artifact_name(self.step.title.in_locale(self.locale))

    async def reviewers(self, count: int) -> tuple[str, ...]:
        return await self.run.reviewers(count)

    async def differences(self, answers: Sequence[Answer]) -> tuple[ForcedDifference, ...]:
        return await self.run.differences(answers)

    async def publish(self, step: str, body: str, data: Mapping[str, Any]) -> None:
        await self.run.publish(inner_step(self.step.id, step), body, data)

    async def open_thread(self, step: str) -> None:
        await self.run.open_thread(step)

    async def note_origin(self, step: str, told: Phrase, *, again: bool = False) -> None:
        await self.run.note_origin(step, told, again=again)
