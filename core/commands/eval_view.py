"""An evaluation as everybody may read it in the thread that tells of it (spec §10)."""

from dataclasses import dataclass

from core.commands.eval_standing import Judged, judge
from core.commands.services import Services
from core.domain.eval_gate import Question
from core.domain.eval_run import OPEN
from core.domain.ids import PersonId, WorkspaceId
from core.domain.policy import Actor
from core.domain.view import Button, ButtonAction, EvalCardView, EvalQuestionView, Said
from core.store.evaluation import EvalRun, find_eval, progress_of
from core.store.workspace import external_id_of

ANYONE = PersonId("anyone")
"""Stands where a reader's id is asked for, for what everybody reads; nobody has it."""


@dataclass(frozen=True, slots=True)
class EvalViewer:
    """Implements core.engine.eval_telling.EvalViews. The gate is as for somebody who did not make the change."""

    services: Services

    async def progress(self, workspace_id: WorkspaceId, eval_id: str) -> EvalCardView:
        return await self._card(await self._find(workspace_id, eval_id), None)

    async def card(self, workspace_id: WorkspaceId, eval_id: str) -> EvalCardView:
        evaluation = await self._find(workspace_id, eval_id)
        judged = None if evaluation.status in OPEN else await self._judged(evaluation)
        return await self._card(evaluation, judged)

    async def waiting(self, workspace_id: WorkspaceId, eval_id: str) -> list[str]:
        evaluation = await self._find(workspace_id, eval_id)
        if evaluation.status in OPEN:
            return []
        return [question.key for question in (await self._judged(evaluation)).review.waiting]

    async def question(self, workspace_id: WorkspaceId, eval_id: str, key: str) -> EvalQuestionView | None:
        judged = await self._judged(await self._find(workspace_id, eval_id))
        found = next((one for one in judged.review.asked if one.key == key), None)
        return _question(judged, found) if found else None

    async def _find(self, workspace_id: WorkspaceId, eval_id: str) -> EvalRun:
        async with self.services.store.reading() as session:
            found = await find_eval(session, workspace_id, eval_id)
        if found is None:
            raise LookupError("an evaluation that is told of is not in the store")
        return found

    async def _judged(self, evaluation: EvalRun) -> Judged:
        async with self.services.store.reading() as session:
            workspace = await external_id_of(session, evaluation.workspace_id)
        reader = Actor(
            workspace_id=evaluation.workspace_id,
            workspace=workspace,
            person_id=ANYONE,
            external_id=ANYONE,
            name=ANYONE,
            locale="en",
        )
        return await judge(self.services, reader, evaluation)

    async def _card(self, evaluation: EvalRun, judged: Judged | None) -> EvalCardView:
        async with self.services.store.reading() as session:
            progress = await progress_of(session, evaluation.workspace_id, [evaluation.id])
        done, cost_usd = progress.get(evaluation.id, (0, 0.0))
        action = ButtonAction.EVAL_STOP if judged is None else ButtonAction.EVAL_REPORT
        counts = judged.comparison.counts if judged else {}
        return EvalCardView(
            eval_id=evaluation.id,
            prompt=evaluation.prompt,
            baseline=evaluation.baseline.version,
            candidate=evaluation.candidate.version,
            models=tuple(dict.fromkeys(evaluation.models.values())),
            eval_set=evaluation.conditions.set_name,
            who=evaluation.who,
            status=evaluation.status.value,
            running=judged is None,
            done=done,
            expected=evaluation.expected,
            cost_usd=cost_usd,
            counts=tuple((outcome.value, count) for outcome, count in counts.items()),
            waiting=len(judged.review.waiting) if judged else 0,
            closed=judged.closed if judged else (),
            failure=evaluation.failure,
            buttons=(Button(action=action, ref=evaluation.id),),
        )


def _question(judged: Judged, question: Question) -> EvalQuestionView:
    """The card of a question; it has buttons for as long as people have not decided."""
    ref = f"{judged.run.id}/{question.key}"
    actions = (ButtonAction.EVAL_PASS, ButtonAction.EVAL_FAIL, ButtonAction.EVAL_HOLD)
    asked = judged.asked(question, ANYONE)
    return EvalQuestionView(
        eval_id=judged.run.id,
        prompt=judged.run.prompt,
        case_id=question.case_id,
        criterion=question.criterion,
        shown_input=asked.shown_input,
        baseline=question.baseline.output,
        candidate=question.candidate.output,
        said=tuple(
            Said(who=judged.names.get(one.person, ""), judgement=one.judgement.value, comment=one.comment)
            for one in question.verdicts
        ),
        disputed=asked.disputed,
        buttons=tuple(Button(action=action, ref=ref) for action in actions)
        if question in judged.review.waiting
        else (),
    )
