"""How late an event loop comes to what is due, and how late one comes that has nothing to do.

`python -m benchmarks.lag` is such an idle loop: when standard input ends it prints the 99th percentile of its lag in s.
What it shows is the other load of the machine; it is taken at the same time as the loop that is measured.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from benchmarks.figure import percentile

EVERY_S = 0.005
END_S = 30.0


@dataclass(frozen=True, slots=True)
class Lag:
    late_s: list[float] = field(default_factory=list)
    """Lateness, one for every 5 ms that passed: a loop that is held up for 100 ms misses twenty, and all count."""
    busy_s: list[float] = field(default_factory=list)
    """CPU time that the loop's thread spent between two looks: what of the lateness is its own."""

    @property
    def p99_s(self) -> float:
        """0 for a block that was over before anything was due."""
        return percentile(self.late_s or [0.0], 99)


@asynccontextmanager
async def watched_loop() -> AsyncGenerator[Lag]:
    """The lag of this loop inside the block."""
    lag = Lag()
    watching = asyncio.create_task(_watch(lag))
    try:
        yield lag
    finally:
        watching.cancel()
        await asyncio.wait([watching])


async def _watch(lag: Lag) -> None:
    loop = asyncio.get_running_loop()
    due, used_s = loop.time() + EVERY_S, time.thread_time()
    while True:
        await asyncio.sleep(due - loop.time())
        now, before_s, used_s = loop.time(), used_s, time.thread_time()
        lag.busy_s.append(used_s - before_s)
        while due <= now:
            lag.late_s.append(now - due)
            due += EVERY_S


class Neighbour:
    """What an idle loop in another process saw, once the block is over."""

    p99_s = 0.0


@asynccontextmanager
async def idle_neighbour() -> AsyncGenerator[Neighbour]:
    """An idle loop in a process of its own, watched as long as the block lasts."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.lag", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    if process.stdin is None or process.stdout is None:
        raise AssertionError("started with pipes")
    neighbour = Neighbour()
    try:
        async with asyncio.timeout(END_S):
            await process.stdout.readline()
        yield neighbour
        process.stdin.close()
        async with asyncio.timeout(END_S):
            neighbour.p99_s = float(await process.stdout.readline())
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _idle() -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(ended), sys.stdin)
    async with watched_loop() as lag:
        print("watching", flush=True)
        await ended.read()
    print(lag.p99_s, flush=True)


if __name__ == "__main__":
    asyncio.run(_idle())
