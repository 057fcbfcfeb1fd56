"""Adoptions: requests, what they cover, and putting a branch's own content into its parent (spec §6)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.adoption import (
    AdoptionStatus,
    Moment,
    OwnArtifact,
    ReviewDraft,
    ReviewForm,
    content_sha256,
    merged,
)
from core.domain.compare import CompareSetup
from core.domain.ids import ConversationId, MessageId, PersonId, RunId, ThreadId, WorkspaceId
from core.domain.thread import Conversation, Mode, Status, Thread
from core.ports import Clock
from core.store.artifact import copied_version, list_artifacts, next_number, versions
from core.store.message import do_lock
from core.store.tables import (
    AdoptionReviewRow,
    AdoptionRow,
    ArtifactRow,
    ArtifactVersionRow,
    ConversationRow,
    EntryRow,
    MessageRow,
    ThreadRow,
)
from core.store.thread import conversations, do_set_up, find_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    id: str
    workspace_id: WorkspaceId
    branch_id: ThreadId
    parent_id: ThreadId
    top_id: ThreadId
    status: AdoptionStatus
    requested_by: PersonId
    reason: str
    review: Mapping[str, Any]
    messages: Mapping[str, Sequence[str]]
    """Message ids to append, by line, in the branch's order."""
    artifacts: Sequence[Mapping[str, Any]]
    created_at: datetime
    expires_at: datetime
    decided_by: PersonId | None = None
    decided_at: datetime | None = None
    decision_reason: str = ""
    card_run_id: str = ""
    """The run that posted the card."""


def to_adoption(row: AdoptionRow) -> Adoption:
    return Adoption(
        id=row.id,
        workspace_id=WorkspaceId(row.workspace_id),
        branch_id=ThreadId(row.branch_id),
        parent_id=ThreadId(row.parent_id),
        top_id=ThreadId(row.top_id),
        status=AdoptionStatus(row.status),
        requested_by=PersonId(row.requested_by),
        reason=row.reason,
        review=row.review,
        messages=row.messages,
        artifacts=row.artifacts,
        created_at=row.created_at,
        expires_at=row.expires_at,
        decided_by=PersonId(row.decided_by) if row.decided_by else None,
        decided_at=row.decided_at,
        decision_reason=row.decision_reason,
        card_run_id=row.card_run_id or "",
    )


async def find_adoption(
    session: AsyncSession, workspace_id: WorkspaceId, adoption_id: str, *, lock: bool = False
) -> Adoption | None:
    """An adoption; with `lock` held against other deciders until the transaction ends."""
    query = select(AdoptionRow).where(AdoptionRow.workspace_id == workspace_id, AdoptionRow.id == adoption_id)
    # A row that this session has read before must not hide what was written since.
    fresh = query.execution_options(populate_existing=True)
    row = await session.scalar(fresh.with_for_update() if lock else fresh)
    return to_adoption(row) if row else None


async def adoptions_of(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, *, limit: int | None = None
) -> list[Adoption]:
    """Requests from a thread and into it, newest first; at most `limit` where that is given."""
    rows = await session.scalars(
        select(AdoptionRow)
        .where(
            AdoptionRow.workspace_id == workspace_id,
            (AdoptionRow.branch_id == thread_id) | (AdoptionRow.parent_id == thread_id),
        )
        .order_by(AdoptionRow.id.desc())
        .limit(limit)
    )
    return [to_adoption(row) for row in rows]


async def pending_under(
    session: AsyncSession, workspace_id: WorkspaceId, top_id: ThreadId
) -> Adoption | None:
    """The one pending request under a top-level thread."""
    row = await session.scalar(
        select(AdoptionRow)
        .where(
            AdoptionRow.workspace_id == workspace_id,
            AdoptionRow.top_id == top_id,
            AdoptionRow.status == AdoptionStatus.PENDING.value,
        )
        .with_for_update()
    )
    return to_adoption(row) if row else None


async def run_out(session: AsyncSession, now: datetime, limit: int) -> list[Adoption]:
    """Pending requests of all workspaces that have run out, for the schedule only."""
    rows = await session.scalars(
        select(AdoptionRow)
        .where(AdoptionRow.status == AdoptionStatus.PENDING.value, AdoptionRow.expires_at <= now)
        .order_by(AdoptionRow.expires_at)
        .limit(limit)
    )
    return [to_adoption(row) for row in rows]


