"""Messages, and the ordered references to them that make a conversation.

Positions count from 1 without gaps. Inserting or removing shifts the later entries; that is cheap, because it happens
near the end, and it keeps "the last 20" and "how many before" a matter of arithmetic in a thread of any length.
"""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Select, and_, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import AttachmentId, ConversationId, MessageId, PersonId, RunId, ThreadId, WorkspaceId
from core.domain.message import Attachment, Author, AuthorKind, Cut, Entry, Message
from core.modes.cross_review import KIND as CROSS_REVIEW
from core.ports import Window
from core.store.claim import insert_or_ignore
from core.store.tables import (
    AttachmentRow,
    ConversationRow,
    EntryRow,
    FileRow,
    MessageRow,
    RunRow,
    StepRow,
    ThreadRow,
)

WINDOW_MESSAGES = 20
"""Most messages of history that one AI input can hold (spec §4); the window never reads more."""

ASIDE = 1_000_000_000
"""Added to positions while they shift, so that no two entries meet on the way."""


def to_message(row: MessageRow, attachments: Sequence[Attachment] = ()) -> Message:
    return Message(
        id=MessageId(row.id),
        thread_id=ThreadId(row.thread_id),
        author=Author(
            kind=AuthorKind(row.author_kind),
            name=row.author_name,
            person_id=PersonId(row.author_id) if row.author_id else None,
        ),
        text=row.text,
        created_at=row.created_at,
        attachments=tuple(attachments),
        run_id=RunId(row.run_id) if row.run_id else None,
        answers_id=MessageId(row.answers_id) if row.answers_id else None,
        step=row.step,
        data=row.data,
        cut=Cut(row.cut),
        external_id=row.external_id,
        erased=row.erased,
    )


async def with_attachments(session: AsyncSession, rows: Sequence[MessageRow]) -> list[Message]:
    """The messages of some rows, in the same order, with what is attached to them."""
    ids = [row.id for row in rows if row.has_attachments]
    found: dict[str, list[Attachment]] = defaultdict(list)
    if ids:
        query = select(AttachmentRow).where(AttachmentRow.message_id.in_(ids)).order_by(AttachmentRow.ordinal)
        for row in await session.scalars(query):
            found[row.message_id].append(
                Attachment(
                    id=AttachmentId(row.id),
                    name=row.name,
                    media_type=row.media_type,
                    size_bytes=row.size_bytes,
                    sha256=row.sha256,
                    text=row.text,
                    problem=row.problem,
                )
            )
    return [to_message(row, found[row.id]) for row in rows]


async def do_add_message(
    session: AsyncSession, workspace_id: WorkspaceId, message: Message, *, root_id: MessageId | None = None
) -> MessageRow:
    """Store a message row with its attachments' rows. `root_id` names the first version when this is an edit."""
    added = MessageRow(
        id=message.id,
        workspace_id=workspace_id,
        thread_id=message.thread_id,
        root_id=root_id or message.id,
        author_kind=message.author.kind.value,
        author_id=message.author.person_id,
        author_name=message.author.name,
        text=message.text,
        external_id=message.external_id,
        run_id=message.run_id,
        answers_id=message.answers_id,
        step=message.step,
        data=dict(message.data) if message.data is not None else None,
        cut=message.cut.value,
        has_attachments=bool(message.attachments),
        erased=False,
        created_at=message.created_at,
    )
    session.add(added)
    await session.flush()
    for ordinal, attachment in enumerate(message.attachments):
        session.add(
            AttachmentRow(
                id=attachment.id,
                workspace_id=workspace_id,
                message_id=message.id,
                ordinal=ordinal,
                name=attachment.name,
                media_type=attachment.media_type,
                size_bytes=attachment.size_bytes,
                sha256=attachment.sha256,
                text=attachment.text,
                problem=attachment.problem,
            )
        )
    await session.flush()
    return added


async def do_keep_file(session: AsyncSession, workspace_id: WorkspaceId, sha256: str, data: bytes) -> None:
    await session.execute(
        insert_or_ignore(session, FileRow).values(workspace_id=workspace_id, sha256=sha256, data=data)
    )


async def file_bytes(session: AsyncSession, workspace_id: WorkspaceId, sha256: str) -> bytes | None:
    return await session.scalar(
        select(FileRow.data).where(FileRow.workspace_id == workspace_id, FileRow.sha256 == sha256)
    )


