"""Threads and their conversations: adding, finding, listing, branching."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Select, and_, func, insert, literal, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import ConversationId, MessageId, PersonId, ThreadId, WorkspaceId
from core.domain.thread import Conversation, Mode, Place, Status, Thread
from core.ports import Clock
from core.store.claim import insert_or_ignore
from core.store.tables import ConversationRow, EntryRow, MessageRow, RunRow, ThreadRow

OPEN_RUN = ("queued", "running")


def to_thread(row: ThreadRow) -> Thread:
    return Thread(
        id=ThreadId(row.id),
        workspace_id=WorkspaceId(row.workspace_id),
        place=Place(platform=row.platform, channel=row.channel, thread=row.place or ""),
        mode=Mode(row.mode),
        title=row.title,
        owner_id=PersonId(row.owner_id),
        locale=row.locale,
        parent_id=ThreadId(row.parent_id) if row.parent_id else None,
        top_id=ThreadId(row.top_id),
        depth=row.depth,
        split_message_id=MessageId(row.split_message_id) if row.split_message_id else None,
        split_position=row.split_position,
        branch_name=row.branch_name,
        branch_reason=row.branch_reason,
        status=Status(row.status),
        created_at=row.created_at,
        setup=row.setup,
        source_thread_id=ThreadId(row.source_thread_id) if row.source_thread_id else None,
    )


def to_conversation(row: ConversationRow) -> Conversation:
    return Conversation(
        id=ConversationId(row.id),
        thread_id=ThreadId(row.thread_id),
        line=row.line,
        model=row.model,
        inherited=row.inherited,
    )


async def find_thread(session: AsyncSession, workspace_id: WorkspaceId, thread_id: str) -> Thread | None:
    row = await session.scalar(
        select(ThreadRow).where(ThreadRow.workspace_id == workspace_id, ThreadRow.id == thread_id)
    )
    return to_thread(row) if row else None


async def thread_anywhere(session: AsyncSession, thread_id: str) -> Thread | None:
    """A thread of whatever workspace, for the operator's own commands only."""
    row = await session.get(ThreadRow, thread_id)
    return to_thread(row) if row else None


async def find_thread_at(session: AsyncSession, workspace_id: WorkspaceId, place: Place) -> Thread | None:
    """The thread that lives at a place of the platform."""
    row = await session.scalar(
        select(ThreadRow).where(
            ThreadRow.workspace_id == workspace_id,
            ThreadRow.channel == place.channel,
            ThreadRow.place == place.thread,
        )
    )
    return to_thread(row) if row else None


async def do_add_thread(session: AsyncSession, thread: Thread) -> bool:
    """Store a thread; False when its place already has one, which another message may have begun just now."""
    added = await session.execute(
        insert_or_ignore(session, ThreadRow).values(
            id=thread.id,
            workspace_id=thread.workspace_id,
            platform=thread.place.platform,
            channel=thread.place.channel,
            place=thread.place.thread or None,
            mode=thread.mode.value,
            title=thread.title,
            owner_id=thread.owner_id,
            locale=thread.locale,
            parent_id=thread.parent_id,
            top_id=thread.top_id,
            depth=thread.depth,
            split_message_id=thread.split_message_id,
            split_position=thread.split_position,
            branch_name=thread.branch_name,
            branch_reason=thread.branch_reason,
            status=thread.status.value,
            setup=dict(thread.setup),
            source_thread_id=thread.source_thread_id,
            created_at=thread.created_at,
        )
    )
    return bool(added.rowcount)  # type: ignore[attr-defined]


async def do_open_at(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, place: Place
) -> None:
    """Record where the platform opened a thread; its channel may have become another one, as of a private thread."""
    row = await session.get_one(ThreadRow, thread_id)
    if row.workspace_id == workspace_id:
        row.channel, row.place = place.channel, place.thread


async def do_rename(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, title: str
) -> None:
    row = await session.get_one(ThreadRow, thread_id)
    if row.workspace_id == workspace_id:
        row.title = title


async def do_set_up(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, setup: Mapping[str, Any]
) -> None:
    """Change what a thread's mode works with from now on."""
    row = await session.get_one(ThreadRow, thread_id)
    if row.workspace_id == workspace_id:
        row.setup = dict(setup)


async def do_add_conversation(
    session: AsyncSession, workspace_id: WorkspaceId, conversation: Conversation
) -> None:
    session.add(
        ConversationRow(
            id=conversation.id,
            workspace_id=workspace_id,
            thread_id=conversation.thread_id,
            line=conversation.line,
            model=conversation.model,
            copied_from_id=None,
            inherited=0,
        )
    )
    await session.flush()


async def conversations(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId
) -> list[Conversation]:
    """The conversations of a thread in the order in which they began."""
    rows = await session.scalars(
        select(ConversationRow)
        .where(ConversationRow.workspace_id == workspace_id, ConversationRow.thread_id == thread_id)
        .order_by(ConversationRow.id)
    )
    return [to_conversation(row) for row in rows]


async def chain(session: AsyncSession, thread: Thread) -> list[Thread]:
    """The thread and those above it, top-level thread first."""
    found = [thread]
    while found[0].parent_id:
        parent = await find_thread(session, thread.workspace_id, found[0].parent_id)
        if parent is None:
            break
        found.insert(0, parent)
    return found


