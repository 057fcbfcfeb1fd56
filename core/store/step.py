"""Steps: the turns of the speakers of a run, in order, and how each ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import MessageId, ReceiptId, RunId, ThreadId, WorkspaceId
from core.domain.view import Phrase
from core.store.claim import insert_or_ignore
from core.store.tables import ConversationRow, EntryRow, MessageRow, StepRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    run_id: RunId
    step: str
    ordinal: int
    model: str
    line: str | None
    status: str
    """`running`, `done`, `stopped` or `failed`."""
    failure: Phrase | None = None
    message_id: MessageId | None = None
    receipt_id: ReceiptId | None = None


def to_step(row: StepRow) -> Step:
    return Step(
        run_id=RunId(row.run_id),
        step=row.step,
        ordinal=row.ordinal,
        model=row.model,
        line=row.line,
        status=row.status,
        failure=Phrase(key=row.failure["key"], fields=row.failure["fields"]) if row.failure else None,
        message_id=MessageId(row.message_id) if row.message_id else None,
        receipt_id=ReceiptId(row.receipt_id) if row.receipt_id else None,
    )


async def do_begin_step(session: AsyncSession, workspace_id: WorkspaceId, step: Step) -> None:
    """Store a turn that is about to begin; one that was begun before stays as it is."""
    await session.execute(
        insert_or_ignore(session, StepRow).values(
            run_id=step.run_id,
            step=step.step,
            workspace_id=workspace_id,
            ordinal=step.ordinal,
            model=step.model,
            line=step.line,
            status="running",
            failure=None,
            message_id=None,
            receipt_id=None,
        )
    )


async def do_end_step(session: AsyncSession, workspace_id: WorkspaceId, step: Step) -> None:
    """Record how a turn ended, and what it left."""
    failure = step.failure
    await session.execute(
        update(StepRow)
        .where(StepRow.workspace_id == workspace_id, StepRow.run_id == step.run_id, StepRow.step == step.step)
        .values(
            status=step.status,
            failure={"key": failure.key, "fields": dict(failure.fields)} if failure else None,
            message_id=step.message_id,
            receipt_id=step.receipt_id,
        )
        .execution_options(synchronize_session=False)
    )


async def find_run_step(
    session: AsyncSession, workspace_id: WorkspaceId, run_id: str, step: str
) -> Step | None:
    row = await session.scalar(
        select(StepRow).where(
            StepRow.workspace_id == workspace_id, StepRow.run_id == run_id, StepRow.step == step
        )
    )
    return to_step(row) if row else None


async def steps_of(session: AsyncSession, workspace_id: WorkspaceId, run_ids: Sequence[str]) -> list[Step]:
    """The turns of some runs, run by run in their order."""
    rows = await session.scalars(
        select(StepRow)
        .where(StepRow.workspace_id == workspace_id, StepRow.run_id.in_(run_ids))
        .order_by(StepRow.run_id, StepRow.ordinal)
    )
    return [to_step(row) for row in rows]


async def steps_said(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, *, before: RunId
) -> list[str]:
    """Steps of the answers in a thread's main conversation that are older than a run, oldest first."""
    main = (
        select(ConversationRow.id)
        .where(ConversationRow.workspace_id == workspace_id, ConversationRow.thread_id == thread_id)
        .order_by(ConversationRow.id)
        .limit(1)
        .scalar_subquery()
    )
    rows = await session.scalars(
        select(MessageRow.step)
        .join(EntryRow, EntryRow.message_id == MessageRow.id)
        .where(EntryRow.conversation_id == main, MessageRow.run_id.is_not(None), MessageRow.run_id < before)
        .order_by(EntryRow.position)
    )
    return list(rows)
