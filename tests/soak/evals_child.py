"""The process that the series of evaluations kills: genuine store, engine and evaluation; the model is outside.

Its only argument is a JSON object, see `Task`. It says `run <id>` for the evaluation and `finished` once it has ended,
and leaves in good order on SIGTERM.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from datetime import timedelta

from core.commands.eval import list_evals, start_eval
from core.commands.upkeep import pick_up_evals
from core.domain.eval_run import EvalRequest
from core.domain.receipt import Finish, Usage
from core.ports import Done, ModelCall, ModelEvent, Started, TextDelta
from tests.commands.evaluating import KEPT, SUMMARY, candidate, eval_set, library
from tests.product import ScriptedModel, World, open_world
from tests.soak.world import call

TTL_S = 2.0
REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    folder: str
    world: int
    """Port of the outside."""
    wave: int
    """Number of this process, from 1; the first one begins the evaluation."""

    def argument(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class OutsideModel(ScriptedModel):
    """A slow model on a socket."""

    port: int = 0

    async def stream(self, call_: ModelCall) -> AsyncGenerator[ModelEvent]:
        run, _, step = call_.request_id.partition("/")
        yield Started(queued_s=0.0)
        await call(self.port, op="ask", run=run, step=step, pid=os.getpid())
        yield TextDelta(text=KEPT)
        yield Done(
            finish=Finish.STOP,
            usage=Usage(input_tokens=10, output_tokens=10, estimated=False, cost_usd=0.25),
            reported_model_id="",
            first_delta_s=0.0,
            total_s=0.1,
        )


async def live(task: Task) -> None:
    leave = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave.set)
    async with open_world(
        f"sqlite:///{task.folder}/app.db",
        f"sqlite:///{task.folder}/engine.db",
        model=OutsideModel(port=task.world),
        lease_ttl_s=TTL_S,
        eval_library=library(eval_set()),
    ) as world:
        # Its clock goes on where the one of the process before stood.
        world.clock.advance(timedelta(hours=task.wave))
        await pick_up_evals(world.services)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work(world, task))
            await leave.wait()
            working.cancel()


async def work(world: World, task: Task) -> None:
    aki = await world.person()
    if task.wave == 1:
        version_id = await candidate(world, aki)
        request = EvalRequest(prompt=SUMMARY, candidate_id=version_id, model="alpha", repeats=REPEATS)
        await start_eval(world.services, aki, request, event_key="begin")
    (item,) = await list_evals(world.services, aki)
    tell(f"run {item.run_id}")
    while item.finished_at is None:
        await asyncio.sleep(0.1)
        (item,) = await list_evals(world.services, aki)
    tell("finished")


def tell(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(live(Task(**json.loads(sys.argv[1]))))
