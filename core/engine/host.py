"""The one place that talks to DBOS 3.4, its private parts included.

What is used beyond the documented API, each checked by a test of this room:
1. `DBOS._recover_pending_workflows` and `_sys_db.reenqueue_for_recovery`: put runs back into their queue;
2. `_sys_db.start_queued_partitioned_workflows`, `_sys_db.start_queued_workflows` and
   `_core.execute_dequeued_workflow`: claim now instead of at the next poll;
3. `_background_event_loop.set_main_loop`: launch in a thread, yet run workflows on our loop;
4. `background_thread_stop_events`: close the intake while runs still finish.
"""
# ruff: noqa: SLF001

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from dbos import DBOS, DBOSConfig, Queue, SetEnqueueOptions, SetWorkflowID
from dbos._core import execute_dequeued_workflow
from dbos._utils import GlobalParams

from core.domain.errors import StoreUnavailable
from core.engine.database import Database
from core.engine.serialiser import JsonObject, JsonSerialiser, JsonValue, normalised
from core.engine.settings import EngineSettings

APPLICATION = "promptflow"
APPLICATION_VERSION = "1"
"""Pinned: DBOS would otherwise derive it from the source, and every edit would strand the runs in flight. It never
changes; a change to the order of a run's steps must keep older runs going (`tests/engine/test_version.py`)."""
WORKFLOW = "run"
LANES = "lanes"
BATCH = "batch"
BATCH_POLL_S = 1.0
THREAD_STOP_S = 5.0
JOIN_S = 0.1
STARTING_S = 0.001
DELETE_AT_ONCE = 500

Body = Callable[[str, JsonObject, float], Awaitable[None]]
"""What a run does: its id, its arguments, and when it was enqueued (seconds since 1970)."""

NOISE = (
    # The engine logs a failed run itself, once, with its id.
    "Exception encountered in asynchronous workflow",
    # What parking a run looks like from inside.
    "Asyncio task cancelled for workflow or step",
    # SQLite is our documented default for one process.
    "Using SQLite as a system database",
)


