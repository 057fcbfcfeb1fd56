"""Which messages of a conversation are sent: the window of spec §4.

Messages before the request: the newest 20 at most, and at most 12,000 estimated tokens; whole messages, the oldest
left out first. The conversation's first message is inside the window like any other while it fits; from then on it is
kept apart, up to 6,000 characters. A message that alone exceeds the tokens is left out, and with it all older ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from core.ai_input.caps import Cap
from core.domain.message import Entry, Message
from core.domain.receipt import CapApplied
from core.ports import Window

WINDOW_MESSAGES = 20
WINDOW_TOKENS = 12_000
FIRST_MESSAGE_CHARS = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What of a conversation is sent."""

    first: Message | None
    """The first message where it is kept apart from the history."""
    history: tuple[Entry, ...]
    """Whole messages, oldest first, without gaps."""
    omitted: int
    """Messages before the request that are in neither; erased ones that were seen do not count."""
    erased: int
    """Messages that lie in reach and were erased."""
    caps: tuple[CapApplied, ...] = ()
    keeps_first: bool = True
    """The first message moves apart when the window leaves it behind."""

    def without_oldest(self) -> "Selection":
        """One message of history less. The first message moves apart and is not lost, where it is kept."""
        oldest, *rest = self.history
        if oldest.position == 1 and self.keeps_first:
            return replace(self, first=oldest.message, history=tuple(rest))
        return replace(self, history=tuple(rest), omitted=self.omitted + 1)


def select(window: Window, tokens_of: Callable[[Message], int], *, keeps_first: bool = True) -> Selection:
    """Apply the window to what the store read. `tokens_of` estimates a message as it would be sent.

    Without `keeps_first` the first message is one like any other, because something else stands in its place.
    """
    if not keeps_first:
        window = replace(window, first=None)
    in_reach = window.recent[-WINDOW_MESSAGES:]
    candidates = tuple(entry for entry in in_reach if not entry.message.erased)
    first = window.first.message if window.first and not window.first.message.erased else None
    erased = len(in_reach) - len(candidates) + (window.first is not None and window.first.message.erased)
    selection = Selection(
        first=first,
        history=candidates,
        omitted=window.total_before_request - len(candidates) - (first is not None) - erased,
        erased=erased,
        keeps_first=keeps_first,
    )
    if selection.omitted:
        had = selection.omitted + len(candidates)
        cap = CapApplied(name=Cap.WINDOW_MESSAGES, limit=WINDOW_MESSAGES, had=had, kept=len(candidates))
        selection = replace(selection, caps=(cap,))
    return _within_tokens(selection, [tokens_of(entry.message) for entry in candidates])


def _within_tokens(selection: Selection, tokens: list[int]) -> Selection:
    had = left = sum(tokens)
    for oldest in tokens:
        if left <= WINDOW_TOKENS:
            break
        selection, left = selection.without_oldest(), left - oldest
    if left == had:
        return selection
    cap = CapApplied(name=Cap.WINDOW_TOKENS, limit=WINDOW_TOKENS, had=had, kept=left)
    return replace(selection, caps=(*selection.caps, cap))
