"""What people read above an answer of a run with several speakers: which part of the run it is."""

from collections.abc import Mapping
from typing import assert_never

from core.domain.codraft import DRAFT
from core.domain.compare import SUMMARY
from core.domain.debate import DebateSetup, RoundKind, rebuttals_in
from core.domain.thread import Mode, Thread
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
    debate_setup,
)
from core.i18n import phrase
from core.modes.compare import CONDITIONS
from core.modes.cross_review import KIND, RESULT


def label_of(thread: Thread, kind: str, step: str, workflows: Mapping[str, Workflow]) -> Phrase | None:
    """The label of a turn; None where the model's name says it all, as in Chat.

    `workflows` are the ones there are, by name: a step is called by its title, in the thread's language.
    """
    if kind == Mode.DEBATE.value:
        return _debate(DebateSetup.from_json(thread.setup), step)
    if kind == Mode.CODRAFT.value:
        return _codraft(step)
    if kind == Mode.WORKFLOW.value:
        return _workflow(thread, step, workflows)
    if kind == KIND:
        return _review(step)
    return _compare(step)


def _workflow(thread: Thread, name: str, workflows: Mapping[str, Workflow]) -> Phrase:
    step_id, _, inner = name.partition("/")
    if step_id == FOLLOW_UP:
        return Phrase(key="label.workflow_follow_up")
    workflow = workflows.get(str(thread.setup.get("workflow")))
    step = next((each for each in workflow.steps if each.id == step_id), None) if workflow else None
    if workflow is None or step is None:
        # The file was changed or taken away since; what was said in the step stands all the same.
        return Phrase(key="label.workflow", fields={"step": step_id})
    setup = WorkflowSetup(workflow=workflow.name, inputs={}, models=tuple(thread.setup["models"]))
    part = _part(step, setup, inner) if inner else None
    title = step.title.in_locale(thread.locale)
    if part is None:
        return Phrase(key="label.workflow", fields={"step": title})
    return Phrase(key="label.workflow_part", fields={"step": title, "part": phrase(thread.locale, part)})


def _part(step: WorkflowStep, setup: WorkflowSetup, inner: str) -> Phrase | None:
    """The label that a turn within a step would have in a thread of that mode."""
    match step:
        case AskStep():
            return None
        case CompareStep():
            return _compare(inner)
        case DebateStep():
            return _debate(debate_setup(step, setup), inner)
        case DraftStep():
            return _codraft(inner)
        case ReviewStep():
            return _review(inner)
        case _:
            assert_never(step)


def _compare(step: str) -> Phrase | None:
    names = {SUMMARY: "comparison", CONDITIONS: "conditions"}
    return Phrase(key=f"label.{names[step]}") if step in names else None


def _review(step: str) -> Phrase:
    if step == RESULT:
        return Phrase(key="label.result")
    return Phrase(key="label.verdict", fields={"seat": step.partition(":")[2]})


def _debate(setup: DebateSetup, step: str) -> Phrase | None:
    who = step.partition(":")[2]
    extra = rebuttals_in([step]) - setup.rebuttal_rounds
    if extra > 0:
        return Phrase(key="label.debate_follow_up", fields={"number": extra, "who": who})
    rounds = setup.rounds()
    for place, each in enumerate(rounds, start=1):
        if any(speaker.step == step for speaker in each.speakers):
            fields: dict[str, str | int | float] = {"number": place, "of": len(rounds)}
            if each.kind in (RoundKind.POSITIONS, RoundKind.REBUTTALS):
                fields["who"] = who
            return Phrase(key=f"label.debate_{each.kind.value}", fields=fields)
    return None


def _codraft(step: str) -> Phrase:
    if step == DRAFT:
        return Phrase(key="label.draft")
    name, _, number = step.partition(".")
    return Phrase(key=f"label.{name}", fields={"number": number})
