"""Stop: a flag that outlives the click, and calls that end when it is raised.

DBOS's own cancelling is not used: it lets a lane's next run begin before the cancelled one has ended.
"""

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Sequence
from enum import Enum
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from core.engine.database import Database, stop, stop_turn

T = TypeVar("T")


class Stopped(Enum):
    """What a call gives in place of its result when a person stopped the run."""

    STOPPED = "stopped"


STOPPED: Final = Stopped.STOPPED


class Stopping:
    """What of one run a person asked to stop: all of it, or single turns. Nothing is ever taken back."""

    def __init__(self) -> None:
        self._whole = asyncio.Event()
        self._turns: dict[str, asyncio.Event] = {}

    def set(self, turn: str = "") -> None:
        """Stop a turn; without one the run, and with it every turn."""
        self.event(turn).set()
        if not turn:
            for each in self._turns.values():
                each.set()

    def is_set(self, turn: str = "") -> bool:
        return self.event(turn).is_set()

    def event(self, turn: str = "") -> asyncio.Event:
        """Set once the turn, or the run as a whole, is to stop."""
        if not turn:
            return self._whole
        if turn not in self._turns:
            self._turns[turn] = asyncio.Event()
            if self._whole.is_set():
                self._turns[turn].set()
        return self._turns[turn]


class StopFlags:
    """Which runs, and which turns of runs, a person asked to stop; shared by all processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, run_id: str, turn: str = "") -> None:
        now = self._database.now
        if turn:
            row = upsert(self._database, stop_turn).values(run_id=run_id, turn=turn, asked=now)
        else:
            row = upsert(self._database, stop).values(run_id=run_id, asked=now)
        row = row.on_conflict_do_nothing()
        await self._database.transact(lambda connection: connection.execute(row))

    async def among(self, run_ids: Iterable[str]) -> Collection[tuple[str, str]]:
        """What of `run_ids` is to stop: the run and the turn, which is empty for the run as a whole."""
        asked = asked_of(list(run_ids))
        rows = await self._database.transact(lambda connection: connection.execute(asked).all())
        return [(row.run_id, row.turn) for row in rows]


def asked_of(run_ids: Sequence[str]) -> sa.CompoundSelect[tuple[str, str]]:
    """A query for what `StopFlags.among` gives."""
    whole = sa.select(stop.c.run_id, sa.literal("").label("turn")).where(stop.c.run_id.in_(run_ids))
    turns = sa.select(stop_turn.c.run_id, stop_turn.c.turn).where(stop_turn.c.run_id.in_(run_ids))
    return sa.union_all(whole, turns)


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
