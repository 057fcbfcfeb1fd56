"""Nothing is lost, doubled, repeated or out of order when processes are killed at any moment."""

import asyncio
import secrets
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from core.engine.lease import DECLARED_DEAD
from tests.soak.child import Task
from tests.soak.verdict import Verdict, judge
from tests.soak.world import call

pytestmark = [pytest.mark.soak, pytest.mark.timeout(280)]

ROOT = Path(__file__).parents[2]
KILLS = 22
FREEZES = 5
LANES = 4
WAVE = 6
"""Runs that each new process adds."""
TTL_S = 2.0
CHANCE = secrets.SystemRandom()


class Series:
    """Starts processes on one database and knows all runs enqueued so far."""

    def __init__(self, url: str, world: int, stack: AsyncExitStack) -> None:
        self.url = url
        self.world = world
        self.stack = stack
        self.runs: list[tuple[str, str]] = []
        self.enqueued = 0
        """So many of the runs are certainly stored; the others are named again to each new process."""
        self.told: dict[int, int] = {}
        """Up to which run each process was told to enqueue, by process id."""

    async def process(self, *, more: int = WAVE) -> Process:
        """A new process that has taken up work, with `more` new runs."""
        begin = len(self.runs)
        self.runs += [(f"run-{number:05}", f"lane-{number % LANES}") for number in range(begin, begin + more)]
        task = Task(
            url=self.url, world=self.world, lease_ttl_s=TTL_S, runs=self.runs[max(0, self.enqueued - WAVE) :]
        )
        child = await start("tests.soak.child", task.argument(), self.stack)
        self.told[child.pid] = len(self.runs)
        await hear(child, "ready")
        return child

    async def kill(self, child: Process) -> None:
        if child.returncode is None:
            child.send_signal(signal.SIGKILL)
        assert child.stdout is not None
        if b"enqueued" in await child.stdout.read():
            self.enqueued = max(self.enqueued, self.told[child.pid])
        await child.wait()

    async def finish(self, child: Process) -> Verdict:
        await hear(child, "finished")
        child.send_signal(signal.SIGTERM)
        await hear(child, "left")
        assert await child.wait() == 0
        return judge(await call(self.world, op="report"), self.runs)


async def start(module: str, argument: str, stack: AsyncExitStack) -> Process:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, argument, cwd=ROOT, stdin=DEVNULL, stdout=PIPE
    )
    stack.push_async_callback(end, child)
    return child


async def end(child: Process) -> None:
    if child.returncode is None:
        child.kill()
        await child.wait()


async def hear(child: Process, word: str) -> None:
    assert child.stdout is not None
    async with asyncio.timeout(90):
        while line := await child.stdout.readline():
            if line.strip() == word.encode():
                return
    raise AssertionError(f"the process ended with {await child.wait()} before it said {word!r}")


@asynccontextmanager
async def series_on(url: str) -> AsyncIterator[Series]:
    async with AsyncExitStack() as stack:
        world = await start("tests.soak.world", "", stack)
        assert world.stdout is not None
        yield Series(url, int(await world.stdout.readline()), stack)


def check(verdict: Verdict, *, events: int, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{verdict}\n")
    # A series that cut nothing proves nothing.
    assert verdict.cut >= events // 2
    assert (verdict.lost, verdict.doubled, verdict.disordered, verdict.repeated) == (0, 0, 0, 0)


async def test_a_process_killed_and_started_again_on_sqlite(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async with series_on(f"sqlite:///{tmp_path / 'engine.db'}") as series:
        for _ in range(KILLS):
            child = await series.process()
            await asyncio.sleep(CHANCE.uniform(0.0, 1.0))
            await series.kill(child)
        verdict = await series.finish(await series.process())

    check(verdict, events=KILLS, capsys=capsys)


@pytest.mark.parametrize(("database", "kills"), [("postgres", KILLS), ("sqlite", KILLS // 2)])
async def test_another_process_takes_over(
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    database: str,
    kills: int,
) -> None:
    url = f"sqlite:///{tmp_path / 'engine.db'}"
    if database == "postgres":
        url = request.getfixturevalue("postgres_url")
    async with series_on(url) as series:
        stays = await series.process()
        for _ in range(kills):
            pair = [stays, await series.process(more=3 * WAVE)]
            await asyncio.sleep(CHANCE.uniform(0.0, 0.7))
            CHANCE.shuffle(pair)
            goes, stays = pair
            await series.kill(goes)
        verdict = await series.finish(await series.process())

    check(verdict, events=kills, capsys=capsys)


async def test_a_process_frozen_past_its_lease_does_nothing_more_on_postgres(
    capsys: pytest.CaptureFixture[str], postgres_url: str
) -> None:
    async with series_on(postgres_url) as series:
        stays = await series.process()
        ended = 0
        while ended < FREEZES:
            frozen = await series.process(more=3 * WAVE)
            await asyncio.sleep(CHANCE.uniform(0.1, 0.4))
            frozen.send_signal(signal.SIGSTOP)
            await asyncio.sleep(TTL_S * 1.75)
            frozen.send_signal(signal.SIGCONT)
            ended += await declared_dead(frozen)
            await series.kill(frozen)
        await series.kill(stays)
        verdict = await series.finish(await series.process())

    check(verdict, events=FREEZES, capsys=capsys)


async def declared_dead(frozen: Process) -> bool:
    """Whether the process ended itself; one that held no run when it froze was not missed and lives on."""
    try:
        async with asyncio.timeout(3):
            assert await frozen.wait() == DECLARED_DEAD
    except TimeoutError:
        return False
    return True
