"""Eval sets that a workspace made itself. Versions are only ever added to, and changed only where content is erased."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Select, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.eval_set import TEAM_SETS
from core.domain.ids import PersonId, WorkspaceId
from core.prompts.eval_case_file import without_cases
from core.prompts.eval_library import EvalLibrary
from core.prompts.eval_set import EvalSet
from core.store.claim import insert_or_ignore
from core.store.tables import EvalResultRow, EvalRunRow, EvalSetVersionRow, PersonRow

_IN_BULK = {"synchronize_session": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvalSet:
    """A version of a workspace's own eval set, as it is kept."""

    id: str
    workspace_id: WorkspaceId
    name: str
    version: int
    sha256: str
    files: Mapping[str, str]
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Ids of the messages that a case was made of, by case."""
    author_id: PersonId
    reason: str
    created_at: datetime
    who: str = ""
    """Name of the author as it is now; read, never written."""


def _stored(row: EvalSetVersionRow, who: str | None) -> StoredEvalSet:
    return StoredEvalSet(
        id=row.id,
        workspace_id=WorkspaceId(row.workspace_id),
        name=row.name,
        version=row.version,
        sha256=row.sha256,
        files=row.files,
        sources=row.sources,
        author_id=PersonId(row.author_id),
        reason=row.reason,
        created_at=row.created_at,
        who=who or "",
    )


def _sets(workspace_id: WorkspaceId) -> Select[EvalSetVersionRow, str]:
    return (
        select(EvalSetVersionRow, PersonRow.name)
        .outerjoin(PersonRow, PersonRow.id == EvalSetVersionRow.author_id)
        .where(EvalSetVersionRow.workspace_id == workspace_id)
    )


async def do_add_eval_set(session: AsyncSession, new: StoredEvalSet) -> bool:
    """Keep a version; False when its number is taken, which another transaction may just have done."""
    values = {
        "id": new.id,
        "workspace_id": new.workspace_id,
        "name": new.name,
        "version": new.version,
        "sha256": new.sha256,
        "files": dict(new.files),
        "sources": {case: list(ids) for case, ids in new.sources.items()},
        "author_id": new.author_id,
        "reason": new.reason,
        "erased": False,
        "created_at": new.created_at,
    }
    added = await session.execute(insert_or_ignore(session, EvalSetVersionRow).values(values))
    return bool(added.rowcount)  # type: ignore[attr-defined]


async def eval_set_versions(
    session: AsyncSession, workspace_id: WorkspaceId, name: str
) -> list[StoredEvalSet]:
    """Every version of a set of the workspace, newest first."""
    rows = await session.execute(
        _sets(workspace_id).where(EvalSetVersionRow.name == name).order_by(EvalSetVersionRow.version.desc())
    )
    return [_stored(row, who) for row, who in rows]


async def newest_eval_sets(session: AsyncSession, workspace_id: WorkspaceId) -> list[StoredEvalSet]:
    """The newest version of every set of the workspace, by name."""
    row = EvalSetVersionRow
    newest = (
        select(row.name, func.max(row.version).label("version"))
        .where(row.workspace_id == workspace_id)
        .group_by(row.name)
        .subquery()
    )
    rows = await session.execute(
        _sets(workspace_id)
        .join(newest, (newest.c.name == row.name) & (newest.c.version == row.version))
        .order_by(row.name)
    )
    return [_stored(found, who) for found, who in rows]


async def find_eval_set(
    session: AsyncSession, workspace_id: WorkspaceId, name: str, sha256: str | None
) -> StoredEvalSet | None:
    """The newest version of a set of the workspace; with a hash the newest one that was saved with it."""
    wanted = _sets(workspace_id).where(EvalSetVersionRow.name == name)
    if sha256 is not None:
        wanted = wanted.where(EvalSetVersionRow.sha256 == sha256)
    found = (await session.execute(wanted.order_by(EvalSetVersionRow.version.desc()).limit(1))).one_or_none()
    return _stored(*found) if found else None


async def eval_set_now(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    library: EvalLibrary,
    name: str,
    *,
    sha256: str | None = None,
) -> EvalSet | None:
    """An eval set of the product, or one of the workspace: the newest version, or the one saved with this hash.

    Raises ConfigurationErrors when this release cannot read it.
    """
    if not name.startswith(TEAM_SETS):
        return (await library.sets()).get(name)
    found = await find_eval_set(session, workspace_id, name, sha256)
    return await library.stored(name, found.files) if found else None


async def do_erase_cases(
    session: AsyncSession, workspace_id: WorkspaceId, message_ids: Collection[str]
) -> None:
    """Take cases that were made of these messages out of every version, and blank what evaluations kept of them."""
    gone = set(message_ids)
    for row in await session.scalars(
        select(EvalSetVersionRow).where(EvalSetVersionRow.workspace_id == workspace_id)
    ):
        cases = {case for case, ids in row.sources.items() if gone & set(ids)}
        if not cases:
            continue
        row.files = {path: without_cases(text, cases) for path, text in row.files.items()}
        row.erased = True
        await _do_blank_results(session, workspace_id, row.name, cases)
    await session.flush()


async def _do_blank_results(
    session: AsyncSession, workspace_id: WorkspaceId, name: str, cases: Collection[str]
) -> None:
    runs = await session.execute(
        select(EvalRunRow.id, EvalRunRow.conditions).where(EvalRunRow.workspace_id == workspace_id)
    )
    ids = [run_id for run_id, conditions in runs if conditions["set_name"] == name]
    await session.execute(
        update(EvalResultRow)
        .where(
            EvalResultRow.workspace_id == workspace_id,
            EvalResultRow.run_id.in_(ids),
            EvalResultRow.case_id.in_(cases),
        )
        .values(request=[], output="", checks=[])
        .execution_options(**_IN_BULK)
    )
