"""What people do with the answers of a Compare: have them compared, vote, reveal who wrote them, let a model join."""

from dataclasses import replace

from core.commands.services import (
    Services,
    access_answer,
    access_thread,
    allowed_models,
    do_begin_run,
    do_redraw,
    enqueue,
)
from core.domain.compare import CompareSetup
from core.domain.errors import Refusal
from core.domain.ids import ConversationId, RunId, ThreadId
from core.domain.policy import Action, Actor
from core.domain.thread import Conversation, Mode, Thread
from core.modes.compare import COMPARISON
from core.store.audit import do_audit, do_notice
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.message import position_of
from core.store.run import Run, find_run, open_runs
from core.store.thread import conversations, do_add_conversation, do_set_up


async def compare_answers(services: Services, actor: Actor, run_id: str, *, event_key: str) -> RunId:
    """Have the moderating model compare the answers to the question that a run answered. Raises Refusal.

    `run_id` may be `thread/run` for answers that a branch inherited.
    """
    thread_id, _, own_id = run_id.rpartition("/")
    async with services.store.reading() as session:
        asked = await find_run(session, actor.workspace_id, own_id)
    if asked is None or asked.request_id is None:
        raise Refusal("answer_not_found")
    thread = await _access(services, actor, Action.COMPARE_ANSWERS, thread_id or asked.thread_id)
    async with services.store.reading() as session:
        main = (await conversations(session, thread.workspace_id, thread.id))[0]
        if await position_of(session, main.id, asked.request_id) is None:
            raise Refusal("request_gone")
    model = _comparer(services, actor)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return RunId(earlier["run_id"])
        for run in await open_runs(session, actor.workspace_id, thread.id):
            if run.request_id == asked.request_id:
                raise Refusal("compare_while_answering")
        run = await do_begin_run(
            session,
            services,
            thread,
            COMPARISON,
            by=actor.person_id,
            conversation_id=main.id,
            request_id=asked.request_id,
            model=model,
        )
        await settle(session, actor.workspace_id, (event_key,), {"run_id": run.id})
    await enqueue(services, run)
    return run.id


def _comparer(services: Services, actor: Actor) -> str:
    allowed = allowed_models(services, services.policy(actor.workspace))
    if not allowed:
        raise Refusal("no_model")
    wanted = services.models.defaults.moderator
    return wanted if wanted in allowed else allowed[0]


async def reveal(services: Services, actor: Actor, thread_id: str, *, event_key: str) -> None:
    """Show which model wrote which answer of a blind Compare, from now on and for everybody. Raises Refusal."""
    thread = await _access(services, actor, Action.REVEAL, thread_id)
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return
        shown = await _do_reveal(session, services, actor, thread)
    await _enqueue(services, shown)


async def vote(services: Services, actor: Actor, message_id: str, *, event_key: str) -> ThreadId:
    """Vote for an answer of a blind Compare, which also reveals the models. One vote a person and question."""
    thread, answer = await access_answer(services, actor, Action.REVEAL, message_id)
    if thread.mode is not Mode.COMPARE:
        raise Refusal("not_a_compare")
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return thread.id
        # A second vote of the same person on the same question finds the first one's claim.
        key = f"vote:{thread.id}:{answer.answers_id}:{actor.person_id}"
        if await claim(session, actor.workspace_id, (key,), services.clock) is not None:
            raise Refusal("voted_already")
        await settle(session, actor.workspace_id, (key,), {"message_id": answer.id})
        line = answer.step.partition(":")[2]
        await do_notice(
            session,
            actor.workspace_id,
            thread.id,
            "notice.voted",
            {"person": actor.name, "model": answer.author_name, "line": line},
            clock=services.clock,
        )
        shown = await _do_reveal(session, services, actor, thread)
    await _enqueue(services, shown)
    return thread.id


async def _enqueue(services: Services, run: Run | None) -> None:
    if run is not None:
        await enqueue(services, run)


async def _do_reveal(session: Session, services: Services, actor: Actor, thread: Thread) -> Run | None:
    """The run that shows the names on what is posted already; None where they are shown."""
    setup = CompareSetup.from_json(thread.setup)
    if not setup.blind:
        return None
    await do_set_up(session, actor.workspace_id, thread.id, replace(setup, blind=False).to_json())
    await do_notice(
        session,
        actor.workspace_id,
        thread.id,
        "notice.revealed",
        {"person": actor.name},
        clock=services.clock,
    )
    await do_audit(
        session,
        actor.workspace_id,
        actor_id=actor.person_id,
        action="reveal",
        subject_id=thread.id,
        clock=services.clock,
    )
    return await do_redraw(session, services, thread, actor.person_id)


async def join(
    services: Services, actor: Actor, thread_id: str, model: str, *, event_key: str
) -> ConversationId:
    """Let one more model take part from the next question on; it is told that it came late. Raises Refusal."""
    thread = await _access(services, actor, Action.SAY, thread_id)
    allowed = allowed_models(services, services.policy(actor.workspace))
    if model not in allowed:
        raise Refusal("unknown_model", model=model, allowed=", ".join(allowed))
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return ConversationId(earlier["conversation_id"])
        setup = CompareSetup.from_json(thread.setup).joined_by(model)
        if setup.blind:
            raise Refusal("join_while_blind")
        line = Conversation(
            id=ConversationId(services.clock.new_id()),
            thread_id=thread.id,
            line=setup.candidates[-1].line,
            model=model,
        )
        await do_add_conversation(session, actor.workspace_id, line)
        await do_set_up(session, actor.workspace_id, thread.id, setup.to_json())
        await do_notice(
            session, actor.workspace_id, thread.id, "notice.joined", {"model": model}, clock=services.clock
        )
        await settle(session, actor.workspace_id, (event_key,), {"conversation_id": line.id})
    return line.id


async def _access(services: Services, actor: Actor, action: Action, thread_id: str) -> Thread:
    thread = await access_thread(services, actor, action, thread_id)
    if thread.mode is not Mode.COMPARE:
        raise Refusal("not_a_compare")
    return thread
