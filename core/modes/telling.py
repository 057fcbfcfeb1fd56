"""Telling a channel, in a thread of its own, that a prompt was rolled back (spec §10)."""

from core.modes.context import RunContext

KIND = "prompt_rollback"


async def tell_rollback(run: RunContext) -> None:
    """Open the thread that the store already holds with the notice that stands in it."""
    await run.open_thread("header")
