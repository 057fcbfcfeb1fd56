"""Adoption: a branch's own content comes into its parent by request, review and approval only (spec §6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.commands.services import Services, access_thread, do_begin_run, enqueue, thread_now
from core.domain.adoption import (
    EXPIRES_AFTER,
    AdoptionStatus,
    Choice,
    Conflict,
    Decided,
    ReviewDraft,
    ReviewForm,
    ReviewTexts,
    authorise_decision,
    authorise_withdrawal,
    check_open,
    check_relation,
    check_request,
    conflicts,
    decide_conflicts,
    is_expired,
    reject_reason,
    request_reason,
)
from core.domain.artifact import name_key
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.message import Message
from core.domain.policy import Action, Actor
from core.domain.thread import Thread
from core.modes.adopting import CARD, CLOSED
from core.modes.drafting import REVIEW_KIND
from core.store.adoption import (
    Adoption,
    adoptions_of,
    already_copied,
    artifacts_of,
    content_hash,
    do_add_adoption,
    do_add_review,
    do_append_messages,
    do_close,
    do_copy_version,
    do_keep_form,
    find_adoption,
    find_review,
    own_artifacts,
    own_messages,
    pending_under,
)
from core.store.artifact import do_add_artifact, find_version, list_artifacts
from core.store.audit import do_audit, do_notice
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.message import do_lock, find_messages
from core.store.run import Run
from core.store.thread import conversations, find_thread
from core.store.workspace import person_name


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionReview:
    """The pre-adoption review: exactly what a request made now would cover."""

    branch: Thread
    parent: Thread
    messages: Mapping[str, tuple[Message, ...]]
    """The messages that would be appended, by line, in order."""
    artifacts: int
    """Artifacts of the branch's own."""
    conflicts: tuple[Conflict, ...]
    draft: ReviewDraft | None = None
    """Where the texts begin; None while a model drafts them."""
    form: ReviewForm | None = None
    """The request as far as a person has filled it in; it begins with the draft's texts. None before the draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionRequest:
    branch_id: str
    reason: str
    into: str | None = None
    """The thread to be adopted into; None takes the branch's parent."""
    texts: Mapping[str, object] = field(default_factory=dict)
    """`about`, `concluded`, `next_steps`, `sources` as the requester edited them."""
    choices: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """`choice` and `new_name` by the branch's artifact id, for every conflict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionChanges:
    """What a request would bring, or has brought, into the parent."""

    adoption: Adoption
    branch: Thread
    parent: Thread
    messages: Mapping[str, tuple[Message, ...]]
    """By line, in order."""


async def begin_review(
    services: Services, actor: Actor, branch_id: str, *, reason: str = "", event_key: str
) -> str:
    """Have the pre-adoption review of a branch drafted; returns its id. A `reason` given already is kept in its form.

    Raises Refusal where no request could be made.
    """
    why = request_reason(reason) if reason.strip() else ""
    branch, parent = await _pair(services, actor, Action.REQUEST_ADOPTION, branch_id, None)
    await _covered(services, branch, parent)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return str(earlier["review_id"])
        review_id = services.clock.new_id()
        await do_add_review(session, review_id, branch, actor.person_id, services.clock, reason=why)
        line = (await conversations(session, branch.workspace_id, branch.id))[0]
        run = await do_begin_run(
            session,
            services,
            branch,
            REVIEW_KIND,
            by=actor.person_id,
            conversation_id=line.id,
            model=services.models.defaults.drafting,
            args={"review_id": review_id},
        )
        await settle(session, actor.workspace_id, (event_key,), {"review_id": review_id})
    await enqueue(services, run)
    return review_id


async def show_review(services: Services, actor: Actor, review_id: str) -> AdoptionReview:
    """The review with what a request would cover at this moment. Raises Refusal."""
    branch_id, draft, form = await _review(services, actor, Action.READ, review_id)
    if form is None or not form.texts:
        reason = form.reason if form else ""
        form = ReviewForm(texts=draft.texts.to_json(), reason=reason) if draft else None
    return replace(await review_adoption(services, actor, branch_id), draft=draft, form=form)


async def edit_review(services: Services, actor: Actor, review_id: str, form: ReviewForm) -> None:
    """Keep what a person has in the form so far; it is checked when the request is made. Raises Refusal."""
    await _review(services, actor, Action.REQUEST_ADOPTION, review_id)
    async with services.store.writing() as session:
        await do_keep_form(session, actor.workspace_id, review_id, form.to_json())


async def _review(
    services: Services, actor: Actor, action: Action, review_id: str
) -> tuple[ThreadId, ReviewDraft | None, ReviewForm | None]:
    async with services.store.reading() as session:
        found = await find_review(session, actor.workspace_id, review_id)
    if found is None:
        raise Refusal("adopt_review_not_found")
    await access_thread(services, actor, action, found[0], unknown="adopt_review_not_found")
    return found


async def review_adoption(services: Services, actor: Actor, branch_id: str) -> AdoptionReview:
    """What a request would cover at this moment. Raises Refusal where none could be made."""
    return await _covered(services, *await _pair(services, actor, Action.READ, branch_id, None))


async def _covered(services: Services, branch: Thread, parent: Thread) -> AdoptionReview:
    async with services.store.reading() as session:
        ids = await own_messages(session, branch)
        own = [artifact for artifact, _ in await own_artifacts(session, branch)]
        check_request(branch, parent, new_messages=sum(map(len, ids.values())), new_versions=len(own))
        messages = {
            line: tuple(await find_messages(session, branch.workspace_id, each)) for line, each in ids.items()
        }
        found = conflicts(own, await artifacts_of(session, parent))
    return AdoptionReview(
        branch=branch, parent=parent, messages=messages, artifacts=len(own), conflicts=found
    )


async def _pair(
    services: Services, actor: Actor, action: Action, branch_id: str, into: str | None
) -> tuple[Thread, Thread]:
    """A branch and the thread it is to go into, both visible to the actor. Raises Refusal."""
    branch = await access_thread(services, actor, action, branch_id)
    if into is None and branch.parent_id is None:
        raise Refusal("adopt_not_a_branch", title=branch.title)
    parent = await access_thread(services, actor, Action.READ, into or str(branch.parent_id))
    check_relation(branch, parent)
    return branch, parent


async def request_adoption(
    services: Services, actor: Actor, request: AdoptionRequest, *, event_key: str
) -> str:
    """Ask for a branch to be adopted; returns the request's id. Raises Refusal, each case with its own.

    The request covers messages and artifact versions as of this moment; what is posted later is not included.
    """
    reason = request_reason(request.reason)
    texts = ReviewTexts.from_json(request.texts)
    branch, parent = await _pair(services, actor, Action.REQUEST_ADOPTION, request.branch_id, request.into)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return str(earlier["adoption_id"])
        await expire_under(session, services, branch)
        branch = await thread_now(session, branch.workspace_id, branch.id)
        ids = await own_messages(session, branch)
        own = await own_artifacts(session, branch)
        check_request(branch, parent, new_messages=sum(map(len, ids.values())), new_versions=len(own))
        theirs = await artifacts_of(session, parent)
        found = conflicts([artifact for artifact, _ in own], theirs)
        taken = {one.name for one in theirs} | {artifact.name for artifact, _ in own}
        decided = decide_conflicts(found, request.choices, taken)
        parents = {one.branch_artifact: one.parent_version for one in found}
        now = services.clock.now()
        adoption = Adoption(
            id=services.clock.new_id(),
            workspace_id=actor.workspace_id,
            branch_id=branch.id,
            parent_id=parent.id,
            top_id=branch.top_id,
            status=AdoptionStatus.PENDING,
            requested_by=actor.person_id,
            reason=reason,
            review=texts.to_json(),
            messages=ids,
            artifacts=[
                {
                    "artifact_id": artifact.artifact_id,
                    "name": artifact.name,
                    "version": version.number,
                    "version_id": version.id,
                    "parent_version": parents.get(artifact.artifact_id, 0),
                    "decided": decided[artifact.artifact_id].to_json()
                    if artifact.artifact_id in decided
                    else None,
                }
                for artifact, version in own
            ],
            created_at=now,
            expires_at=now + EXPIRES_AFTER,
        )
        if not await do_add_adoption(session, adoption):
            raise await _other_pending(session, branch)
        run = await _do_tell(session, services, actor, adoption, branch, parent, kind=CARD)
        await _record(session, services, actor, "request_adoption", adoption, reason)
        await settle(session, actor.workspace_id, (event_key,), {"adoption_id": adoption.id})
    await enqueue(services, run)
    return adoption.id


async def _other_pending(session: Session, branch: Thread) -> Refusal:
    """Why a request has to wait: another one under the same top-level thread, or an earlier one of the same branch."""
    pending = await pending_under(session, branch.workspace_id, branch.top_id)
    if pending is not None and pending.branch_id == branch.id:
        return Refusal("adopt_pending_already", branch=branch.branch_name)
    other = await find_thread(session, branch.workspace_id, pending.branch_id) if pending else None
    return Refusal("adopt_another_pending", branch=other.branch_name if other else "")


async def approve(services: Services, actor: Actor, adoption_id: str, *, event_key: str) -> Adoption:
    """Apply a pending request in one transaction: messages by time, artifacts by the choices. Raises Refusal.

    Two approvals at once give one adoption; the second is told who did it.
    """
    adoption, branch, parent = await _access(services, actor, Action.DECIDE_ADOPTION, adoption_id)
    authorise_decision(
        actor,
        services.policy(actor.workspace),
        parent_owner=parent.owner_id,
        requester=adoption.requested_by,
    )
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return await _found(session, adoption)
        adoption = await _open(session, services, adoption)
        if adoption.status is AdoptionStatus.PENDING:
            for line in await conversations(session, parent.workspace_id, parent.id):
                await do_lock(session, parent.workspace_id, line.id)
            before = await content_hash(session, parent)
            added = await do_append_messages(session, adoption, branch, parent, clock=services.clock)
            await _do_artifacts(session, services, adoption, branch, parent)
            after = await content_hash(session, parent)
            run = await _do_close(
                session,
                services,
                actor,
                adoption,
                AdoptionStatus.APPROVED,
                branch,
                parent,
                reason="",
                hashes=(before, after),
                added=added,
            )
    if adoption.status is not AdoptionStatus.PENDING:
        raise Refusal("adopt_closed_expired", who="")
    await enqueue(services, run)
    return adoption


async def reject(
    services: Services, actor: Actor, adoption_id: str, reason: str, *, event_key: str
) -> Adoption:
    """Turn a pending request down; the branch goes back to active. Raises Refusal, also without a reason."""
    why = reject_reason(reason)
    adoption, branch, parent = await _access(services, actor, Action.DECIDE_ADOPTION, adoption_id)
    authorise_decision(
        actor,
        services.policy(actor.workspace),
        parent_owner=parent.owner_id,
        requester=adoption.requested_by,
    )
    return await _end(
        services, actor, adoption, AdoptionStatus.REJECTED, branch, parent, why, event_key=event_key
    )


async def withdraw(services: Services, actor: Actor, adoption_id: str, *, event_key: str) -> Adoption:
    """Take one's own request back. Raises Refusal."""
    adoption, branch, parent = await _access(services, actor, Action.WITHDRAW_ADOPTION, adoption_id)
    authorise_withdrawal(actor, requester=adoption.requested_by)
    return await _end(
        services, actor, adoption, AdoptionStatus.WITHDRAWN, branch, parent, "", event_key=event_key
    )


