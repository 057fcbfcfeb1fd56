"""What was said in a thread of several speakers, in order: contributions, people's messages between, what a branch
inherited."""

from dataclasses import dataclass

from core.domain.message import Message
from core.domain.thread import Mode
from core.ports import Spoken, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Everything said before this run, and what this run's models said so far; each oldest first."""

    before: tuple[Spoken | Message, ...]
    omitted: int
    """Messages that are in the conversation and were not read."""
    erased: int
    now: tuple[Spoken, ...]


def said_in(turn: Turn) -> Said:
    """All contributions of models, however many, and the messages of the window among them.

    Left out: the conversation's first message when a person wrote it, which is the topic or task and has a place of
    its own, and the request.
    """
    now = tuple(one for one in turn.spoken if one.run_id == turn.run_id)
    own = {one.message_id: one for one in turn.spoken if one.run_id != turn.run_id}
    entries = [entry for entry in turn.window.recent if not _is_opening(entry.position, entry.message)]
    seen = {entry.message.id for entry in entries}
    older = tuple(one for message_id, one in own.items() if message_id not in seen)
    between = tuple(own.get(entry.message.id, entry.message) for entry in entries if not entry.message.erased)
    opening = opening_of(turn)
    read = len(entries) + len(older) + (opening is not None)
    return Said(
        before=(*older, *between),
        omitted=max(turn.window.total_before_request - read, 0),
        erased=sum(entry.message.erased for entry in entries),
        now=now,
    )


def opening_of(turn: Turn) -> Message | None:
    """The conversation's first message where a person wrote it: the topic or task."""
    first = turn.window.first or (turn.window.recent[0] if turn.window.recent else None)
    return first.message if first and _is_opening(first.position, first.message) else None


def says_more(turn: Turn, opening: str, mode: Mode) -> bool:
    """Whether the request says something else than what the thread of this mode was started with.

    So it does where nothing came of the start: in a branch from before the first answer, after a stop or failure.
    """
    text = turn.request.text.strip()
    return turn.thread.mode is mode and bool(text) and text != opening


def _is_opening(position: int, message: Message) -> bool:
    return position == 1 and not message.is_answer
