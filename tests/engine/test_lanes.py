"""Order, one at a time, lanes side by side, and one run for one id."""

import asyncio
import logging

import pytest

from core.domain.errors import StoreUnavailable
from core.engine.engine import RunState
from core.engine.run import DurableRun
from tests.engine.conftest import DEADLINE_S, EngineRoom, ended, step_names


async def test_runs_of_a_lane_go_in_order_one_at_a_time(room: EngineRoom, engine_url: str) -> None:
    going: dict[str, int] = {}
    order: dict[str, list[str]] = {}

    async def body(run: DurableRun) -> None:
        lane = str(run.args["lane"])
        going[lane] = going.get(lane, 0) + 1
        assert going[lane] == 1
        order.setdefault(lane, []).append(run.id)

        async def work() -> None:
            await asyncio.sleep(0.005)

        await run.step("work", work)
        going[lane] -= 1

    engine = await room.start(engine_url, body)
    ids = [f"{number:03}" for number in range(12)]
    for number, run_id in enumerate(ids):
        lane = f"lane-{number % 2}"
        await engine.enqueue(run_id, lane=lane, args={"lane": lane})

    assert await ended(engine, *ids) == [RunState.FINISHED] * 12
    assert order == {"lane-0": ids[0::2], "lane-1": ids[1::2]}


async def test_lanes_do_not_wait_for_each_other(room: EngineRoom, sqlite_url: str) -> None:
    together = asyncio.Barrier(5)

    async def body(_run: DurableRun) -> None:
        async with asyncio.timeout(DEADLINE_S), together:
            pass

    engine = await room.start(sqlite_url, body)
    for number in range(5):
        await engine.enqueue(f"run-{number}", lane=f"lane-{number}", args={})

    assert set(await ended(engine, *(f"run-{number}" for number in range(5)))) == {RunState.FINISHED}


async def test_the_next_run_of_a_lane_begins_without_waiting_for_the_poll(
    room: EngineRoom, sqlite_url: str
) -> None:
    async def body(_run: DurableRun) -> None:
        pass

    engine = await room.start(sqlite_url, body, poll_s=60)
    ids = [f"run-{number}" for number in range(4)]
    for run_id in ids:
        await engine.enqueue(run_id, lane="lane", args={})

    assert set(await ended(engine, *ids)) == {RunState.FINISHED}


async def test_enqueueing_twice_is_one_run(room: EngineRoom, engine_url: str) -> None:
    seen: list[object] = []

    async def body(run: DurableRun) -> None:
        seen.append(run.args["text"])

    engine = await room.start(engine_url, body)
    await engine.enqueue("run", lane="lane", args={"text": "first"})
    await engine.enqueue("run", lane="lane", args={"text": "second"})
    await ended(engine, "run")
    await engine.enqueue("run", lane="lane", args={"text": "third"})
    await engine.enqueue("other", lane="lane", args={"text": "other"})
    await ended(engine, "other")

    assert seen == ["first", "other"]


async def test_a_batch_run_waits_for_no_lane_and_holds_none_up(room: EngineRoom, sqlite_url: str) -> None:
    gates = {"batch": asyncio.Event(), "lane": asyncio.Event()}
    begun = {"batch": asyncio.Event(), "lane": asyncio.Event()}

    async def body(run: DurableRun) -> None:
        kind = str(run.args["kind"])
        begun[kind].set()
        await gates[kind].wait()

    engine = await room.start(sqlite_url, body, batch_at_once=1)
    await engine.enqueue("batch-1", lane="lane", args={"kind": "batch"}, batch=True)
    async with asyncio.timeout(DEADLINE_S):
        await begun["batch"].wait()
    await engine.enqueue("batch-2", lane="lane", args={"kind": "batch"}, batch=True)
    await engine.enqueue("run", lane="lane", args={"kind": "lane"})
    async with asyncio.timeout(DEADLINE_S):
        await begun["lane"].wait()
    assert await engine.state("batch-1") is RunState.ACTIVE
    assert await engine.state("batch-2") is RunState.WAITING

    gates["batch"].set()
    await ended(engine, "batch-1", "batch-2")
    assert await engine.state("run") is RunState.ACTIVE
    gates["lane"].set()


async def test_a_failing_run_is_recorded_logged_once_and_frees_its_lane(
    room: EngineRoom, engine_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(run: DurableRun) -> None:
        if run.args["bad"]:
            raise LookupError("no such thing")

    engine = await room.start(engine_url, body)
    with caplog.at_level(logging.WARNING):
        await engine.enqueue("run-1", lane="lane", args={"bad": True})
        await engine.enqueue("run-2", lane="lane", args={"bad": False})
        states = await ended(engine, "run-1", "run-2")

    assert states == [RunState.FAILED, RunState.FINISHED]
    told = [
        record for record in caplog.records if "no such thing" in (record.exc_text or record.getMessage())
    ]
    assert [record.getMessage() for record in told] == ["run run-1 failed"]
    assert room.registry.get_sample_value("promptflow_runs_failed_total") == 1
    assert room.registry.get_sample_value("promptflow_runs_finished_total") == 1
    assert room.registry.get_sample_value("promptflow_runs_started_total") == 2
    assert room.registry.get_sample_value("promptflow_lane_wait_seconds_count") == 2
    age_s = room.registry.get_sample_value("promptflow_lease_age_seconds")
    assert age_s is not None
    assert 0 <= age_s < 15


async def test_a_run_cancelled_from_inside_fails_and_frees_its_lane(
    room: EngineRoom, sqlite_url: str
) -> None:
    async def body(run: DurableRun) -> None:
        if run.args["bad"]:
            raise asyncio.CancelledError

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run-1", lane="lane", args={"bad": True})
    await engine.enqueue("run-2", lane="lane", args={"bad": False})

    assert await ended(engine, "run-1", "run-2") == [RunState.FAILED, RunState.FINISHED]


async def test_a_run_enqueued_from_inside_a_run_takes_no_step_number(
    room: EngineRoom, sqlite_url: str
) -> None:
    async def body(run: DurableRun) -> None:
        async def nothing() -> None:
            pass

        await run.step("before", nothing)
        if run.id == "outer":
            await engine.enqueue("inner", lane="other", args={})
        await run.step("after", nothing)

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("outer", lane="lane", args={})

    assert await ended(engine, "outer", "inner") == [RunState.FINISHED] * 2
    assert await step_names("outer") == await step_names("inner") == ["before", "after"]


async def test_an_engine_that_is_not_running_refuses(room: EngineRoom, sqlite_url: str) -> None:
    async def body(_run: DurableRun) -> None:
        pass

    engine = await room.start(sqlite_url, body)
    await room.drain()

    with pytest.raises(StoreUnavailable, match="not running"):
        await engine.enqueue("run", lane="lane", args={})


async def test_a_database_that_is_not_there_is_said_at_start(room: EngineRoom) -> None:
    async def body(_run: DurableRun) -> None:
        pass

    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        await room.start("postgresql://nobody@127.0.0.1:1/nothing", body)


async def test_an_unknown_run_has_no_state(room: EngineRoom, sqlite_url: str) -> None:
    async def body(_run: DurableRun) -> None:
        pass

    engine = await room.start(sqlite_url, body)

    assert await engine.state("never seen") is None
    assert not await engine.is_finished("never seen")
