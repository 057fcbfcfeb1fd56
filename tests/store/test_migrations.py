"""A database grows to this release's tables, once."""

import asyncio
import sys
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from core.store.database import Store
from core.store.migrations import alembic_config, migrate, revision
from core.store.tables import Row
from tests.store.ground import Ground, prepare

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


async def test_receipts_that_lost_every_text_before_are_those_whose_time_was_over(database_url: str) -> None:
    store = Store(database_url)

    def make() -> None:
        with store.blocking_connection() as connection:
            command.upgrade(alembic_config(connection), "0009")

    try:
        await asyncio.to_thread(make)
        ground = await prepare(store)
        run = await ground.add_run()
        wanted = {}
        for step, erased, texts in (("kept", False, "ab"), ("erased", True, " a"), ("expired", True, "  ")):
            wanted[step] = (step == "erased", step == "expired")
            await _add_receipt(ground, run.id, step, erased=erased, texts=texts)
        assert await migrate(store)
        async with store.reading() as session:
            found = await session.execute(text("SELECT step, erased, expired FROM receipt"))
            assert {row.step: (bool(row.erased), bool(row.expired)) for row in found} == wanted
    finally:
        await store.close()


async def _add_receipt(ground: Ground, run_id: str, step: str, *, erased: bool, texts: str) -> None:
    """A receipt as the release before kept it, with a part for each character; a space is a text that is gone."""
    receipt_id = ground.id()
    same = {
        "workspace_id": ground.workspace_id,
        "receipt_id": receipt_id,
        "role": "user",
        "origin": "request",
    }
    async with ground.store.writing() as session:
        await session.execute(
            Row.metadata.tables["receipt"].insert(),
            {
                "id": receipt_id,
                "workspace_id": ground.workspace_id,
                "thread_id": ground.thread.id,
                "run_id": run_id,
                "step": step,
                "person_id": ground.person_id,
                **dict.fromkeys(("model", "model_id", "reported_model_id", "input_sha256"), ""),
                **dict.fromkeys(("finish", "failure", "shared_sha256", "reasoning"), ""),
                **{key: [] for key in ("prompts", "caps", "omissions")},
                "params": {},
                "estimate_tokens": 0,
                "tokens_estimated": False,
                "duration_s": 0.0,
                "erased": erased,
                "created_at": ground.clock.now(),
            },
        )
        await session.execute(
            Row.metadata.tables["receipt_part"].insert(),
            [
                {**same, "ordinal": ordinal, "text": words.strip(), "images": []}
                for ordinal, words in enumerate(texts, start=1)
            ],
        )


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