async def _end(
    services: Services,
    actor: Actor,
    adoption: Adoption,
    status: AdoptionStatus,
    branch: Thread,
    parent: Thread,
    reason: str,
    *,
    event_key: str,
) -> Adoption:
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return await _found(session, adoption)
        adoption = await _open(session, services, adoption)
        if adoption.status is AdoptionStatus.PENDING:
            run = await _do_close(session, services, actor, adoption, status, branch, parent, reason=reason)
    if adoption.status is not AdoptionStatus.PENDING:
        raise Refusal("adopt_closed_expired", who="")
    await enqueue(services, run)
    return adoption


async def _access(
    services: Services, actor: Actor, action: Action, adoption_id: str
) -> tuple[Adoption, Thread, Thread]:
    async with services.store.reading() as session:
        adoption = await find_adoption(session, actor.workspace_id, adoption_id)
    if adoption is None:
        raise Refusal("adoption_not_found")
    parent = await access_thread(services, actor, action, adoption.parent_id, unknown="adoption_not_found")
    branch = await access_thread(
        services, actor, Action.READ, adoption.branch_id, unknown="adoption_not_found"
    )
    return adoption, branch, parent


async def _open(session: Session, services: Services, adoption: Adoption) -> Adoption:
    """The request, held against other deciders. One that has run out is closed here and comes back expired.

    Raises Refusal that names who decided it, when somebody has.
    """
    held = await _found(session, adoption, lock=True)
    who = await person_name(session, held.workspace_id, held.decided_by) if held.decided_by else ""
    check_open(held.status, who=who)
    if is_expired(held.expires_at, services.clock.now()):
        await do_expire(session, services, held)
        return await _found(session, adoption)
    return held


