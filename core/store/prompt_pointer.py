"""Which version of a prompt is live or proposed in a workspace."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import WorkspaceId
from core.domain.prompt import PromptLabel
from core.domain.receipt import PromptRef
from core.store.claim import insert_or_ignore
from core.store.tables import PromptGenerationRow, PromptPointerRow, PromptVersionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    version_id: str | None
    """None: the shipped version, or for a team's own prompt none."""
    rev: int
    """How often it was moved; 0 for a pointer that never was."""


NEVER_MOVED = Pointer(version_id=None, rev=0)


async def live_refs(
    session: AsyncSession, workspace_id: WorkspaceId, names: Sequence[str]
) -> tuple[int, dict[str, PromptRef]]:
    """The generation of the files, and those of the prompts of which the workspace has made a version live.

    One statement, because every run begins with it.
    """
    rows = await session.execute(
        select(
            PromptGenerationRow.generation,
            PromptVersionRow.name,
            PromptVersionRow.version,
            PromptVersionRow.sha256,
        )
        .select_from(PromptGenerationRow)
        .outerjoin(
            PromptPointerRow,
            and_(
                PromptPointerRow.workspace_id == workspace_id,
                PromptPointerRow.label == PromptLabel.PRODUCTION.value,
                PromptPointerRow.name.in_(names),
            ),
        )
        .outerjoin(PromptVersionRow, PromptVersionRow.id == PromptPointerRow.version_id)
    )
    generation, live = 0, {}
    for generation, name, version, sha256 in rows:  # noqa: B007  the same in every row
        if name is not None:
            live[name] = PromptRef(name=name, version=version, sha256=sha256)
    return generation, live


async def pointers(
    session: AsyncSession, workspace_id: WorkspaceId, label: PromptLabel
) -> dict[str, Pointer]:
    """Every pointer of a workspace under a label, by prompt."""
    rows = await session.scalars(
        select(PromptPointerRow).where(
            PromptPointerRow.workspace_id == workspace_id, PromptPointerRow.label == label.value
        )
    )
    return {row.name: Pointer(version_id=row.version_id, rev=row.rev) for row in rows}


async def do_move_pointer(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    name: str,
    label: PromptLabel,
    version_id: str | None,
    *,
    rev: int,
) -> bool:
    """Move a pointer that was moved `rev` times; False when somebody moved it meanwhile."""
    if rev == 0:
        values = {
            "workspace_id": workspace_id,
            "name": name,
            "label": label.value,
            "version_id": version_id,
            "rev": 1,
        }
        moved = await session.execute(insert_or_ignore(session, PromptPointerRow).values(values))
    else:
        moved = await session.execute(
            update(PromptPointerRow)
            .where(
                PromptPointerRow.workspace_id == workspace_id,
                PromptPointerRow.name == name,
                PromptPointerRow.label == label.value,
                PromptPointerRow.rev == rev,
            )
            .values(version_id=version_id, rev=rev + 1)
            .execution_options(synchronize_session=False)
        )
    return bool(moved.rowcount)  # type: ignore[attr-defined]


async def do_propose(
    session: AsyncSession, workspace_id: WorkspaceId, name: str, version_id: str | None
) -> None:
    """Put a version forward as the one to make live next, in the place of another; None takes it back."""
    label = PromptLabel.CANDIDATE
    now = (await pointers(session, workspace_id, label)).get(name, NEVER_MOVED)
    if now.version_id != version_id:
        await do_move_pointer(session, workspace_id, name, label, version_id, rev=now.rev)
