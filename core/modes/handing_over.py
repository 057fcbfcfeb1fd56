"""Opening the thread that a handover goes into, with what is carried as its first post (spec §9)."""

from core.ai_input.material import SHARED_PROMPTS
from core.domain.errors import PlatformFailure
from core.domain.thread import Thread
from core.domain.view import Phrase
from core.i18n import text
from core.modes import drafting
from core.modes.context import RunContext

DRAFT = drafting.KIND
OPEN = "handover_open"
PROMPTS = SHARED_PROMPTS
"""What is carried is shown with the labels that models are sent."""


async def open_target(run: RunContext) -> None:
    """Open the platform's thread of a target that the store already holds, and tell its source.

    Where that fails the source is told how to go on. Raises PlatformFailure.
    """
    try:
        await run.open_thread("header")
    except PlatformFailure as failure:
        fields = {"title": run.thread.title, "code": failure.code}
        told = Phrase(key="notice.handover_not_opened", fields=fields)
        await run.note_origin("not_opened", told, again=True)
        raise
    await run.note_origin("note", note(run.thread))


def note(target: Thread) -> Phrase:
    """The line that tells the source of a handover of where it went; both threads have one language."""
    mode = text(target.locale, f"mode_name.{target.mode.value}")
    return Phrase(key="notice.handed_over", fields={"mode": mode, "title": target.title})