async def do_add_adoption(session: AsyncSession, adoption: Adoption) -> bool:
    """Store a request; False when another is pending under the same top-level thread."""
    row = AdoptionRow(
        id=adoption.id,
        workspace_id=adoption.workspace_id,
        branch_id=adoption.branch_id,
        parent_id=adoption.parent_id,
        top_id=adoption.top_id,
        status=adoption.status.value,
        requested_by=adoption.requested_by,
        reason=adoption.reason,
        review=dict(adoption.review),
        messages={line: list(ids) for line, ids in adoption.messages.items()},
        artifacts=[dict(one) for one in adoption.artifacts],
        created_at=adoption.created_at,
        expires_at=adoption.expires_at,
        decided_by=None,
        decided_at=None,
        decision_reason="",
        before_sha256="",
        after_sha256="",
        card_run_id=None,
    )
    try:
        async with session.begin_nested():
            session.add(row)
            await session.flush()
    except IntegrityError:
        return False
    await do_set_status(session, adoption.workspace_id, adoption.branch_id, Status.ADOPT_PENDING)
    return True


async def do_keep_card(
    session: AsyncSession, workspace_id: WorkspaceId, adoption_id: str, run_id: RunId
) -> None:
    """Remember which run posted a request's card."""
    await session.execute(
        update(AdoptionRow)
        .where(AdoptionRow.workspace_id == workspace_id, AdoptionRow.id == adoption_id)
        .values(card_run_id=run_id)
        .execution_options(synchronize_session=False)
    )


async def do_set_status(
    session: AsyncSession, workspace_id: WorkspaceId, thread_id: ThreadId, status: Status
) -> None:
    await session.execute(
        update(ThreadRow)
        .where(ThreadRow.workspace_id == workspace_id, ThreadRow.id == thread_id)
        .values(status=status.value)
        .execution_options(synchronize_session=False)
    )


async def do_close(
    session: AsyncSession,
    adoption: Adoption,
    status: AdoptionStatus,
    *,
    by: PersonId | None,
    reason: str,
    now: datetime,
    before: str = "",
    after: str = "",
) -> None:
    """End a pending request; the branch becomes active again, or adopted for good."""
    await session.execute(
        update(AdoptionRow)
        .where(AdoptionRow.workspace_id == adoption.workspace_id, AdoptionRow.id == adoption.id)
        .values(
            status=status.value,
            decided_by=by,
            decided_at=now,
            decision_reason=reason,
            before_sha256=before,
            after_sha256=after,
        )
        .execution_options(synchronize_session=False)
    )
    branch = Status.ADOPTED if status is AdoptionStatus.APPROVED else Status.ACTIVE
    await do_set_status(session, adoption.workspace_id, adoption.branch_id, branch)


# --- content --------------------------------------------------------------------------------------------------------


async def own_messages(session: AsyncSession, branch: Thread) -> dict[str, list[str]]:
    """Ids of the messages that a branch has besides what it inherited, by line, in its order.

    Those that it adopted from branches of its own are its own since.
    """
    adopted = await session.scalars(
        select(AdoptionRow.messages).where(
            AdoptionRow.workspace_id == branch.workspace_id,
            AdoptionRow.parent_id == branch.id,
            AdoptionRow.status == AdoptionStatus.APPROVED.value,
        )
    )
    brought = {each for lines in adopted for ids in lines.values() for each in ids}
    rows = await session.execute(
        select(ConversationRow.line, EntryRow.message_id)
        .join(EntryRow, EntryRow.conversation_id == ConversationRow.id)
        .join(MessageRow, MessageRow.id == EntryRow.message_id)
        .where(
            ConversationRow.workspace_id == branch.workspace_id,
            ConversationRow.thread_id == branch.id,
            or_(MessageRow.thread_id == branch.id, MessageRow.id.in_(brought)),
        )
        .order_by(ConversationRow.id, EntryRow.position)
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.line, []).append(row.message_id)
    return found


async def _moments(session: AsyncSession, conversation_id: ConversationId) -> list[Moment]:
    rows = await session.execute(
        select(MessageRow.id, MessageRow.created_at)
        .join(EntryRow, EntryRow.message_id == MessageRow.id)
        .where(EntryRow.conversation_id == conversation_id)
        .order_by(EntryRow.position)
    )
    return [Moment(message_id=MessageId(row.id), at=row.created_at) for row in rows]


