"""Handovers: drafted, edited by a person, sent once into a thread of their own (spec §9)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import MessageId, PersonId, ThreadId, WorkspaceId
from core.domain.setup import Json
from core.domain.thread import Mode
from core.store.tables import HandoverRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    id: str
    workspace_id: WorkspaceId
    source_thread_id: ThreadId
    target_thread_id: ThreadId | None
    target_mode: Mode
    status: str
    """`drafting`, `draft`, `sent` or `dropped`."""
    centre_id: MessageId | None
    draft: Mapping[str, Any]
    fields: Mapping[str, Any]
    person_id: PersonId
    created_at: datetime
    sent_at: datetime | None = None
    form: Mapping[str, Any] = field(default_factory=dict)
    """How the target is to begin, as far as the person has filled it in."""
    delivery: Mapping[str, Any] | None = None
    """What the first calls of the target held of it; None until they were made."""


def to_handover(row: HandoverRow) -> Handover:
    return Handover(
        id=row.id,
        workspace_id=WorkspaceId(row.workspace_id),
        source_thread_id=ThreadId(row.source_thread_id),
        target_thread_id=ThreadId(row.target_thread_id) if row.target_thread_id else None,
        target_mode=Mode(row.target_mode),
        status=row.status,
        centre_id=MessageId(row.centre_id) if row.centre_id else None,
        draft=row.draft,
        fields=row.fields,
        person_id=PersonId(row.person_id),
        created_at=row.created_at,
        sent_at=row.sent_at,
        form=row.form or {},
        delivery=row.delivery,
    )


async def find_handover(
    session: AsyncSession, workspace_id: WorkspaceId, handover_id: str, *, lock: bool = False
) -> Handover | None:
    query = select(HandoverRow).where(HandoverRow.workspace_id == workspace_id, HandoverRow.id == handover_id)
    row = await session.scalar(query.with_for_update() if lock else query)
    return to_handover(row) if row else None


async def handover_into(
    session: AsyncSession, workspace_id: WorkspaceId, target_id: ThreadId
) -> Handover | None:
    """The handover that a thread began with; None for one that began otherwise."""
    row = await session.scalar(
        select(HandoverRow).where(
            HandoverRow.workspace_id == workspace_id, HandoverRow.target_thread_id == target_id
        )
    )
    return to_handover(row) if row else None


async def handovers_of(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId
) -> list[Handover]:
    """Handovers that were sent from a thread or into it, newest first: its handover history."""
    rows = await session.scalars(
        select(HandoverRow)
        .where(
            HandoverRow.workspace_id == workspace_id,
            HandoverRow.status == "sent",
            (HandoverRow.source_thread_id == thread_id) | (HandoverRow.target_thread_id == thread_id),
        )
        .order_by(HandoverRow.id.desc())
    )
    return [to_handover(row) for row in rows]


async def drafts_of(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, person_id: PersonId
) -> list[Handover]:
    """Handovers from a thread that a person began and has not sent, newest first."""
    rows = await session.scalars(
        select(HandoverRow)
        .where(
            HandoverRow.workspace_id == workspace_id,
            HandoverRow.source_thread_id == thread_id,
            HandoverRow.person_id == person_id,
            HandoverRow.status.in_(("drafting", "draft")),
        )
        .order_by(HandoverRow.id.desc())
    )
    return [to_handover(row) for row in rows]


async def do_add_handover(session: AsyncSession, handover: Handover) -> None:
    session.add(
        HandoverRow(
            id=handover.id,
            workspace_id=handover.workspace_id,
            source_thread_id=handover.source_thread_id,
            target_thread_id=handover.target_thread_id,
            target_mode=handover.target_mode.value,
            status=handover.status,
            centre_id=handover.centre_id,
            draft=dict(handover.draft),
            fields=dict(handover.fields),
            person_id=handover.person_id,
            created_at=handover.created_at,
            sent_at=handover.sent_at,
            form=None,
            delivery=None,
        )
    )
    await session.flush()


async def do_keep_draft(
    session: AsyncSession, workspace_id: WorkspaceId, handover_id: str, draft: Mapping[str, Any]
) -> bool:
    """Store what the drafting brought; False when the handover is no longer waiting for it."""
    changed = await session.execute(
        update(HandoverRow)
        .where(
            HandoverRow.workspace_id == workspace_id,
            HandoverRow.id == handover_id,
            HandoverRow.status == "drafting",
        )
        .values(status="draft", draft=dict(draft), fields=dict(draft["fields"]))
        .execution_options(synchronize_session=False)
    )
    return bool(changed.rowcount)  # type: ignore[attr-defined]


async def do_edit_fields(
    session: AsyncSession, workspace_id: WorkspaceId, handover_id: str, fields: Mapping[str, Any]
) -> bool:
    """Store a person's edit; False when the handover was sent or dropped meanwhile."""
    return await _do_edit(session, workspace_id, handover_id, fields=dict(fields))


async def do_edit_form(
    session: AsyncSession, workspace_id: WorkspaceId, handover_id: str, form: Mapping[str, Any]
) -> bool:
    """Store how the target is to begin; False when the handover was sent or dropped meanwhile."""
    return await _do_edit(session, workspace_id, handover_id, form=dict(form))


async def _do_edit(
    session: AsyncSession, workspace_id: WorkspaceId, handover_id: str, **values: Json
) -> bool:
    changed = await session.execute(
        update(HandoverRow)
        .where(
            HandoverRow.workspace_id == workspace_id,
            HandoverRow.id == handover_id,
            HandoverRow.status == "draft",
        )
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    return bool(changed.rowcount)  # type: ignore[attr-defined]


async def do_send(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    handover_id: str,
    *,
    target_id: ThreadId,
    fields: Mapping[str, Any],
    now: datetime,
) -> bool:
    """Mark a draft as sent into a thread; False when it was sent or dropped already."""
    changed = await session.execute(
        update(HandoverRow)
        .where(
            HandoverRow.workspace_id == workspace_id,
            HandoverRow.id == handover_id,
            HandoverRow.status == "draft",
        )
        .values(status="sent", target_thread_id=target_id, fields=dict(fields), sent_at=now)
        .execution_options(synchronize_session=False)
    )
    return bool(changed.rowcount)  # type: ignore[attr-defined]


async def do_keep_delivery(
    session: AsyncSession, workspace_id: WorkspaceId, handover_id: str, found: Mapping[str, Any]
) -> None:
    """Store what the target's first calls held, looked up in their receipts."""
    await session.execute(
        update(HandoverRow)
        .where(HandoverRow.workspace_id == workspace_id, HandoverRow.id == handover_id)
        .values(delivery=dict(found))
        .execution_options(synchronize_session=False)
    )
