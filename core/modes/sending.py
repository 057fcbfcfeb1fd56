"""Telling a thread that an artifact was sent to it (spec §7)."""

from core.domain.ids import ThreadId
from core.domain.view import Phrase
from core.modes.context import SendingContext

KIND = "artifact_sent"


async def tell_sent(run: SendingContext) -> None:
    """Post the line that the store already holds, with a link to where the artifact came from."""
    told = Phrase(key=str(run.args["key"]), fields=run.args["fields"])
    await run.tell("sent", told, link=ThreadId(str(run.args["link"])))
