"""Posts that stand already, shown anew after something about them changed: who wrote them, or which one is kept."""

from core.modes.context import CarryingContext

KIND = "redraw"

MOST_POSTS = 50
"""The newest ones; a platform takes about so many edits a minute."""


async def redraw(run: CarryingContext) -> None:
    """Show the posts of answers anew: of those to `request_id`, or of the whole thread."""
    await run.redraw(str(run.args.get("request_id") or ""), most=MOST_POSTS)