async def length(session: AsyncSession, conversation_id: ConversationId) -> int:
    """How many messages a conversation holds."""
    last = await session.scalar(
        select(func.max(EntryRow.position)).where(EntryRow.conversation_id == conversation_id)
    )
    return last or 0


async def do_lock(session: AsyncSession, workspace_id: WorkspaceId, conversation_id: ConversationId) -> None:
    """Hold a conversation against other writers until the transaction ends (on SQLite the transaction itself does).

    Whatever writes to a conversation does this first. Raises NoResultFound when the workspace has no such one.
    """
    held = select(ConversationRow.id).where(
        ConversationRow.workspace_id == workspace_id, ConversationRow.id == conversation_id
    )
    (await session.scalars(held.with_for_update())).one()


async def do_append(
    session: AsyncSession, workspace_id: WorkspaceId, conversation_id: ConversationId, message_id: MessageId
) -> int:
    """Put a message at the end; returns its position."""
    await do_lock(session, workspace_id, conversation_id)
    position = await length(session, conversation_id) + 1
    await _do_put(session, workspace_id, conversation_id, position, message_id)
    return position


async def do_place_answer(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    conversation_id: ConversationId,
    answer: MessageRow,
    *,
    replaces: bool,
) -> int:
    """Put an answer behind the message it answers and behind earlier turns of its run; returns its position.

    With `replaces` it takes the place of an earlier answer to the same message. Messages that people wrote meanwhile
    move behind it, so that each is answered in its turn. When the message it answers was taken out, the answer goes
    where that stood.
    """
    await do_lock(session, workspace_id, conversation_id)
    asked = (
        await position_of(session, conversation_id, MessageId(answer.answers_id))
        if answer.answers_id
        else None
    )
    if asked is None:
        behind = await _last_before(session, conversation_id, answer.answers_id or answer.id)
        return await _do_insert(session, workspace_id, conversation_id, behind, MessageId(answer.id))
    following = await session.scalar(
        select(MessageRow)
        .join(EntryRow, EntryRow.message_id == MessageRow.id)
        .where(EntryRow.conversation_id == conversation_id, EntryRow.position == asked + 1)
    )
    if replaces and following is not None and following.answers_id == answer.answers_id:
        await do_replace(
            session, workspace_id, conversation_id, MessageId(following.id), MessageId(answer.id)
        )
        return asked + 1
    behind = await _last_before_turn(session, conversation_id, answer) or asked
    return await _do_insert(session, workspace_id, conversation_id, behind, MessageId(answer.id))


async def _do_insert(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    conversation_id: ConversationId,
    behind: int,
    message_id: MessageId,
) -> int:
    await _do_shift(session, conversation_id, above=behind, by=1)
    await _do_put(session, workspace_id, conversation_id, behind + 1, message_id)
    return behind + 1


async def _last_before(session: AsyncSession, conversation_id: ConversationId, root_id: str) -> int:
    """Position of the last entry before the first message of a person that came after the message `root_id`."""
    later = await session.scalar(
        select(func.min(EntryRow.position))
        .join(MessageRow, MessageRow.id == EntryRow.message_id)
        .where(
            EntryRow.conversation_id == conversation_id,
            MessageRow.author_kind == AuthorKind.PERSON.value,
            MessageRow.root_id > root_id,
        )
    )
    return later - 1 if later else await length(session, conversation_id)


async def _last_before_turn(
    session: AsyncSession, conversation_id: ConversationId, answer: MessageRow
) -> int | None:
    """Position of the last answer to the same message that is no later turn of the same run.

    Turns that speak side by side end in any order; they stand in the order in which they are shown.
    """
    ordinal = (
        select(StepRow.ordinal)
        .where(StepRow.run_id == answer.run_id, StepRow.step == answer.step)
        .scalar_subquery()
    )
    later = (
        select(StepRow.step)
        .where(
            StepRow.run_id == answer.run_id,
            MessageRow.run_id == answer.run_id,
            StepRow.step == MessageRow.step,
            StepRow.ordinal > ordinal,
        )
        .exists()
    )
    # From the answers to their places, as in `position_of`.
    return await session.scalar(
        select(func.max(EntryRow.position))
        .select_from(MessageRow)
        .outerjoin(
            EntryRow,
            and_(EntryRow.message_id == MessageRow.id, EntryRow.conversation_id == conversation_id),
        )
        .where(MessageRow.answers_id == answer.answers_id, ~later)
    )


