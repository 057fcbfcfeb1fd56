"""Answers: again, with another model, which one is kept, and stop."""

from dataclasses import dataclass

from core.commands.services import Services, access_thread, choose_model, do_begin_run, do_redraw, enqueue
from core.domain.compare import answer_step
from core.domain.errors import Refusal
from core.domain.ids import ConversationId, MessageId, RunId, ThreadId
from core.domain.policy import Action, Actor
from core.domain.thread import Mode, Thread
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.message import do_place_answer, find_message, position_of
from core.store.page import hidden_name
from core.store.run import Run, find_run, open_runs
from core.store.step import steps_of
from core.store.thread import conversations

AGAIN = frozenset({Mode.CHAT.value, Mode.COMPARE.value})
"""Runs whose answers can be given once more; in the other modes a new message takes the work further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an answer in some thread was an answer to."""

    conversation_id: ConversationId
    line: str
    request_id: MessageId
    model: str


async def answer_again(
    services: Services, actor: Actor, thread_id: str, ref: str, *, model: str | None, event_key: str
) -> RunId:
    """Have a message answered once more, in the thread where that is asked for; the newest answer is the one kept.

    `ref` is the run or the stored message of an earlier answer, or `run/step` of a candidate of a Compare, which is
    asked alone; `model` None takes the same model. Raises Refusal, among others when such an answer is being written.
    """
    thread = await access_thread(services, actor, Action.ANSWER_AGAIN, thread_id)
    policy = services.policy(actor.workspace)
    wanted = choose_model(services, policy, model) if model else None
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return RunId(earlier["run_id"])
        asked = await _asked(session, thread, ref)
        alias = wanted or choose_model(services, policy, asked.model)
        for run in await open_runs(session, actor.workspace_id, thread.id):
            if _is_answering(run, thread, asked, alias):
                raise Refusal("already_answering", model=hidden_name(thread, run.kind, asked.line) or alias)
        run = await do_begin_run(
            session,
            services,
            thread,
            thread.mode.value,
            by=actor.person_id,
            conversation_id=asked.conversation_id,
            request_id=asked.request_id,
            model=alias,
            args={"lines": [asked.line]} if thread.mode is Mode.COMPARE else {},
        )
        shown = await do_redraw(session, services, thread, actor.person_id, asked.request_id)
        await settle(session, actor.workspace_id, (event_key,), {"run_id": run.id})
    await enqueue(services, run)
    # Behind the answer, in the thread's lane: then the posts of earlier ones are no longer the kept one's.
    await enqueue(services, shown)
    return run.id


def _is_answering(run: Run, thread: Thread, asked: Asked, alias: str) -> bool:
    """Whether an open run brings the answer that is asked for again."""
    if (run.request_id, run.kind) != (asked.request_id, thread.mode.value):
        return False
    if thread.mode is Mode.COMPARE:
        return asked.line in run.args.get("lines", (asked.line,))
    return run.model == alias


async def _asked(session: Session, thread: Thread, ref: str) -> Asked:
    """The request behind an answer, as it stands in `thread`; raises Refusal when it does not stand there."""
    run_id, _, step = ref.partition("/")
    run = await find_run(session, thread.workspace_id, run_id)
    if run is None:
        message = await find_message(session, thread.workspace_id, ref)
        step = message.step if message else ""
        run = (
            await find_run(session, thread.workspace_id, message.run_id)
            if message and message.run_id
            else None
        )
    if run is None or run.request_id is None or run.kind not in AGAIN:
        raise Refusal("answer_not_found")
    lines = await conversations(session, thread.workspace_id, thread.id)
    if thread.mode is Mode.COMPARE:
        lines = [line for line in lines if answer_step(line.line) == step]
    for line in lines:
        if await position_of(session, line.id, run.request_id) is not None:
            model = line.model if thread.mode is Mode.COMPARE else run.model
            return Asked(conversation_id=line.id, line=line.line, request_id=run.request_id, model=model)
    raise Refusal("request_gone" if run.thread_id == thread.id else "answer_not_found")


async def keep_answer(services: Services, actor: Actor, message_id: str, *, event_key: str) -> ThreadId:
    """Let the history keep this answer in place of the one it keeps now; returns the thread."""
    async with services.store.reading() as session:
        found = await find_message(session, actor.workspace_id, message_id)
    if found is None or found.answers_id is None:
        raise Refusal("answer_not_found")
    thread = await access_thread(
        services, actor, Action.ANSWER_AGAIN, found.thread_id, unknown="answer_not_found"
    )
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return thread.id
        asked = await _asked(session, thread, message_id)
        answer = await find_message(session, actor.workspace_id, message_id)
        if answer is not None:
            await do_place_answer(session, actor.workspace_id, asked.conversation_id, answer, replaces=True)
        shown = await do_redraw(session, services, thread, actor.person_id, asked.request_id)
    await enqueue(services, shown)
    return thread.id


async def stop(
    services: Services, actor: Actor, *, run_id: str | None = None, thread_id: str | None = None
) -> int:
    """Stop one run, or all that are open in a thread; what is written so far is kept. Returns how many were told.

    `run_id` followed by `/` and the number of a turn, as a button has it, stops that one answer and the run goes on.
    Raises Refusal `nothing_to_stop` when none is open, `answer_ended` when the turn is none that is being written.
    """
    run_id, _, number = (run_id or "").partition("/")
    async with services.store.reading() as session:
        run = await find_run(session, actor.workspace_id, run_id) if run_id else None
    if run_id and run is None:
        raise Refusal("answer_not_found")
    thread = await access_thread(
        services,
        actor,
        Action.STOP,
        run.thread_id if run else thread_id or "",
        unknown="answer_not_found" if run else "thread_not_found",
    )
    async with services.store.reading() as session:
        runs = await open_runs(session, actor.workspace_id, thread.id)
    told = [r for r in runs if r.request_id and (run is None or r.id == run.id)]
    if not told:
        raise Refusal("nothing_to_stop")
    turn = await _open_turn(services, actor, told[0].id, number) if number else ""
    for each in told:
        await services.engine.request_stop(each.id, turn)
    return len(told)


async def _open_turn(services: Services, actor: Actor, run_id: RunId, number: str) -> str:
    """The step of a turn that is being written, by its number in the run."""
    async with services.store.reading() as session:
        turns = await steps_of(session, actor.workspace_id, [run_id])
    found = [turn.step for turn in turns if str(turn.ordinal) == number and turn.status == "running"]
    if not found:
        raise Refusal("answer_ended")
    return found[0]