async def _found(session: Session, adoption: Adoption, *, lock: bool = False) -> Adoption:
    found = await find_adoption(session, adoption.workspace_id, adoption.id, lock=lock)
    if found is None:
        raise Refusal("adoption_not_found")
    return found


async def _do_artifacts(
    session: Session, services: Services, adoption: Adoption, branch: Thread, parent: Thread
) -> None:
    """Bring the covered versions in by the choices made. Raises Refusal for a conflict that came since."""
    kinds = {a.id: a.kind for a, _ in await list_artifacts(session, branch.workspace_id, branch.id)}
    theirs = {
        name_key(a.name): (a, newest)
        for a, newest in await list_artifacts(session, parent.workspace_id, parent.id)
    }
    for one in adoption.artifacts:
        version = await find_version(session, adoption.workspace_id, one["version_id"])
        decided = Decided.from_json(one["decided"]) if one["decided"] else None
        if version is None or await already_copied(session, parent, version.id):
            continue
        if decided is not None and decided.choice is Choice.KEEP_PARENT:
            continue
        name = decided.new_name if decided and decided.new_name else one["name"]
        artifact, newest = theirs.get(name_key(name), (None, None))
        if newest is not None and (decided is None or decided.new_name):
            # The request knew of no such name in the parent, or of the same text under it.
            if newest.sha256 != version.sha256:
                raise Refusal("adopt_new_conflict", name=name)
            continue
        if artifact is None:
            kind = kinds[version.artifact_id]
            artifact = await do_add_artifact(
                session, adoption.workspace_id, parent.id, name=name, kind=kind, clock=services.clock
            )
        if artifact is None:
            # Somebody saved this name in the parent since it was read.
            raise Refusal("adopt_new_conflict", name=name)
        await do_copy_version(session, artifact, version, branch, clock=services.clock)


