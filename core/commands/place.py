"""What stands at a place of a platform: the thread there, and what a platform's message is to us."""

from dataclasses import dataclass

from core.commands.services import Services, access_thread, can_see
from core.domain.errors import Refusal
from core.domain.ids import ThreadId, WorkspaceId
from core.domain.policy import Action, Actor
from core.domain.thread import Place, Thread
from core.store.message import find_external_in_channel
from core.store.post import find_post
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
