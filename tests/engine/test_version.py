"""What running runs depend on across an upgrade. A failing test here means: runs in flight would be stranded."""

import asyncio

from dbos import DBOS

from core.engine import host
from core.engine.engine import RunState
from core.engine.run import DurableRun
from core.engine.serialiser import JsonSerialiser
from tests.engine.conftest import EngineRoom, ended


async def number() -> int:
    return 7


async def nothing() -> None:
    return None


async def every_call(run: DurableRun) -> None:
    await run.step("first", number)
    await run.steps({"left": number, "right": number})
    await run.send_once("greeting", send=number, find=nothing)
    await run.stopped()
    await run.unless_stopped(asyncio.sleep(0))
    await run.guard()
    await run.step("last", nothing)


def test_the_names_that_stored_runs_carry_are_unchanged() -> None:
    """Never edit the expectation: stored rows carry these names. A new kind of run gets a new name beside them."""
    assert (host.APPLICATION, host.APPLICATION_VERSION, host.WORKFLOW) == ("promptflow", "1", "run")
    assert (host.LANES, host.BATCH) == ("lanes", "batch")
    assert JsonSerialiser().name() == "promptflow_json"


async def test_each_call_takes_the_steps_it_always_took(room: EngineRoom, sqlite_url: str) -> None:
    """A resumed run counts its steps. To change this sequence, keep the old one for runs that began with it
    (`DBOS.patch_async`), and only then edit the expectation."""
    engine = await room.start(sqlite_url, every_call)
    await engine.enqueue("run", lane="lane", args={"text": "推敲"})
    assert await ended(engine, "run") == [RunState.FINISHED]

    taken = [
        (step["function_id"], step["function_name"]) for step in await DBOS.list_workflow_steps_async("run")
    ]
    stored = await DBOS.get_workflow_status_async("run")

    assert taken == [
        (1, "first"),
        (2, "left"),
        (3, "right"),
        (4, "send:greeting"),
        (5, "stopped"),
        (6, "last"),
    ]
    assert stored is not None
    assert (stored.name, stored.queue_name, stored.queue_partition_key) == ("run", "lanes", "lane")
    assert stored.app_version == "1"
    assert stored.input is not None
    assert stored.input["args"][0] == {"text": "推敲"}
    assert len(stored.input["args"]) == 2
