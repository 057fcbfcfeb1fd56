"""Runs: what is to be done, is being done, or was done in a thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import ConversationId, MessageId, PersonId, RunId, ThreadId, WorkspaceId
from core.domain.receipt import PromptRef
from core.domain.view import Phrase
from core.store.budget import do_release
from core.store.tables import RunRow

OPEN = ("queued", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    id: RunId
    workspace_id: WorkspaceId
    thread_id: ThreadId
    kind: str
    status: str
    conversation_id: ConversationId | None
    request_id: MessageId | None
    """Root id of the message to answer."""
    model: str
    prompts: tuple[PromptRef, ...]
    requested_by: PersonId
    failure: Phrase | None
    created_at: datetime
    args: Mapping[str, Any] = field(default_factory=dict)
    """What the run was asked to do beyond answering its request."""


def to_run(row: RunRow) -> Run:
    return Run(
        id=RunId(row.id),
        workspace_id=WorkspaceId(row.workspace_id),
        thread_id=ThreadId(row.thread_id),
        kind=row.kind,
        status=row.status,
        conversation_id=ConversationId(row.conversation_id) if row.conversation_id else None,
        request_id=MessageId(row.request_id) if row.request_id else None,
        model=row.model,
        prompts=tuple(PromptRef(**ref) for ref in row.prompts),
        requested_by=PersonId(row.requested_by),
        failure=Phrase(key=row.failure["key"], fields=row.failure["fields"]) if row.failure else None,
        created_at=row.created_at,
        args=row.args,
    )


async def do_add_run(session: AsyncSession, run: Run) -> None:
    session.add(
        RunRow(
            id=run.id,
            workspace_id=run.workspace_id,
            thread_id=run.thread_id,
            kind=run.kind,
            status=run.status,
            conversation_id=run.conversation_id,
            request_id=run.request_id,
            model=run.model,
            prompts=[{"name": p.name, "version": p.version, "sha256": p.sha256} for p in run.prompts],
            requested_by=run.requested_by,
            args=dict(run.args),
            failure=None,
            created_at=run.created_at,
            finished_at=None,
        )
    )
    await session.flush()


async def find_run(session: AsyncSession, workspace_id: WorkspaceId, run_id: str) -> Run | None:
    row = await session.scalar(select(RunRow).where(RunRow.workspace_id == workspace_id, RunRow.id == run_id))
    return to_run(row) if row else None


async def do_mark(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    run_id: RunId,
    status: str,
    *,
    now: datetime,
    failure: Phrase | None = None,
) -> bool:
    """Move a run on; a run that has ended stays as it ended and holds no money. True when it changed."""
    values: dict[str, object] = {"status": status}
    if status not in OPEN:
        values["finished_at"] = now
    if failure is not None:
        values["failure"] = {"key": failure.key, "fields": dict(failure.fields)}
    changed = await session.execute(
        update(RunRow)
        .where(RunRow.workspace_id == workspace_id, RunRow.id == run_id, RunRow.status.in_(OPEN))
        .values(**values)
    )
    if status not in OPEN:
        await do_release(session, workspace_id, run_id)
    return bool(changed.rowcount)  # type: ignore[attr-defined]


async def open_runs(session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId) -> list[Run]:
    """Runs of a thread that have not ended, oldest first."""
    rows = await session.scalars(
        select(RunRow)
        .where(RunRow.workspace_id == workspace_id, RunRow.thread_id == thread_id, RunRow.status.in_(OPEN))
        .order_by(RunRow.id)
    )
    return [to_run(row) for row in rows]


async def runs_for(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, request_ids: Sequence[str]
) -> list[Run]:
    """Runs of a thread that answer some messages (root ids), oldest first."""
    rows = await session.scalars(
        select(RunRow)
        .where(
            RunRow.workspace_id == workspace_id,
            RunRow.thread_id == thread_id,
            RunRow.request_id.in_(request_ids),
        )
        .order_by(RunRow.id)
    )
    return [to_run(row) for row in rows]


async def last_run(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, kind: str
) -> Run | None:
    """The newest run of a kind in a thread, however it ended."""
    row = await session.scalar(
        select(RunRow)
        .where(RunRow.workspace_id == workspace_id, RunRow.thread_id == thread_id, RunRow.kind == kind)
        .order_by(RunRow.id.desc())
        .limit(1)
    )
    return to_run(row) if row else None


async def runs_by_id(session: AsyncSession, workspace_id: WorkspaceId, run_ids: Sequence[str]) -> list[Run]:
    rows = await session.scalars(
        select(RunRow).where(RunRow.workspace_id == workspace_id, RunRow.id.in_(run_ids))
    )
    return [to_run(row) for row in rows]


async def left_behind(session: AsyncSession, before: datetime, limit: int) -> list[Run]:
    """Open runs of all workspaces stored before a moment, oldest first: the engine may not have heard of them."""
    rows = await session.scalars(
        select(RunRow)
        .where(RunRow.status.in_(OPEN), RunRow.created_at < before)
        .order_by(RunRow.created_at)
        .limit(limit)
    )
    return [to_run(row) for row in rows]