async def list_threads(
    session: AsyncSession, workspace_id: WorkspaceId, channels: Sequence[str]
) -> list[tuple[Thread, bool]]:
    """Threads of some channels, newest first, each with whether a run is open in it."""
    busy = (
        select(RunRow.thread_id)
        .where(RunRow.workspace_id == workspace_id, RunRow.status.in_(OPEN_RUN))
        .distinct()
        .scalar_subquery()
    )
    rows = await session.execute(
        select(ThreadRow, ThreadRow.id.in_(busy))
        .where(ThreadRow.workspace_id == workspace_id, ThreadRow.channel.in_(channels))
        .order_by(ThreadRow.id.desc())
    )
    return [(to_thread(row), bool(is_busy)) for row, is_busy in rows]


async def thread_channels(session: AsyncSession, workspace_id: WorkspaceId, platform: str) -> list[str]:
    """Channels of a platform in which the workspace has threads."""
    rows = await session.scalars(
        select(ThreadRow.channel)
        .where(ThreadRow.workspace_id == workspace_id, ThreadRow.platform == platform)
        .distinct()
        .order_by(ThreadRow.channel)
    )
    return list(rows)


async def do_branch(
    session: AsyncSession,
    parent: Thread,
    branch: Thread,
    *,
    chosen: Conversation,
    upto: int,
    at: int | None = None,
    clock: Clock,
) -> int:
    """Copy `parent` up to position `upto` of its conversation `chosen` into the new thread `branch`.

    The chosen message stands there, or at `at` in a conversation that ends before. From every other conversation come
    the entries up to position `upto` that are not later than the chosen message. The copies are references to the same
    messages, made by one statement; the parent is only read. Returns the number of entries copied.
    """
    await do_add_thread(session, branch)
    lines = await conversations(session, parent.workspace_id, parent.id)
    for line in lines:
        session.add(
            ConversationRow(
                id=clock.new_id(),
                workspace_id=parent.workspace_id,
                thread_id=branch.id,
                line=line.line,
                model=line.model,
                copied_from_id=line.id,
                inherited=0,
            )
        )
    await session.flush()
    copied = await session.execute(
        insert(EntryRow).from_select(
            ["conversation_id", "position", "message_id", "workspace_id"],
            _inherited(parent, branch, chosen=chosen, at=at or upto, upto=upto, alone=len(lines) == 1),
        ),
        execution_options={"preserve_rowcount": True},
    )
    # Positions have no gaps, so the last one is the number copied; the index answers it without counting.
    await session.execute(
        update(ConversationRow)
        .where(ConversationRow.thread_id == branch.id)
        .values(
            inherited=func.coalesce(
                select(func.max(EntryRow.position))
                .where(EntryRow.conversation_id == ConversationRow.id)
                .scalar_subquery(),
                0,
            )
        )
        .execution_options(synchronize_session=False)
    )
    return int(copied.rowcount)  # type: ignore[attr-defined]


def _inherited(
    parent: Thread, branch: Thread, *, chosen: Conversation, at: int, upto: int, alone: bool
) -> Select[str, int, str, WorkspaceId]:
    """The references that a branch begins with, one row for each entry."""
    split_at = (
        select(MessageRow.created_at)
        .join(EntryRow, EntryRow.message_id == MessageRow.id)
        .where(EntryRow.conversation_id == chosen.id, EntryRow.position == at)
        .scalar_subquery()
    )
    not_later = (
        select(MessageRow.id)
        .where(MessageRow.id == EntryRow.message_id, MessageRow.created_at <= split_at)
        .exists()
    )
    # A late answer that stays behind leaves a gap in its conversation; where there is but one, none can be left.
    number = func.row_number().over(partition_by=ConversationRow.id, order_by=EntryRow.position)
    position = EntryRow.position if alone else number
    return (
        select(ConversationRow.id, position, EntryRow.message_id, literal(parent.workspace_id))
        .join(EntryRow, EntryRow.conversation_id == ConversationRow.copied_from_id)
        .where(
            ConversationRow.thread_id == branch.id,
            EntryRow.position <= upto,
            or_(EntryRow.conversation_id == chosen.id, not_later),
        )
    )


async def unopened_branch(
    session: AsyncSession, parent: Thread, *, owner_id: PersonId, split: tuple[MessageId | None, int]
) -> Thread | None:
    """The owner's newest branch at this message and position whose thread does not stand on the platform."""
    row = await session.scalar(
        select(ThreadRow)
        .where(
            ThreadRow.workspace_id == parent.workspace_id,
            ThreadRow.parent_id == parent.id,
            ThreadRow.owner_id == owner_id,
            ThreadRow.split_message_id == split[0],
            ThreadRow.split_position == split[1],
            ThreadRow.place.is_(None),
        )
        .order_by(ThreadRow.id.desc())
        .limit(1)
    )
    return to_thread(row) if row else None


async def count_branches(session: AsyncSession, parent: Thread) -> int:
    """How many branches a thread has."""
    counted = await session.scalar(
        select(func.count())
        .select_from(ThreadRow)
        .where(and_(ThreadRow.workspace_id == parent.workspace_id, ThreadRow.parent_id == parent.id))
    )
    return counted or 0
