"""Stop: a flag that outlives the click, and calls that end when it is raised.

DBOS's own cancelling is not used: it lets a lane's next run begin before the cancelled one has ended.
"""

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from enum import Enum
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from core.engine.database import Database, stop

T = TypeVar("T")


class Stopped(Enum):
    """What a call gives in place of its result when a person stopped the run."""

    STOPPED = "stopped"


STOPPED: Final = Stopped.STOPPED


class StopFlags:
    """Which runs a person asked to stop, shared by all processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, run_id: str) -> None:
        row = upsert(self._database, stop).values(run_id=run_id, asked=self._database.now)
        row = row.on_conflict_do_nothing()
        await self._database.transact(lambda connection: connection.execute(row))

    async def among(self, run_ids: Iterable[str]) -> Collection[str]:
        """Those of `run_ids` that are to stop."""
        asked = sa.select(stop.c.run_id).where(stop.c.run_id.in_(list(run_ids)))
        return await self._database.transact(lambda connection: connection.execute(asked).scalars().all())


def upsert(database: Database, table: sa.Table) -> "sqlite.Insert | postgresql.Insert":
    """An INSERT that can say what to do on a conflict, in the database's own dialect."""
    return sqlite.insert(table) if database.sqlite else postgresql.insert(table)


async def unless(stopping: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | Stopped:
    """The result of `work`, or STOPPED once the event is set: `work` is then cancelled and has ended.

    Work that finishes all the same while it is being cancelled counts as finished.
    """
    task = asyncio.create_task(work)
    watch = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        return STOPPED if task.cancelled() else task.result()
    finally:
        watch.cancel()
        task.cancel()
        await asyncio.wait({task, watch})
