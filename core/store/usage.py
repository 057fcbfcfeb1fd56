"""Calls, tokens and cost, added up from the receipts and from the results of evaluations."""

from datetime import datetime

from sqlalchemy import Subquery, and_, case, func, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import WorkspaceId
from core.domain.thread import Mode
from core.domain.view import UsageLine
from core.store.tables import EvalResultRow, EvalRunRow, PersonRow, ReceiptRow, ThreadRow


async def usage_by(
    session: AsyncSession, workspace_id: WorkspaceId, since: datetime, *, by: str
) -> tuple[UsageLine, ...]:
    """One line a day (`day`, oldest first), a model (`model`) or a person (`person`), the costliest first.

    Candidates of a Compare that is still blind are one model without a name. Evaluations that the operator started
    have no person and are missing by `person`.
    """
    calls = _calls(workspace_id, since)
    labels = {"day": func.date(calls.c.created_at), "model": calls.c.model, "person": PersonRow.name}
    label = labels[by]
    cost = func.coalesce(func.sum(calls.c.cost_usd), 0.0)
    query = (
        select(
            label,
            func.count(),
            func.coalesce(func.sum(calls.c.input_tokens), 0),
            func.coalesce(func.sum(calls.c.output_tokens), 0),
            cost,
            func.count() - func.count(calls.c.cost_usd),
        )
        .select_from(calls)
        .group_by(label if by != "person" else PersonRow.id)
    )
    if by == "person":
        query = query.join(PersonRow, PersonRow.id == calls.c.person_id).group_by(PersonRow.name)
    rows = await session.execute(query.order_by(label if by == "day" else cost.desc()))
    return tuple(
        UsageLine(
            label=str(name),
            calls=calls,
            input_tokens=int(sent),
            output_tokens=int(received),
            cost_usd=float(usd),
            unpriced_calls=unpriced,
        )
        for name, calls, sent, received, usd, unpriced in rows
    )


def _calls(workspace_id: WorkspaceId, since: datetime) -> Subquery:
    """Every call of a workspace since a moment, whatever it was for."""
    blind = select(ThreadRow.id).where(
        ThreadRow.workspace_id == workspace_id,
        ThreadRow.mode == Mode.COMPARE.value,
        ThreadRow.setup["blind"].as_boolean(),
    )
    hidden = and_(ReceiptRow.step.startswith("answer:"), ReceiptRow.thread_id.in_(blind))
    return union_all(
        select(
            ReceiptRow.created_at,
            case((hidden, ""), else_=ReceiptRow.model).label("model"),
            ReceiptRow.person_id,
            ReceiptRow.input_tokens,
            ReceiptRow.output_tokens,
            ReceiptRow.cost_usd,
        ).where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.created_at >= since),
        select(
            EvalResultRow.created_at,
            EvalResultRow.model,
            EvalRunRow.started_by,
            EvalResultRow.input_tokens,
            EvalResultRow.output_tokens,
            EvalResultRow.cost_usd,
        )
        .join(EvalRunRow, EvalRunRow.id == EvalResultRow.run_id)
        .where(
            EvalResultRow.workspace_id == workspace_id,
            EvalResultRow.created_at >= since,
            EvalResultRow.input_sha256 != "",
        ),
    ).subquery()
