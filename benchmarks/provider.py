"""An OpenAI-compatible provider that writes at a steady pace, in a process of its own as real ones are.

`python -m benchmarks.provider CHUNKS PAUSE_S` prints its address, then answers every line on standard input with how
many streams are open, until that ends.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from tests.llm.fake_provider import FakeProvider, Stream, behaviour

MODEL = "paced"
START_S = 30.0


def chunk(number: int) -> str:
    return f"word {number} of the answer; "


def whole(chunks: int) -> str:
    """The text of a complete answer."""
    return "".join(chunk(number) for number in range(chunks))


@dataclass(frozen=True, slots=True)
class PacedProvider:
    """The provider from outside."""

    base_url: str
    process: asyncio.subprocess.Process

    async def open_streams(self) -> int:
        """Requests whose connection is open at this moment."""
        if self.process.stdin is None or self.process.stdout is None:
            raise AssertionError("started with pipes")
        self.process.stdin.write(b"\n")
        return int(await self.process.stdout.readline())

    async def fallen_to(self, count: int, *, within_s: float) -> int:
        """How many streams are open once no more than `count` are, or when the time is over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        still = await self.open_streams()
        while still > count and loop.time() < deadline:
            await asyncio.sleep(0.05)
            still = await self.open_streams()
        return still


@asynccontextmanager
async def running_provider(*, chunks: int, pause_s: float) -> AsyncGenerator[PacedProvider]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.provider",
        str(chunks),
        str(pause_s),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        if process.stdout is None or process.stdin is None:
            raise AssertionError("started with pipes")
        async with asyncio.timeout(START_S):
            address = (await process.stdout.readline()).decode().strip()
        yield PacedProvider(address, process)
        process.stdin.close()
        async with asyncio.timeout(START_S):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _serve(chunks: int, pause_s: float) -> None:
    @behaviour(MODEL)
    async def paced(stream: Stream) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for number in range(chunks):
            await asyncio.sleep(begun + number * pause_s - loop.time())
            await stream.words(chunk(number))
        return await stream.end()

    asked = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(asked), sys.stdin)
    async with FakeProvider() as provider:
        print(provider.base_url, flush=True)
        while await asked.readline():
            print(provider.open[MODEL], flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
