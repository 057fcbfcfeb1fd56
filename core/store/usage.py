"""Calls, tokens and cost, added up from the receipts."""

from datetime import datetime

from sqlalchemy import and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import WorkspaceId
from core.domain.thread import Mode
from core.domain.view import UsageLine
from core.store.tables import PersonRow, ReceiptRow, ThreadRow


async def usage_by(
    session: AsyncSession, workspace_id: WorkspaceId, since: datetime, *, by: str
) -> tuple[UsageLine, ...]:
    """One line a day (`day`, oldest first), a model (`model`) or a person (`person`), the costliest first.

    Candidates of a Compare that is still blind are one model without a name.
    """
    blind = select(ThreadRow.id).where(
        ThreadRow.workspace_id == workspace_id,
        ThreadRow.mode == Mode.COMPARE.value,
        ThreadRow.setup["blind"].as_boolean(),
    )
    hidden = and_(ReceiptRow.step.startswith("answer:"), ReceiptRow.thread_id.in_(blind))
    labels = {
        "day": func.date(ReceiptRow.created_at),
        "model": case((hidden, ""), else_=ReceiptRow.model),
        "person": PersonRow.name,
    }
    label = labels[by]
    cost = func.coalesce(func.sum(ReceiptRow.cost_usd), 0.0)
    query = (
        select(
            label,
            func.count(),
            func.coalesce(func.sum(ReceiptRow.input_tokens), 0),
            func.coalesce(func.sum(ReceiptRow.output_tokens), 0),
            cost,
            func.count() - func.count(ReceiptRow.cost_usd),
        )
        .where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.created_at >= since)
        .group_by(label if by != "person" else PersonRow.id)
    )
    if by == "person":
        query = query.join(PersonRow, PersonRow.id == ReceiptRow.person_id).group_by(PersonRow.name)
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
