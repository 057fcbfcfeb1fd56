"""Opening a branch on the platform: its thread with the header as first post, and a note in the parent (spec §5)."""

from core.domain.thread import Thread
from core.domain.view import Phrase
from core.modes.context import RunContext

KIND = "branch"


async def open_branch(run: RunContext) -> None:
    """Open the thread of a branch that the store already holds."""
    await run.open_thread("header")
    await run.note_parent("note")


def note(branch: Thread) -> Phrase:
    """The line that tells the parent's thread of a branch."""
    if not branch.split_position:
        return Phrase(key="notice.branched_empty", fields={"name": branch.branch_name})
    return Phrase(
        key="notice.branched", fields={"name": branch.branch_name, "position": branch.split_position}
    )
