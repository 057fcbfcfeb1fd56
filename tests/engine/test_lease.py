"""Who lives, who is dead, and that the dead do not act."""

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.engine.database import Database, worker
from core.engine.lease import DECLARED_DEAD, Lease, ProcessLock
from core.engine.run import DurableRun
from tests.engine.conftest import EngineRoom, Exited, exit_by_raising


class StandingClock:
    """Time that moves only when told."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def lease_on(database: Database, *, ttl_s: float = 15, clock: StandingClock | None = None) -> Lease:
    return Lease(
        database,
        ttl_s=ttl_s,
        beat_s=0.01,
        exit_process=exit_by_raising,
        clock=clock or StandingClock(),
    )


async def bury(database: Database, lease: Lease) -> None:
    row = sa.delete(worker).where(worker.c.id == lease.holder)
    await database.transact(lambda connection: connection.execute(row))


async def claim(database: Database, *holders: str) -> None:
    """Make it look as if each holder were executing a run."""

    def act(connection: sa.Connection) -> None:
        if not database.sqlite:
            connection.exec_driver_sql("CREATE SCHEMA dbos")
        table = "workflow_status" if database.sqlite else "dbos.workflow_status"
        connection.exec_driver_sql(f"CREATE TABLE {table} (status text, executor_id text)")
        for holder in holders:
            connection.execute(sa.insert(database.runs).values(status="PENDING", executor_id=holder))

    await database.transact(act)


async def test_a_process_declared_dead_ends_at_its_next_beat(database: Database) -> None:
    lease = lease_on(database)
    await lease.take()
    await lease.renew()
    await bury(database, lease)

    with pytest.raises(Exited) as ended:
        await lease.keep()

    assert ended.value.code == DECLARED_DEAD == 75
    await lease.release()


async def test_within_the_lease_the_guard_asks_nobody(database: Database) -> None:
    clock = StandingClock()
    lease = lease_on(database, ttl_s=10, clock=clock)
    await lease.take()
    await bury(database, lease)
    clock.now_s += 9

    await lease.guard()
    await lease.release()


async def test_past_the_lease_the_guard_ends_a_process_that_was_declared_dead(database: Database) -> None:
    clock = StandingClock()
    lease = lease_on(database, ttl_s=10, clock=clock)
    await lease.take()
    await bury(database, lease)
    clock.now_s += 10

    with pytest.raises(Exited):
        await lease.guard()
    await lease.release()


async def test_past_the_lease_the_guard_lets_a_process_go_on_that_nobody_buried(database: Database) -> None:
    clock = StandingClock()
    lease = lease_on(database, ttl_s=10, clock=clock)
    await lease.take()
    clock.now_s += 3600
    assert lease.age_s == 3600

    await lease.guard()

    assert lease.age_s == 0
    await lease.release()


async def test_only_holders_of_runs_without_a_valid_lease_are_buried(postgres_url: str) -> None:
    database = Database(postgres_url)
    await database.open()
    mine, alive, late = lease_on(database), lease_on(database), lease_on(database, ttl_s=-1)
    for lease in (mine, alive, late):
        await lease.take()
    await claim(database, mine.holder, alive.holder, late.holder, "vanished")

    dead = await database.transact(mine.bury)

    assert dead == sorted([late.holder, "vanished"])
    with pytest.raises(Exited):
        await late.renew()
    await alive.renew()
    await database.close()


async def test_on_one_machine_a_dead_process_is_known_at_once(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    await database.open()
    mine, alive, killed = lease_on(database), lease_on(database), lease_on(database, ttl_s=3600)
    for lease in (mine, alive, killed):
        await lease.take()
    await claim(database, mine.holder, alive.holder, killed.holder)
    assert killed._lock is not None
    assert killed._lock._open_file is not None
    killed._lock._open_file.close()

    dead = await database.transact(mine.bury)

    assert dead == [killed.holder]
    await alive.renew()
    await alive.release()
    await mine.release()
    await database.close()


async def test_on_one_machine_a_frozen_process_is_dead_when_its_lease_ends(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    await database.open()
    mine, frozen = lease_on(database), lease_on(database, ttl_s=-1)
    await mine.take()
    await frozen.take()
    await claim(database, frozen.holder)

    dead = await database.transact(mine.bury)

    assert dead == [frozen.holder]
    with pytest.raises(Exited):
        await frozen.guard()
    await frozen.release()
    await mine.release()
    await database.close()


def test_lock_files_of_dead_processes_are_cleared_away(tmp_path: Path) -> None:
    file = tmp_path / "engine.db"
    dead, alive, new = (ProcessLock(file, name) for name in ("dead", "alive", "new"))
    dead.hold()
    alive.hold()
    assert dead._open_file is not None
    dead._open_file.close()

    new.hold()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["engine.db.alive.live", "engine.db.new.live"]
    assert alive.held_by("new")
    assert not alive.held_by("dead")
    alive.release()
    new.release()
    assert not list(tmp_path.iterdir())


async def test_an_engine_that_lost_its_lease_ends_the_process(room: EngineRoom, sqlite_url: str) -> None:
    async def body(_run: DurableRun) -> None:
        pass

    engine = await room.start(sqlite_url, body, lease_ttl_s=0.5)
    await engine.guard()
    keeper = engine._loops[0]
    await bury(engine._database, engine._lease)

    async with asyncio.timeout(5):
        with pytest.raises(Exited):
            await keeper