class Host:
    """DBOS in this process, from launch to close. There can be only one at a time."""

    def __init__(self, settings: EngineSettings, database: Database, *, holder: str) -> None:
        self._settings = settings
        self._database = database
        self._holder = holder
        self._dbos: DBOS | None = None
        self._lanes: Queue | None = None
        self._batch: Queue | None = None
        self._batch_grew = False
        self._workflow: Callable[[JsonObject, float], Coroutine[Any, Any, None]] | None = None

    async def launch(self, body: Body) -> None:
        """From here on runs are claimed and `body` is called for each, on this event loop."""
        quieten()
        self._dbos = await self._database.call(lambda: DBOS(config=self._config()))
        self._dbos._background_event_loop.set_main_loop()

        async def run(args: JsonObject, enqueued_at: float) -> None:
            await body(str(DBOS.workflow_id), args, enqueued_at)

        decorate = DBOS.workflow(name=WORKFLOW, max_recovery_attempts=self._settings.max_starts)
        self._workflow = decorate(run)
        await self._database.call(DBOS.launch)
        self._lanes = await DBOS.register_queue_async(
            LANES,
            partition_concurrency=1,
            worker_concurrency=self._settings.lanes_at_once,
            polling_interval_sec=self._settings.poll_s,
            on_conflict="always_update",
        )
        self._batch = await DBOS.register_queue_async(
            BATCH,
            worker_concurrency=self._settings.batch_at_once,
            polling_interval_sec=BATCH_POLL_S,
            on_conflict="always_update",
        )

    async def enqueue(self, run_id: str, *, lane: str | None, args: JsonObject) -> None:
        """Once stored the run will be executed; a second call with the same id changes nothing. No lane: batch.

        Raises StoreUnavailable while the engine is not running.
        """
        workflow = self._workflow
        if workflow is None:
            raise StoreUnavailable("the engine is not running")

        async def put() -> None:
            with (
                SetWorkflowID(run_id),
                nullcontext() if lane is None else SetEnqueueOptions(queue_partition_key=lane),
            ):
                queue = BATCH if lane is None else LANES
                await DBOS.enqueue_workflow_async(queue, workflow, args, time.time())

        # In a context of its own: enqueued from inside a run it would otherwise become a child and take a step number.
        await asyncio.create_task(put(), context=contextvars.Context())
        self._batch_grew = self._batch_grew or lane is None

    def claim(self) -> None:
        """Begin what is waiting in free lanes, and batch runs enqueued since; the next poll finds the other ones.

        Blocks; not to be called on the event loop.
        """
        self._claim_lanes()
        self._claim_batch()

    def _claim_lanes(self) -> None:
        dbos, lanes = self._dbos, self._lanes
        if dbos is None or lanes is None:
            return
        room = self._settings.lanes_at_once - dbos._active_workflows_set.count_for_queue(LANES)
        if room <= 0:
            return
        token = uuid4().hex
        claimed = dbos._sys_db.start_queued_partitioned_workflows(
            lanes, GlobalParams.executor_id, GlobalParams.app_version, room, owner_xid=token
        )
        for status in dbos._sys_db.get_workflow_statuses(claimed):
            execute_dequeued_workflow(dbos, status, token)

    def _claim_batch(self) -> None:
        dbos, batch = self._dbos, self._batch
        if dbos is None or batch is None or not self._batch_grew:
            return
        self._batch_grew = False
        token = uuid4().hex
        claimed, _ = dbos._sys_db.start_queued_workflows(
            batch,
            GlobalParams.executor_id,
            GlobalParams.app_version,
            None,
            dbos._active_workflows_set.count_for_queue(BATCH),
            owner_xid=token,
        )
        for status in dbos._sys_db.get_workflow_statuses(claimed):
            execute_dequeued_workflow(dbos, status, token)

    def recover(self, holders: list[str]) -> int:
        """Put the unfinished runs of dead processes back into their queues; how many. Blocks."""
        return len(DBOS._recover_pending_workflows(holders))

    def requeue(self, run_id: str) -> None:
        """Put a run of this process back that was claimed but never begun. Blocks."""
        if self._dbos is not None:
            self._dbos._sys_db.reenqueue_for_recovery(run_id, [self._holder], LANES)

    async def forget(self, *, older_than: timedelta) -> list[str]:
        """Delete a bounded number of runs that ended longer ago than that; their ids, empty when none is left."""
        before = (datetime.now(UTC) - older_than).isoformat()
        ended = await DBOS.list_workflows_async(
            completed_before=before,
            status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
            limit=DELETE_AT_ONCE,
            load_input=False,
            load_output=False,
        )
        ids = [run.workflow_id for run in ended]
        if ids:
            await DBOS.delete_workflows_async(ids)
        return ids

    async def close_intake(self) -> None:
        """Claim nothing more; runs that are going on continue."""
        if self._dbos is not None:
            for event in self._dbos.background_thread_stop_events:
                event.set()
            # A claim may be under way: its run must be known before anyone counts the active ones.
            await self._database.call(_join_threads, "queue-worker-")

    async def close(self) -> None:
        """Shut DBOS down and give the event loop a thread pool of its own again."""
        await self._database.call(DBOS.destroy, destroy_registry=True)
        await self._database.call(_join_threads, "dbos-executor-")
        # DBOS made its own pool the loop's default, which is closed by now.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))
        self._dbos = self._lanes = self._batch = self._workflow = None

    def _config(self) -> DBOSConfig:
        return {
            "name": APPLICATION,
            "executor_id": self._holder,
            "application_version": APPLICATION_VERSION,
            "system_database_url": self._database.url.render_as_string(hide_password=False),
            "system_database_engine": self._database.work,
            "serializer": JsonSerialiser(),
            "max_executor_threads": 16,
            "log_level": "WARNING",
            # It only serves features that are not used here, and its thread is waited for at shutdown.
            "notification_listener_polling_interval_sec": 0.1,
        }


def step(name: str, act: Callable[[], Awaitable[JsonValue]]) -> Callable[[], Coroutine[Any, Any, JsonValue]]:
    """Take the run's next step number now; the result runs the step, or gives back what it recorded earlier.

    A number that an earlier execution gave to a step of another name is an error of the run.
    """
    reserved = DBOS.reserve_step()

    async def act_and_normalise() -> JsonValue:
        return normalised(await act())

    async def run() -> JsonValue:
        return await reserved.run_async({"name": name}, act_and_normalise)

    return run


def quieten() -> None:
    """Send DBOS's log through the root logger, without what the engine reports itself."""
    logger = logging.getLogger("dbos")
    if not any(isinstance(kept, _Noise) for kept in logger.filters):
        logger.addFilter(_Noise())
        # With a handler present DBOS adds none of its own.
        logger.addHandler(logging.NullHandler())


class _Noise(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(NOISE)


def _join_threads(prefix: str) -> None:
    """Wait for the threads of that name. Blocks, for a few seconds at most."""
    deadline = time.monotonic() + THREAD_STOP_S
    while (left := deadline - time.monotonic()) > 0:
        threads = [thread for thread in threading.enumerate() if thread.name.startswith(prefix)]
        if not threads:
            return
        for thread in threads:
            # One that is just being started is listed already and cannot be joined yet.
            if thread.is_alive():
                thread.join(min(left, JOIN_S))
            else:
                time.sleep(STARTING_S)
