"""What people hold of answers."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.feedback import Feedback, Thumb
from core.domain.ids import PersonId, ThreadId, WorkspaceId
from core.store.claim import insert_or_ignore
from core.store.tables import FeedbackRow, MessageRow, PersonRow


async def thumbs_of(
    session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId, message_ids: Collection[str]
) -> dict[str, Thumb]:
    """What one person holds of these answers, by answer; those without feedback are missing."""
    rows = await session.scalars(
        select(FeedbackRow).where(
            FeedbackRow.workspace_id == workspace_id,
            FeedbackRow.person_id == person_id,
            FeedbackRow.message_id.in_(message_ids),
        )
    )
    return {row.message_id: Thumb(row.thumb) for row in rows}


async def feedback_in(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId
) -> list[Feedback]:
    """All feedback on answers that were given in a thread, the oldest first."""
    rows = await session.execute(
        select(FeedbackRow, PersonRow.name)
        .join(MessageRow, MessageRow.id == FeedbackRow.message_id)
        .join(PersonRow, PersonRow.id == FeedbackRow.person_id)
        .where(FeedbackRow.workspace_id == workspace_id, MessageRow.thread_id == thread_id)
        .order_by(FeedbackRow.updated_at, FeedbackRow.person_id)
    )
    return [
        Feedback(
            message_id=row.message_id,
            person=name,
            thumb=Thumb(row.thumb),
            comment=row.comment,
            updated_at=row.updated_at,
        )
        for row, name in rows
    ]


async def do_give_feedback(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    person_id: PersonId,
    message_id: str,
    thumb: Thumb,
    *,
    comment: str | None,
    now: datetime,
) -> None:
    """Put a person's feedback in the place of what they gave before; `comment` None keeps theirs on the same thumb."""
    row = await _row(session, workspace_id, person_id, message_id)
    if row is None:
        made = insert_or_ignore(session, FeedbackRow).values(
            message_id=message_id,
            person_id=person_id,
            workspace_id=workspace_id,
            thumb=thumb.value,
            comment=comment or "",
            updated_at=now,
        )
        if (await session.execute(made)).rowcount:  # type: ignore[attr-defined]
            return
        # The same person pressed twice at once, and the other press was first.
        row = await _row(session, workspace_id, person_id, message_id)
    if row is not None:
        kept = row.comment if row.thumb == thumb else ""
        row.thumb, row.comment, row.updated_at = thumb.value, kept if comment is None else comment, now


async def do_withdraw_feedback(
    session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId, message_id: str
) -> None:
    await session.execute(
        delete(FeedbackRow).where(
            FeedbackRow.workspace_id == workspace_id,
            FeedbackRow.person_id == person_id,
            FeedbackRow.message_id == message_id,
        )
    )


async def _row(
    session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId, message_id: str
) -> FeedbackRow | None:
    return await session.scalar(
        select(FeedbackRow)
        .where(
            FeedbackRow.workspace_id == workspace_id,
            FeedbackRow.person_id == person_id,
            FeedbackRow.message_id == message_id,
        )
        .with_for_update()
    )
