"""What one turn of a speaker needs, read in one transaction."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import MessageId, RunId
from core.domain.message import Message
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
    arguments (a Cross Review) only those are read, and nothing of their thread.
    """
    thread = await find_thread(session, run.workspace_id, run.thread_id)
    if thread is None:
        return None
    if run.kind in DRAFTS:
        return await _source_turn(
            session,
            run,
            thread,
            model=model,
            context_tokens=context_tokens,
            max_output_tokens=max_output_tokens,
        )
    if run.request_id is None:
        return None
    lines = await conversations(session, run.workspace_id, thread.id)
    conversation = next((each for each in lines if each.line == (line or MAIN_LINE)), lines[0])
    reviewed = await _reviewed(session, run)
    read = await _read(session, run, thread, lines, conversation, reviewed)
    if read is None:
        return None
    request, window, spoken = read
    # A review knows nothing of where its answers come from.
    carried = None if reviewed else await _handover(session, thread)
    return Turn(
        thread=thread,
        conversation=conversation,
        window=window,
        request=request,
        model=model,
        context_tokens=context_tokens,
        max_output_tokens=max_output_tokens,
        vision=vision,
        prompts=run.prompts,
        run_id=run.id,
        line=conversation.line,
        setup=thread.setup,
        args=run.args,
        spoken=spoken,
        late=await _late(session, lines[0], conversation) if thread.mode is Mode.COMPARE else (),
        reviewed=reviewed,
        handover=carried.fields if carried else None,
        handover_id=MessageId(carried.id) if carried else None,
    )


async def _read(
    session: AsyncSession,
    run: Run,
    thread: Thread,
    lines: list[Conversation],
    conversation: Conversation,
    reviewed: Sequence[Spoken],
) -> tuple[Message, Window, tuple[Spoken, ...]] | None:
    """The request, what stands before it and what was said since; None when the request was taken out."""
    if reviewed:
        found = await find_messages(session, run.workspace_id, [reviewed[0].message_id])
        return found[0], NOTHING_BEFORE, ()
    position = await position_of(session, conversation.id, run.request_id) if run.request_id else None
    entry = await entry_at(session, conversation.id, position) if position else None
    if entry is None or position is None:
        return None
    window = await read_window(session, conversation.id, position)
    return entry.message, window, await _spoken(session, thread, lines, run)


async def _source_turn(
    session: AsyncSession,
    run: Run,
    thread: Thread,
    *,
    model: str,
    context_tokens: int,
    max_output_tokens: int,
) -> Turn | None:
    """A thread as the drafting of a handover reads it: to its end, with its pins; None when nobody said anything.

    `request` is the first message of a person; `spoken` holds what models said to the last question of a Compare,
    comparison included, and everything in the other modes.
    """
    lines = await conversations(session, run.workspace_id, thread.id)
    line = lines[0]
    last = await length(session, line.id)
    request = await first_of_person(session, run.workspace_id, line.id)
    if request is None:
        return None
    asked = await last_root_of_person(session, run.workspace_id, line.id)
    carried = await _handover(session, thread)
    return Turn(
        thread=thread,
        conversation=line,
        window=await read_window(session, line.id, last + 1),
        request=request,
        model=model,
        context_tokens=context_tokens,
        max_output_tokens=max_output_tokens,
        vision=False,
        prompts=run.prompts,
        run_id=run.id,
        line=line.line,
        setup=thread.setup,
        args=run.args,
        spoken=await _spoken(session, thread, lines, replace(run, request_id=asked)),
        handover=carried.fields if carried else None,
        handover_id=MessageId(carried.id) if carried else None,
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


async def _reviewed(session: AsyncSession, run: Run) -> tuple[Spoken, ...]:
    ids = run.args.get("answers")
    if not isinstance(ids, list):
        return ()
    return tuple(_to_spoken(m) for m in await find_messages(session, run.workspace_id, ids))


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
