"""What is done on a schedule: runs that the engine never heard of, and content past its retention."""

import logging
from datetime import datetime, timedelta

from core.commands.adoption import do_expire
from core.commands.eval import enqueue_eval
from core.commands.services import Services, enqueue
from core.domain.eval_run import EvalStatus
from core.domain.ids import WorkspaceId
from core.domain.view import Phrase
from core.engine.engine import RunState
from core.engine.eval_telling import do_end_eval
from core.store.adoption import run_out
from core.store.erasure import do_blank_old_receipts
from core.store.evaluation import find_eval, open_evals
from core.store.run import do_mark, left_behind
from core.store.workspace import all_workspaces

log = logging.getLogger(__name__)

LEFT_BEHIND_AFTER_S = 5.0
BATCH = 200


async def pick_up_left_behind(services: Services) -> None:
    """Bring stored runs and the engine's runs together again after a crash between the two databases.

    A run that the engine has never heard of is enqueued; one that the engine ended without the store learning of it
    is marked as failed, so that nobody waits for it.
    """
    before = services.clock.now() - timedelta(seconds=LEFT_BEHIND_AFTER_S)
    async with services.store.reading() as session:
        runs = await left_behind(session, before, BATCH)
    for run in runs:
        state = await services.engine.state(run.id)
        if state is None:
            log.info("enqueueing a run that was left behind", extra={"run_id": run.id})
            await enqueue(services, run)
        elif state in (RunState.FINISHED, RunState.FAILED):
            log.warning("a run had ended without its row", extra={"run_id": run.id})
            async with services.store.writing() as session:
                await do_mark(
                    session,
                    run.workspace_id,
                    run.id,
                    "failed",
                    now=services.clock.now(),
                    failure=Phrase(key="run_failure.unexpected"),
                )


async def pick_up_evals(services: Services) -> None:
    """The same for evaluations."""
    before = services.clock.now() - timedelta(seconds=LEFT_BEHIND_AFTER_S)
    async with services.store.reading() as session:
        found = await open_evals(session, before, BATCH)
    for eval_id, workspace_id in found:
        state = await services.engine.state(eval_id)
        if state is None:
            log.info("enqueueing an evaluation that was left behind", extra={"run_id": eval_id})
            await enqueue_eval(services, workspace_id, eval_id)
        elif state in (RunState.FINISHED, RunState.FAILED):
            log.warning("an evaluation had ended without its row", extra={"run_id": eval_id})
            told = None
            async with services.store.writing() as session:
                evaluation = await find_eval(session, workspace_id, eval_id)
                if evaluation is not None:
                    failure = Phrase(key="run_failure.unexpected")
                    told = await do_end_eval(
                        session, services.clock, evaluation, EvalStatus.FAILED, failure=failure
                    )
            if told is not None:
                await enqueue(services, told)


async def apply_retention(services: Services) -> None:
    """Blank the texts of receipts that are older than their workspace keeps them."""
    async with services.store.reading() as session:
        workspaces = await all_workspaces(session)
    for workspace in workspaces:
        days = services.policy(workspace.external_id).retention_days
        if days is None:
            continue
        before = services.clock.now() - timedelta(days=days)
        while await _blanked(services, WorkspaceId(workspace.id), before):
            pass


async def _blanked(services: Services, workspace_id: WorkspaceId, before: datetime) -> int:
    """A bounded piece in a transaction of its own, so that people's messages are not kept waiting."""
    async with services.store.writing() as session:
        count = await do_blank_old_receipts(session, workspace_id, before)
    if count:
        log.info("blanked %d receipts past retention", count)
    return count


async def close_run_out_requests(services: Services) -> None:
    """Close adoption requests that nobody decided in time, and bring their cards up to date (spec §6)."""
    async with services.store.reading() as session:
        found = await run_out(session, services.clock.now(), BATCH)
    for adoption in found:
        async with services.store.writing() as session:
            run = await do_expire(session, services, adoption)
        if run is not None:
            await enqueue(services, run)
