"""Which processes live, and taking over from those that do not.

DBOS without its commercial part never notices that another process died: its runs would stay "running" for ever and
block their lanes. Every process therefore holds a lease, a row that it keeps renewing. Who finds runs of a process
without a valid lease first deletes that row and then puts the runs back into their queue; the process that comes
back late finds its row gone and ends itself before it acts again.
"""

import asyncio
import fcntl
import logging
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from core.engine.database import Database, worker

log = logging.getLogger(__name__)

DECLARED_DEAD = 75
"""Exit code of a process that lost its lease (EX_TEMPFAIL: start it again)."""

Exit = Callable[[int], NoReturn]


def awake_s() -> float:
    """Seconds on a clock that also runs while the machine sleeps, where the system has one."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class Lease:
    """This process's claim to be alive."""

    def __init__(
        self,
        database: Database,
        *,
        ttl_s: float,
        beat_s: float,
        exit_process: Exit = os._exit,
        clock: Callable[[], float] = awake_s,
    ) -> None:
        self.holder = f"{os.uname().nodename[:60]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._database = database
        self._ttl_s = ttl_s
        self._beat_s = beat_s
        self._exit = exit_process
        self._clock = clock
        self._valid_until = 0.0
        self._renewed_at = clock()
        self._lock = ProcessLock(database.file, self.holder) if database.file is not None else None

    @property
    def age_s(self) -> float:
        """Seconds since the lease was renewed last."""
        return self._clock() - self._renewed_at

    async def take(self) -> None:
        """Announce this process. Must be done before it claims its first run."""
        if self._lock is not None:
            await self._database.call(self._lock.hold)
        now = self._database.now
        row = sa.insert(worker).values(id=self.holder, expires=now + self._ttl_s)
        asked = self._clock()
        await self._database.transact(lambda connection: connection.execute(row))
        self._renewed(asked)

    async def renew(self) -> None:
        """Prolong the lease; ends the process when it was declared dead in the meantime."""
        now = self._database.now
        row = sa.update(worker).where(worker.c.id == self.holder).values(expires=now + self._ttl_s)
        asked = self._clock()
        found = await self._database.transact(lambda connection: connection.execute(row).rowcount)
        if not found:
            log.critical("another process took over from %s; ending", self.holder)
            self._exit(DECLARED_DEAD)
        self._renewed(asked)

    async def guard(self) -> None:
        """Return only while no other process can have taken over; to be awaited right before every outside effect.

        A process that was frozen past its lease asks the database first and ends when it was declared dead. While
        the database does not answer, it waits.
        """
        while self._clock() >= self._valid_until:
            try:
                await self.renew()
            except SQLAlchemyError:
                await asyncio.sleep(self._beat_s)

    async def keep(self) -> None:
        """Renew until cancelled."""
        silent = False
        while True:
            await asyncio.sleep(self._beat_s)
            try:
                await self.renew()
            except SQLAlchemyError as error:
                if not silent:
                    log.warning("the lease cannot be renewed: %s", error)
                silent = True
            else:
                silent = False

    async def release(self) -> None:
        """Declare this process gone, so that others take its runs at once."""
        row = sa.delete(worker).where(worker.c.id == self.holder)
        await self._database.transact(lambda connection: connection.execute(row))
        if self._lock is not None:
            await self._database.call(self._lock.release)

    def bury(self, connection: sa.Connection) -> list[str]:
        """Holders of runs that are certainly dead; from here on they cannot come back.

        The row is deleted only if it is still expired at that moment: one that was renewed just now stays, and so
        does its holder's claim to its runs.
        """
        runs = self._database.runs
        held = sa.select(runs.c.executor_id).where(runs.c.status == "PENDING").distinct()
        holders = {row[0] for row in connection.execute(held)} - {self.holder}
        if not holders:
            return []
        named = worker.c.id.in_(holders)
        vanished = [holder for holder in holders if self._lock is not None and not self._lock.held_by(holder)]
        over = sa.or_(worker.c.expires < self._database.now, worker.c.id.in_(vanished))
        connection.execute(sa.delete(worker).where(named, over))
        alive = {row[0] for row in connection.execute(sa.select(worker.c.id).where(named))}
        return sorted(holders - alive)

    def _renewed(self, asked: float) -> None:
        # Counted from before the question, so that our view of the lease ends earlier than the database's.
        self._renewed_at = asked
        self._valid_until = asked + self._ttl_s


class ProcessLock:
    """A lock file beside the SQLite file that the operating system frees the moment its process dies.

    All processes that share a SQLite file are on one machine, so a dead one need not be waited out: after a restart
    the runs go on at once.
    """

    def __init__(self, database_file: Path, holder: str) -> None:
        self._stem = database_file
        self._holder = holder
        self._open_file: IO[bytes] | None = None

    def hold(self) -> None:
        """Take the lock, and clear away what dead processes left behind."""
        path = self._path(self._holder)
        # Locked before it gets its name: under it the file is never seen unlocked while its process lives.
        unnamed = path.with_suffix(".starting")
        self._open_file = unnamed.open("wb")
        fcntl.flock(self._open_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unnamed.rename(path)
        for other in self._stem.parent.glob(f"{self._stem.name}.*.live"):
            if other != path and not _locked(other):
                other.unlink(missing_ok=True)

    def held_by(self, holder: str) -> bool:
        return _locked(self._path(holder))

    def release(self) -> None:
        if self._open_file is not None:
            self._path(self._holder).unlink(missing_ok=True)
            self._open_file.close()

    def _path(self, holder: str) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{holder}.live")


def _locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
