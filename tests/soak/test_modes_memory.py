"""Two hundred debates leave the process as large as fifty did; a long thread is as cheap to look at as a short one."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from core.domain.policy import Actor
from core.domain.thread import Mode
from tests.modes.look import DEBATE, started
from tests.product import World, open_world

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

DEBATES = 200
SETTLED = 50
"""After so many every cache has its size."""
GROWTH_MB = 8.0
FOLLOW_UPS = 30
PAGE_FULL = 15
"""After so many follow-ups, of four entries each, a page is full."""


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1_000_000


def forget(world: World) -> None:
    """What the test's own model and platform remember is not the product's."""
    world.model.calls.clear()
    world.poster.shown.clear()
    world.poster.posts.clear()
    world.poster.places.clear()


@contextmanager
def counted() -> Iterator[list[str]]:
    """Statements that reach the product's own database."""
    statements: list[str] = []

    def note(connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if str(connection.engine.url.database).endswith("app.db"):
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def looked_at(world: World, actor: Actor, thread: Any) -> int:
    """How many statements it takes to show a thread's page."""
    with counted() as statements:
        await world.page(actor, thread)
    return len(statements)


async def test_memory_stays_flat_over_two_hundred_debates_and_pages_stay_cheap(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    urls = [f"sqlite:///{tmp_path / name}" for name in ("app.db", "engine.db")]
    async with open_world(urls[0], urls[1]) as world:
        aki = await world.person()
        sizes: dict[int, float] = {}
        for number in range(1, DEBATES + 1):
            await started(world, aki, Mode.DEBATE, "Ship on Friday? " * 50, **DEBATE)
            forget(world)
            if number in {SETTLED, DEBATES}:
                sizes[number] = resident_mb()
        thread = await started(world, aki, Mode.DEBATE, "Ship?", **DEBATE)
        costs = {}
        for number in range(1, FOLLOW_UPS + 1):
            await world.say(aki, "And then?", thread)
            forget(world)
            if number in {PAGE_FULL, FOLLOW_UPS}:
                costs[number] = await looked_at(world, aki, thread)
    with capsys.disabled():
        sys.stdout.write(f"\nresident MB by debates: {sizes}  statements by follow-ups: {costs}\n")
    assert sizes[DEBATES] - sizes[SETTLED] <= GROWTH_MB
    assert costs[FOLLOW_UPS] == costs[PAGE_FULL] <= 40
