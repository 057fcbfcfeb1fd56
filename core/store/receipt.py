"""Receipts, and the answers they belong to: both are stored in one transaction, keyed by (run, step)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import MessageId, PersonId, ReceiptId, RunId, ThreadId, WorkspaceId
from core.domain.receipt import (
    AiInput,
    CapApplied,
    Finish,
    InputImage,
    InputPart,
    Omission,
    Origin,
    PromptRef,
    Receipt,
    Role,
    Usage,
)
from core.store.tables import ReceiptPartRow, ReceiptRow


async def do_add_receipt(
    session: AsyncSession, workspace_id: WorkspaceId, receipt: Receipt, person_id: PersonId
) -> None:
    """Store a receipt with its parts. Raises IntegrityError when (run, step) already has one."""
    ai_input, usage = receipt.ai_input, receipt.usage
    session.add(
        ReceiptRow(
            id=receipt.id,
            workspace_id=workspace_id,
            thread_id=receipt.thread_id,
            run_id=receipt.run_id,
            step=receipt.step,
            person_id=person_id,
            answer_id=receipt.answer_id,
            model=receipt.model,
            model_id=receipt.model_id,
            reported_model_id=receipt.reported_model_id,
            prompts=[{"name": p.name, "version": p.version, "sha256": p.sha256} for p in ai_input.prompts],
            caps=[{"name": c.name, "limit": c.limit, "had": c.had, "kept": c.kept} for c in ai_input.caps],
            omissions=[{"what": o.what, "count": o.count} for o in ai_input.omissions],
            params=dict(ai_input.params),
            input_sha256=receipt.input_sha256,
            estimate_tokens=ai_input.estimate_tokens,
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            tokens_estimated=usage.estimated if usage else True,
            cost_usd=usage.cost_usd if usage else None,
            finish=receipt.finish.value,
            failure=receipt.failure,
            output_schema=dict(ai_input.output_schema) if ai_input.output_schema is not None else None,
            shared_sha256=ai_input.shared_sha256,
            reasoning=receipt.reasoning,
            duration_s=receipt.duration_s,
            erased=False,
            created_at=receipt.created_at,
        )
    )
    await session.flush()
    await session.execute(
        insert(ReceiptPartRow),
        [_part_values(workspace_id, receipt.id, n, part) for n, part in enumerate(ai_input.parts, start=1)],
    )


def _part_values(
    workspace_id: WorkspaceId, receipt_id: ReceiptId, ordinal: int, part: InputPart
) -> dict[str, Any]:
    return {
        "receipt_id": receipt_id,
        "ordinal": ordinal,
        "workspace_id": workspace_id,
        "role": part.role.value,
        "origin": part.origin.value,
        "message_id": part.message_id,
        "text": part.text,
        "images": [{"name": i.name, "media_type": i.media_type, "sha256": i.sha256} for i in part.images],
    }


async def find_receipt_row(
    session: AsyncSession, workspace_id: WorkspaceId, receipt_id: str
) -> ReceiptRow | None:
    return await session.scalar(
        select(ReceiptRow).where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.id == receipt_id)
    )


async def find_step(
    session: AsyncSession, workspace_id: WorkspaceId, run_id: RunId, step: str
) -> ReceiptRow | None:
    """The receipt of a step that was already done."""
    return await session.scalar(
        select(ReceiptRow).where(
            ReceiptRow.workspace_id == workspace_id, ReceiptRow.run_id == run_id, ReceiptRow.step == step
        )
    )


async def receipt_of_answer(
    session: AsyncSession, workspace_id: WorkspaceId, message_id: str
) -> ReceiptRow | None:
    """The receipt of the call that brought an answer."""
    return await session.scalar(
        select(ReceiptRow)
        .where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.answer_id == message_id)
        .limit(1)
    )


async def receipts_by_id(
    session: AsyncSession, workspace_id: WorkspaceId, receipt_ids: Sequence[str]
) -> dict[str, ReceiptRow]:
    """Receipts by id, without their parts."""
    rows = await session.scalars(
        select(ReceiptRow).where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.id.in_(receipt_ids))
    )
    return {row.id: row for row in rows}


def usage_of(row: ReceiptRow) -> Usage | None:
    if row.input_tokens is None or row.output_tokens is None:
        return None
    return Usage(
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        estimated=row.tokens_estimated,
        cost_usd=row.cost_usd,
    )


async def load_receipt(session: AsyncSession, workspace_id: WorkspaceId, receipt_id: str) -> Receipt | None:
    """A receipt with all its parts in the order in which they were sent."""
    row = await find_receipt_row(session, workspace_id, receipt_id)
    if row is None:
        return None
    parts = await session.scalars(
        select(ReceiptPartRow)
        .where(ReceiptPartRow.workspace_id == workspace_id, ReceiptPartRow.receipt_id == row.id)
        .order_by(ReceiptPartRow.ordinal)
    )
    return Receipt(
        id=ReceiptId(row.id),
        thread_id=ThreadId(row.thread_id),
        run_id=RunId(row.run_id),
        step=row.step,
        answer_id=MessageId(row.answer_id) if row.answer_id else None,
        model=row.model,
        model_id=row.model_id,
        reported_model_id=row.reported_model_id,
        ai_input=AiInput(
            parts=tuple(_to_part(part) for part in parts),
            prompts=tuple(PromptRef(**ref) for ref in row.prompts),
            estimate_tokens=row.estimate_tokens,
            caps=tuple(CapApplied(**cap) for cap in row.caps),
            omissions=tuple(Omission(**omission) for omission in row.omissions),
            params=row.params,
            output_schema=row.output_schema,
            shared_sha256=row.shared_sha256,
        ),
        input_sha256=row.input_sha256,
        usage=usage_of(row),
        finish=Finish(row.finish),
        failure=row.failure,
        reasoning=row.reasoning,
        duration_s=row.duration_s,
        created_at=row.created_at,
        erased=row.erased,
    )


def _to_part(row: ReceiptPartRow) -> InputPart:
    return InputPart(
        role=Role(row.role),
        origin=Origin(row.origin),
        text=row.text,
        message_id=MessageId(row.message_id) if row.message_id else None,
        images=tuple(InputImage(**image) for image in row.images),
    )


async def spent_usd(
    session: AsyncSession, workspace_id: WorkspaceId, since: datetime, *, person_id: PersonId | None = None
) -> float:
    """Known cost of all calls of a workspace, or of those one person asked for, since a moment."""
    query = select(func.coalesce(func.sum(ReceiptRow.cost_usd), 0.0)).where(
        ReceiptRow.workspace_id == workspace_id, ReceiptRow.created_at >= since
    )
    if person_id is not None:
        query = query.where(ReceiptRow.person_id == person_id)
    return float(await session.scalar(query) or 0.0)
