"""A process killed in every phase of every mode: no finished call is made again, nothing is posted twice, all ends."""

import asyncio
import secrets
import signal
import sqlite3
import sys
from asyncio.subprocess import Process
from collections import Counter
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from tests.soak.modes_child import Task
from tests.soak.test_kill import start
from tests.soak.world import call

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

CHANCE = secrets.SystemRandom()
AFTER_S = 0.3
"""Longest time from the moment a step is asked for to the kill: in the call, while it is stored, or just after."""
SAID_S = 60.0

PHASES = (
    ("compare", "answer:alpha"),
    ("compare", "answer:beta"),
    ("compare", "answer:seer"),
    ("comparison", "summary"),
    ("debate", "problem_framing"),
    ("debate", "positions:A"),
    ("debate", "positions:B"),
    ("debate", "rebuttals.1:A"),
    ("debate", "rebuttals.1:B"),
    ("debate", "synthesis"),
    ("codraft", "draft"),
    ("codraft", "critique.1"),
    ("codraft", "revise.1"),
    ("workflow", "questions"),
    ("workflow", "findings/answer:A"),
    ("workflow", "findings/summary"),
    ("workflow", "brief/draft"),
    ("workflow", "brief/critique.1"),
    ("workflow", "brief/revise.1"),
    ("decision_memo", "debate/positions:B"),
    ("decision_memo", "debate/synthesis"),
    ("decision_memo", "review/verdict:1"),
    ("cross_review", "verdict:1"),
    ("cross_review", "verdict:2"),
    ("cross_review", "verdict:1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    runs: int
    cut: int
    """Runs that more than one process worked on."""
    unfinished: int
    """Runs that did not end as done."""
    repeated: int
    """Model calls made again though an earlier process had stored their result."""
    made_again: int
    """Model calls made again because the process died before their result was stored: not avoidable."""
    doubled: int
    """Posts that came more than once."""
    lost: int
    """Turns without a post."""
    open: int
    """Posts whose last state is not final."""
    disordered: int
    """Runs whose posts or places in the conversation are not in the order of their turns."""

    def __str__(self) -> str:
        return "  ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))


def judge(events: list[dict[str, Any]], folder: Path) -> Verdict:
    with closing(sqlite3.connect(folder / "app.db")) as connection:
        runs = dict(connection.execute("SELECT id, status FROM run"))
        turns = connection.execute("SELECT run_id, step FROM run_step ORDER BY run_id, ordinal").fetchall()
        places = connection.execute(
            "SELECT m.run_id, m.step FROM entry e JOIN message m ON m.id = e.message_id "
            "WHERE m.run_id IS NOT NULL ORDER BY e.conversation_id, e.position"
        ).fetchall()
    posted = [event["key"] for event in events if event["op"] == "post"]
    last = {event["key"]: event["state"] for event in events if event["op"] == "update"}
    pids = {run: {e["pid"] for e in events if e.get("run") == run and "pid" in e} for run in runs}
    repeated, made_again = repeats(events)
    return Verdict(
        runs=len(runs),
        cut=sum(len(each) > 1 for each in pids.values()),
        unfinished=sum(status != "done" for status in runs.values()),
        repeated=repeated,
        made_again=made_again,
        doubled=sum(count - 1 for count in Counter(posted).values()),
        lost=len({f"{run}/post:{step}" for run, step in turns} - set(posted)),
        open=sum(state in {"queued", "writing"} for state in last.values()),
        disordered=sum(disordered(run, turns, posted, places) for run in runs),
    )


def repeats(events: list[dict[str, Any]]) -> tuple[int, int]:
    kept: set[tuple[str, str]] = set()
    asked: set[tuple[str, str]] = set()
    counts = Counter[bool]()
    for event in events:
        if event["op"] not in {"ask", "kept"}:
            continue
        turn = (event["run"], event["step"])
        if event["op"] == "kept":
            kept.add(turn)
        elif turn in asked:
            counts[turn in kept] += 1
        asked.add(turn)
    return counts[True], counts[False]


def disordered(run: str, turns: list[Any], posted: list[str], places: list[Any]) -> bool:
    order = [step for run_id, step in turns if run_id == run]
    shown = [key.partition("/post:")[2] for key in posted if key.startswith(f"{run}/post:")]
    stored = [step for run_id, step in places if run_id == run]
    # Candidates of a Compare stand in lines of their own, one answer each.
    return shown != order or (stored != [step for step in order if step in stored])


async def said(child: Process, word: str) -> str:
    """The rest of the first line of a process that begins with a word."""
    assert child.stdout is not None
    async with asyncio.timeout(SAID_S):
        while line := (await child.stdout.readline()).decode():
            if line.startswith(word):
                return line.removeprefix(word).strip()
    raise AssertionError(f"the process ended with {await child.wait()} before it said {word!r}")


async def test_a_process_killed_in_every_phase_of_every_mode(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        outside = await start("tests.soak.world", "", stack)
        assert outside.stdout is not None
        port = int(await outside.stdout.readline())
        for wave, (kind, step) in enumerate(PHASES, start=1):
            task = Task(folder=str(tmp_path), world=port, wave=wave, kind=kind)
            child = await start("tests.soak.modes_child", task.argument(), stack)
            run = await said(child, "run ")
            async with asyncio.timeout(SAID_S):
                await call(port, op="wait", run=run, step=step)
            await asyncio.sleep(CHANCE.uniform(0.0, AFTER_S))
            child.send_signal(signal.SIGKILL)
            await child.wait()
        task = Task(folder=str(tmp_path), world=port, wave=len(PHASES) + 1, kind="compare")
        child = await start("tests.soak.modes_child", task.argument(), stack)
        await said(child, "finished")
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
        verdict = judge(await call(port, op="report"), tmp_path)
    with capsys.disabled():
        sys.stdout.write(f"\n{len(PHASES)} kills: {verdict}\n")
    # A series that cut nothing proves nothing.
    assert verdict.cut >= len(PHASES) // 2
    faults = (
        verdict.unfinished,
        verdict.repeated,
        verdict.doubled,
        verdict.lost,
        verdict.open,
        verdict.disordered,
    )
    assert faults == (0, 0, 0, 0, 0, 0)
