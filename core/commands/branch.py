"""Branch: a variant of a thread from a chosen message on; the original is only read (spec §5)."""

from dataclasses import dataclass

from core.commands.services import Services, access_thread, do_begin_run, enqueue, thread_now
from core.commands.text import FULL_WIDTH_DIGITS
from core.domain.errors import Refusal
from core.domain.ids import MessageId, ThreadId
from core.domain.message import Message
from core.domain.policy import Action, Actor
from core.domain.thread import MAX_DEPTH, TITLE_CHARS, Conversation, Place, Status, Thread
from core.files.charset import clean
from core.i18n import text
from core.modes import branching
from core.store.artifact import do_copy_artifacts
from core.store.audit import do_audit, do_notice
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.message import answer_of, do_lock, entry_at, find_message, length, position_of
from core.store.pin import do_copy_pins
from core.store.run import OPEN, find_run, open_runs
from core.store.thread import chain, conversations, count_branches, do_branch, unopened_branch

REASON_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRequest:
    """Where to branch. Without message and position: everything the thread holds at this moment."""

    thread_id: ThreadId
    message_id: str | None = None
    """A stored message of the thread, or the run of an answer."""
    position: str | int | None = None
    """As a person typed it; counted from 1."""
    name: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place in a thread: the position in one of its conversations, and the message there (none at position 0)."""

    conversation: Conversation
    position: int
    message: Message | None
    upto: int = 0
    """How many messages of each conversation are copied where more are than `position`."""


async def branch(services: Services, actor: Actor, request: BranchRequest, *, event_key: str) -> Thread:
    """The new thread, which holds copies of the parent's references up to the point. Raises Refusal.

    Its place on the platform is opened by a run of its own; until then `place.thread` is empty. Where that failed, the
    same request of the same person has it opened again: no second branch is made.
    """
    parent = await access_thread(services, actor, Action.BRANCH, request.thread_id)
    name, reason = " ".join(clean(request.name).split()), clean(request.reason).strip()
    if len(name) > TITLE_CHARS:
        raise Refusal("name_too_long", had=len(name), limit=TITLE_CHARS)
    if len(reason) > REASON_CHARS:
        raise Refusal("reason_too_long", had=len(reason), limit=REASON_CHARS)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return await thread_now(session, actor.workspace_id, earlier["thread_id"])
        if parent.depth >= MAX_DEPTH:
            above = " › ".join(t.title for t in await chain(session, parent))
            raise Refusal("branch_too_deep", limit=MAX_DEPTH, chain=above)
        for line in await conversations(session, actor.workspace_id, parent.id):
            await do_lock(session, parent.workspace_id, line.id)
        point = await _point(session, parent, request)
        new = await _unopened(session, actor, parent, point, name)
        if new is None:
            new = await _do_make(session, services, actor, parent, point, name, reason)
        run = await do_begin_run(session, services, new, branching.KIND, by=actor.person_id)
        await settle(session, actor.workspace_id, (event_key,), {"thread_id": new.id})
    await enqueue(services, run)
    return new


async def _unopened(session: Session, actor: Actor, parent: Thread, point: Point, name: str) -> Thread | None:
    """The actor's own branch from this point that the platform did not open, asked for by its name or by none."""
    split = (point.message.id if point.message else None, point.position)
    kept = await unopened_branch(session, parent, owner_id=actor.person_id, split=split)
    if kept is None or name not in ("", kept.branch_name):
        return None
    opening = [
        run for run in await open_runs(session, parent.workspace_id, kept.id) if run.kind == branching.KIND
    ]
    return None if opening else kept


async def _point(session: Session, parent: Thread, request: BranchRequest) -> Point:
    lines = await conversations(session, parent.workspace_id, parent.id)
    if request.message_id:
        return await _point_of_message(session, parent, lines, request.message_id)
    lengths = {line.id: await length(session, line.id) for line in lines}
    last = max(lengths.values())
    if request.position is None:
        if any(run.request_id for run in await open_runs(session, parent.workspace_id, parent.id)):
            raise Refusal("branch_while_answering")
        position = last
    else:
        position = _position(request.position, last)
    found = [
        (line, await entry_at(session, line.id, min(position, lengths[line.id])))
        for line in lines
        if lengths[line.id] and (request.position is None or lengths[line.id] >= position)
    ]
    # Of several messages at a position the latest, so that those of the other lines are not later.
    standing = [(line, entry) for line, entry in found if entry is not None]
    if not standing:
        return Point(conversation=lines[0], position=0, message=None)
    line, entry = max(standing, key=lambda each: each[1].message.created_at)
    return Point(
        conversation=line,
        position=entry.position,
        upto=position,
        message=entry.message,
    )


