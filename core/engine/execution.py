"""The body of every run."""

import logging

from core.domain.errors import ConfigurationError, PlatformFailure
from core.domain.ids import WorkspaceId
from core.domain.thread import Thread
from core.domain.view import Phrase
from core.engine.bench import Bench, patiently
from core.engine.eval_telling import EvaluationContext, EvalViews
from core.engine.evaluating import EVALUATION, evaluate
from core.engine.run import DurableRun
from core.modes import RUNS
from core.store.run import Run, find_run
from core.store.thread import find_thread

log = logging.getLogger(__name__)


async def carry_out(bench: Bench, durable: DurableRun, views: EvalViews) -> Run | None:
    """The body of every run: find out what it is, and let its mode do it. A run that it left to be done next comes
    back; it is stored, so that it is done even where nobody enqueues it."""
    if EVALUATION in durable.args:
        return await evaluate(bench, durable, views)
    workspace_id = WorkspaceId(str(durable.args["workspace_id"]))

    async def read() -> tuple[Run, Thread]:
        async with bench.store.reading() as session:
            run = await find_run(session, workspace_id, durable.id)
            thread = await find_thread(session, workspace_id, run.thread_id) if run else None
        if run is None or thread is None:
            raise LookupError(f"run {durable.id} is not in the store")
        return run, thread

    run, thread = await patiently(read)
    context = EvaluationContext(bench, durable, run, thread, views)
    try:
        await context.take_up_prompts()
        await RUNS[run.kind](context)
        await context.prove_delivery()
        await context.end()
    except PlatformFailure as failure:
        log.warning("run ended: the platform refused (%s)", failure.code, extra={"run_id": run.id})
        await context.fail(Phrase(key="run_failure.platform", fields={"code": failure.code}))
    except ConfigurationError as error:
        log.error("run ended: a prompt cannot be used: %s", error, extra={"run_id": run.id})  # noqa: TRY400
        await context.fail(Phrase(key="run_failure.prompt", fields={"problem": str(error)}))
    except Exception:
        await context.fail(Phrase(key="run_failure.unexpected"))
        raise
    return None