async def content_hash(session: AsyncSession, thread: Thread) -> str:
    """Hash of all that a thread's conversations hold, in order."""
    rows = await session.execute(
        select(ConversationRow.line, MessageRow.id, MessageRow.text)
        .join(EntryRow, EntryRow.conversation_id == ConversationRow.id)
        .join(MessageRow, MessageRow.id == EntryRow.message_id)
        .where(ConversationRow.workspace_id == thread.workspace_id, ConversationRow.thread_id == thread.id)
        .order_by(ConversationRow.id, EntryRow.position)
    )
    lines: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        lines.setdefault(row.line, []).append((row.id, hashlib.sha256(row.text.encode()).hexdigest()))
    return content_sha256(lines)


async def do_append_messages(
    session: AsyncSession, adoption: Adoption, branch: Thread, parent: Thread, *, clock: Clock
) -> int:
    """Put the covered messages into the parent's conversations, by time; returns how many entries were added.

    A conversation that only the branch has is added whole, and its model takes part in the parent's Compare from then
    on. What the parent holds already is not added again. Raises Refusal for more models than a Compare may have.
    """
    theirs = {line.line: line for line in await conversations(session, parent.workspace_id, parent.id)}
    now = await find_thread(session, parent.workspace_id, parent.id) or parent
    setup, added = now.setup, 0
    for line in await conversations(session, branch.workspace_id, branch.id):
        ids = adoption.messages.get(line.line, ())
        held = theirs.get(line.line)
        # Lines of a Compare may be letters, which each side gave to a model of its own.
        if held is not None and (parent.mode is not Mode.COMPARE or held.model == line.model):
            added += await _do_merge(session, parent, held, ids, after=branch.split_position)
            continue
        covered = set(ids)
        inherited = [m for m in await _moments(session, line.id) if m.message_id not in covered]
        whole = [m.message_id for m in inherited[: line.inherited]] + [MessageId(each) for each in ids]
        if parent.mode is Mode.COMPARE:
            joined = CompareSetup.from_json(setup).joined_by(line.model)
            setup, line = joined.to_json(), replace(line, line=joined.candidates[-1].line)
        added += await _do_add_line(session, parent, line, whole, clock=clock)
    if setup != now.setup:
        await do_set_up(session, parent.workspace_id, parent.id, setup)
    return added


async def _do_merge(
    session: AsyncSession, parent: Thread, line: Conversation, ids: Sequence[str], *, after: int
) -> int:
    await do_lock(session, parent.workspace_id, line.id)
    held = await _moments(session, line.id)
    rows = await session.execute(
        select(MessageRow.id, MessageRow.created_at).where(
            MessageRow.workspace_id == parent.workspace_id, MessageRow.id.in_(ids)
        )
    )
    times = {row.id: row.created_at for row in rows}
    new = [Moment(message_id=MessageId(each), at=times[each]) for each in ids if each in times]
    order = merged(held, new, after=min(after, len(held)))
    same = next((n for n, one in enumerate(held) if order[n] != one.message_id), len(held))
    await session.execute(
        delete(EntryRow)
        .where(EntryRow.conversation_id == line.id, EntryRow.position > same)
        .execution_options(synchronize_session=False)
    )
    await _do_put_all(session, parent.workspace_id, line.id, order[same:], first=same + 1)
    return len(order) - len(held)


async def _do_add_line(
    session: AsyncSession, parent: Thread, line: Conversation, ids: Sequence[str], *, clock: Clock
) -> int:
    row = ConversationRow(
        id=clock.new_id(),
        workspace_id=parent.workspace_id,
        thread_id=parent.id,
        line=line.line,
        model=line.model,
        copied_from_id=line.id,
        inherited=0,
    )
    session.add(row)
    await session.flush()
    await _do_put_all(session, parent.workspace_id, ConversationId(row.id), ids, first=1)
    return len(ids)


async def _do_put_all(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    conversation_id: ConversationId,
    ids: Sequence[str],
    *,
    first: int,
) -> None:
    if ids:
        await session.execute(
            insert(EntryRow),
            [
                {
                    "conversation_id": conversation_id,
                    "position": position,
                    "message_id": message_id,
                    "workspace_id": workspace_id,
                }
                for position, message_id in enumerate(ids, start=first)
            ],
        )


