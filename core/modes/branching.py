"""Opening a branch on the platform: its thread with the header as first post, and a note in the parent (spec §5)."""

from core.modes.context import RunContext

KIND = "branch"


async def open_branch(run: RunContext) -> None:
    """Open the thread of a branch that the store already holds."""
    await run.open_thread("header")
    await run.note_parent("note")