async def _do_close(
    session: Session,
    services: Services,
    actor: Actor | None,
    adoption: Adoption,
    status: AdoptionStatus,
    branch: Thread,
    parent: Thread,
    *,
    reason: str,
    hashes: tuple[str, str] = ("", ""),
    added: int = 0,
) -> Run:
    """End a request, with notice in both threads and a record; returns the run that brings the card up to date."""
    await do_close(
        session,
        adoption,
        status,
        by=actor.person_id if actor else None,
        reason=reason,
        now=services.clock.now(),
        before=hashes[0],
        after=hashes[1],
    )
    fields = {
        "branch": branch.branch_name,
        "who": actor.name if actor else "",
        "reason": reason,
        "count": added,
    }
    for thread, link in ((parent, branch.id), (branch, parent.id)):
        await do_notice(
            session,
            adoption.workspace_id,
            thread.id,
            f"notice.adoption_{status.value}",
            fields,
            clock=services.clock,
            link=link,
        )
    await _record(session, services, actor, f"adoption_{status.value}", adoption, reason, hashes=hashes)
    return await _do_tell(session, services, actor, adoption, branch, parent, kind=CLOSED)


async def _do_tell(
    session: Session,
    services: Services,
    actor: Actor | None,
    adoption: Adoption,
    branch: Thread,
    parent: Thread,
    *,
    kind: str,
) -> Run:
    """The run that posts a request's card in the parent's thread, or shows there how it ended."""
    return await do_begin_run(
        session,
        services,
        parent,
        kind,
        by=actor.person_id if actor else adoption.requested_by,
        args={"adoption_id": adoption.id},
    )


