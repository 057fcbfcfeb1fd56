"""Posts that stand on a platform, so that a click or a shortcut on one finds what it shows."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import RunId, ThreadId, WorkspaceId
from core.domain.thread import Place
from core.ports import PostRef
from core.store.claim import insert_or_ignore
from core.store.tables import PostRow


async def do_remember_post(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    ref: PostRef,
    *,
    thread_id: ThreadId,
    run_id: RunId,
    step: str,
) -> None:
    """Remember every part of a post; parts that are remembered already stay as they are."""
    for external_id in ref.ids:
        await session.execute(
            insert_or_ignore(session, PostRow).values(
                workspace_id=workspace_id,
                channel=ref.place.channel,
                external_id=external_id,
                thread_id=thread_id,
                run_id=run_id,
                step=step,
            )
        )


async def find_post(
    session: AsyncSession, workspace_id: WorkspaceId, channel: str, external_id: str
) -> PostRow | None:
    """The post behind a platform's message id in a channel; None when it is not one of ours."""
    return await session.scalar(
        select(PostRow).where(
            PostRow.workspace_id == workspace_id,
            PostRow.channel == channel,
            PostRow.external_id == external_id,
        )
    )


async def post_ref(
    session: AsyncSession, workspace_id: WorkspaceId, place: Place, run_id: str, step: str
) -> PostRef | None:
    """A post of a run with all its parts, in the order in which they were posted; None when it was never posted."""
    rows = await session.scalars(
        select(PostRow.external_id)
        .where(PostRow.workspace_id == workspace_id, PostRow.run_id == run_id, PostRow.step == step)
        .order_by(PostRow.external_id)
    )
    ids = tuple(rows)
    return PostRef(place=place, ids=ids) if ids else None
