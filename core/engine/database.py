"""The engine's database: two pools, our own tables, and a thread pool so that nothing waits on the event loop."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.domain.errors import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

AWAY_PAUSE_S = 1.0

metadata = sa.MetaData()

worker = sa.Table(
    "engine_worker",
    metadata,
    sa.Column("id", sa.String(120), primary_key=True),
    sa.Column("expires", sa.Double, nullable=False),
)
stop = sa.Table(
    "engine_stop",
    metadata,
    sa.Column("run_id", sa.String(255), primary_key=True),
    sa.Column("asked", sa.Double, nullable=False),
)
stop_turn = sa.Table(
    "engine_stop_turn",
    metadata,
    sa.Column("run_id", sa.String(255), primary_key=True),
    sa.Column("turn", sa.String(255), primary_key=True),
    sa.Column("asked", sa.Double, nullable=False),
)
post = sa.Table(
    "engine_post",
    metadata,
    sa.Column("key", sa.String(400), primary_key=True),
    sa.Column("run_id", sa.String(255), nullable=False, index=True),
    sa.Column("result", sa.Text, nullable=True),
)
sweep = sa.Table(
    "engine_sweep",
    metadata,
    sa.Column("name", sa.String(120), primary_key=True),
    sa.Column("due", sa.Double, nullable=False),
)

MIGRATION_LOCK = 0x70726F6D7074
"""Postgres advisory lock that keeps two starting processes from creating the same table at once."""


class Database:
    """Access to the engine's database.

    `work` is the pool that the engine's steps use. Leases, stop flags and posts have connections and threads of their
    own: behind fifty busy runs a renewal could otherwise come too late, and the process would be declared dead.
    """

    def __init__(self, url: str) -> None:
        given = sa.make_url(url)
        self.sqlite = given.get_backend_name() == "sqlite"
        self.url = given.set(drivername="sqlite" if self.sqlite else "postgresql+psycopg")
        schema = None if self.sqlite else "dbos"
        self.runs = sa.table(
            "workflow_status",
            sa.column("workflow_uuid", sa.Text),
            sa.column("status", sa.Text),
            sa.column("executor_id", sa.Text),
            sa.column("recovery_attempts", sa.BigInteger),
            schema=schema,
        )
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="engine")
        self._pools: tuple[sa.Engine, sa.Engine] | None = None

    @property
    def work(self) -> sa.Engine:
        return self._opened()[0]

    @property
    def file(self) -> Path | None:
        """The SQLite file; None on Postgres."""
        return Path(self.url.database) if self.sqlite and self.url.database else None

    @property
    def now(self) -> sa.ColumnElement[float]:
        """Seconds since 1970 by the clock of the database, the one clock that all processes share."""
        if self.sqlite:
            return sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Double)
        return sa.literal_column("extract(epoch from clock_timestamp())::double precision", sa.Double)

    async def open(self) -> None:
        """Connect and create our tables. Raises StoreUnavailable."""
        try:
            await self.call(self._open)
        except SQLAlchemyError as error:
            raise StoreUnavailable("the engine's database cannot be opened") from error

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a blocking function, run in the engine's own threads."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, partial(function, *args, **kwargs)
        )

    async def transact(self, act: Callable[[sa.Connection], T]) -> T:
        """The result of `act`, run in one transaction that is committed when it returns."""
        return await self.call(self.transact_here, act)

    async def insist(self, act: Callable[[sa.Connection], T]) -> T:
        """As `transact`, waiting while the database is away: for work inside a run, which must not fail of that."""
        while True:
            try:
                return await self.transact(act)
            except (OperationalError, InterfaceError, PoolTimeout) as error:
                log.warning("a run waits for the engine's database: %s", error)
                await asyncio.sleep(AWAY_PAUSE_S)

    def transact_here(self, act: Callable[[sa.Connection], T]) -> T:
        """As `transact`, in the calling thread, which must not be the event loop's."""
        with self._opened()[1].begin() as connection:
            return act(connection)

    async def close(self) -> None:
        if self._pools is not None:
            for pool in self._pools:
                await self.call(pool.dispose)
        self._threads.shutdown(wait=False)

    def _opened(self) -> tuple[sa.Engine, sa.Engine]:
        if self._pools is None:
            raise StoreUnavailable("the engine's database is not open")
        return self._pools

    def _open(self) -> None:
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
        self._pools = (self._pool(8), self._pool(4))
        with self._pools[1].begin() as connection:
            if self.sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            metadata.create_all(connection)

    def _pool(self, size: int) -> sa.Engine:
        if not self.sqlite:
            # A connection whose other end vanished must fail well before the lease it renews ends.
            limits = {"connect_timeout": 5, "keepalives_idle": 5, "tcp_user_timeout": 10_000}
            return sa.create_engine(
                self.url, pool_size=size, max_overflow=0, pool_pre_ping=True, connect_args=limits
            )
        pool = sa.create_engine(self.url, pool_size=size, max_overflow=0, poolclass=sa.QueuePool)
        sa.event.listen(pool, "connect", _prepare_sqlite)
        return pool


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # DBOS sets this on engines it creates itself, and relies on it: a writer that begins as a reader can lose.
    connection.isolation_level = "IMMEDIATE"
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