def _position(given: str | int, last: int) -> int:
    """A position as a person typed it, or a Refusal that names what is allowed."""
    if not last:
        raise Refusal("position_in_empty")
    typed = str(given).strip().lstrip("#＃").translate(FULL_WIDTH_DIGITS)
    # int() alone would take "1_0" and digits with a sign; a person who types that means something else.
    if not (typed.isascii() and typed.isdigit()) or len(typed) > len(str(last)) + 1:
        raise Refusal("position_invalid", given=typed[:20], last=last)
    position = int(typed)
    if not 1 <= position <= last:
        raise Refusal("position_invalid", given=typed[:20], last=last)
    return position


async def _point_of_message(session: Session, parent: Thread, lines: list[Conversation], ref: str) -> Point:
    run = await find_run(session, parent.workspace_id, ref)
    if run is not None and run.thread_id == parent.id and run.status in OPEN:
        raise Refusal("branch_while_answering")
    if run is not None:
        row = await answer_of(session, parent.workspace_id, run.id)
    else:
        row = await find_message(session, parent.workspace_id, ref)
    if row is not None:
        for line in lines:
            position = await position_of(session, line.id, MessageId(row.root_id))
            entry = await entry_at(session, line.id, position) if position else None
            if position and entry:
                return Point(
                    conversation=line,
                    position=position,
                    message=entry.message,
                )
    raise Refusal("branch_point_not_found")


async def _do_make(
    session: Session,
    services: Services,
    actor: Actor,
    parent: Thread,
    point: Point,
    name: str,
    reason: str,
) -> Thread:
    """The branch with its copies of conversations, artifacts and pins, and its line in the parent."""
    name = name or text(parent.locale, "branch.unnamed", n=await count_branches(session, parent) + 1)
    new = _new_thread(services, actor, parent, point, name, reason)
    await do_branch(
        session,
        parent,
        new,
        chosen=point.conversation,
        at=point.position,
        upto=max(point.upto, point.position),
        clock=services.clock,
    )
    if point.message is not None:
        # A result belongs to a branch when it was there before the next message could come.
        following = await entry_at(session, point.conversation.id, point.position + 1)
        until = following.message.created_at if following else services.clock.now()
        await do_copy_artifacts(
            session, parent.workspace_id, parent.id, new.id, until=until, clock=services.clock
        )
        await do_copy_pins(session, parent.workspace_id, parent.id, new.id, until=until, clock=services.clock)
    await _do_announce(session, services, actor, parent, new)
    return new


def _new_thread(
    services: Services, actor: Actor, parent: Thread, point: Point, name: str, reason: str
) -> Thread:
    return Thread(
        id=ThreadId(services.clock.new_id()),
        workspace_id=parent.workspace_id,
        place=Place(platform=parent.place.platform, channel=parent.place.channel, thread=""),
        mode=parent.mode,
        title=name,
        owner_id=actor.person_id,
        locale=parent.locale,
        parent_id=parent.id,
        top_id=parent.top_id,
        depth=parent.depth + 1,
        split_message_id=point.message.id if point.message else None,
        split_position=point.position,
        branch_name=name,
        branch_reason=reason,
        status=Status.ACTIVE,
        setup=parent.setup,
        created_at=services.clock.now(),
    )


async def _do_announce(
    session: Session, services: Services, actor: Actor, parent: Thread, new: Thread
) -> None:
    """The note in the parent and the audit record."""
    note = branching.note(new)
    await do_notice(
        session,
        actor.workspace_id,
        parent.id,
        note.key,
        note.fields,
        clock=services.clock,
        link=new.id,
    )
    await do_audit(
        session,
        actor.workspace_id,
        actor_id=actor.person_id,
        action="branch",
        subject_id=new.id,
        clock=services.clock,
        details={
            "parent": parent.id,
            "message": new.split_message_id,
            "position": new.split_position,
            "depth": new.depth,
        },
    )
