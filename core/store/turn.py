"""What one turn of a speaker needs, read in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import MessageId, RunId
from core.domain.message import Message
from core.domain.pin import Pin
from core.domain.thread import MAIN_LINE, Conversation, Mode, Thread
from core.modes import drafting
from core.ports import Spoken, Turn, Window
from core.store.handover import Handover, handover_into
from core.store.message import (
    entries_between,
    entry_at,
    find_messages,
    first_of_person,
    last_root_of_person,
    length,
    position_in,
    position_of,
    read_window,
)
from core.store.pin import pins
from core.store.run import Run
from core.store.tables import EntryRow, MessageRow
from core.store.thread import conversations, find_thread

DRAFTS = frozenset({drafting.KIND, drafting.REVIEW_KIND})
"""Kinds of runs that read a thread up to its end."""

NOTHING_BEFORE = Window(first=None, recent=(), total_before_request=0)

MOST_SPOKEN = 200
"""More turns than any mode takes in one thread before it is refused as too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What a turn reads of its thread, which differs by the kind of its run."""

    conversation: Conversation
    request: Message
    window: Window
    spoken: tuple[Spoken, ...] = ()
    late: tuple[Message, ...] = ()
    reviewed: tuple[Spoken, ...] = ()
    pins: tuple[Pin, ...] = ()


async def load_turn(
    session: AsyncSession,
    run: Run,
    *,
    line: str | None,
    model: str,
    context_tokens: int,
    max_output_tokens: int,
    vision: bool,
) -> Turn | None:
    """The request of a run in its present version, with the window before it; None when the request was taken out.

    `line` names the conversation the turn belongs to, None the thread's main one. For a run that names answers in its
    arguments (a Cross Review) only those are read, and nothing of their thread. A draft reads its thread to the end.
    """
    thread = await find_thread(session, run.workspace_id, run.thread_id)
    if thread is None:
        return None
    drafts = run.kind in DRAFTS
    lines = await conversations(session, run.workspace_id, thread.id)
    if drafts:
        read = await _whole_thread(session, run, thread, lines)
    elif answers := _named_answers(run):
        read = await _answers_alone(session, run, lines[0], answers)
    else:
        read = await _up_to_request(session, run, thread, lines, line or MAIN_LINE)
    if read is None:
        return None
    # A review knows nothing of where its answers come from.
    carried = None if read.reviewed else await _handover(session, thread)
    return Turn(
        thread=thread,
        conversation=read.conversation,
        window=read.window,
        request=read.request,
        model=model,
        context_tokens=context_tokens,
        max_output_tokens=max_output_tokens,
        vision=vision and not drafts,
        prompts=run.prompts,
        run_id=run.id,
        line=read.conversation.line,
        setup=thread.setup,
        args=run.args,
        spoken=read.spoken,
        late=read.late,
        handover=carried.fields if carried else None,
        handover_id=MessageId(carried.id) if carried else None,
        pins=read.pins,
        reviewed=read.reviewed,
    )


async def _up_to_request(
    session: AsyncSession, run: Run, thread: Thread, lines: Sequence[Conversation], line: str
) -> _Read | None:
    """The request, what stands before it in its line, and what was said since."""
    conversation = next((each for each in lines if each.line == line), lines[0])
    position = await position_of(session, conversation.id, run.request_id) if run.request_id else None
    entry = await entry_at(session, conversation.id, position) if position else None
    if entry is None or position is None:
        return None
    return _Read(
        conversation=conversation,
        request=entry.message,
        window=await read_window(session, conversation.id, position),
        spoken=await _spoken(session, thread, lines, run),
        late=await _late(session, lines[0], conversation) if thread.mode is Mode.COMPARE else (),
    )


async def _answers_alone(
    session: AsyncSession, run: Run, main: Conversation, answers: Sequence[str]
) -> _Read | None:
    """The answers under Cross Review, the first of them in the place of the request."""
    found = await find_messages(session, run.workspace_id, answers)
    if not found:
        return None
    reviewed = tuple(_to_spoken(message) for message in found)
    return _Read(conversation=main, request=found[0], window=NOTHING_BEFORE, reviewed=reviewed)


async def _whole_thread(
    session: AsyncSession, run: Run, thread: Thread, lines: Sequence[Conversation]
) -> _Read | None:
    """A thread as a draft reads it: to its end, with its pins; None when nobody said anything.

    `request` is the first message of a person; `spoken` holds what models said to the last question of a Compare,
    comparison included, and everything in the other modes.
    """
    main = lines[0]
    request = await first_of_person(session, run.workspace_id, main.id)
    if request is None:
        return None
    asked = await last_root_of_person(session, run.workspace_id, main.id)
    return _Read(
        conversation=main,
        request=request,
        window=await read_window(session, main.id, await length(session, main.id) + 1),
        spoken=await _spoken(session, thread, lines, replace(run, request_id=asked)),
        pins=tuple(await pins(session, run.workspace_id, thread.id)),
    )


async def _handover(session: AsyncSession, thread: Thread) -> Handover | None:
    """The handover that a thread began with; a branch has it from its top-level thread, like all of its beginning."""
    if thread.depth == 0 and thread.source_thread_id is None:
        return None
    return await handover_into(session, thread.workspace_id, thread.top_id)


async def _late(session: AsyncSession, main: Conversation, line: Conversation) -> tuple[Message, ...]:
    """What people said in a Compare before a line began: its first message stands further down in the main line."""
    first = await entry_at(session, line.id, 1)
    joined = await position_in(session, main.id, first.message.id) if first else None
    if not joined or joined == 1:
        return ()
    before = await entries_between(session, main.id, 1, joined - 1)
    return tuple(e.message for e in before if not e.message.is_answer and not e.message.erased)


def _named_answers(run: Run) -> list[str]:
    """The answers that a Cross Review is of; none for every other run."""
    ids = run.args.get("answers")
    return ids if isinstance(ids, list) else []


async def _spoken(
    session: AsyncSession, thread: Thread, lines: Sequence[Conversation], run: Run
) -> tuple[Spoken, ...]:
    """What models said before: to the same message in a Compare, in the whole conversation in the other modes."""
    if thread.mode is Mode.CHAT:
        return ()
    if thread.mode is Mode.COMPARE:
        # From the answers to their places: an inner join SQLite reads the other way round, in whole conversations.
        rows = await session.execute(
            select(MessageRow.id, EntryRow.conversation_id)
            .outerjoin(
                EntryRow,
                and_(
                    EntryRow.message_id == MessageRow.id,
                    EntryRow.conversation_id.in_([each.id for each in lines]),
                ),
            )
            .where(MessageRow.workspace_id == run.workspace_id, MessageRow.answers_id == run.request_id)
        )
        by_line = {row.conversation_id: row.id for row in rows}
        ids = [by_line[each.id] for each in lines if each.id in by_line]
        return tuple(_to_spoken(m) for m in await find_messages(session, run.workspace_id, ids))
    last = await length(session, lines[0].id)
    entries = await entries_between(session, lines[0].id, max(1, last - MOST_SPOKEN + 1), last)
    return tuple(_to_spoken(entry.message) for entry in entries if entry.message.is_answer)


def _to_spoken(message: Message) -> Spoken:
    return Spoken(
        run_id=message.run_id or RunId(""),
        step=message.step,
        model=message.author.name,
        message_id=MessageId(message.id),
        text=message.text,
        data=message.data,
        cut=message.cut,
    )
