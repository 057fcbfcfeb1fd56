"""Engines for tests: started on a fresh database, drained afterwards, or crashed on purpose."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from dbos import DBOS
from prometheus_client import CollectorRegistry

from core.engine.database import Database
from core.engine.engine import Engine, RunState
from core.engine.metrics import EngineMetrics
from core.engine.run import DurableRun
from core.engine.settings import EngineSettings

Body = Callable[[DurableRun], Awaitable[None]]

DEADLINE_S = 20


class Exited(BaseException):
    """Stands in for the end of the process."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def exit_by_raising(code: int) -> NoReturn:
    raise Exited(code)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'engine.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def engine_url(request: pytest.FixtureRequest) -> str:
    """A fresh database of each kind in turn."""
    return str(request.getfixturevalue(f"{request.param}_url"))


class EngineRoom:
    """Starts one engine after the other; the one that runs is `engine`."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.registry = CollectorRegistry()

    async def start(self, url: str, body: Body, **changes: Any) -> Engine:
        settings = EngineSettings(
            url=url, poll_s=0.05, drain_s=5, sweep_check_s=0.05, send_backoff_s=0.01, stranded_after_s=0.2
        )
        self.registry = CollectorRegistry()
        self.engine = Engine(
            replace(settings, **changes),
            body,
            metrics=EngineMetrics(self.registry),
            exit_process=exit_by_raising,
        )
        await self.engine.start()
        return self.engine

    async def drain(self) -> None:
        engine, self.engine = self.engine, None
        if engine is not None:
            await engine.drain()

    async def crash(self) -> None:
        """End the engine as a kill would: no outcome, no farewell to the lease; only what the system frees is free."""
        engine, self.engine = self.engine, None
        assert engine is not None
        engine._draining = True
        for task in [*engine._loops, *engine._active]:
            task.cancel()
        await asyncio.gather(*engine._loops, *engine._active, return_exceptions=True)
        await engine._host.close_intake()
        await engine._host.close()
        lock = engine._lease._lock
        if lock is not None and lock._open_file is not None:
            lock._open_file.close()
        await engine._database.close()


@pytest.fixture
async def room(request: pytest.FixtureRequest) -> AsyncIterator[EngineRoom]:
    # The database comes first, so that it is still there when the engine is drained.
    for url in {"engine_url", "postgres_url"} & set(request.fixturenames):
        request.getfixturevalue(url)
    room = EngineRoom()
    try:
        yield room
    finally:
        await room.drain()


@pytest.fixture
async def database(engine_url: str) -> AsyncIterator[Database]:
    """An open engine database of each kind, without an engine."""
    database = Database(engine_url)
    await database.open()
    yield database
    await database.close()


async def ended(engine: Engine, *run_ids: str) -> list[RunState | None]:
    """The states of the runs once all have ended."""
    async with asyncio.timeout(DEADLINE_S):
        for run_id in run_ids:
            while not await engine.is_finished(run_id):  # noqa: ASYNC110 - known only to the database
                await asyncio.sleep(0.01)
    return [await engine.state(run_id) for run_id in run_ids]


async def step_names(run_id: str) -> list[str]:
    return [str(step["function_name"]) for step in await DBOS.list_workflow_steps_async(run_id)]
