"""Stop: at once here, soon elsewhere, and the lane's next run strictly after."""

import asyncio
from functools import partial

import pytest

from core.engine.database import Database
from core.engine.engine import RunState
from core.engine.run import DurableRun
from core.engine.stopping import STOPPED, StopFlags, Stopping, unless
from tests.engine.conftest import DEADLINE_S, EngineRoom, ended, step_names


class Speaker:
    """A body whose first run speaks until stopped; notes when each run's call began and ended."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.speaking = asyncio.Event()

    async def __call__(self, run: DurableRun) -> None:
        async def speak() -> str:
            self.events.append(f"begin {run.id}")
            outcome = await run.unless_stopped(self.talk(run.id))
            return "stopped" if outcome is STOPPED else "complete"

        await run.step(str(await run.step("speak", speak)), nothing)

    async def talk(self, run_id: str) -> None:
        if run_id == "run-2":
            return
        self.speaking.set()
        try:
            await asyncio.Event().wait()
        finally:
            # A provider's connection takes a moment to close.
            await asyncio.sleep(0.05)
            self.events.append(f"end {run_id}")


async def nothing() -> None:
    pass


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_stop_ends_the_call_and_then_the_next_run_begins(
    room: EngineRoom, engine_url: str, elsewhere: bool
) -> None:
    speaker = Speaker()
    engine = await room.start(engine_url, speaker)
    await engine.enqueue("run-1", lane="lane", args={})
    await engine.enqueue("run-2", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await speaker.speaking.wait()

    if elsewhere:
        other = Database(engine_url)
        await other.open()
        await StopFlags(other).put("run-1")
        await other.close()
    else:
        await engine.request_stop("run-1")
    states = await ended(engine, "run-1", "run-2")

    assert states == [RunState.FINISHED] * 2
    assert speaker.events == ["begin run-1", "end run-1", "begin run-2"]
    assert await step_names("run-1") == ["speak", "stopped"]
    assert await step_names("run-2") == ["speak", "complete"]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_turn_that_is_stopped_alone_leaves_the_others_and_the_run_going_on(
    room: EngineRoom, engine_url: str, elsewhere: bool
) -> None:
    outcomes: dict[str, str] = {}
    speaking, go_on = asyncio.Event(), asyncio.Event()

    async def body(run: DurableRun) -> None:
        async def turn(name: str) -> str:
            speaking.set()
            outcome = await run.unless_stopped(go_on.wait(), turn=name)
            outcomes[name] = "stopped" if outcome is STOPPED else "complete"
            if name == "a":
                go_on.set()
            return outcomes[name]

        await run.steps({name: partial(turn, name) for name in ("a", "b")})
        assert not await run.stopped()

    engine = await room.start(engine_url, body)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await speaking.wait()
    if elsewhere:
        other = Database(engine_url)
        await other.open()
        await StopFlags(other).put("run", "a")
        await other.close()
    else:
        await engine.request_stop("run", "a")
    assert await ended(engine, "run") == [RunState.FINISHED]
    assert outcomes == {"a": "stopped", "b": "complete"}


def test_stopping_a_run_stops_its_turns_also_those_that_come_later() -> None:
    stopping = Stopping()
    early = stopping.event("early")
    stopping.set("one")
    assert (stopping.is_set("one"), stopping.is_set("early"), stopping.is_set()) == (True, False, False)
    stopping.set()
    assert early.is_set()
    assert stopping.is_set("late")


async def test_a_run_stopped_before_it_begins_begins_as_stopped(room: EngineRoom, sqlite_url: str) -> None:
    seen: dict[str, bool] = {}

    async def body(run: DurableRun) -> None:
        seen[run.id] = await run.stopped()
        await gate.wait()

    gate = asyncio.Event()
    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run-1", lane="lane", args={})
    await engine.enqueue("run-2", lane="lane", args={})
    await engine.request_stop("run-2")
    gate.set()
    await ended(engine, "run-1", "run-2")

    assert seen == {"run-1": False, "run-2": True}


async def test_a_resumed_run_begins_with_the_turns_that_were_stopped_before(
    room: EngineRoom, sqlite_url: str
) -> None:
    seen: list[tuple[bool, bool]] = []
    hanging = asyncio.Event()

    async def body(run: DurableRun) -> None:
        seen.append((run.stopping.is_set("a"), run.stopping.is_set("b")))
        if len(seen) == 1:
            hanging.set()
            await asyncio.Event().wait()

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await hanging.wait()
    await engine.request_stop("run", "a")
    await room.crash()
    engine = await room.start(sqlite_url, body)
    assert await ended(engine, "run") == [RunState.FINISHED]
    assert seen == [(False, False), (True, False)]


async def test_a_resumed_run_sees_stop_where_it_saw_it_first(room: EngineRoom, sqlite_url: str) -> None:
    answers: list[list[bool]] = []
    hanging = asyncio.Event()

    async def body(run: DurableRun) -> None:
        seen = [await run.stopped()]
        answers.append(seen)
        if len(answers) == 1:
            hanging.set()
            await asyncio.Event().wait()
        seen.append(await run.stopped())

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await hanging.wait()
    await engine.request_stop("run")
    await room.crash()

    engine = await room.start(sqlite_url, body)

    assert await ended(engine, "run") == [RunState.FINISHED]
    assert answers == [[False], [False, True]]


async def test_work_that_ends_first_gives_its_result() -> None:
    async def work() -> str:
        return "result"

    assert await unless(asyncio.Event(), work()) == "result"


async def test_the_failure_of_work_passes_through() -> None:
    async def work() -> str:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await unless(asyncio.Event(), work())


async def test_work_that_completes_while_being_stopped_counts() -> None:
    stopping = asyncio.Event()

    async def work() -> str:
        stopping.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "partial"
        return "never"

    assert await unless(stopping, work()) == "partial"


async def test_cancelling_the_waiter_ends_the_work() -> None:
    begun, ended_work = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended_work.set()

    waiter = asyncio.create_task(unless(asyncio.Event(), work()))
    await begun.wait()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter

    assert ended_work.is_set()
