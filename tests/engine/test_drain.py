"""Leaving in good order."""

import asyncio

from core.engine.engine import RunState
from core.engine.run import DurableRun
from tests.engine.conftest import DEADLINE_S, EngineRoom, ended


async def test_draining_waits_for_runs_and_claims_no_more(room: EngineRoom, engine_url: str) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def body(run: DurableRun) -> None:
        begun.set()
        await gate.wait()
        done.append(run.id)

    engine = await room.start(engine_url, body)
    await engine.enqueue("run-1", lane="lane", args={})
    await engine.enqueue("run-2", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await begun.wait()
    draining = asyncio.create_task(room.drain())
    asyncio.get_running_loop().call_later(0.1, gate.set)
    await draining

    assert done == ["run-1"]
    engine = await room.start(engine_url, body)
    assert await ended(engine, "run-1", "run-2") == [RunState.FINISHED] * 2
    assert done == ["run-1", "run-2"]


async def test_what_does_not_finish_in_time_is_parked_for_the_next_process(
    room: EngineRoom, engine_url: str
) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    tries: list[str] = []

    async def body(run: DurableRun) -> None:
        async def work() -> None:
            tries.append(run.id)
            begun.set()
            await gate.wait()

        await run.step("work", work)

    engine = await room.start(engine_url, body, drain_s=0.1)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await begun.wait()
    async with asyncio.timeout(DEADLINE_S):
        await room.drain()
    parked = room.registry.get_sample_value("promptflow_runs_parked_total")
    gate.set()
    engine = await room.start(engine_url, body)

    assert parked == 1
    assert await ended(engine, "run") == [RunState.FINISHED]
    assert tries == ["run", "run"]


async def test_threads_can_be_used_after_the_engine_has_gone(room: EngineRoom, sqlite_url: str) -> None:
    async def body(_run: DurableRun) -> None:
        pass

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run", lane="lane", args={})
    await ended(engine, "run")
    await room.drain()

    assert await asyncio.to_thread(lambda: 7) == 7
