"""Versions of prompts, drafts of them, and their history. Versions and history are only ever added to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from sqlalchemy import Select, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import PersonId, WorkspaceId
from core.domain.prompt import PromptEventKind, PromptSource
from core.domain.receipt import PromptRef
from core.ports import Clock
from core.prompts.folder import to_texts
from core.prompts.parse import parse_prompt
from core.prompts.version import PromptVersion
from core.store.claim import insert_or_ignore
from core.store.tables import PersonRow, PromptDraftRow, PromptEventRow, PromptVersionRow

_SHIPPED = UUID("6a0f8f2e-1c57-4d4b-9a3e-5f6b1d0c7a11")
"""Namespace of the ids of shipped versions: every process finds the same id for the same text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPrompt:
    """A version as it is kept. Shipped ones belong to no workspace and have no author."""

    id: str
    workspace_id: WorkspaceId | None
    name: str
    version: str
    seq: int
    sha256: str
    files: Mapping[str, str]
    parent_id: str | None
    author_id: PersonId | None
    reason: str
    source: PromptSource
    created_at: datetime

    @property
    def ref(self) -> PromptRef:
        return PromptRef(name=self.name, version=self.version, sha256=self.sha256)

    @property
    def shipped(self) -> bool:
        return self.workspace_id is None

    def parsed(self) -> PromptVersion:
        """Raises ConfigurationErrors when this release cannot read it."""
        return parse_prompt(self.name, {file: text.encode() for file, text in self.files.items()})


def shipped_id(ref: PromptRef) -> str:
    return str(uuid5(_SHIPPED, f"{ref.name}\n{ref.version}\n{ref.sha256}"))


def shipped_prompt(prompt: PromptVersion, now: datetime) -> StoredPrompt:
    """A version of a file of this release, as it is registered."""
    return StoredPrompt(
        id=shipped_id(prompt.ref),
        workspace_id=None,
        name=prompt.name,
        version=prompt.version,
        seq=0,
        sha256=prompt.sha256,
        files=to_texts(prompt),
        parent_id=None,
        author_id=None,
        reason="",
        source=PromptSource.FILE,
        created_at=now,
    )


def _stored(row: PromptVersionRow) -> StoredPrompt:
    return StoredPrompt(
        id=row.id,
        workspace_id=WorkspaceId(row.workspace_id) if row.workspace_id else None,
        name=row.name,
        version=row.version,
        seq=row.seq,
        sha256=row.sha256,
        files=row.files,
        parent_id=row.parent_id,
        author_id=PersonId(row.author_id) if row.author_id else None,
        reason=row.reason,
        source=PromptSource(row.source),
        created_at=row.created_at,
    )


async def do_add_version(session: AsyncSession, prompt: StoredPrompt) -> bool:
    """Keep a version; False when its place, number or id is taken, which another transaction may just have done."""
    values = {
        "id": prompt.id,
        "workspace_id": prompt.workspace_id,
        "name": prompt.name,
        "version": prompt.version,
        "seq": prompt.seq,
        "sha256": prompt.sha256,
        "files": dict(prompt.files),
        "parent_id": prompt.parent_id,
        "author_id": prompt.author_id,
        "reason": prompt.reason,
        "source": prompt.source.value,
        "created_at": prompt.created_at,
    }
    added = await session.execute(insert_or_ignore(session, PromptVersionRow).values(values))
    return bool(added.rowcount)  # type: ignore[attr-defined]


async def do_register(session: AsyncSession, shipped: Iterable[PromptVersion], clock: Clock) -> None:
    """Make shipped versions known to the database, so that any process finds their text; known ones cost nothing."""
    by_id = {shipped_id(prompt.ref): prompt for prompt in shipped}
    known = await session.scalars(select(PromptVersionRow.id).where(PromptVersionRow.id.in_(by_id)))
    for new in by_id.keys() - set(known):
        await do_add_version(session, shipped_prompt(by_id[new], clock.now()))


def _readable(workspace_id: WorkspaceId) -> Select[PromptVersionRow]:
    """Versions of a workspace, and those that belong to nobody."""
    return select(PromptVersionRow).where(
        or_(PromptVersionRow.workspace_id == workspace_id, PromptVersionRow.workspace_id.is_(None))
    )


async def versions_by_ref(
    session: AsyncSession, workspace_id: WorkspaceId, refs: Iterable[PromptRef]
) -> dict[PromptRef, StoredPrompt]:
    """The versions that a run of the workspace may name, by exactly what it names."""
    wanted = set(refs)
    rows = await session.scalars(
        _readable(workspace_id).where(PromptVersionRow.sha256.in_({ref.sha256 for ref in wanted}))
    )
    return {stored.ref: stored for stored in map(_stored, rows) if stored.ref in wanted}


async def versions_of(
    session: AsyncSession, workspace_id: WorkspaceId, name: str | None = None
) -> list[StoredPrompt]:
    """Versions of a prompt, or of all, that a workspace made or that were shipped at any time; newest first."""
    wanted = _readable(workspace_id).order_by(PromptVersionRow.created_at.desc(), PromptVersionRow.seq.desc())
    if name is not None:
        wanted = wanted.where(PromptVersionRow.name == name)
    return [_stored(row) for row in await session.scalars(wanted)]