async def do_replace(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    conversation_id: ConversationId,
    old_id: MessageId,
    new_id: MessageId,
) -> bool:
    """Put one message in another's place; False when the other does not stand in this conversation."""
    await do_lock(session, workspace_id, conversation_id)
    changed = await session.execute(
        update(EntryRow)
        .where(EntryRow.conversation_id == conversation_id, EntryRow.message_id == old_id)
        .values(message_id=new_id)
    )
    return bool(changed.rowcount)  # type: ignore[attr-defined]


async def do_remove(
    session: AsyncSession, workspace_id: WorkspaceId, conversation_id: ConversationId, message_id: MessageId
) -> bool:
    """Take a message out and close the gap; False when it does not stand in this conversation."""
    await do_lock(session, workspace_id, conversation_id)
    position = await session.scalar(
        select(EntryRow.position).where(
            EntryRow.conversation_id == conversation_id, EntryRow.message_id == message_id
        )
    )
    if position is None:
        return False
    await session.execute(
        delete(EntryRow).where(EntryRow.conversation_id == conversation_id, EntryRow.position == position)
    )
    await _do_shift(session, conversation_id, above=position, by=-1)
    return True


async def _do_put(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    conversation_id: ConversationId,
    position: int,
    message_id: MessageId,
) -> None:
    session.add(
        EntryRow(
            conversation_id=conversation_id,
            position=position,
            message_id=message_id,
            workspace_id=workspace_id,
        )
    )
    await session.flush()


async def _do_shift(session: AsyncSession, conversation_id: ConversationId, *, above: int, by: int) -> None:
    mine = EntryRow.conversation_id == conversation_id
    options = {"synchronize_session": False}
    await session.execute(
        update(EntryRow)
        .where(mine, EntryRow.position > above)
        .values(position=EntryRow.position + ASIDE)
        .execution_options(**options)
    )
    await session.execute(
        update(EntryRow)
        .where(mine, EntryRow.position > ASIDE)
        .values(position=EntryRow.position - ASIDE + by)
        .execution_options(**options)
    )


async def position_of(
    session: AsyncSession, conversation_id: ConversationId, root_id: MessageId
) -> int | None:
    """Where the present version of a message stands; None when it was taken out."""
    # From the message's versions to their places: SQLite reads an inner join the other way round, which is the whole
    # conversation.
    return await session.scalar(
        select(func.max(EntryRow.position))
        .select_from(MessageRow)
        .outerjoin(
            EntryRow,
            and_(EntryRow.message_id == MessageRow.id, EntryRow.conversation_id == conversation_id),
        )
        .where(MessageRow.root_id == root_id)
    )


async def position_in(
    session: AsyncSession, conversation_id: ConversationId, message_id: MessageId
) -> int | None:
    """Where exactly this version of a message stands; None when it does not."""
    return await session.scalar(
        select(EntryRow.position).where(
            EntryRow.conversation_id == conversation_id, EntryRow.message_id == message_id
        )
    )


async def entry_at(session: AsyncSession, conversation_id: ConversationId, position: int) -> Entry | None:
    entries = await entries_between(session, conversation_id, position, position)
    return entries[0] if entries else None


async def entries_between(
    session: AsyncSession, conversation_id: ConversationId, first: int, last: int
) -> list[Entry]:
    """Entries from `first` to `last`, both included, in order."""
    rows = (
        await session.execute(
            select(EntryRow.position, MessageRow)
            .join(MessageRow, MessageRow.id == EntryRow.message_id)
            .where(EntryRow.conversation_id == conversation_id, EntryRow.position.between(first, last))
            .order_by(EntryRow.position)
        )
    ).all()
    messages = await with_attachments(session, [row for _, row in rows])
    return [
        Entry(position=position, message=message)
        for (position, _), message in zip(rows, messages, strict=True)
    ]


async def read_window(
    session: AsyncSession, conversation_id: ConversationId, request_position: int
) -> Window:
    """The piece of a conversation that an AI input for the message at `request_position` can draw on (spec §4)."""
    before = request_position - 1
    oldest = max(1, before - WINDOW_MESSAGES + 1)
    recent = await entries_between(session, conversation_id, oldest, before)
    first = await entry_at(session, conversation_id, 1) if oldest > 1 else None
    return Window(first=first, recent=tuple(recent), total_before_request=before)


