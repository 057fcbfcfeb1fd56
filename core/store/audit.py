"""The audit log and the notices of a thread. Audit rows are only ever added; a trigger of the database sees to it."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import PersonId, ThreadId, WorkspaceId
from core.ports import Clock
from core.store.tables import AuditRow, NoticeRow


async def do_audit(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    *,
    actor_id: PersonId | None,
    action: str,
    subject_id: str,
    clock: Clock,
    reason: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record who did what to which row, and why. `details` holds ids, numbers and hashes, never content."""
    session.add(
        AuditRow(
            id=clock.new_id(),
            workspace_id=workspace_id,
            actor_id=actor_id,
            action=action,
            subject_id=subject_id,
            reason=reason,
            details=dict(details or {}),
            created_at=clock.now(),
        )
    )
    await session.flush()


async def do_notice(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
    key: str,
    fields: Mapping[str, Any],
    *,
    clock: Clock,
    link: ThreadId | None = None,
) -> str:
    """Leave a line of the product in a thread; returns its id."""
    notice_id = clock.new_id()
    session.add(
        NoticeRow(
            id=notice_id,
            workspace_id=workspace_id,
            thread_id=thread_id,
            key=key,
            fields=dict(fields),
            link_id=link,
            created_at=clock.now(),
        )
    )
    await session.flush()
    return notice_id


async def notices(session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId) -> list[NoticeRow]:
    """The notices of a thread, oldest first."""
    rows = await session.scalars(
        select(NoticeRow)
        .where(NoticeRow.workspace_id == workspace_id, NoticeRow.thread_id == thread_id)
        .order_by(NoticeRow.id)
    )
    return list(rows)
