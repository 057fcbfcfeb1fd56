"""What a thread is told of an evaluation: its card, and a card for each output that waits for a person (spec §10).

The evaluation itself waits for nothing of this. Its card is edited now and then while it is going on; whatever has to
be seen for certain is a run in the thread's lane, so that no two of them post the same question.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from core.domain.errors import PlatformFailure
from core.domain.eval_run import EvalStatus
from core.domain.evaluation import Outcome
from core.domain.ids import PersonId, RunId, ThreadId, WorkspaceId
from core.domain.thread import Thread
from core.domain.view import EvalCardView, EvalQuestionView, Phrase, PostView
from core.engine.bench import Bench, patiently
from core.engine.carrying import CarryingContext
from core.engine.posting import Posting
from core.engine.run import DurableRun
from core.engine.serialiser import JsonValue
from core.modes.evaluating import TOLD
from core.ports import Clock, PostRef
from core.store.audit import do_notice
from core.store.database import Session
from core.store.evaluation import EvalRun, do_mark_eval
from core.store.post import post_ref, posts_named
from core.store.run import Run, do_add_run, find_run
from core.store.thread import find_thread

log = logging.getLogger(__name__)

CARD = "evaluation:"
"""What the step of an evaluation's card begins with; its id follows."""
QUESTION = "question:"
"""Likewise of a question's card; the question's key follows."""

MOST_ASKED = 10
"""Questions that stand in a thread undecided at a time; the next one follows when one is decided."""
PROGRESS_EVERY_S = 3.0


async def do_begin_telling(
    session: Session,
    clock: Clock,
    evaluation: EvalRun,
    kind: str,
    *,
    by: PersonId | None,
    question: str = "",
    opens: bool = False,
) -> Run | None:
    """Store the run that tells the thread of an evaluation; None where no thread is told. It is yet to be enqueued.

    `question`: key of the one whose card changed. `opens`: the card opens the thread.
    """
    if evaluation.thread_id is None or by is None:
        return None
    run = Run(
        id=RunId(clock.new_id()),
        workspace_id=evaluation.workspace_id,
        thread_id=evaluation.thread_id,
        kind=kind,
        status="queued",
        conversation_id=None,
        request_id=None,
        model="",
        prompts=(),
        requested_by=by,
        failure=None,
        created_at=clock.now(),
        args={"evaluation": evaluation.id, "question": question, "opens": opens},
    )
    await do_add_run(session, run)
    return run


async def do_end_eval(
    session: Session,
    clock: Clock,
    evaluation: EvalRun,
    status: EvalStatus,
    *,
    failure: Phrase | None = None,
    counts: Mapping[str, int] | None = None,
) -> Run | None:
    """Record how an evaluation ended, and the run that tells its thread, which is yet to be enqueued; None where no
    thread is told, or where the evaluation had ended already."""
    workspace_id, now = evaluation.workspace_id, clock.now()
    marked = await do_mark_eval(
        session, workspace_id, evaluation.id, status, now=now, failure=failure, counts=counts
    )
    if not marked or evaluation.thread_id is None:
        return None
    fields = (
        {"name": evaluation.prompt, **_counted(counts or {})}
        if status is EvalStatus.DONE
        else {"name": evaluation.prompt}
    )
    await do_notice(
        session, workspace_id, evaluation.thread_id, f"notice.eval_{status.value}", fields, clock=clock
    )
    return await do_begin_telling(session, clock, evaluation, TOLD, by=evaluation.started_by)


def _counted(counts: Mapping[str, int]) -> dict[str, int]:
    """How many cases had each outcome that an evaluation can end with."""
    return {outcome.value: counts.get(outcome.value, 0) for outcome in Outcome}


# --- what is shown --------------------------------------------------------------------------------------------------


class EvalViews(Protocol):
    """What everybody may read of an evaluation, from what is stored now. All raise StoreUnavailable."""

    async def progress(self, workspace_id: WorkspaceId, eval_id: str) -> EvalCardView:
        """Its card while it is going on, which costs little."""
        ...

    async def card(self, workspace_id: WorkspaceId, eval_id: str) -> EvalCardView:
        """Its card as it stands, judged once it has ended."""
        ...

    async def waiting(self, workspace_id: WorkspaceId, eval_id: str) -> list[str]:
        """Keys of the questions that wait for a person, in the order in which they are put; none before its end."""
        ...

    async def question(self, workspace_id: WorkspaceId, eval_id: str, key: str) -> EvalQuestionView | None:
        """The card of a question, decided or not; None for one that is not asked any more."""
        ...


