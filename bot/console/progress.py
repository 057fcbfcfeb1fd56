"""How far the newest run of a thread has come: which round of how many, and who is writing. Pure."""

from dataclasses import dataclass

from core.domain.ids import RunId
from core.domain.thread import Mode
from core.domain.view import AnswerState, AnswerView, Phrase, ThreadPage

OPEN = (AnswerState.QUEUED, AnswerState.WRITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    run_id: RunId
    label: Phrase | None
    """The part that is being written; None where parts have no name."""
    at: int
    """The round being written, or how many answers are there already."""
    of: int
    """How many rounds or answers there will be; 0 when that cannot be told."""
    in_rounds: bool
    writing: tuple[str, ...]
    """Models that are writing, in the order in which they are shown."""


def progress_of(page: ThreadPage) -> Progress | None:
    """None when nothing is being written, and in a Chat, where the answer itself says so."""
    answers = [item for item in page.items if isinstance(item, AnswerView)]
    first = next((one for one in answers if one.state in OPEN), None)
    if first is None or (page.mode is Mode.CHAT and first.label is None):
        return None
    cards = [one for one in answers if one.run_id == first.run_id]
    names = tuple(dict.fromkeys(one.model for one in cards if one.state is AnswerState.WRITING))
    rounds = first.label.fields if first.label else {}
    if "of" in rounds:
        at, of = int(rounds["number"]), int(rounds["of"])
    elif len(cards) > 1 and page.mode is Mode.COMPARE:
        at, of = sum(one.state not in OPEN for one in cards), len(cards)
    else:
        at, of = 0, 0
    return Progress(
        run_id=first.run_id, label=first.label, at=at, of=of, in_rounds="of" in rounds, writing=names
    )
