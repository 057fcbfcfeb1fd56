"""What follows a form that was carried out."""

from dataclasses import dataclass

from bot.console.opening import Wish
from bot.console.parse import Form
from core.domain.view import EstimateView


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where the person goes after a form that was carried out."""

    location: str
    panel: bool = False
    """The page's script shows it beside the thread in place of leaving the thread."""
    person: str = ""
    """The person who speaks from now on, when that changes."""
    flash: str = ""
    """A sentence about what was done, shown once where the person goes."""
    wish: Wish | None = None
    """Nothing was started yet: this form of a mode is drawn in place of going anywhere."""
    handover: Form | None = None
    """Likewise, this form of a handover."""
    confirm: EstimateView | None = None
    """Beside `wish` or `handover`: what it is expected to cost, to be confirmed."""
