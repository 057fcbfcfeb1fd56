"""What `promptflow evals` does: evaluations in this process, with an engine of their own."""

import asyncio
from collections.abc import Callable

from bot.settings import Settings
from bot.wiring import open_evaluating
from core.commands.eval import estimate_eval, list_evals, show_eval
from core.commands.eval_operator import (
    EvalAsk,
    begin_for_operator,
    operator_of,
    request_of,
    resume_for_operator,
)
from core.commands.services import Services
from core.domain.eval_run import EvalEstimate, EvalItem, EvalPage
from core.domain.policy import Actor

LOOK_EVERY_S = 0.1


async def listed(settings: Settings, workspace: str, prompt: str) -> tuple[EvalItem, ...]:
    """The newest evaluations of a workspace, of one prompt or (empty) of all. Raises Refusal."""
    async with open_evaluating(settings) as services:
        return await list_evals(services, await operator_of(services, workspace, "en"), prompt or None)


async def shown(settings: Settings, workspace: str, run_id: str) -> EvalPage:
    """One evaluation. Raises Refusal."""
    async with open_evaluating(settings) as services:
        return await show_eval(services, await operator_of(services, workspace, "en"), run_id)


async def run(
    settings: Settings, workspace: str, ask: EvalAsk, tell: Callable[[str, EvalEstimate], None]
) -> EvalPage:
    """Carry an evaluation out. `tell` hears id and estimate before anything leaves. Raises Refusal."""
    async with open_evaluating(settings) as services:
        operator = await operator_of(services, workspace, "en")
        request = await request_of(services, operator, ask)
        estimate = await estimate_eval(services, operator, request)
        run_id = await begin_for_operator(services, operator, request)
        tell(run_id, estimate)
        return await _ended(services, operator, run_id)


async def resume(settings: Settings, workspace: str, run_id: str) -> EvalPage:
    """Carry an evaluation on whose process ended; results that are stored are not paid again. Raises Refusal."""
    async with open_evaluating(settings) as services:
        operator = await operator_of(services, workspace, "en")
        await resume_for_operator(services, operator, run_id)
        return await _ended(services, operator, run_id)


async def _ended(services: Services, operator: Actor, run_id: str) -> EvalPage:
    while not await services.engine.is_finished(run_id):  # noqa: ASYNC110  the engine announces no end
        await asyncio.sleep(LOOK_EVERY_S)
    return await show_eval(services, operator, run_id)