async def _standing(
    bench: Bench, workspace_id: WorkspaceId, thread_id: ThreadId, step: str
) -> tuple[Thread, RunId, PostRef] | None:
    """A thread as it is now, the run that left a post in it, and the post; None for one that does not stand."""
    async with bench.store.reading() as session:
        now = await find_thread(session, workspace_id, thread_id)
        posted = await posts_named(session, workspace_id, thread_id, step)
        if now is None or step not in posted:
            return None
        ref = await post_ref(session, workspace_id, now.place, posted[step], step)
        return (now, posted[step], ref) if ref else None


# --- while it is going on -------------------------------------------------------------------------------------------


class Progress:
    """Shows on the card how far an evaluation is, every few seconds. What cannot be shown is left out."""

    def __init__(self, bench: Bench, durable: DurableRun, evaluation: EvalRun, views: EvalViews) -> None:
        self._bench = bench
        self._views = views
        self._durable = durable
        self._evaluation = evaluation
        self._shown_at = asyncio.get_running_loop().time()

    async def show(self) -> None:
        thread_id, now = self._evaluation.thread_id, asyncio.get_running_loop().time()
        if thread_id is None or now - self._shown_at < PROGRESS_EVERY_S:
            return
        self._shown_at = now
        await patiently(lambda: self._show(thread_id))

    async def _show(self, thread_id: ThreadId) -> None:
        bench, evaluation = self._bench, self._evaluation
        found = await _standing(bench, evaluation.workspace_id, thread_id, f"{CARD}{evaluation.id}")
        if found is None or found[0].place.platform not in bench.posters:
            return
        thread, _, ref = found
        view = await self._views.progress(evaluation.workspace_id, evaluation.id)
        await self._durable.guard()
        try:
            await bench.posters[thread.place.platform].update(
                thread.workspace_id, ref, view, final=False, locale=thread.locale
            )
        except PlatformFailure as failure:
            log.info("progress could not be shown (%s)", failure.code, extra={"run_id": evaluation.id})


# --- for certain ----------------------------------------------------------------------------------------------------


class EvaluationContext(CarryingContext):
    """A run that may tell a thread of an evaluation."""

    def __init__(self, bench: Bench, durable: DurableRun, run: Run, thread: Thread, views: EvalViews) -> None:
        super().__init__(bench, durable, run, thread)
        self._views = views

    async def post_evaluation(self) -> None:
        step = f"{CARD}{self._evaluation}"
        if self._run.args["opens"]:
            await self._open(step, self._card_of_evaluation)
        else:
            await self._posting.post(step, self._thread, self._card_of_evaluation)

    async def ask_people(self) -> None:
        if not self._thread.place.thread:
            return

        async def act() -> JsonValue:
            return await patiently(self._to_ask)

        keys: Any = await self._durable.step("ask", act)
        for key in keys:
            await self._posting.post(f"{QUESTION}{key}", self._thread, partial(self._question, str(key)))

    async def show_evaluation(self) -> None:
        if not self._thread.place.thread:
            return

        async def act() -> JsonValue:
            await self._show_post(f"{CARD}{self._evaluation}", self._card_of_evaluation)
            changed = str(self._run.args["question"])
            if changed:
                await self._show_post(f"{QUESTION}{changed}", partial(self._question, changed))
            return None

        await self._durable.step("show", act)

    @property
    def _evaluation(self) -> str:
        return str(self._run.args["evaluation"])

    async def _card_of_evaluation(self) -> EvalCardView:
        return await patiently(lambda: self._views.card(self._run.workspace_id, self._evaluation))

    async def _to_ask(self) -> list[str]:
        """Keys of the questions that are put to people next: as many as there is room for beside those that stand."""
        waiting = await self._views.waiting(self._run.workspace_id, self._evaluation)
        async with self._bench.store.reading() as session:
            posted = await posts_named(session, self._run.workspace_id, self._thread.id, QUESTION)
        others = [key for key in waiting if f"{QUESTION}{key}" not in posted]
        standing = len(waiting) - len(others)
        return others[: max(MOST_ASKED - standing, 0)]

    async def _question(self, key: str) -> EvalQuestionView:
        view = await patiently(lambda: self._views.question(self._run.workspace_id, self._evaluation, key))
        if view is None:
            raise LookupError("an evaluation does not ask what it asked before")
        return view

    async def _show_post(self, step: str, view: Callable[[], Awaitable[PostView]]) -> None:
        async def read() -> tuple[Run, PostRef] | None:
            found = await _standing(self._bench, self._run.workspace_id, self._thread.id, step)
            if found is None:
                return None
            async with self._bench.store.reading() as session:
                run = await find_run(session, self._run.workspace_id, found[1])
            return (run, found[2]) if run else None

        standing = await patiently(read)
        if standing is None:
            return
        run, ref = standing
        try:
            shown = await patiently(view)
            await Posting(self._bench, self._durable, run).show(step, self._thread, ref, shown)
        except PlatformFailure as failure:
            log.info("a card could not be shown anew (%s)", failure.code, extra={"run_id": self._run.id})
