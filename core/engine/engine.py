"""The engine: runs in lanes, carried on by whichever process lives."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any

import sqlalchemy as sa
from dbos import error as dbos_error
from sqlalchemy.exc import SQLAlchemyError

from core.domain.errors import StoreUnavailable
from core.engine.database import Database, post, stop, stop_turn, worker
from core.engine.host import Host
from core.engine.lease import Exit, Lease
from core.engine.metrics import EngineMetrics
from core.engine.posts import PostLedger, Sender
from core.engine.run import DurableRun
from core.engine.serialiser import JsonObject
from core.engine.settings import EngineSettings
from core.engine.stopping import StopFlags, asked_of
from core.engine.sweeps import Sweep, Sweeps

log = logging.getLogger(__name__)

RETENTION = "engine-retention"
RETENTION_EVERY_S = 24 * 3600.0


class RunState(StrEnum):
    WAITING = "waiting"
    ACTIVE = "active"
    FINISHED = "finished"
    FAILED = "failed"


STATES = {
    "ENQUEUED": RunState.WAITING,
    "DELAYED": RunState.WAITING,
    "PENDING": RunState.ACTIVE,
    "SUCCESS": RunState.FINISHED,
    "ERROR": RunState.FAILED,
    "CANCELLED": RunState.FAILED,
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": RunState.FAILED,
}


class Engine:
    """Executes `body` once for every run: to its end, across crashes, in order within a lane.

    One engine per process, because DBOS is one per process. `start` and `drain` are called on the event loop on which
    the runs are to go on. `exit_process` ends this process when another one has taken over its runs.
    """

    def __init__(
        self,
        settings: EngineSettings,
        body: Callable[[DurableRun], Awaitable[None]],
        *,
        metrics: EngineMetrics,
        exit_process: Exit = os._exit,
    ) -> None:
        self._settings = settings
        self._body = body
        self._metrics = metrics
        self._database = Database(settings.url)
        self._lease = Lease(
            self._database, ttl_s=settings.lease_ttl_s, beat_s=settings.beat_s, exit_process=exit_process
        )
        self._host = Host(settings, self._database, holder=self._lease.holder)
        self._flags = StopFlags(self._database)
        self._sender = Sender(
            ledger=PostLedger(self._database),
            guard=self._lease.guard,
            tries=settings.send_tries,
            backoff_s=settings.send_backoff_s,
        )
        self._sweeps = Sweeps(self._database, check_s=settings.sweep_check_s)
        self._active: dict[asyncio.Task[Any], DurableRun] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._claim_now = asyncio.Event()
        self._draining = False
        self.schedule(RETENTION, RETENTION_EVERY_S, self._forget_old_runs)

    # --- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take up work, beginning with what dead processes left. Raises StoreUnavailable."""
        await self._database.open()
        try:
            await self._lease.take()
            await self._host.launch(self._execute)
        except (SQLAlchemyError, dbos_error.DBOSException) as error:
            await self._host.close()
            await self._database.close()
            raise StoreUnavailable("the engine's database does not answer") from error
        self._metrics.watch_lease(lambda: self._lease.age_s)
        for loop in (
            self._lease.keep(),
            self._take_over(),
            self._claim(),
            self._watch_stops(),
            self._sweeps.keep(),
        ):
            task = asyncio.create_task(loop)
            task.add_done_callback(_report_death)
            self._loops.append(task)

    async def drain(self) -> None:
        """Stop claiming, let runs finish for a while, park the rest where the next process finds them, and leave.

        Harmless on an engine that never started.
        """
        if not self._loops:
            return
        self._draining = True
        keep_lease, *others = self._loops
        await _end(others)
        await self._host.close_intake()
        await self._let_finish()
        await self._host.close()
        await _end([keep_lease])
        await self._lease.release()
        await self._database.close()

    # --- runs -------------------------------------------------------------------------------------------------------

    async def enqueue(self, run_id: str, *, lane: str, args: JsonObject, batch: bool = False) -> None:
        """Have the run executed; when this returns, no crash loses it. Enqueued twice it is one run.

        Runs of a lane are executed one at a time in the order of enqueueing. Ids must sort in that order, as UUIDv7
        do: on SQLite they decide between runs enqueued within the same second. A batch run waits for no lane and
        holds none up. Raises StoreUnavailable; the run may then be stored nevertheless.
        """
        try:
            async with asyncio.timeout(self._settings.call_deadline_s):
                await self._host.enqueue(run_id, lane=None if batch else lane, args=args)
        except (TimeoutError, SQLAlchemyError) as error:
            raise StoreUnavailable("the engine's database does not answer") from error
        self._claim_now.set()

    async def request_stop(self, run_id: str, turn: str = "") -> None:
        """Have a run stop, wherever it is going on; one that has not begun begins with `stopping` set.

        With a turn only that one stops and the run goes on. Here it is told at once, in another process within half a
        second. Raises StoreUnavailable.
        """
        for run in self._active.values():
            if run.id == run_id:
                run.stopping.set(turn)
        await self._answer(self._flags.put(run_id, turn))

    async def state(self, run_id: str) -> RunState | None:
        """Where a run stands; None for one never enqueued or long gone. Raises StoreUnavailable."""
        runs = self._database.runs
        asked = sa.select(runs.c.status).where(runs.c.workflow_uuid == run_id)
        found = await self._answer(
            self._database.transact(lambda connection: connection.execute(asked).scalar())
        )
        return None if found is None else STATES[found]

    async def is_finished(self, run_id: str) -> bool:
        """Whether the run has ended, well or not. Raises StoreUnavailable."""
        return await self.state(run_id) in {RunState.FINISHED, RunState.FAILED}

    async def guard(self) -> None:
        """Return only while no other process can have taken over this one's runs."""
        await self._lease.guard()

    def schedule(self, name: str, every_s: float, act: Callable[[], Awaitable[None]]) -> None:
        """Have `act` done every so many seconds by one of the processes; at once where it never was.

        It must be harmless to repeat: a process can die in the middle of it.
        """
        self._sweeps.add(Sweep(name=name, every_s=every_s, act=act))

    # --- execution --------------------------------------------------------------------------------------------------

    async def _execute(self, run_id: str, args: JsonObject, enqueued_at: float) -> None:
        run = DurableRun(id=run_id, args=args, sender=self._sender, guard=self._lease.guard)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a run is executed in a task")
        self._active[task] = run
        # The task ends after its outcome is stored: only then is the lane free for its next run.
        task.add_done_callback(self._ended)
        self._metrics.started.inc()
        self._metrics.active.set(len(self._active))
        if await self._first_start(run):
            self._metrics.lane_wait_s.observe(max(0.0, time.time() - enqueued_at))
        try:
            await self._run_body(run)
        except asyncio.CancelledError:
            self._metrics.parked.inc()
            raise
        except Exception:
            log.exception("run %s failed", run.id)
            self._metrics.failed.inc()
            raise
        self._metrics.finished.inc()

    async def _run_body(self, run: DurableRun) -> None:
        try:
            await self._body(run)
        except asyncio.CancelledError as error:
            if self._draining:
                raise
            # Not ours: left without an outcome it would hold its lane for ever.
            raise RuntimeError("the run was cancelled from inside") from error

    def _ended(self, task: asyncio.Task[Any]) -> None:
        del self._active[task]
        self._metrics.active.set(len(self._active))
        self._claim_now.set()

    async def _first_start(self, run: DurableRun) -> bool:
        """Read what the run needs before it begins: an earlier Stop, and whether it began before."""
        runs = self._database.runs
        attempts, flags = (
            sa.select(runs.c.recovery_attempts).where(runs.c.workflow_uuid == run.id),
            asked_of([run.id]),
        )
        tried, asked = await self._database.insist(
            lambda connection: (connection.execute(attempts).scalar_one(), connection.execute(flags).all())
        )
        for row in asked:
            run.stopping.set(row.turn)
        return bool(tried <= 1)

    async def _let_finish(self) -> None:
        deadline = asyncio.get_running_loop().time() + self._settings.drain_s
        while self._active and (left_s := deadline - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(set(self._active), timeout=left_s)
        await _end(list(self._active))

    async def _answer(self, question: Coroutine[Any, Any, Any]) -> Any:
        try:
            async with asyncio.timeout(self._settings.call_deadline_s):
                return await question
        except (TimeoutError, SQLAlchemyError) as error:
            raise StoreUnavailable("the engine's database does not answer") from error

    # --- loops ------------------------------------------------------------------------------------------------------

    async def _claim(self) -> None:
        while True:
            await self._claim_now.wait()
            self._claim_now.clear()
            await self._attempt(self._database.call(self._host.claim))

    async def _watch_stops(self) -> None:
        while True:
            await asyncio.sleep(self._settings.stop_check_s)
            waiting = {run.id for run in self._active.values() if not run.stopping.is_set()}
            if waiting:
                await self._attempt(self._tell_stopped(waiting))

    async def _tell_stopped(self, waiting: set[str]) -> None:
        asked = await self._flags.among(waiting)
        for run in self._active.values():
            for turn in (turn for run_id, turn in asked if run_id == run.id):
                run.stopping.set(turn)

    async def _take_over(self) -> None:
        suspects: set[str] = set()
        looked = time.monotonic()
        while True:
            await self._attempt(self._recover_dead())
            if time.monotonic() - looked >= self._settings.stranded_after_s:
                looked = time.monotonic()
                await self._attempt(self._recover_stranded(suspects))
            await asyncio.sleep(self._settings.look_s)

    async def _recover_dead(self) -> None:
        dead = await self._database.transact(self._lease.bury)
        if dead:
            count = await self._database.call(self._host.recover, dead)
            log.warning("took over %d runs of %s", count, ", ".join(dead))
            self._metrics.takeovers.inc(count)
            self._claim_now.set()

    async def _recover_stranded(self, suspects: set[str]) -> None:
        """Put back runs that this process claimed and never began; `suspects` carries them from look to look."""
        runs = self._database.runs
        mine = sa.select(runs.c.workflow_uuid).where(
            runs.c.status == "PENDING", runs.c.executor_id == self._lease.holder
        )
        claimed = await self._database.transact(lambda connection: connection.execute(mine).scalars().all())
        idle = set(claimed) - {run.id for run in self._active.values()}
        for run_id in idle & suspects:
            log.warning("run %s was claimed but never began; putting it back", run_id)
            await self._database.call(self._host.requeue, run_id)
            self._claim_now.set()
        suspects.clear()
        suspects.update(idle)

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> None:
        """Do one turn of a loop; a turn that fails is logged and the loop goes on."""
        try:
            await work
        except SQLAlchemyError as error:
            log.warning("the engine's database does not answer: %s", error)
        except Exception:
            log.exception("a turn of the engine's loops failed")

    async def _forget_old_runs(self) -> None:
        keep = timedelta(days=self._settings.keep_finished_days)
        while forgotten := await self._host.forget(older_than=keep):
            await self._database.transact(partial(_forget, run_ids=forgotten))
        long_dead = sa.delete(worker).where(worker.c.expires < self._database.now - keep.total_seconds())
        await self._database.transact(lambda connection: connection.execute(long_dead))


def _forget(connection: sa.Connection, *, run_ids: list[str]) -> None:
    connection.execute(sa.delete(post).where(post.c.run_id.in_(run_ids)))
    for flags in (stop, stop_turn):
        connection.execute(sa.delete(flags).where(flags.c.run_id.in_(run_ids)))


def _report_death(loop: asyncio.Task[None]) -> None:
    if not loop.cancelled():
        log.critical("a loop of the engine ended", exc_info=loop.exception())


async def _end(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
