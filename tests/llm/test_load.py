"""Two hundred answers at once: the event loop that has to acknowledge platforms does not notice."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import core
from core.llm.admission import AdmissionSettings
from core.llm.link import WorkerLink
from tests.llm.calls import QUICK, make_call, make_gateway, make_model, run

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.soak]

STREAMS = 200
WHOLE = "".join(f"word{number} " for number in range(60))


@asynccontextmanager
async def provider_process() -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """A fake provider whose work is not done on our loop."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.llm.fake_provider",
        env={**os.environ, "PYTHONPATH": str(Path(core.__path__[0]).parent)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip(), process
    finally:
        process.kill()
        await process.wait()


async def open_requests(process: asyncio.subprocess.Process) -> int:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n")
    return int(await process.stdout.readline())


async def watch_loop(lags: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + 0.005
        await asyncio.sleep(0.005)
        lags.append(loop.time() - due)


async def test_two_hundred_streams_leave_the_loop_free_and_nothing_open(link: WorkerLink) -> None:
    roomy = AdmissionSettings(total=STREAMS, account=STREAMS, waiting=STREAMS)
    settings = replace(QUICK, first_delta_s=40.0, idle_s=40.0, total_s=50.0, admission=roomy)
    lags: list[float] = []
    async with provider_process() as (base_url, process):
        gateway, _ = make_gateway([make_model("steady", base_url, concurrency=256)], link, settings)
        watch = asyncio.create_task(watch_loop(lags))
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(run(gateway, make_call("steady"))) for _ in range(STREAMS)]
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        assert {call.result().text for call in calls} == {WHOLE}
        assert await open_requests(process) == 0
    lags.sort()
    assert lags[int(len(lags) * 0.99)] < 0.05