# --- artifacts ------------------------------------------------------------------------------------------------------


async def own_artifacts(
    session: AsyncSession, branch: Thread
) -> list[tuple[OwnArtifact, ArtifactVersionRow]]:
    """Artifacts with versions that the branch has besides what it inherited, each with its newest one."""
    found = []
    for artifact, _ in await list_artifacts(session, branch.workspace_id, branch.id):
        own = [
            v
            for v in await versions(session, branch.workspace_id, artifact.id)
            if v.source_version_id is None or v.source_thread_id != branch.parent_id
        ]
        if own:
            found.append((_own(artifact, own[-1]), own[-1]))
    return found


async def artifacts_of(session: AsyncSession, thread: Thread) -> list[OwnArtifact]:
    """All artifacts of a thread as they stand."""
    return [_own(a, newest) for a, newest in await list_artifacts(session, thread.workspace_id, thread.id)]


def _own(artifact: ArtifactRow, version: ArtifactVersionRow) -> OwnArtifact:
    return OwnArtifact(
        artifact_id=artifact.id, name=artifact.name, version=version.number, sha256=version.sha256
    )


async def already_copied(session: AsyncSession, parent: Thread, version_id: str) -> bool:
    """Whether the parent holds a copy of an artifact version already."""
    found = await session.scalar(
        select(ArtifactVersionRow.id)
        .join(ArtifactRow, ArtifactRow.id == ArtifactVersionRow.artifact_id)
        .where(
            ArtifactRow.workspace_id == parent.workspace_id,
            ArtifactRow.thread_id == parent.id,
            ArtifactVersionRow.source_version_id == version_id,
        )
        .limit(1)
    )
    return found is not None


async def do_copy_version(
    session: AsyncSession, artifact: ArtifactRow, version: ArtifactVersionRow, source: Thread, *, clock: Clock
) -> None:
    """Add a branch's version as the next one of a parent's artifact, with its source."""
    number = await next_number(session, artifact)
    session.add(
        copied_version(version, artifact, source.id, number=number, created_at=clock.now(), clock=clock)
    )
    await session.flush()


# --- reviews before a request ---------------------------------------------------------------------------------------


async def do_add_review(
    session: AsyncSession, review_id: str, branch: Thread, person_id: PersonId, clock: Clock, *, reason: str
) -> None:
    """Hold a place for the review that is about to be drafted, with the reason where one was given already."""
    session.add(
        AdoptionReviewRow(
            id=review_id,
            workspace_id=branch.workspace_id,
            branch_id=branch.id,
            person_id=person_id,
            draft=None,
            form=ReviewForm(texts={}, reason=reason).to_json() if reason else None,
            created_at=clock.now(),
        )
    )
    await session.flush()


async def do_keep_review(
    session: AsyncSession, workspace_id: WorkspaceId, review_id: str, draft: Mapping[str, Any]
) -> None:
    """Store what the drafting brought."""
    await session.execute(
        update(AdoptionReviewRow)
        .where(AdoptionReviewRow.workspace_id == workspace_id, AdoptionReviewRow.id == review_id)
        .values(draft=dict(draft))
        .execution_options(synchronize_session=False)
    )


async def do_keep_form(
    session: AsyncSession, workspace_id: WorkspaceId, review_id: str, form: Mapping[str, Any]
) -> None:
    """Store the request as far as a person has filled it in."""
    await session.execute(
        update(AdoptionReviewRow)
        .where(AdoptionReviewRow.workspace_id == workspace_id, AdoptionReviewRow.id == review_id)
        .values(form=dict(form))
        .execution_options(synchronize_session=False)
    )


async def find_review(
    session: AsyncSession, workspace_id: WorkspaceId, review_id: str
) -> tuple[ThreadId, ReviewDraft | None, ReviewForm | None] | None:
    """The branch of a review and, once they are there, the draft and the form; None where there is no such review.

    A form without texts holds only the reason that was given before there was a draft.
    """
    row = await session.scalar(
        select(AdoptionReviewRow).where(
            AdoptionReviewRow.workspace_id == workspace_id, AdoptionReviewRow.id == review_id
        )
    )
    if row is None:
        return None
    draft = ReviewDraft.from_json(row.draft) if row.draft is not None else None
    form = ReviewForm.from_json(row.form) if row.form is not None else None
    return ThreadId(row.branch_id), draft, form