async def find_message(
    session: AsyncSession, workspace_id: WorkspaceId, message_id: str
) -> MessageRow | None:
    return await session.scalar(
        select(MessageRow).where(MessageRow.workspace_id == workspace_id, MessageRow.id == message_id)
    )


async def find_messages(
    session: AsyncSession, workspace_id: WorkspaceId, message_ids: Sequence[str]
) -> list[Message]:
    """Messages by id, in the order in which they were named; unknown ones are missing."""
    rows = await session.scalars(
        select(MessageRow).where(MessageRow.workspace_id == workspace_id, MessageRow.id.in_(message_ids))
    )
    by_id = {row.id: row for row in rows}
    return await with_attachments(session, [by_id[each] for each in message_ids if each in by_id])


async def find_external_in_channel(
    session: AsyncSession, workspace_id: WorkspaceId, channel: str, external_id: str
) -> MessageRow | None:
    """The newest version of a platform's message in a channel."""
    return await session.scalar(
        select(MessageRow)
        .join(ThreadRow, ThreadRow.id == MessageRow.thread_id)
        .where(
            MessageRow.workspace_id == workspace_id,
            MessageRow.external_id == external_id,
            MessageRow.author_kind != AuthorKind.MODEL.value,
            ThreadRow.channel == channel,
        )
        .order_by(MessageRow.id.desc())
        .limit(1)
    )


async def answer_of(session: AsyncSession, workspace_id: WorkspaceId, run_id: RunId) -> MessageRow | None:
    """The newest answer that a run has stored."""
    return await session.scalar(
        select(MessageRow)
        .where(MessageRow.workspace_id == workspace_id, MessageRow.run_id == run_id)
        .order_by(MessageRow.id.desc())
        .limit(1)
    )


async def latest_version(session: AsyncSession, root_id: MessageId) -> MessageRow | None:
    return await session.scalar(
        select(MessageRow).where(MessageRow.root_id == root_id).order_by(MessageRow.id.desc()).limit(1)
    )


async def models_of_thread(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId
) -> list[str]:
    """Models that wrote anything a thread shows or have a line in it, inherited answers included, in order of alias.

    Reviewers of answers took no part in the conversation and are not among them.
    """
    wrote = (
        select(StepRow.model)
        .join(RunRow, RunRow.id == StepRow.run_id)
        .where(
            RunRow.workspace_id == workspace_id,
            RunRow.thread_id == thread_id,
            RunRow.kind != CROSS_REVIEW,
        )
    )
    has_line = select(ConversationRow.model).where(
        ConversationRow.workspace_id == workspace_id, ConversationRow.thread_id == thread_id
    )
    stands = (
        select(MessageRow.author_name)
        .join(EntryRow, EntryRow.message_id == MessageRow.id)
        .join(ConversationRow, ConversationRow.id == EntryRow.conversation_id)
        .where(
            ConversationRow.workspace_id == workspace_id,
            ConversationRow.thread_id == thread_id,
            MessageRow.author_kind == AuthorKind.MODEL.value,
        )
    )
    found = [set(await session.scalars(query)) for query in (wrote, has_line, stands)]
    return sorted(set().union(*found))


async def first_of_person(
    session: AsyncSession, workspace_id: WorkspaceId, conversation_id: ConversationId
) -> Message | None:
    """The first message of a person in a conversation."""
    row = await session.scalar(
        _of_persons(workspace_id, conversation_id).order_by(EntryRow.position).limit(1)
    )
    return (await with_attachments(session, [row]))[0] if row else None


async def last_root_of_person(
    session: AsyncSession, workspace_id: WorkspaceId, conversation_id: ConversationId
) -> MessageId | None:
    """Root id of the last message of a person in a conversation."""
    row = await session.scalar(
        _of_persons(workspace_id, conversation_id).order_by(EntryRow.position.desc()).limit(1)
    )
    return MessageId(row.root_id) if row else None


def _of_persons(workspace_id: WorkspaceId, conversation_id: ConversationId) -> Select[MessageRow]:
    return (
        select(MessageRow)
        .join(EntryRow, EntryRow.message_id == MessageRow.id)
        .where(
            EntryRow.workspace_id == workspace_id,
            EntryRow.conversation_id == conversation_id,
            MessageRow.author_kind == AuthorKind.PERSON.value,
        )
    )
