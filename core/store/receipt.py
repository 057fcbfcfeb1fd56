"""Receipts, and the answers they belong to: both are stored in one transaction, keyed by (run, step)."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.errors import FailureKind
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
from core.store.step import Step
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
            expired=False,
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


async def receipts_of_run(session: AsyncSession, workspace_id: WorkspaceId, run_id: RunId) -> list[Receipt]:
    """Every receipt of a run with its parts, in the order in which the calls ended."""
    ids = await session.scalars(
        select(ReceiptRow.id)
        .where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.run_id == run_id)
        .order_by(ReceiptRow.id)
    )
    found = [await load_receipt(session, workspace_id, each) for each in ids]
    return [receipt for receipt in found if receipt is not None]


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


async def first_calls(
    session: AsyncSession, workspace_id: WorkspaceId, turns: Sequence[Step]
) -> dict[str, Usage]:
    """What the first calls of turns cost whose malformed output was mended by a second one; by the second's receipt."""
    keys = [(turn.run_id, turn.step) for turn in turns if turn.receipt_id]
    rows = await session.scalars(
        select(ReceiptRow).where(
            ReceiptRow.workspace_id == workspace_id,
            ReceiptRow.run_id.in_({run_id for run_id, _ in keys}),
            ReceiptRow.failure == FailureKind.MALFORMED.value,
        )
    )
    malformed = {(row.run_id, row.step): row for row in rows}
    found: dict[str, Usage] = {}
    for turn in turns:
        row = malformed.get((turn.run_id, turn.step))
        if row is not None and turn.receipt_id and row.id != turn.receipt_id and (usage := usage_of(row)):
            found[turn.receipt_id] = usage
    return found


def together(*usages: Usage | None) -> Usage | None:
    """What several calls cost; None when nothing is known of any. One unknown price makes the sum unknown."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    prices = [usage.cost_usd for usage in known]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in known),
        output_tokens=sum(usage.output_tokens for usage in known),
        estimated=any(usage.estimated for usage in known),
        cost_usd=None if None in prices else sum(price for price in prices if price is not None),
    )


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
        expired=row.expired,
    )


def _to_part(row: ReceiptPartRow) -> InputPart:
    return InputPart(
        role=Role(row.role),
        origin=Origin(row.origin),
        text=row.text,
        message_id=MessageId(row.message_id) if row.message_id else None,
        images=tuple(InputImage(**image) for image in row.images),
    )
