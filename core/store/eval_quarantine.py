"""Cases of eval sets that people set aside, and when they count again."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from core.domain.eval_set import HeldCase, QuarantineKind
from core.domain.ids import PersonId, WorkspaceId
from core.store.claim import insert_or_ignore
from core.store.tables import EvalQuarantineRow, PersonRow

_IN_BULK = {"synchronize_session": False}


async def do_hold_case(session: AsyncSession, workspace_id: WorkspaceId, held: HeldCase) -> bool:
    """Set a case aside; False when somebody did already and it still holds."""
    row = EvalQuarantineRow
    await session.execute(
        update(row)
        .where(
            row.workspace_id == workspace_id,
            row.eval_set == held.eval_set,
            row.case_id == held.case_id,
            row.lifted_at.is_(None),
            row.until <= held.since,
        )
        .values(lifted_at=held.since)
        .execution_options(**_IN_BULK)
    )
    values = {
        "id": held.held_id,
        "workspace_id": workspace_id,
        "eval_set": held.eval_set,
        "case_id": held.case_id,
        "kind": held.kind.value,
        "reason": held.reason,
        "owner_id": held.owner_id,
        "created_at": held.since,
        "until": held.until,
        "lifted_at": None,
        "lifted_by": None,
    }
    added = await session.execute(insert_or_ignore(session, EvalQuarantineRow).values(values))
    return bool(added.rowcount)  # type: ignore[attr-defined]


async def do_release_case(
    session: AsyncSession, workspace_id: WorkspaceId, held_id: str, by: PersonId, now: datetime
) -> bool:
    """Have a case count again; False when it does already."""
    row = EvalQuarantineRow
    lifted = await session.execute(
        update(row)
        .where(row.workspace_id == workspace_id, row.id == held_id, row.lifted_at.is_(None), row.until > now)
        .values(lifted_at=now, lifted_by=by)
        .execution_options(**_IN_BULK)
    )
    return bool(lifted.rowcount)  # type: ignore[attr-defined]


async def held_cases(session: AsyncSession, workspace_id: WorkspaceId, eval_set: str) -> list[HeldCase]:
    """Everything that people of the workspace set aside of a set, newest first, whether it holds or not."""
    owner, lifter = aliased(PersonRow), aliased(PersonRow)
    rows = await session.execute(
        select(EvalQuarantineRow, owner.name, lifter.name)
        .join(owner, owner.id == EvalQuarantineRow.owner_id)
        .outerjoin(lifter, lifter.id == EvalQuarantineRow.lifted_by)
        .where(EvalQuarantineRow.workspace_id == workspace_id, EvalQuarantineRow.eval_set == eval_set)
        .order_by(EvalQuarantineRow.id.desc())
    )
    return [
        HeldCase(
            held_id=row.id,
            eval_set=row.eval_set,
            case_id=row.case_id,
            kind=QuarantineKind(row.kind),
            reason=row.reason,
            who=who,
            owner_id=row.owner_id,
            since=row.created_at,
            until=row.until,
            lifted_at=row.lifted_at,
            lifted_by=lifted_by or "",
        )
        for row, who, lifted_by in rows
    ]
