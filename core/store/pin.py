"""Pins of a thread: constraints, decisions, open questions and references that people marked, with their history."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import PersonId, ThreadId, WorkspaceId
from core.domain.pin import Pin, PinKind
from core.ports import Clock
from core.store.tables import PinRow


def to_pin(row: PinRow) -> Pin:
    return Pin(
        id=row.id,
        root_id=row.root_id,
        kind=PinKind(row.kind),
        text=row.text,
        message_id=row.message_id,
        author=row.author_name,
        created_at=row.created_at,
        ended_at=row.ended_at,
        removed=row.removed,
    )


async def pins(session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId) -> list[Pin]:
    """The pins a thread has now, in the order in which they were first marked."""
    rows = await session.scalars(
        select(PinRow)
        .where(PinRow.workspace_id == workspace_id, PinRow.thread_id == thread_id, PinRow.ended_at.is_(None))
        .order_by(PinRow.root_id)
    )
    return [to_pin(row) for row in rows]


async def pins_by_id(session: AsyncSession, workspace_id: WorkspaceId, ids: Sequence[str]) -> list[Pin]:
    """Versions of pins in the order in which they are named; unknown ones are missing."""
    rows = await session.scalars(
        select(PinRow).where(PinRow.workspace_id == workspace_id, PinRow.id.in_(ids))
    )
    found = {row.id: to_pin(row) for row in rows}
    return [found[each] for each in ids if each in found]


async def pin_history(session: AsyncSession, workspace_id: WorkspaceId, root_id: str) -> list[Pin]:
    """Every version of a pin, the first first; the last says whether it was removed."""
    rows = await session.scalars(
        select(PinRow)
        .where(PinRow.workspace_id == workspace_id, PinRow.root_id == root_id)
        .order_by(PinRow.id)
    )
    return [to_pin(row) for row in rows]


async def find_pin(session: AsyncSession, workspace_id: WorkspaceId, pin_id: str) -> PinRow | None:
    return await session.scalar(
        select(PinRow).where(PinRow.workspace_id == workspace_id, PinRow.id == pin_id)
    )


async def do_add_pin(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
    pin: Pin,
    author_id: PersonId | None,
) -> None:
    session.add(
        PinRow(
            id=pin.id,
            workspace_id=workspace_id,
            thread_id=thread_id,
            root_id=pin.root_id,
            kind=pin.kind.value,
            text=pin.text,
            message_id=pin.message_id,
            author_id=author_id,
            author_name=pin.author,
            created_at=pin.created_at,
            ended_at=None,
            ended_by=None,
            removed=False,
        )
    )
    await session.flush()


async def do_end_pin(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    pin_id: str,
    *,
    by: PersonId,
    now: datetime,
    removed: bool,
) -> bool:
    """Mark a version as no longer the present one; False when it was not."""
    changed = await session.execute(
        update(PinRow)
        .where(PinRow.workspace_id == workspace_id, PinRow.id == pin_id, PinRow.ended_at.is_(None))
        .values(ended_at=now, ended_by=by, removed=removed)
    )
    return bool(changed.rowcount)  # type: ignore[attr-defined]


async def do_copy_pins(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    source: ThreadId,
    target: ThreadId,
    *,
    until: datetime,
    clock: Clock,
) -> int:
    """Give a branch the pins its parent had at a moment, as its own; returns how many."""
    rows: Sequence[PinRow] = list(
        await session.scalars(
            select(PinRow)
            .where(
                PinRow.workspace_id == workspace_id,
                PinRow.thread_id == source,
                PinRow.created_at <= until,
                PinRow.ended_at.is_(None) | (PinRow.ended_at > until),
            )
            .order_by(PinRow.root_id)
        )
    )
    for row in rows:
        new_id = clock.new_id()
        session.add(
            PinRow(
                id=new_id,
                workspace_id=workspace_id,
                thread_id=target,
                root_id=new_id,
                kind=row.kind,
                text=row.text,
                message_id=row.message_id,
                author_id=row.author_id,
                author_name=row.author_name,
                created_at=row.created_at,
                ended_at=None,
                ended_by=None,
                removed=False,
            )
        )
    await session.flush()
    return len(rows)
