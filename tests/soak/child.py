"""The process that a soak kills: an engine, some runs to enqueue, and a body chosen by name.

Its only argument is a JSON object, see `Task`. It says `ready`, `finished` and `left` on standard output and leaves
in good order on SIGTERM.
"""

import asyncio
import importlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from prometheus_client import CollectorRegistry

from core.engine.engine import Engine
from core.engine.metrics import EngineMetrics
from core.engine.run import DurableRun
from core.engine.serialiser import JsonValue
from core.engine.settings import EngineSettings
from tests.soak.world import call

Body = Callable[[DurableRun], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    url: str
    world: int
    """Port of the outside."""
    lease_ttl_s: float
    runs: list[tuple[str, str]]
    """Id and lane of each run to enqueue, in order; runs enqueued by an earlier process are named again."""
    body: str = "tests.soak.child:conversation"
    """`module:function`; the function gets the port of the outside and gives the body."""

    def argument(self) -> str:
        return json.dumps(asdict(self))


def conversation(world: int) -> Body:
    """Two answers in a row and two side by side, each posted after it is kept."""

    async def body(run: DurableRun) -> None:
        async def tell(op: str, **fields: str) -> JsonValue:
            answer: JsonValue = await call(
                world, op=op, run=run.id, lane=run.args["lane"], pid=os.getpid(), **fields
            )
            return answer

        def ask(step: str) -> Callable[[], Awaitable[JsonValue]]:
            return lambda: tell("ask", step=step)

        async def post(step: str) -> None:
            key = f"{run.id}/{step}"
            await run.send_once(step, send=lambda: tell("post", key=key), find=lambda: tell("find", key=key))

        for step in ("first", "second"):
            await run.step(f"ask-{step}", ask(step))
            await tell("kept", step=step)
            await post(step)
        await run.steps({f"ask-{step}": ask(step) for step in ("left", "right")})
        for step in ("left", "right"):
            await tell("kept", step=step)
            await post(step)

    return body


async def live(task: Task) -> None:
    module, _, function = task.body.partition(":")
    body = getattr(importlib.import_module(module), function)(task.world)
    settings = EngineSettings(url=task.url, lease_ttl_s=task.lease_ttl_s, poll_s=0.1)
    engine = Engine(settings, body, metrics=EngineMetrics(CollectorRegistry()))
    leave = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave.set)
    await engine.start()
    say("ready")
    for run_id, lane in task.runs:
        await engine.enqueue(run_id, lane=lane, args={"lane": lane})
    say("enqueued")
    async with asyncio.TaskGroup() as group:
        finishing = group.create_task(finish(engine, [run_id for run_id, _ in task.runs]))
        await leave.wait()
        finishing.cancel()
    await engine.drain()
    say("left")


async def finish(engine: Engine, run_ids: list[str]) -> None:
    for run_id in run_ids:
        while not await engine.is_finished(run_id):  # noqa: ASYNC110 - the last to finish may be elsewhere
            await asyncio.sleep(0.1)
    say("finished")


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(live(Task(**json.loads(sys.argv[1]))))
