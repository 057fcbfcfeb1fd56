"""Sessions on SQLite or Postgres, with one way to read and one way to write.

SQLite: a pool of readers in WAL mode and a single writer whose transactions begin IMMEDIATE, so that two writers queue
in this process instead of waiting for each other's file lock. Postgres: one pool; writers lock the rows they build on.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, text
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)

from core.domain.errors import StoreUnavailable

WRITE_DEADLINE_S = 2.0
"""A write that does not start by then is refused, so that the platform sends its event again (architecture §1)."""

STATEMENT_DEADLINE_S = 30.0
"""On Postgres a statement that takes longer is given up; copying a branch of 100,000 messages takes a few seconds."""

Session = AsyncSession
"""One unit of work; commands hold it and hand it to the functions of the store."""

READERS = 8
CONNECTIONS = 20


def async_url(url: str) -> str:
    """The URL with the driver this product uses: aiosqlite for SQLite, psycopg for Postgres."""
    url = re.sub(r"^sqlite(\+\w+)?:", "sqlite+aiosqlite:", url)
    return re.sub(r"^postgres(ql)?(\+\w+)?:", "postgresql+psycopg:", url)


class Store:
    """The application's database."""

    def __init__(self, url: str) -> None:
        self.url = async_url(url)
        self.is_sqlite = self.url.startswith("sqlite")
        if self.is_sqlite:
            self._reader = _sqlite_engine(self.url, begin="BEGIN", pool_size=READERS)
            self._writer = _sqlite_engine(self.url, begin="BEGIN IMMEDIATE", pool_size=1)
        else:
            self._writer = _postgres_engine(self.url)
            # One snapshot for all statements of a session: positions that one of them found hold for the next.
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ")
        self._read_session = async_sessionmaker(self._reader, expire_on_commit=False)
        self._write_session = async_sessionmaker(self._writer, expire_on_commit=False)

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncSession]:
        """A session for reading one consistent state. Raises StoreUnavailable."""
        async with _translated(), self._read_session() as session:
            yield session

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncSession]:
        """A session whose work is committed as a whole when the block ends, or not at all.

        Raises StoreUnavailable when the transaction cannot begin within 2 s or the database fails.
        """
        async with _translated(), self._write_session() as session:
            try:
                async with asyncio.timeout(WRITE_DEADLINE_S):
                    _ = await session.connection()
            except TimeoutError:
                raise StoreUnavailable("no connection in time") from None
            yield session
            await session.commit()

    @contextmanager
    def blocking_connection(self) -> Generator[Connection]:
        """A plain connection in a writing transaction, for migrations; never to be used on the event loop."""
        engine = create_engine(self.url.replace("+aiosqlite", ""), poolclass=NullPool, hide_parameters=True)
        if self.is_sqlite:
            prepare_sqlite(engine, begin="BEGIN IMMEDIATE")
        try:
            with engine.begin() as connection:
                yield connection
        except (OperationalError, InterfaceError) as trouble:
            raise StoreUnavailable(_reason(trouble)) from None
        finally:
            engine.dispose()

    async def ping(self) -> None:
        """Return when the database answers a query within 2 s; raise StoreUnavailable otherwise."""
        try:
            async with asyncio.timeout(WRITE_DEADLINE_S), self.reading() as session:
                await session.execute(text("SELECT 1"))
        except TimeoutError:
            raise StoreUnavailable("no answer in time") from None

    async def close(self) -> None:
        await self._writer.dispose()
        if self.is_sqlite:
            await self._reader.dispose()


_OUT_OF_ORDER = frozenset({OperationalError, InterfaceError, DatabaseError})
"""Exact classes: SQLite reports a damaged file as a bare DatabaseError, whose subclasses mean other things."""


@asynccontextmanager
async def _translated() -> AsyncGenerator[None]:
    """Turn a driver's trouble into StoreUnavailable. Violated constraints are bugs and pass, without the row."""
    try:
        yield
    except DBAPIError as trouble:
        if type(trouble) not in _OUT_OF_ORDER:
            raise type(trouble)(None, None, type(trouble.orig or trouble)(_reason(trouble))) from None
        raise StoreUnavailable(_reason(trouble)) from None
    except PoolTimeout:
        raise StoreUnavailable("no free connection in time") from None


def _reason(trouble: DBAPIError) -> str:
    """The driver's own first line without the statement and its values, which hold people's content."""
    return str(trouble.orig).splitlines()[0] if trouble.orig else type(trouble).__name__


def _postgres_engine(url: str) -> AsyncEngine:
    # Errors must not carry what people wrote.
    engine = create_async_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=WRITE_DEADLINE_S,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"connect_timeout": int(WRITE_DEADLINE_S)},
    )

    def on_connect(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute("SET TIME ZONE 'UTC'")
        cursor.execute(f"SET lock_timeout = '{int(WRITE_DEADLINE_S * 1000)}ms'")
        cursor.execute(f"SET statement_timeout = '{int(STATEMENT_DEADLINE_S)}s'")
        cursor.close()
        connection.commit()

    event.listen(engine.sync_engine, "connect", on_connect)
    return engine


def _sqlite_engine(url: str, *, begin: str, pool_size: int) -> AsyncEngine:
    # Errors must not carry what people wrote.
    engine = create_async_engine(
        url, pool_size=pool_size, max_overflow=0, pool_timeout=WRITE_DEADLINE_S, hide_parameters=True
    )
    prepare_sqlite(engine.sync_engine, begin=begin)
    return engine


def prepare_sqlite(engine: Engine, *, begin: str) -> None:
    """Have every connection of an engine begin its transactions with `begin` and keep the rules of the tables."""

    def on_connect(connection: Any, _record: object) -> None:
        # The driver must not open transactions of its own; `begin` does.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            f"busy_timeout={int(WRITE_DEADLINE_S * 1000)}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    def on_begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
