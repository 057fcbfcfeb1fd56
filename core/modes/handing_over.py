"""Opening the thread that a handover goes into, with what is carried as its first post (spec §9)."""

from core.ai_input.material import SHARED_PROMPTS
from core.modes import drafting
from core.modes.context import RunContext

DRAFT = drafting.KIND
OPEN = "handover_open"
PROMPTS = SHARED_PROMPTS
"""What is carried is shown with the labels that models are sent."""


async def open_target(run: RunContext) -> None:
    """Open the platform's thread of a target that the store already holds."""
    await run.open_thread("header")