async def _record(
    session: Session,
    services: Services,
    actor: Actor | None,
    action: str,
    adoption: Adoption,
    reason: str,
    *,
    hashes: tuple[str, str] = ("", ""),
) -> None:
    await do_audit(
        session,
        adoption.workspace_id,
        actor_id=actor.person_id if actor else None,
        action=action,
        subject_id=adoption.id,
        clock=services.clock,
        details={
            "branch": adoption.branch_id,
            "parent": adoption.parent_id,
            "messages": sum(len(ids) for ids in adoption.messages.values()),
            "reason_given": bool(reason),
            "before_sha256": hashes[0],
            "after_sha256": hashes[1],
        },
    )


async def expire_under(session: Session, services: Services, branch: Thread) -> None:
    """Close the pending request under the same top-level thread if it has run out, so that it blocks nobody."""
    pending = await pending_under(session, branch.workspace_id, branch.top_id)
    if pending is not None and is_expired(pending.expires_at, services.clock.now()):
        await do_expire(session, services, pending)


async def do_expire(session: Session, services: Services, adoption: Adoption) -> Run | None:
    """Close a request that nobody decided in time; returns the run that brings its card up to date.

    None when it was closed meanwhile.
    """
    held = await find_adoption(session, adoption.workspace_id, adoption.id, lock=True)
    if held is None or held.status is not AdoptionStatus.PENDING:
        return None
    branch = await find_thread(session, adoption.workspace_id, adoption.branch_id)
    parent = await find_thread(session, adoption.workspace_id, adoption.parent_id)
    if branch is None or parent is None:
        return None
    return await _do_close(
        session, services, None, adoption, AdoptionStatus.EXPIRED, branch, parent, reason=""
    )


async def show_changes(services: Services, actor: Actor, adoption_id: str) -> AdoptionChanges:
    """What a request covers, to the message, whatever became of it. Raises Refusal."""
    adoption, branch, parent = await _access(services, actor, Action.READ, adoption_id)
    async with services.store.reading() as session:
        messages = {
            line: tuple(await find_messages(session, adoption.workspace_id, each))
            for line, each in adoption.messages.items()
        }
    return AdoptionChanges(adoption=adoption, branch=branch, parent=parent, messages=messages)


async def list_adoptions(services: Services, actor: Actor, thread_id: str) -> tuple[Adoption, ...]:
    """Requests from a thread and into it, newest first. Raises Refusal."""
    thread = await access_thread(services, actor, Action.READ, thread_id)
    async with services.store.reading() as session:
        return tuple(await adoptions_of(session, actor.workspace_id, thread.id))


async def pending_for(services: Services, actor: Actor, thread_id: str) -> Adoption | None:
    """The request that a decision typed in a thread is about: the one from it or into it. Raises Refusal."""
    found = await list_adoptions(services, actor, ThreadId(thread_id))
    return next((one for one in found if one.status is AdoptionStatus.PENDING), None)
