"""Artifacts: named results of a thread with versions and where they came from (spec §7)."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.artifact import name_digest
from core.domain.ids import ThreadId, WorkspaceId
from core.domain.message import Author
from core.ports import Clock
from core.store.claim import insert_or_ignore
from core.store.tables import ArtifactRow, ArtifactVersionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """What a version is made of."""

    text: str
    author: Author
    reason: str
    message_id: str | None = None
    receipt_id: str | None = None


async def find_artifact(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
    name: str,
    *,
    lock: bool = False,
) -> ArtifactRow | None:
    """The artifact of this name in any case and width (`name_key`); with `lock` nobody else adds to it meanwhile."""
    query = select(ArtifactRow).where(
        ArtifactRow.workspace_id == workspace_id,
        ArtifactRow.thread_id == thread_id,
        ArtifactRow.name_key == name_digest(name),
    )
    return await session.scalar(query.with_for_update() if lock else query)


async def artifact_by_id(
    session: AsyncSession, workspace_id: WorkspaceId, artifact_id: str
) -> ArtifactRow | None:
    return await session.scalar(
        select(ArtifactRow).where(ArtifactRow.workspace_id == workspace_id, ArtifactRow.id == artifact_id)
    )


async def list_artifacts(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId
) -> list[tuple[ArtifactRow, ArtifactVersionRow]]:
    """The artifacts of a thread by name, each with its newest version."""
    newest = (
        select(ArtifactVersionRow.artifact_id, func.max(ArtifactVersionRow.number).label("number"))
        .where(ArtifactVersionRow.workspace_id == workspace_id)
        .group_by(ArtifactVersionRow.artifact_id)
        .subquery()
    )
    rows = await session.execute(
        select(ArtifactRow, ArtifactVersionRow)
        .join(newest, newest.c.artifact_id == ArtifactRow.id)
        .join(
            ArtifactVersionRow,
            (ArtifactVersionRow.artifact_id == ArtifactRow.id)
            & (ArtifactVersionRow.number == newest.c.number),
        )
        .where(ArtifactRow.workspace_id == workspace_id, ArtifactRow.thread_id == thread_id)
        .order_by(ArtifactRow.name)
    )
    return [(artifact, version) for artifact, version in rows]


async def versions(
    session: AsyncSession, workspace_id: WorkspaceId, artifact_id: str
) -> list[ArtifactVersionRow]:
    """All versions of an artifact, the first first."""
    rows = await session.scalars(
        select(ArtifactVersionRow)
        .where(ArtifactVersionRow.workspace_id == workspace_id, ArtifactVersionRow.artifact_id == artifact_id)
        .order_by(ArtifactVersionRow.number)
    )
    return list(rows)


async def find_version(
    session: AsyncSession, workspace_id: WorkspaceId, version_id: str
) -> ArtifactVersionRow | None:
    return await session.scalar(
        select(ArtifactVersionRow).where(
            ArtifactVersionRow.workspace_id == workspace_id, ArtifactVersionRow.id == version_id
        )
    )


async def do_add_artifact(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
    *,
    name: str,
    kind: str,
    clock: Clock,
) -> ArtifactRow | None:
    """A new artifact without versions; None when the thread has one of that name, in any case and width."""
    added = await session.execute(
        insert_or_ignore(session, ArtifactRow).values(
            id=clock.new_id(),
            workspace_id=workspace_id,
            thread_id=thread_id,
            name=name,
            name_key=name_digest(name),
            kind=kind,
            created_at=clock.now(),
        )
    )
    if not added.rowcount:  # type: ignore[attr-defined]
        return None
    return await find_artifact(session, workspace_id, thread_id, name)


async def next_number(session: AsyncSession, artifact: ArtifactRow) -> int:
    """The number of the version that comes next; until the transaction ends nobody else is given it."""
    await session.execute(select(ArtifactRow.id).where(ArtifactRow.id == artifact.id).with_for_update())
    last = await session.scalar(
        select(func.max(ArtifactVersionRow.number)).where(ArtifactVersionRow.artifact_id == artifact.id)
    )
    return (last or 0) + 1


async def do_add_version(
    session: AsyncSession, artifact: ArtifactRow, new: NewVersion, *, clock: Clock
) -> ArtifactVersionRow:
    """The next version of an artifact. Two at once: the second waits for the row and gets the number after."""
    row = ArtifactVersionRow(
        id=clock.new_id(),
        workspace_id=artifact.workspace_id,
        artifact_id=artifact.id,
        number=await next_number(session, artifact),
        text=new.text,
        sha256=hashlib.sha256(new.text.encode()).hexdigest(),
        author_kind=new.author.kind.value,
        author_id=new.author.person_id,
        author_name=new.author.name,
        reason=new.reason,
        message_id=new.message_id,
        receipt_id=new.receipt_id,
        source_thread_id=None,
        source_artifact_id=None,
        source_version_id=None,
        created_at=clock.now(),
    )
    session.add(row)
    await session.flush()
    return row


async def newest(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, name: str
) -> ArtifactVersionRow | None:
    """The newest version of an artifact; None when the thread has no artifact of that name."""
    artifact = await find_artifact(session, workspace_id, thread_id, name)
    held = await versions(session, workspace_id, artifact.id) if artifact else []
    return held[-1] if held else None


async def do_save(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
    *,
    name: str,
    new: NewVersion,
    clock: Clock,
) -> ArtifactVersionRow:
    """Store a text as the next version of an artifact, which is made when it is new.

    A text that was saved from the same message before is not saved again.
    """
    await do_add_artifact(session, workspace_id, thread_id, name=name, kind="text", clock=clock)
    artifact = await find_artifact(session, workspace_id, thread_id, name)
    if artifact is None:
        raise LookupError("an artifact that was just added")
    held = await versions(session, workspace_id, artifact.id)
    kept = [version for version in held if new.message_id and version.message_id == new.message_id]
    if kept:
        return kept[-1]
    return await do_add_version(session, artifact, new, clock=clock)


async def do_copy_artifacts(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    source: ThreadId,
    target: ThreadId,
    *,
    until: datetime,
    clock: Clock,
) -> int:
    """Give a branch the artifact versions its parent had at a moment, with their source recorded; returns how many."""
    copied = 0
    for artifact, _ in await list_artifacts(session, workspace_id, source):
        held = [v for v in await versions(session, workspace_id, artifact.id) if v.created_at <= until]
        if not held:
            continue
        copy = ArtifactRow(
            id=clock.new_id(),
            workspace_id=workspace_id,
            thread_id=target,
            name=artifact.name,
            name_key=artifact.name_key,
            kind=artifact.kind,
            created_at=artifact.created_at,
        )
        session.add(copy)
        await session.flush()
        for version in held:
            session.add(
                copied_version(
                    version, copy, source, number=version.number, created_at=version.created_at, clock=clock
                )
            )
            copied += 1
    await session.flush()
    return copied


def copied_version(
    version: ArtifactVersionRow,
    into: ArtifactRow,
    source: ThreadId,
    *,
    number: int,
    created_at: datetime,
    clock: Clock,
) -> ArtifactVersionRow:
    """A version of another thread's artifact as one of `into`, which names where it came from."""
    return ArtifactVersionRow(
        id=clock.new_id(),
        workspace_id=into.workspace_id,
        artifact_id=into.id,
        number=number,
        text=version.text,
        sha256=version.sha256,
        author_kind=version.author_kind,
        author_id=version.author_id,
        author_name=version.author_name,
        reason=version.reason,
        message_id=version.message_id,
        receipt_id=version.receipt_id,
        source_thread_id=source,
        source_artifact_id=version.artifact_id,
        source_version_id=version.id,
        created_at=created_at,
    )
