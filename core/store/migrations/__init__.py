"""Bringing a database to the tables of this release, with Alembic."""

import asyncio
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from core.store.database import Store

SCRIPTS = Path(__file__).parent


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's settings; no ini file, so that nothing outside the package is needed."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    return config


async def migrate(store: Store) -> bool:
    """Bring the database to this release; True when anything had to change. Two processes at once migrate once.

    Raises StoreUnavailable.
    """
    return await asyncio.to_thread(_migrate, store)


def _migrate(store: Store) -> bool:
    with store.blocking_connection() as connection:
        return _upgrade(connection)


async def revision(store: Store) -> str:
    """The revision that the database has; empty before the first migration."""

    def read() -> str:
        with store.blocking_connection() as connection:
            return MigrationContext.configure(connection).get_current_revision() or ""

    return await asyncio.to_thread(read)


async def is_current(store: Store) -> bool:
    """Whether the database has the form of this release; changes nothing. Raises StoreUnavailable."""

    def wanted() -> str | None:
        return ScriptDirectory.from_config(alembic_config()).get_current_head()

    return await revision(store) == await asyncio.to_thread(wanted)


def _upgrade(connection: Connection) -> bool:
    if connection.dialect.name == "postgresql":
        # Held until the transaction ends, so that a second process waits here and finds nothing left to do.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7421990)")
    config = alembic_config(connection)
    wanted = ScriptDirectory.from_config(config).get_current_head()
    if MigrationContext.configure(connection).get_current_revision() == wanted:
        return False
    command.upgrade(config, "head")
    return True
