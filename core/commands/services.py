"""What commands work with, and the checks that every command begins with."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.domain.errors import Refusal, StoreUnavailable
from core.domain.feedback import Thumb
from core.domain.ids import ConversationId, MessageId, PersonId, RunId, WorkspaceId
from core.domain.policy import Action, Actor, Policy, Subject, authorise
from core.domain.thread import Thread
from core.domain.workflow import Workflow
from core.engine.engine import Engine
from core.files.reader import FileReader
from core.llm.catalogue import Catalogue
from core.modes import PROMPTS, redrawing
from core.ports import ChannelAccess, Clock
from core.prompts.eval_library import EvalLibrary
from core.store.database import Session, Store
from core.store.message import find_message, position_in
from core.store.prompt_library import Prompts
from core.store.run import Run, do_add_run
from core.store.tables import MessageRow
from core.store.thread import conversations, find_thread

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Built once by the wiring and passed down; `policy` gives the rules of a workspace by its external id."""

    store: Store
    engine: Engine
    models: Catalogue
    prompts: Prompts
    workflows: Mapping[str, Workflow]
    policy: Callable[[str], Policy]
    access: Mapping[str, ChannelAccess]
    """Who can see which channel, by platform."""
    files: FileReader
    clock: Clock
    evals: EvalLibrary
    feedback: Callable[[Thumb | None], None]
    """Counts what people say of answers; None for what they take back."""


async def can_see(services: Services, actor: Actor, platform: str, channel: str) -> bool:
    """Whether the actor can see a channel at this moment."""
    access = services.access.get(platform)
    return access is not None and await access.can_see(actor.workspace_id, channel, actor.external_id)


async def access_thread(
    services: Services, actor: Actor, action: Action, thread_id: str, *, unknown: str = "thread_not_found"
) -> Thread:
    """The thread, when the actor may do `action` to it now; raises Refusal.

    Unknown and forbidden look the same: `unknown` is what whoever asks for something in the thread is told of a
    thing that is not there.
    """
    async with services.store.reading() as session:
        thread = await find_thread(session, actor.workspace_id, thread_id)
    if thread is None or not await can_see(services, actor, thread.place.platform, thread.place.channel):
        raise Refusal(unknown)
    subject = Subject(visible=True, owner_id=thread.owner_id)
    authorise(actor, action, subject, services.policy(actor.workspace))
    return thread


async def access_answer(
    services: Services, actor: Actor, action: Action, ref: str
) -> tuple[Thread, MessageRow]:
    """A stored answer and the thread in which something is to be done with it. Raises Refusal.

    `ref` is the answer's id; `thread/id` names a branch that inherited it.
    """
    thread_id, _, message_id = ref.rpartition("/")
    async with services.store.reading() as session:
        answer = await find_message(session, actor.workspace_id, message_id)
    if answer is None or answer.run_id is None:
        raise Refusal("answer_not_found")
    thread = await access_thread(
        services, actor, action, thread_id or answer.thread_id, unknown="answer_not_found"
    )
    async with services.store.reading() as session:
        if not await stands_in(session, thread, answer):
            raise Refusal("answer_not_found")
    return thread, answer


async def stands_in(session: Session, thread: Thread, message: MessageRow) -> bool:
    """Whether a message belongs to a thread: said in it, or inherited or adopted by one of its conversations."""
    if message.thread_id == thread.id:
        return True
    lines = await conversations(session, thread.workspace_id, thread.id)
    return any([await position_in(session, line.id, MessageId(message.id)) for line in lines])


async def thread_now(session: Session, workspace_id: WorkspaceId, thread_id: str) -> Thread:
    """A thread that is known to exist, as this transaction sees it. Raises Refusal when it is gone."""
    thread = await find_thread(session, workspace_id, thread_id)
    if thread is None:
        raise Refusal("thread_not_found")
    return thread


async def do_begin_run(
    session: Session,
    services: Services,
    thread: Thread,
    kind: str,
    *,
    by: PersonId,
    conversation_id: ConversationId | None = None,
    request_id: MessageId | None = None,
    model: str = "",
    args: Mapping[str, Any] | None = None,
) -> Run:
    """Store a run of a thread with the prompts of its kind as they stand now; `enqueue` it once that is committed."""
    workflow = (
        services.workflows.get(str(thread.setup.get("workflow"))) if kind == thread.mode.value else None
    )
    named = dict.fromkeys(step.prompt for step in workflow.prompted) if workflow else ()
    shipped = await services.prompts.refs(session, thread.workspace_id, PROMPTS[kind])
    own = await services.prompts.own_refs(session, thread.workspace_id, tuple(named))
    run = Run(
        id=RunId(services.clock.new_id()),
        workspace_id=thread.workspace_id,
        thread_id=thread.id,
        kind=kind,
        status="queued",
        conversation_id=conversation_id,
        request_id=request_id,
        model=model,
        prompts=(*shipped, *own),
        requested_by=by,
        failure=None,
        created_at=services.clock.now(),
        args=args or {},
    )
    await do_add_run(session, run)
    return run


async def do_redraw(
    session: Session, services: Services, thread: Thread, by: PersonId, request_id: str = ""
) -> Run:
    """Store a run that shows posts anew, of the answers to one message (root id) or of all; `enqueue` it after."""
    return await do_begin_run(
        session, services, thread, redrawing.KIND, by=by, args={"request_id": request_id}
    )


async def enqueue(services: Services, run: Run) -> None:
    """Hand a stored run to the engine. Where that fails it is left to the sweep: what was stored stays promised."""
    try:
        await services.engine.enqueue(run.id, lane=run.thread_id, args={"workspace_id": run.workspace_id})
    except StoreUnavailable:
        log.warning("a run was stored and not enqueued; the sweep picks it up", extra={"run_id": run.id})


def allowed_models(services: Services, policy: Policy) -> tuple[str, ...]:
    """Aliases that the workspace may use, in the order of the catalogue."""
    allowed = policy.allowed_models
    return tuple(alias for alias in services.models.models if allowed is None or alias in allowed)


def choose_model(services: Services, policy: Policy, wanted: str | None) -> str:
    """The alias to use: the one asked for, or the default for Chat. Raises Refusal when there is none."""
    allowed = allowed_models(services, policy)
    if wanted:
        if wanted not in allowed:
            raise Refusal("unknown_model", model=wanted, allowed=", ".join(allowed))
        return wanted
    default = services.models.defaults.chat
    if default in allowed:
        return default
    if not allowed:
        raise Refusal("no_model")
    return allowed[0]
