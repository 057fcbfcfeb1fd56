"""The process that the series of modes kills: genuine store, engine and modes; the model and the platform are outside.

Its only argument is a JSON object, see `Task`. It says `run <id>` for the run to watch and `finished` once every run
has ended, and leaves in good order on SIGTERM.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from core.commands.compare import compare_answers
from core.commands.review import ReviewRequest, cross_review
from core.commands.say import Said, say
from core.commands.upkeep import pick_up_left_behind
from core.domain.ids import WorkspaceId
from core.domain.receipt import Finish, Usage
from core.domain.thread import Mode, Place
from core.domain.view import AnswerView, PostView
from core.ports import Done, ModelCall, ModelEvent, PostRef, Started, TextDelta
from tests.product import PLATFORM, RecordingPoster, ScriptedModel, World, fitting, open_world
from tests.soak.world import call

TTL_S = 2.0
SETUPS: dict[Mode, dict[str, Any]] = {
    Mode.COMPARE: {"models": ["alpha", "beta", "seer"]},
    Mode.DEBATE: {"participants": [{"model": "alpha"}, {"model": "beta"}], "moderator": "seer"},
    Mode.CODRAFT: {"models": ["alpha", "beta"], "passes": 1},
    Mode.WORKFLOW: {"workflow": "research_brief", "models": ["alpha", "beta"]},
}
MEMO = "decision_memo"
MODES = {**{mode.value: mode for mode in Mode}, MEMO: Mode.WORKFLOW}
"""What begins a thread, and the mode of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    folder: str
    world: int
    """Port of the outside."""
    wave: int
    """Number of this process, from 1; it begins one thread."""
    kind: str
    """A mode, a workflow by its name, or what is done with the answers of a Compare: `comparison`, `cross_review`."""

    def argument(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class OutsideModel(ScriptedModel):
    """A slow model on a socket."""

    port: int = 0

    async def stream(self, call_: ModelCall) -> AsyncGenerator[ModelEvent]:
        run, _, step = call_.request_id.partition("/")
        yield Started(queued_s=0.0)
        schema = call_.ai_input.output_schema
        text = f"answer of {step}" if schema is None else json.dumps(fitting(schema, 1))
        yield TextDelta(text=text[:5])
        await call(self.port, op="ask", run=run, step=step, pid=os.getpid())
        yield TextDelta(text=text[5:])
        yield Done(
            finish=Finish.STOP,
            usage=Usage(input_tokens=10, output_tokens=10, estimated=False, cost_usd=0.25),
            reported_model_id="",
            first_delta_s=0.0,
            total_s=0.1,
        )


@dataclass
class OutsidePoster(RecordingPoster):
    """A platform on a socket: a post lands there whether or not its sender lives on."""

    port: int = 0

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        await call(self.port, op="post", key=key, pid=os.getpid(), run=key.partition("/")[0])
        return PostRef(place=place, ids=(key,))

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        found = await call(self.port, op="find", key=key, pid=os.getpid(), run=key.partition("/")[0])
        return PostRef(place=place, ids=(key,)) if found else None

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        state = view.state.value if isinstance(view, AnswerView) else ""
        key = ref.ids[0]
        await call(self.port, op="update", key=key, state=state, pid=os.getpid(), run=key.partition("/")[0])
        return ref


def kept(folder: str) -> list[tuple[str, str]]:
    """Run and step of every call whose result an earlier process stored."""
    file = Path(folder) / "app.db"
    if not file.exists():
        return []
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT run_id, step FROM receipt").fetchall()


async def live(task: Task, already: list[tuple[str, str]]) -> None:
    for run, step in already:
        await call(task.world, op="kept", run=run, step=step)
    leave = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave.set)
    async with open_world(
        f"sqlite:///{task.folder}/app.db",
        f"sqlite:///{task.folder}/engine.db",
        model=OutsideModel(port=task.world),
        poster=OutsidePoster(port=task.world),
        lease_ttl_s=TTL_S,
    ) as world:
        # Its clock goes on where the one of the process before stood.
        world.clock.advance(timedelta(hours=task.wave))
        await pick_up_left_behind(world.services)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work(world, task))
            await leave.wait()
            working.cancel()


async def work(world: World, task: Task) -> None:
    tell(f"run {await begin(world, task)}")
    while True:
        async with world.store.reading() as session:
            connection = await session.connection()
            left = await connection.exec_driver_sql(
                "SELECT count(*) FROM run WHERE status IN ('queued', 'running')"
            )
        if not left.scalar_one():
            break
        await asyncio.sleep(0.1)
    tell("finished")


async def begin(world: World, task: Task) -> str:
    aki = await world.person()
    mode = MODES.get(task.kind, Mode.COMPARE)
    setup = {**SETUPS[mode], **({"workflow": task.kind} if task.kind == MEMO else {})}
    event = f"wave-{task.wave}"
    said = Said(
        text=f"Question of {event}",
        event_key=event,
        external_id=event,
        mentions_bot=True,
        place=Place(platform=PLATFORM, channel="C1", thread=event),
        mode=mode,
        setup=setup,
        estimate_seen=True,
    )
    result = await say(world.services, aki, said)
    run_id, thread_id = str(result.run_id), result.thread_id
    if task.kind in MODES or thread_id is None:
        return run_id
    await world.finished(run_id)
    if task.kind == "comparison":
        return await compare_answers(world.services, aki, run_id, event_key=f"{event}-comparison")
    answers = tuple(str(answer.message_id) for answer in await world.answers(aki, thread_id))
    asked = ReviewRequest(answers=answers)
    return (await cross_review(world.services, aki, asked, event_key=f"{event}-review")).run_id


def tell(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    given = Task(**json.loads(sys.argv[1]))
    asyncio.run(live(given, kept(given.folder)))
