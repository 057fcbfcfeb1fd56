"""What a crash leaves behind goes on, and nothing that was finished is done again."""

import asyncio
from collections import Counter

import pytest
import sqlalchemy as sa

from core.domain.errors import PlatformFailure
from core.engine.engine import RunState
from core.engine.run import DurableRun
from tests.engine.conftest import DEADLINE_S, EngineRoom, ended


class Desk:
    """A body of three steps and a post that hangs in `hang_in` until released."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.posts: dict[str, str] = {}
        self.hang_in = ""
        self.hanging = asyncio.Event()

    async def __call__(self, run: DurableRun) -> None:
        for name in ("one", "two"):

            async def act(name: str = name) -> str:
                return await self.do(name)

            assert await run.step(name, act) == f"{name} done"
        await run.send_once("post", send=self.send, find=self.find)
        await self.do("end")

    async def do(self, name: str) -> str:
        self.done[name] += 1
        if name == self.hang_in:
            self.hanging.set()
            await asyncio.Event().wait()
        return f"{name} done"

    async def send(self) -> str:
        self.posts["post"] = f"post {len(self.posts) + 1}"
        await self.do("send")
        return self.posts["post"]

    async def find(self) -> str | None:
        self.done["find"] += 1
        return self.posts.get("post")


@pytest.mark.parametrize(
    ("hang_in", "done"),
    [
        ("one", {"one": 2, "two": 1, "send": 1, "end": 1}),
        ("two", {"one": 1, "two": 2, "send": 1, "end": 1}),
        ("send", {"one": 1, "two": 1, "send": 1, "find": 1, "end": 1}),
        ("end", {"one": 1, "two": 1, "send": 1, "end": 2}),
    ],
)
async def test_a_crashed_run_goes_on_behind_its_last_finished_step(
    room: EngineRoom, sqlite_url: str, hang_in: str, done: dict[str, int]
) -> None:
    desk = Desk()
    desk.hang_in = hang_in
    engine = await room.start(sqlite_url, desk)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await desk.hanging.wait()
    await room.crash()
    desk.hang_in = ""

    engine = await room.start(sqlite_url, desk)

    assert await ended(engine, "run") == [RunState.FINISHED]
    assert desk.done == done
    assert desk.posts == {"post": "post 1"}
    assert room.registry.get_sample_value("promptflow_takeovers_total") == 1
    assert room.registry.get_sample_value("promptflow_lane_wait_seconds_count") == 0


async def test_a_restart_on_the_same_file_does_not_wait_for_the_lease(
    room: EngineRoom, sqlite_url: str
) -> None:
    desk = Desk()
    desk.hang_in = "two"
    engine = await room.start(sqlite_url, desk, lease_ttl_s=3600)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await desk.hanging.wait()
    await room.crash()
    desk.hang_in = ""

    engine = await room.start(sqlite_url, desk, lease_ttl_s=3600)

    async with asyncio.timeout(5):
        assert await ended(engine, "run") == [RunState.FINISHED]


async def test_another_machine_takes_over_when_the_lease_ends(room: EngineRoom, postgres_url: str) -> None:
    desk = Desk()
    desk.hang_in = "send"
    engine = await room.start(postgres_url, desk, lease_ttl_s=1)
    await engine.enqueue("run", lane="lane", args={})
    await engine.enqueue("next", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await desk.hanging.wait()
    await room.crash()
    desk.hang_in = ""

    engine = await room.start(postgres_url, desk, lease_ttl_s=1)

    assert await engine.state("run") is RunState.ACTIVE
    assert await ended(engine, "run", "next") == [RunState.FINISHED] * 2
    assert desk.done["find"] == 1


async def test_a_run_claimed_but_never_begun_is_put_back(room: EngineRoom, sqlite_url: str) -> None:
    desk = Desk()
    engine = await room.start(sqlite_url, desk)
    await engine.enqueue("run", lane="lane", args={})
    await ended(engine, "run")
    # What a claim leaves behind when the database goes away between it and the start of the run.
    runs = engine._database.runs
    lost = sa.update(runs).where(runs.c.workflow_uuid == "run").values(status="PENDING")
    await engine._database.transact(lambda connection: connection.execute(lost))
    await engine.enqueue("next", lane="lane", args={})

    assert await ended(engine, "run", "next") == [RunState.FINISHED] * 2
    assert room.registry.get_sample_value("promptflow_runs_started_total") == 3


async def test_a_resumed_step_fails_with_the_same_error(room: EngineRoom, sqlite_url: str) -> None:
    caught: list[tuple[str, bool, float | None]] = []
    hanging = asyncio.Event()

    async def fail() -> None:
        raise PlatformFailure("is_archived", retryable=False, retry_after_s=2.5)

    async def body(run: DurableRun) -> None:
        try:
            await run.step("fail", fail)
        except PlatformFailure as failure:
            caught.append((failure.code, failure.retryable, failure.retry_after_s))
        if len(caught) == 1:
            hanging.set()
            await asyncio.Event().wait()

    engine = await room.start(sqlite_url, body)
    await engine.enqueue("run", lane="lane", args={})
    async with asyncio.timeout(DEADLINE_S):
        await hanging.wait()
    await room.crash()

    engine = await room.start(sqlite_url, body)

    assert await ended(engine, "run") == [RunState.FINISHED]
    assert caught == [("is_archived", False, 2.5)] * 2
