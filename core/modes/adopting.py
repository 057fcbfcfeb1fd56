"""What the parent's thread is shown of an adoption: the card to decide on, and how it ended (spec §6)."""

from core.modes.context import AdoptionContext

CARD = "adoption_card"
CLOSED = "adoption_closed"


async def show_card(run: AdoptionContext) -> None:
    """Post the card of a request."""
    await run.post_adoption("card")


async def show_closed(run: AdoptionContext) -> None:
    """Bring the card up to date, and show what the parent now holds where the request was approved."""
    await run.close_adoption("closed")
