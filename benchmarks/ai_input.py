"""Building the AI input of a long thread, against that of a short one."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from benchmarks.figure import Figure, bounded, median
from benchmarks.ground import GROUNDS, Ground
from core.ai_input.chat import build_chat
from core.prompts.registry import PromptLibrary, load_library
from core.store.run import Run
from core.store.turn import load_turn

LONG = 100_000
SHORT = 1_000
REPEATS = 200
AT_MOST = 1.3


async def measure(
    *,
    long: int = LONG,
    short: int = SHORT,
    repeats: int = REPEATS,
    grounds: Sequence[Callable[[], AbstractAsyncContextManager[Ground]]] = GROUNDS,
) -> list[Figure]:
    """One figure a database: reading the turn and building its input, medians taken in turn."""
    prompts = await asyncio.to_thread(load_library)
    figures = []
    for opened in grounds:
        async with opened() as ground:
            figures.append(await _on(ground, prompts, long=long, short=short, repeats=repeats))
    return figures


async def _on(ground: Ground, prompts: PromptLibrary, *, long: int, short: int, repeats: int) -> Figure:
    runs = [ground.new_run(await ground.converse(count)) for count in (short, long)]
    times: list[list[float]] = [[], []]
    for _ in range(repeats):
        for run, taken in zip(runs, times, strict=True):
            taken.append(await _build(ground, prompts, run))
    return bounded(
        f"AI input of a thread of {long:,} messages, {ground.database}",
        median(times[1]),
        median(times[0]),
        against=f"of {short:,}",
        at_most=AT_MOST,
    )


async def _build(ground: Ground, prompts: PromptLibrary, run: Run) -> float:
    begun = time.perf_counter()
    async with ground.store.reading() as session:
        turn = await load_turn(
            session,
            run,
            line=None,
            model=run.model,
            context_tokens=64_000,
            max_output_tokens=4_096,
            vision=False,
        )
    if turn is None:
        raise AssertionError("the request is not in its thread")
    build_chat(turn, prompts)
    return time.perf_counter() - begun
