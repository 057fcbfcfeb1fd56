"""Opening the thread that a handover goes into, with what is carried as its first post (spec §9)."""

from core.modes import drafting
from core.modes.context import RunContext

DRAFT = drafting.KIND
OPEN = "handover_open"


async def open_target(run: RunContext) -> None:
    """Open the platform's thread of a target that the store already holds."""
    await run.open_thread("header")
