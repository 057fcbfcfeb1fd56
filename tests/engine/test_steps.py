"""Steps: recorded by name, side by side where asked."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from core.engine.engine import RunState
from core.engine.run import DurableRun
from core.engine.serialiser import JsonValue
from tests.engine.conftest import DEADLINE_S, EngineRoom, ended, step_names

JsonAct = Callable[[], Awaitable[JsonValue]]


async def test_steps_go_side_by_side_and_keep_their_names(room: EngineRoom, engine_url: str) -> None:
    results: dict[str, JsonValue] = {}
    together = asyncio.Barrier(3)

    async def body(run: DurableRun) -> None:
        def answer(name: str, last: float) -> JsonAct:
            async def act() -> JsonValue:
                async with asyncio.timeout(DEADLINE_S), together:
                    pass
                await asyncio.sleep(last)
                return name.upper()

            return act

        results.update(await run.steps({"c": answer("c", 0.03), "a": answer("a", 0.01), "b": answer("b", 0)}))

    engine = await room.start(engine_url, body)
    await engine.enqueue("run", lane="lane", args={})

    assert await ended(engine, "run") == [RunState.FINISHED]
    assert results == {"c": "C", "a": "A", "b": "B"}
    assert await step_names("run") == ["c", "a", "b"]


async def test_a_failing_branch_lets_the_others_finish(room: EngineRoom, sqlite_url: str) -> None:
    done: list[str] = []
    caught: list[str] = []

    async def slow() -> None:
        await asyncio.sleep(0.05)
        done.append("slow")

    def fail(text: str) -> JsonAct:
        async def act() -> JsonValue:
            raise LookupError(text)

        return act

    async def body(run: DurableRun) -> None:
        with pytest.raises(LookupError) as failure:
            await run.steps({"bad": fail("first"), "slow": slow, "worse": fail("second")})
        caught.append(str(failure.value))

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run", lane="lane", args={})

    assert await ended(engine, "run") == [RunState.FINISHED]
    assert (done, caught) == (["slow"], ["first"])


async def test_no_steps_at_all_is_fine(room: EngineRoom, sqlite_url: str) -> None:
    async def body(run: DurableRun) -> None:
        assert await run.steps({}) == {}

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run", lane="lane", args={})

    assert await ended(engine, "run") == [RunState.FINISHED]


async def test_a_resumed_run_that_takes_another_way_is_an_error_and_mixes_nothing_up(
    room: EngineRoom, sqlite_url: str
) -> None:
    ways = iter(["answer-a", "answer-b"])
    hanging = asyncio.Event()
    got: list[JsonValue] = []

    async def body(run: DurableRun) -> None:
        way = next(ways)

        async def act() -> JsonValue:
            return way

        got.append(await run.step(way, act))
        hanging.set()
        await asyncio.Event().wait()

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await hanging.wait()
    await room.crash()
    engine = await room.start(sqlite_url, body)

    assert await ended(engine, "run") == [RunState.FAILED]
    assert got == ["answer-a"]


async def test_finished_runs_are_forgotten_after_their_time(room: EngineRoom, engine_url: str) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()

    async def body(run: DurableRun) -> None:
        if run.id == "going":
            begun.set()
            await gate.wait()

    engine = await room.start(engine_url, body, keep_finished_days=0)
    await engine.enqueue("ended", lane="lane-1", args={})
    await engine.enqueue("going", lane="lane-2", args={})
    await ended(engine, "ended")
    async with asyncio.timeout(DEADLINE_S):
        await begun.wait()

    await engine._forget_old_runs()

    assert await engine.state("ended") is None
    assert await engine.state("going") is RunState.ACTIVE
    gate.set()


async def test_a_scheduled_job_is_done(room: EngineRoom, sqlite_url: str) -> None:
    done = asyncio.Event()

    async def body(_run: DurableRun) -> None:
        pass

    async def job() -> None:
        done.set()

    engine = await room.start(sqlite_url, body)
    engine.schedule("job", 3600, job)

    async with asyncio.timeout(DEADLINE_S):
        await done.wait()
