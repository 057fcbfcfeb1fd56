"""Telling the channel set for it of a rollback: a thread of its own, in which people can talk about it (spec §10)."""

from core.commands.services import Services, allowed_models, do_begin_run
from core.domain.ids import ConversationId, ThreadId
from core.domain.policy import Actor
from core.domain.prompt import PromptMoved
from core.domain.thread import MAIN_LINE, Conversation, Mode, Place, top_level_thread
from core.modes import telling
from core.store.audit import do_notice
from core.store.database import Session
from core.store.run import Run
from core.store.thread import do_add_conversation, do_add_thread
from core.store.workspace import platform_of


async def do_tell_rollback(
    session: Session, services: Services, actor: Actor, moved: PromptMoved, reason: str
) -> Run | None:
    """Store the thread that tells of a rollback, and the run that opens it; None where no channel is set."""
    policy = services.policy(actor.workspace)
    if not policy.prompt_channel:
        return None
    thread_id = ThreadId(services.clock.new_id())
    thread = top_level_thread(
        thread_id=thread_id,
        workspace_id=actor.workspace_id,
        place=Place(
            platform=await platform_of(session, actor.workspace_id),
            channel=policy.prompt_channel,
            thread="",
        ),
        mode=Mode.CHAT,
        title=f"{moved.name} {moved.from_version} → {moved.to_version}",
        owner_id=actor.person_id,
        locale=actor.locale,
        created_at=services.clock.now(),
    )
    await do_add_thread(session, thread)
    default = services.models.defaults.chat
    allowed = allowed_models(services, policy)
    line = Conversation(
        id=ConversationId(services.clock.new_id()),
        thread_id=thread_id,
        line=MAIN_LINE,
        model=default if default in allowed or not allowed else allowed[0],
    )
    await do_add_conversation(session, actor.workspace_id, line)
    fields = {
        "who": actor.name,
        "name": moved.name,
        "before": moved.from_version,
        "after": moved.to_version,
        "reason": reason,
    }
    await do_notice(
        session, actor.workspace_id, thread_id, "notice.prompt_rolled_back", fields, clock=services.clock
    )
    return await do_begin_run(session, services, thread, telling.KIND, by=actor.person_id)
