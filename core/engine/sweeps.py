"""Jobs that come round on a schedule, each run by one process at a time.

A due date per job in the shared database: whoever moves it on does the job. A process that dies while doing it leaves
the job for the next round.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from core.engine.database import Database, sweep
from core.engine.stopping import upsert

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """`act` must be harmless to repeat."""

    name: str
    every_s: float
    act: Callable[[], Awaitable[None]]


class Sweeps:
    def __init__(self, database: Database, *, check_s: float) -> None:
        self._database = database
        self._check_s = check_s
        self._known: dict[str, Sweep] = {}

    def add(self, sweep: Sweep) -> None:
        """From the next look on, do this job when due. A job never seen before is due at once."""
        self._known[sweep.name] = sweep

    async def keep(self) -> None:
        """Do what is due until cancelled; jobs run side by side, none twice at a time in this process."""
        going: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                going = {name: task for name, task in going.items() if not task.done()}
                for job in await self._due(but=going.keys()):
                    if await self._claim(job):
                        going[job.name] = group.create_task(_do(job))
                await asyncio.sleep(self._check_s)

    async def _due(self, *, but: Collection[str]) -> list[Sweep]:
        """Jobs that seem due; read first, because most looks find none and a claim is a write."""
        later = sa.select(sweep.c.name).where(sweep.c.due > self._database.now)
        try:
            resting = await self._database.transact(
                lambda connection: connection.execute(later).scalars().all()
            )
        except SQLAlchemyError:
            # The lease says so in the log; the jobs stay due.
            return []
        return [job for name, job in self._known.items() if name not in resting and name not in but]

    async def _claim(self, job: Sweep) -> bool:
        now = self._database.now

        def act(connection: sa.Connection) -> bool:
            first = upsert(self._database, sweep).values(name=job.name, due=now + job.every_s)
            if connection.execute(first.on_conflict_do_nothing().returning(sweep.c.name)).first() is not None:
                return True
            due = sa.and_(sweep.c.name == job.name, sweep.c.due <= now)
            return bool(
                connection.execute(sa.update(sweep).where(due).values(due=now + job.every_s)).rowcount
            )

        try:
            return await self._database.transact(act)
        except SQLAlchemyError:
            return False


async def _do(job: Sweep) -> None:
    try:
        await job.act()
    except Exception:
        log.exception("sweep %s failed; it comes round again in %s s", job.name, job.every_s)
