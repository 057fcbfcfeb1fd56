"""Posts that stand on a platform, so that a click or a shortcut on one finds what it shows."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import RunId, ThreadId, WorkspaceId
from core.domain.thread import Place
from core.ports import PostRef
from core.store.claim import insert_or_ignore
from core.store.tables import PostRow, RunRow

OF_ANSWERS = "post:"
"""What the steps of answers' posts begin with; the turn's own step follows."""


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


async def answer_posts(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, request_id: str, *, most: int
) -> list[tuple[RunId, str]]:
    """Run and step of the newest posts of a thread that answer a message (root id), or any; the newest first."""
    asked = RunRow.request_id == request_id if request_id else RunRow.request_id.is_not(None)
    rows = await session.execute(
        select(PostRow.run_id, PostRow.step)
        .join(RunRow, RunRow.id == PostRow.run_id)
        .where(
            PostRow.workspace_id == workspace_id,
            PostRow.thread_id == thread_id,
            PostRow.step.startswith(OF_ANSWERS),
            asked,
        )
        .distinct()
        .order_by(PostRow.run_id.desc(), PostRow.step)
        .limit(most)
    )
    return [(RunId(row.run_id), row.step) for row in rows]


async def posts_named(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, beginning: str
) -> dict[str, RunId]:
    """Posts of a thread whose step begins so, by step: the run that posted each."""
    rows = await session.execute(
        select(PostRow.step, PostRow.run_id)
        .where(
            PostRow.workspace_id == workspace_id,
            PostRow.thread_id == thread_id,
            PostRow.step.startswith(beginning, autoescape=True),
        )
        .distinct()
    )
    return {row.step: RunId(row.run_id) for row in rows}


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
