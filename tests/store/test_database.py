"""A database that is locked, full or away: one clear error, nothing half stored, no content in it."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from core.domain.errors import StoreUnavailable
from core.store.database import Store, async_url
from core.store.migrations import migrate
from tests.store.ground import Ground, dump, prepare


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two seconds that a write waits, cut short."""
    monkeypatch.setattr("core.store.database.WRITE_DEADLINE_S", 0.2)


async def test_a_locked_database_refuses_writes_in_time_and_takes_them_once_it_is_free(
    impatient: None, sqlite_ground: Ground, tmp_path: Path
) -> None:
    ground = sqlite_ground
    before = await dump(ground.store)
    other = sqlite3.connect(tmp_path / "app.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        for _ in range(3):
            async with asyncio.timeout(3):
                with pytest.raises(StoreUnavailable):
                    await ground.say("what was said")
        assert await dump(ground.store) == before
    finally:
        other.execute("ROLLBACK")
        other.close()
    await ground.say("said once more")
    assert await ground.words() == ["said once more"]


async def test_a_full_database_stores_nothing_and_says_nothing_of_the_content(sqlite_ground: Ground) -> None:
    ground = sqlite_ground
    await ground.say("short")
    before = await dump(ground.store)
    async with ground.store.writing() as session:
        await session.execute(text("PRAGMA max_page_count = 1"))
    private = "the salary of Tanaka " * 20_000
    with pytest.raises(StoreUnavailable) as caught:
        await ground.say(private)
    assert "full" in str(caught.value)
    assert "salary" not in repr(caught.value) + str(caught.value)
    assert caught.value.retryable
    assert await dump(ground.store) == before
    async with ground.store.writing() as session:
        await session.execute(text("PRAGMA max_page_count = 1073741823"))
    await ground.say("there is room again")
    assert await ground.words() == ["short", "there is room again"]


async def test_a_transaction_that_fails_halfway_leaves_nothing(ground: Ground) -> None:
    before = await dump(ground.store)

    async def half() -> None:
        async with ground.store.writing() as session:
            await ground.say_in(session, "half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await half()
    assert await dump(ground.store) == before


async def test_a_writer_that_was_cancelled_leaves_nothing_and_blocks_nobody(ground: Ground) -> None:
    before = await dump(ground.store)
    begun = asyncio.Event()

    async def slow() -> None:
        async with ground.store.writing() as session:
            await ground.say_in(session, "half")
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(slow())
    await begun.wait()
    task.cancel()
    await asyncio.wait({task})
    assert await dump(ground.store) == before
    await ground.say("whole")
    assert await ground.words() == ["whole"]


async def test_writers_of_one_process_take_turns(ground: Ground) -> None:
    await asyncio.gather(*(ground.say(f"message {n}") for n in range(20)))
    assert sorted(await ground.words()) == sorted(f"message {n}" for n in range(20))


async def test_on_postgres_a_writer_does_not_wait_for_another_for_ever(
    impatient: None, postgres_url: str
) -> None:
    store = Store(postgres_url)
    await migrate(store)
    ground = await prepare(store)
    begun, done = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with store.writing() as session:
            await ground.say_in(session, "first")
            begun.set()
            await done.wait()

    task = asyncio.create_task(slow())
    await begun.wait()
    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailable):
            await ground.say("second")
    done.set()
    await task
    assert await ground.words() == ["first"]
    await store.close()


async def test_a_database_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    for url in (
        f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}",
        "postgresql://nobody@127.0.0.1:9/none",
    ):
        store = Store(url)
        with pytest.raises(StoreUnavailable):
            await store.ping()
        with pytest.raises(StoreUnavailable):
            await enter(store)
        await store.close()


async def enter(store: Store) -> None:
    async with store.writing() as session:
        await session.execute(text("SELECT 1"))


async def test_a_database_that_answers_is_there(store: Store) -> None:
    await store.ping()


def test_urls_get_the_drivers_of_this_product() -> None:
    assert async_url("sqlite:///a.db") == "sqlite+aiosqlite:///a.db"
    assert async_url("postgres://h/d") == "postgresql+psycopg://h/d"
    assert async_url("postgresql+psycopg2://h/d") == "postgresql+psycopg://h/d"
