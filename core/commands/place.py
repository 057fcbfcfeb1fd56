"""What stands at a place of a platform: the thread there, what a message is to us, and a thread that has no place."""

from dataclasses import dataclass
from enum import StrEnum

from core.commands.services import Services, access_thread, can_see, do_begin_run, enqueue, thread_now
from core.domain.errors import Refusal
from core.domain.ids import ThreadId, WorkspaceId
from core.domain.policy import Action, Actor
from core.domain.thread import Place, Thread
from core.modes import branching, evaluating, handing_over, telling
from core.store.claim import claim
from core.store.database import Session
from core.store.message import find_external_in_channel
from core.store.post import find_post
from core.store.run import Run, last_run, open_runs
from core.store.thread import find_thread_at
from core.store.workspace import find_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A platform's message that is one of ours. `ref` is the id of a stored message or of an answer's run."""

    thread_id: ThreadId
    ref: str


async def thread_at(services: Services, actor: Actor, place: Place) -> Thread | None:
    """Our thread at a place, None when there is none or the actor cannot see its channel."""
    async with services.store.reading() as session:
        thread = await find_thread_at(session, actor.workspace_id, place)
    if thread is None or not await can_see(services, actor, place.platform, place.channel):
        return None
    return thread


async def is_ours(services: Services, workspace_external_id: str, place: Place) -> bool:
    """Whether one of our threads lives at a place. For an adapter to tell our threads from others; shown to nobody."""
    async with services.store.reading() as session:
        workspace = await find_workspace(session, place.platform, workspace_external_id)
        if workspace is None:
            return False
        return await find_thread_at(session, WorkspaceId(workspace.id), place) is not None


async def message_at(services: Services, actor: Actor, channel: str, external_id: str) -> Found:
    """What a message of the platform is to us: a person's message, or a post of ours. Raises Refusal.

    For a post with an answer `ref` is the run that wrote it, which every command on answers and branches takes.
    """
    async with services.store.reading() as session:
        message = await find_external_in_channel(session, actor.workspace_id, channel, external_id)
        post = None if message else await find_post(session, actor.workspace_id, channel, external_id)
    if message is not None:
        found = Found(thread_id=ThreadId(message.thread_id), ref=message.id)
    elif post is not None:
        found = Found(thread_id=ThreadId(post.thread_id), ref=post.run_id)
    else:
        raise Refusal("message_not_ours")
    await access_thread(services, actor, Action.READ, found.thread_id, unknown="message_not_ours")
    return found


class Standing(StrEnum):
    """Whether a thread of ours stands on its platform."""

    OPEN = "open"
    OPENING = "opening"
    NOT_OPENED = "not_opened"
    """The platform did not take it, and nothing is under way."""


async def standing_of(services: Services, actor: Actor, thread_id: str) -> Standing:
    """Whether a thread can be found on its platform yet. Raises Refusal."""
    thread = await access_thread(services, actor, Action.READ, thread_id)
    if thread.place.thread:
        return Standing.OPEN
    async with services.store.reading() as session:
        going_on = await open_runs(session, actor.workspace_id, thread.id)
    return Standing.OPENING if going_on else Standing.NOT_OPENED


async def open_again(services: Services, actor: Actor, thread_id: str, *, event_key: str) -> None:
    """Have a thread opened that its platform did not take, and what was to begin there begun. Raises Refusal.

    Whoever may speak in the thread may ask. While it is being opened, asking changes nothing.
    """
    thread = await access_thread(services, actor, Action.SAY, thread_id)
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return
        thread = await thread_now(session, actor.workspace_id, thread.id)
        if thread.place.thread:
            raise Refusal("thread_open_already", title=thread.title)
        going_on = await open_runs(session, actor.workspace_id, thread.id)
        runs = [] if going_on else await _do_open(session, services, actor, thread)
    for run in runs:
        await enqueue(services, run)


async def _do_open(session: Session, services: Services, actor: Actor, thread: Thread) -> list[Run]:
    """The run that opens a thread, and those that had nowhere to speak in it before."""
    runs: list[Run] = []
    begun = await last_run(session, actor.workspace_id, thread.id, evaluating.BEGUN)
    if begun is None or not begun.args["opens"]:
        kind = _opening(thread)
        runs.append(await do_begin_run(session, services, thread, kind, by=actor.person_id))
    if begun is not None:
        runs += await _do_tell(session, services, actor, thread, begun)
    unheard = await last_run(session, actor.workspace_id, thread.id, thread.mode.value)
    if unheard is not None and unheard.status == "failed":
        again = await do_begin_run(
            session,
            services,
            thread,
            unheard.kind,
            by=actor.person_id,
            conversation_id=unheard.conversation_id,
            request_id=unheard.request_id,
            model=unheard.model,
            args=unheard.args,
        )
        runs.append(again)
    return runs


def _opening(thread: Thread) -> str:
    """The kind of run that opens a thread, by how it came to be."""
    if thread.parent_id is not None:
        return branching.KIND
    return handing_over.OPEN if thread.source_thread_id is not None else telling.KIND


async def _do_tell(
    session: Session, services: Services, actor: Actor, thread: Thread, begun: Run
) -> list[Run]:
    """Runs that tell a thread of its evaluation as it stands, from the beginning."""
    return [
        await do_begin_run(session, services, thread, kind, by=actor.person_id, args=begun.args)
        for kind in (evaluating.BEGUN, evaluating.TOLD)
    ]
