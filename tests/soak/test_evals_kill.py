"""An evaluation whose process is killed at any moment, in the product and by command: no finished call is paid twice,
and every result is there in the end."""

import asyncio
import os
import re
import secrets
import signal
import sqlite3
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from core.engine.evaluating import CALLS_AT_ONCE
from tests.commands.evaluating import CASES
from tests.llm.fake_provider import FakeProvider
from tests.soak.evals_child import REPEATS, Task
from tests.soak.test_kill import ROOT, end, start
from tests.soak.test_modes_kill import said
from tests.soak.world import call

pytestmark = [pytest.mark.soak, pytest.mark.timeout(280)]

CHANCE = secrets.SystemRandom()
DEADLINE_S = 60.0


def stored(file: Path, columns: str = "side || '/' || case_id || '/' || repeat") -> list[Any]:
    """What every stored result says in these columns: by default its place, as calls are named."""
    with closing(sqlite3.connect(file)) as connection:
        return [row[0] for row in connection.execute(f"SELECT {columns} FROM eval_result")]  # noqa: S608


def ended(file: Path) -> list[tuple[str, float]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT status, held_usd FROM eval_run").fetchall()


async def kill(child: Process) -> None:
    if child.returncode is None:
        child.send_signal(signal.SIGKILL)
    await child.wait()


# --- in the product -------------------------------------------------------------------------------------------------

KILLS = 8


async def test_an_evaluation_of_the_product_goes_on_by_itself_after_every_kill(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    calls, repeated, made_again, cut = 2 * CASES * REPEATS, 0, 0, 0
    async with AsyncExitStack() as stack:
        outside = await start("tests.soak.world", "", stack)
        assert outside.stdout is not None
        port = int(await outside.stdout.readline())

        async def asked() -> list[str]:
            return [event["step"] for event in await call(port, op="report") if event["op"] == "ask"]

        kept: set[str] = set()
        before = 0
        for wave in range(1, KILLS + 2):
            task = Task(folder=str(tmp_path), world=port, wave=wave)
            child = await start("tests.soak.evals_child", task.argument(), stack)
            await said(child, "run ")
            if wave <= KILLS:
                await _more_than(asked, before + CHANCE.randrange(calls // (KILLS + 1)))
                await asyncio.sleep(CHANCE.uniform(0.0, 0.2))
                await kill(child)
            else:
                await said(child, "finished")
                child.send_signal(signal.SIGTERM)
                assert await child.wait() == 0
            all_asked = await asked()
            repeated += len(kept & set(all_asked[before:]))
            made_again += sum(step in all_asked[:before] for step in all_asked[before:])
            cut += len(all_asked) - before > 0 and wave <= KILLS
            before, kept = len(all_asked), set(stored(tmp_path / "app.db"))
    with capsys.disabled():
        sys.stdout.write(f"\n{KILLS} kills: calls={calls} repeated={repeated} made_again={made_again}\n")
    assert repeated == 0
    # A series that cut nothing proves nothing.
    assert cut >= KILLS // 2
    assert len(kept) == calls
    assert before == calls + made_again <= calls + cut * CALLS_AT_ONCE
    assert ended(tmp_path / "app.db") == [("done", 0.0)]


async def _more_than(asked: Any, count: int) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while len(await asked()) <= count:  # noqa: ASYNC110  the outside announces nothing
            await asyncio.sleep(0.02)


# --- by command -----------------------------------------------------------------------------------------------------

COMMAND_KILLS = 3
COMMAND_CALLS = 18
"""Three cases on two sides, three times each."""


async def _command(folder: Path, stack: AsyncExitStack, *arguments: str) -> Process:
    env = {**os.environ, "PROMPTFLOW_DATA_DIR": "data", "PYTHONPATH": str(ROOT)}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "evals", *arguments, "--workspace", "local"),
        cwd=folder,
        env=env,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    stack.push_async_callback(end, child)
    return child


async def _id_of(child: Process) -> str:
    assert child.stderr is not None
    async with asyncio.timeout(DEADLINE_S):
        while line := (await child.stderr.readline()).decode():
            if found := re.match(r"Evaluation (\S+):", line):
                return found[1]
    raise AssertionError("the command ended before it told the id of its evaluation")


async def test_an_evaluation_by_command_is_carried_on_by_resume_after_every_kill(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, lost, hits, run_id = tmp_path / "data" / "promptflow.db", 0, 0, ""
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(FakeProvider())
        table = f'[models.steady]\nid = "hosted_vllm/steady"\napi_base = "{provider.base_url}"\n'
        (tmp_path / "promptflow.toml").write_text(table)

        async def asked() -> range:
            return range(provider.hits["steady"])

        for _ in range(COMMAND_KILLS):
            before = len(stored(file)) if run_id else 0
            acts = ("resume", run_id) if run_id else ("run", "--prompt", "debate.last_rebuttal")
            child = await _command(tmp_path, stack, *acts)
            run_id = run_id or await _id_of(child)
            await _more_than(asked, hits + CHANCE.randrange(COMMAND_CALLS // (COMMAND_KILLS + 1)))
            await asyncio.sleep(CHANCE.uniform(0.0, 3.0))
            await kill(child)
            assert await provider.all_closed("steady", within_s=10.0)
            in_flight = provider.hits["steady"] - hits - (len(stored(file)) - before)
            assert 0 <= in_flight <= CALLS_AT_ONCE
            assert ended(file)[0][0] == "running"
            lost, hits = lost + in_flight, provider.hits["steady"]
        before = len(stored(file))
        child = await _command(tmp_path, stack, "resume", run_id)
        assert child.stderr is not None
        told = (await child.stderr.read()).decode()
        # The model's id floats, which keeps the gate shut.
        assert await child.wait() == 1, told
        # What was stored before the last kill was not asked for again.
        assert provider.hits["steady"] - hits == COMMAND_CALLS - before
    with capsys.disabled():
        sys.stdout.write(f"\n{COMMAND_KILLS} kills: calls={COMMAND_CALLS} made_again={lost}\n")
    places = stored(file)
    assert len(set(places)) == len(places) == COMMAND_CALLS
    assert provider.hits["steady"] == COMMAND_CALLS + lost
    assert stored(file, "failure") == ["null"] * COMMAND_CALLS
    assert ended(file) == [("done", 0.0)]
