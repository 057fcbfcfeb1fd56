"""Jobs on a schedule: done once, however many processes there are."""

import asyncio
import logging
from collections import Counter

import pytest

from core.engine.database import Database
from core.engine.sweeps import Sweep, Sweeps


class Job:
    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.some = asyncio.Event()

    def by(self, process: str, *, bad: bool = False) -> Sweep:
        async def act() -> None:
            self.done[process] += 1
            if self.done.total() >= 3:
                self.some.set()
            if bad:
                raise LookupError("no such thing")

        return Sweep(name="job", every_s=self.every_s, act=act)

    every_s = 0.05


async def keep_until(event: asyncio.Event, *processes: Sweeps) -> None:
    tasks = [asyncio.create_task(process.keep()) for process in processes]
    try:
        async with asyncio.timeout(10):
            await event.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_of_several_processes_one_does_the_job(database: Database) -> None:
    job, looked = Job(), asyncio.Event()
    job.every_s = 3600
    first, second = Sweeps(database, check_s=0.01), Sweeps(database, check_s=0.01)
    first.add(job.by("first"))
    second.add(job.by("second"))
    asyncio.get_running_loop().call_later(0.3, looked.set)

    await keep_until(looked, first, second)

    assert job.done.total() == 1


async def test_a_job_comes_round_again(database: Database) -> None:
    job = Job()
    sweeps = Sweeps(database, check_s=0.01)
    sweeps.add(job.by("only"))

    await keep_until(job.some, sweeps)

    assert job.done["only"] >= 3


async def test_a_failing_job_is_logged_and_comes_round_again(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    job = Job()
    sweeps = Sweeps(database, check_s=0.01)
    sweeps.add(job.by("only", bad=True))

    with caplog.at_level(logging.ERROR):
        await keep_until(job.some, sweeps)

    assert caplog.messages[0].startswith("sweep job failed")
