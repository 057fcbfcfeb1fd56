"""Telling a channel of a rollback or an evaluation, in a thread where people can talk about it (spec §10)."""

from dataclasses import replace

from core.commands.services import Services, allowed_models, do_begin_run
from core.domain.ids import ConversationId, ThreadId
from core.domain.policy import Actor
from core.domain.prompt import PromptMoved
from core.domain.thread import MAIN_LINE, Conversation, Mode, Place, Thread, title_from, top_level_thread
from core.engine.eval_telling import do_begin_telling
from core.modes import telling
from core.modes.evaluating import BEGUN
from core.store.audit import do_notice
from core.store.database import Session
from core.store.evaluation import EvalRun, do_add_eval
from core.store.run import Run
from core.store.thread import do_add_conversation, do_add_thread
from core.store.workspace import platform_of


async def do_add_own_thread(
    session: Session, services: Services, actor: Actor, channel: str, title: str
) -> Thread:
    """Store a thread in which the product tells of something and people can talk about it; a run is to open it."""
    thread = top_level_thread(
        thread_id=ThreadId(services.clock.new_id()),
        workspace_id=actor.workspace_id,
        place=Place(platform=await platform_of(session, actor.workspace_id), channel=channel, thread=""),
        mode=Mode.CHAT,
        title=title_from(title),
        owner_id=actor.person_id,
        locale=actor.locale,
        created_at=services.clock.now(),
    )
    await do_add_thread(session, thread)
    default = services.models.defaults.chat
    allowed = allowed_models(services, services.policy(actor.workspace))
    line = Conversation(
        id=ConversationId(services.clock.new_id()),
        thread_id=thread.id,
        line=MAIN_LINE,
        model=default if default in allowed or not allowed else allowed[0],
    )
    await do_add_conversation(session, actor.workspace_id, line)
    return thread


async def do_tell_rollback(
    session: Session, services: Services, actor: Actor, moved: PromptMoved, reason: str
) -> Run | None:
    """Store the thread that tells of a rollback, and the run that opens it; None where no channel is set."""
    policy = services.policy(actor.workspace)
    if not policy.prompt_channel:
        return None
    title = f"{moved.name} {moved.from_version} → {moved.to_version}"
    thread = await do_add_own_thread(session, services, actor, policy.prompt_channel, title)
    fields = {
        "who": actor.name,
        "name": moved.name,
        "before": moved.from_version,
        "after": moved.to_version,
        "reason": reason,
    }
    await do_notice(
        session, actor.workspace_id, thread.id, "notice.prompt_rolled_back", fields, clock=services.clock
    )
    return await do_begin_run(session, services, thread, telling.KIND, by=actor.person_id)


async def do_tell_eval(
    session: Session,
    services: Services,
    actor: Actor,
    evaluation: EvalRun,
    *,
    channel: str,
    thread_id: ThreadId | None,
) -> Run | None:
    """Store an evaluation, and the run that tells of it: in a thread of its own in `channel`, or in one that there is.

    None where nobody is told.
    """
    if channel:
        versions = f"{evaluation.baseline.version} → {evaluation.candidate.version}"
        thread = await do_add_own_thread(session, services, actor, channel, f"{evaluation.prompt} {versions}")
        thread_id = thread.id
    evaluation = replace(evaluation, thread_id=thread_id)
    await do_add_eval(session, evaluation)
    if thread_id is None:
        return None
    fields = {
        "who": actor.name,
        "name": evaluation.prompt,
        "before": evaluation.baseline.version,
        "after": evaluation.candidate.version,
        "page": f"/evals/{evaluation.id}",
    }
    await do_notice(session, actor.workspace_id, thread_id, "notice.eval_begun", fields, clock=services.clock)
    return await do_begin_telling(
        session, services.clock, evaluation, BEGUN, by=actor.person_id, opens=bool(channel)
    )
