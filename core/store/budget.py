"""Budgets: what is spent this month, what calls under way may still spend, and whether one more fits (spec §14).

A call reserves its estimate before it leaves and gives it back in the transaction that stores its receipt. Whoever
reserves holds the workspace's row, so calls that leave side by side cannot all find the same money unspent.
"""

from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, and_, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from core.domain.errors import Refusal
from core.domain.ids import PersonId, RunId, WorkspaceId
from core.domain.policy import Policy
from core.store.tables import EvalResultRow, EvalRunRow, ReceiptRow, ReservationRow, WorkspaceRow


async def check_budget(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    person_id: PersonId | None,
    policy: Policy,
    *,
    expected_usd: float,
    now: datetime,
) -> None:
    """Return when so much more may be spent this month; raise Refusal with the numbers otherwise.

    Without a person, for the operator's own commands, only the workspace's budget counts.
    """
    for code, budget, person in (
        ("budget_person", policy.budget_person_usd_month, person_id),
        ("budget_workspace", policy.budget_workspace_usd_month, None),
    ):
        if budget is None or (code == "budget_person" and person_id is None):
            continue
        used = await _used_usd(session, workspace_id, now, person_id=person)
        if used + expected_usd > budget:
            raise Refusal(
                code, budget=round(budget, 2), spent=round(used, 4), expected=round(expected_usd, 4)
            )


async def do_reserve(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    run_id: RunId,
    step: str,
    person_id: PersonId,
    policy: Policy,
    *,
    expected_usd: float,
    now: datetime,
) -> None:
    """Hold what a call of a run is expected to cost until `do_release`. Raises Refusal with the numbers.

    A call that is made again after a crash takes over what its earlier try had reserved.
    """
    await do_lock_budget(session, workspace_id)
    await do_release(session, workspace_id, run_id, step=step)
    await check_budget(session, workspace_id, person_id, policy, expected_usd=expected_usd, now=now)
    session.add(
        ReservationRow(
            run_id=run_id,
            step=step,
            workspace_id=workspace_id,
            person_id=person_id,
            usd=expected_usd,
            created_at=now,
        )
    )
    await session.flush()


async def do_lock_budget(session: AsyncSession, workspace_id: WorkspaceId) -> None:
    """Have everybody else who would reserve money of the workspace wait until this transaction ends."""
    await session.execute(
        select(WorkspaceRow.id).where(WorkspaceRow.id == workspace_id).with_for_update(key_share=True)
    )


async def do_release(
    session: AsyncSession, workspace_id: WorkspaceId, run_id: RunId, *, step: str | None = None
) -> None:
    """Give back what a call of a run had reserved, or without `step` what all of its calls had."""
    query = delete(ReservationRow).where(
        ReservationRow.workspace_id == workspace_id, ReservationRow.run_id == run_id
    )
    if step is not None:
        query = query.where(ReservationRow.step == step)
    await session.execute(query.execution_options(synchronize_session=False))


async def _used_usd(
    session: AsyncSession, workspace_id: WorkspaceId, now: datetime, *, person_id: PersonId | None
) -> float:
    """Known cost of this month's calls, those of evaluations too, and what is reserved: of a workspace, or of what
    one person asked for.

    One statement, so that a call which is settled meanwhile counts once.
    """
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    spent = and_(ReceiptRow.workspace_id == workspace_id, ReceiptRow.created_at >= month)
    held = ReservationRow.workspace_id == workspace_id
    evaluated = and_(EvalResultRow.workspace_id == workspace_id, EvalResultRow.created_at >= month)
    evaluating = EvalRunRow.workspace_id == workspace_id
    if person_id is not None:
        spent = and_(spent, ReceiptRow.person_id == person_id)
        held = and_(held, ReservationRow.person_id == person_id)
        theirs = select(EvalRunRow.id).where(EvalRunRow.started_by == person_id)
        evaluated = and_(evaluated, EvalResultRow.run_id.in_(theirs))
        evaluating = and_(evaluating, EvalRunRow.started_by == person_id)
    whole = (
        _sum(ReceiptRow.cost_usd, spent)
        + _sum(ReservationRow.usd, held)
        + _sum(EvalResultRow.cost_usd, evaluated)
        + _sum(EvalRunRow.held_usd, evaluating)
    )
    return float(await session.scalar(select(whole)) or 0.0)


def _sum(
    column: InstrumentedAttribute[float] | InstrumentedAttribute[float | None], where: ColumnElement[bool]
) -> ScalarSelect[float]:
    return select(func.coalesce(func.sum(column), 0.0)).where(where).scalar_subquery()
