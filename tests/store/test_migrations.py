"""A database grows to this release's tables, once."""

import asyncio
import sys
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect

from core.store.database import Store
from core.store.migrations import migrate, revision
from core.store.tables import Row

MIGRATE = """
import asyncio, sys
from core.store.database import Store
from core.store.migrations import migrate
print(asyncio.run(migrate(Store(sys.argv[1]))))
"""


async def test_migrating_from_empty_equals_the_tables(store: Store) -> None:
    def differences() -> list[object]:
        with store.blocking_connection() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            return list(compare_metadata(context, Row.metadata))

    assert await asyncio.to_thread(differences) == []


async def test_every_constraint_and_index_is_migrated_under_its_name(store: Store) -> None:
    """What the comparison above does not look at: check constraints, primary and foreign keys by name."""

    def names() -> set[str]:
        with store.blocking_connection() as connection:
            inspector = inspect(connection)
            found: set[str] = set()
            for table in Row.metadata.tables:
                found |= {str(c["name"]) for c in inspector.get_check_constraints(table)}
                found |= {str(c["name"]) for c in inspector.get_foreign_keys(table)}
                found |= {str(c["name"]) for c in inspector.get_unique_constraints(table)}
                found |= {str(c["name"]) for c in inspector.get_indexes(table)}
                found.add(str(inspector.get_pk_constraint(table)["name"]))
            return found

    tables = Row.metadata.tables.values()
    wanted = {str(c.name) for table in tables for c in table.constraints}
    wanted |= {str(index.name) for table in tables for index in table.indexes}
    assert wanted <= await asyncio.to_thread(names)


async def test_a_second_migration_changes_nothing(store: Store) -> None:
    before = await revision(store)
    assert before
    assert await migrate(store) is False
    assert await revision(store) == before


async def test_two_processes_at_once_migrate_once(database_url: str, tmp_path: Path) -> None:
    script = tmp_path / "migrate_once.py"
    script.write_text(MIGRATE)
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            str(script),
            database_url,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for _ in range(2)
    ]
    async with asyncio.timeout(30):
        outputs = [await process.communicate() for process in processes]
    assert sorted(out.decode().strip() for out, _ in outputs) == ["False", "True"], outputs
