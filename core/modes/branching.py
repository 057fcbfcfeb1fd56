"""Opening a branch on the platform: its thread with the header as first post, and a note in the parent (spec §5)."""

from core.domain.errors import PlatformFailure
from core.domain.thread import Thread
from core.domain.view import Phrase
from core.modes.context import RunContext

KIND = "branch"


async def open_branch(run: RunContext) -> None:
    """Open the thread of a branch that the store already holds; where that fails, tell the parent how to go on.

    Raises PlatformFailure.
    """
    try:
        await run.open_thread("header")
    except PlatformFailure as failure:
        fields = {"name": run.thread.branch_name, "code": failure.code}
        told = Phrase(key="notice.branch_not_opened", fields=fields)
        await run.note_origin("not_opened", told, again=True)
        raise
    await run.note_origin("note", note(run.thread))


def note(branch: Thread) -> Phrase:
    """The line that tells the parent's thread of a branch."""
    if not branch.split_position:
        return Phrase(key="notice.branched_empty", fields={"name": branch.branch_name})
    return Phrase(
        key="notice.branched", fields={"name": branch.branch_name, "position": branch.split_position}
    )