async def newest_own(session: AsyncSession, workspace_id: WorkspaceId, name: str) -> StoredPrompt | None:
    """The newest version that a workspace made of a prompt."""
    row = await session.scalar(
        select(PromptVersionRow)
        .where(PromptVersionRow.workspace_id == workspace_id, PromptVersionRow.name == name)
        .order_by(PromptVersionRow.seq.desc())
        .limit(1)
    )
    return _stored(row) if row else None


# --- drafts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDraft:
    name: str
    author_id: PersonId
    base_id: str
    head_id: str
    files: Mapping[str, str]
    updated_at: datetime


async def do_keep_draft(session: AsyncSession, workspace_id: WorkspaceId, draft: StoredDraft) -> None:
    """Keep a person's draft of a prompt in the place of an earlier one."""
    await session.merge(
        PromptDraftRow(
            workspace_id=workspace_id,
            name=draft.name,
            author_id=draft.author_id,
            base_id=draft.base_id,
            head_id=draft.head_id,
            files=dict(draft.files),
            updated_at=draft.updated_at,
        )
    )
    await session.flush()


async def drafts_of(
    session: AsyncSession, workspace_id: WorkspaceId, author_id: PersonId
) -> dict[str, StoredDraft]:
    """A person's drafts by prompt."""
    rows = await session.scalars(
        select(PromptDraftRow)
        .where(PromptDraftRow.workspace_id == workspace_id, PromptDraftRow.author_id == author_id)
        .order_by(PromptDraftRow.name)
    )
    return {
        row.name: StoredDraft(
            name=row.name,
            author_id=PersonId(row.author_id),
            base_id=row.base_id,
            head_id=row.head_id,
            files=row.files,
            updated_at=row.updated_at,
        )
        for row in rows
    }


async def do_drop_draft(
    session: AsyncSession, workspace_id: WorkspaceId, name: str, author_id: PersonId
) -> None:
    await session.execute(
        delete(PromptDraftRow).where(
            PromptDraftRow.workspace_id == workspace_id,
            PromptDraftRow.name == name,
            PromptDraftRow.author_id == author_id,
        )
    )


# --- history --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEvent:
    """A record of what was done to a prompt. `actor_id` is None for the operator's own commands."""

    id: str
    name: str
    kind: PromptEventKind
    from_id: str | None
    to_id: str | None
    actor_id: PersonId | None
    reason: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    self_approved: bool = False
    eval_run_id: str | None = None
    created_at: datetime
    who: str = ""
    """Name of the actor as it is now; read, never written."""


async def do_add_event(session: AsyncSession, workspace_id: WorkspaceId, event: PromptEvent) -> None:
    session.add(
        PromptEventRow(
            id=event.id,
            workspace_id=workspace_id,
            name=event.name,
            kind=event.kind.value,
            from_id=event.from_id,
            to_id=event.to_id,
            actor_id=event.actor_id,
            reason=event.reason,
            before=dict(event.before),
            after=dict(event.after),
            self_approved=event.self_approved,
            eval_run_id=event.eval_run_id,
            created_at=event.created_at,
        )
    )
    await session.flush()


async def prompt_events(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    name: str,
    *,
    kinds: Iterable[PromptEventKind] = tuple(PromptEventKind),
) -> list[PromptEvent]:
    """The history of a prompt, newest first."""
    rows = await session.execute(
        _events(workspace_id)
        .where(PromptEventRow.name == name, PromptEventRow.kind.in_([kind.value for kind in kinds]))
        .order_by(PromptEventRow.id.desc())
    )
    return [_event(row, who) for row, who in rows]


async def workspace_events(session: AsyncSession, workspace_id: WorkspaceId) -> list[PromptEvent]:
    """The history of all prompts of a workspace, oldest first, without exports, which change nothing."""
    rows = await session.execute(
        _events(workspace_id)
        .where(PromptEventRow.kind != PromptEventKind.EXPORT.value)
        .order_by(PromptEventRow.id)
    )
    return [_event(row, who) for row, who in rows]


def _events(workspace_id: WorkspaceId) -> Select[PromptEventRow, str]:
    return (
        select(PromptEventRow, PersonRow.name)
        .outerjoin(PersonRow, PersonRow.id == PromptEventRow.actor_id)
        .where(PromptEventRow.workspace_id == workspace_id)
    )


def _event(row: PromptEventRow, who: str | None) -> PromptEvent:
    return PromptEvent(
        id=row.id,
        name=row.name,
        kind=PromptEventKind(row.kind),
        from_id=row.from_id,
        to_id=row.to_id,
        actor_id=PersonId(row.actor_id) if row.actor_id else None,
        reason=row.reason,
        before=row.before,
        after=row.after,
        self_approved=row.self_approved,
        eval_run_id=row.eval_run_id,
        who=who or "",
        created_at=row.created_at,
    )
