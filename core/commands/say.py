"""A person says something in a thread, or begins one."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from core.commands.opening import Opening, check_step_prompts, estimate, open_mode
from core.commands.services import Services, access_thread, can_see, do_begin_run, enqueue
from core.domain.errors import Refusal
from core.domain.ids import AttachmentId, ConversationId, MessageId, RunId, ThreadId
from core.domain.message import MAX_MESSAGE_CHARS, Attachment, Author, AuthorKind, Message
from core.domain.policy import Action, Actor, Listen, Policy, Subject, authorise
from core.domain.thread import AWAITS_START, Conversation, Mode, Place, Thread, title_from, top_level_thread
from core.files.charset import clean
from core.files.reader import FileText
from core.store.budget import check_budget
from core.store.claim import claim, find_settled, settle
from core.store.database import Session
from core.store.message import do_add_message, do_append, do_keep_file
from core.store.run import Run
from core.store.thread import conversations, do_add_conversation, do_add_thread, do_set_up, find_thread_at
from core.store.workspace import do_know_person

MAX_FILES = 10
FILE_NAME_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    name: str
    media_type: str
    data: bytes
    problem: str = ""
    """Code of why its platform did not hand it over (`attachment.<code>`); `data` is empty then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A message that stood in a human thread before it became ours (spec §11)."""

    external_id: str
    author_external_id: str
    author_name: str
    author_kind: AuthorKind
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a person. Either `place` or `thread_id` says where; a place without a thread begins one."""

    text: str
    event_key: str
    """Identity of the delivery; the same key again changes nothing."""
    external_id: str
    """Identity of the platform's message; two deliveries that mean the same message have the same one."""
    mentions_bot: bool
    place: Place | None = None
    thread_id: ThreadId | None = None
    mentions_other: bool = False
    """It begins by mentioning another person: kept as context, not answered."""
    uploads: tuple[Upload, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    """What stood at a new thread's place before, oldest first: taken in as context, once."""
    mode: Mode = Mode.CHAT
    """Of a new thread."""
    setup: Mapping[str, object] = field(default_factory=dict)
    """What a form or command gave for the mode of a new thread; the text is its question, topic or task."""
    estimate_seen: bool = False
    """The person saw what a new thread with several calls is expected to cost, and went on."""
    model: str | None = None
    """Alias for a new Chat; None takes the default."""
    locale: str | None = None
    """Language of a new thread; None takes the person's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidResult:
    thread_id: ThreadId | None
    """None when the message was none of ours."""
    message_id: MessageId | None
    run_id: RunId | None
    """None when nobody answers it."""
    duplicate: bool


NOT_OURS = SaidResult(thread_id=None, message_id=None, run_id=None, duplicate=False)


async def say(services: Services, actor: Actor, said: Said) -> SaidResult:
    """Store a message and let the thread's model answer it, in its turn.

    A message outside our threads counts only with a mention. Raises Refusal and StoreUnavailable; in both cases
    nothing was stored.
    """
    text = _checked_text(said)
    policy = services.policy(actor.workspace)
    place, known = await _where(services, actor, said)
    authorise(
        actor,
        Action.SAY,
        Subject(visible=await can_see(services, actor, place.platform, place.channel)),
        policy,
    )
    if known is None and not said.mentions_bot:
        return NOT_OURS
    opening = await _opening(services, actor, policy, said, known, text)
    message = await _message(services, actor, replace(said, text=text))
    async with services.store.writing() as session:
        keys = (said.event_key, f"message:{place.channel}:{said.external_id}")
        earlier = await claim(session, actor.workspace_id, keys, services.clock)
        if earlier is not None:
            return _again(earlier)
        thread = await find_thread_at(session, actor.workspace_id, place) if known is None else known
        if thread is None and opening is not None:
            thread, is_new = await _do_begin(
                session, services, actor, said, place=place, opening=opening, text=text
            )
            if is_new:
                await do_take_in(session, services, thread, said.earlier)
        if thread is None:
            raise Refusal("thread_not_found")
        if AWAITS_START in thread.setup and opening is not None:
            await do_set_up(session, actor.workspace_id, thread.id, opening.setup)
        message = replace(message, thread_id=thread.id)
        run = await _do_store(session, services, actor, thread, message, said, policy, uploads=said.uploads)
        result = SaidResult(
            thread_id=thread.id, message_id=message.id, run_id=run.id if run else None, duplicate=False
        )
        await settle(session, actor.workspace_id, keys, _remember(result))
    if run is not None:
        await enqueue(services, run)
    return result


async def check_start(services: Services, actor: Actor, said: Said) -> SaidResult | None:
    """For a platform that posts before it says: None when `say` would begin the thread now.

    What came of the delivery where it was taken in before. Raises what `say` raises; nothing is stored.
    """
    text = _checked_text(said)
    async with services.store.reading() as session:
        earlier = await find_settled(session, actor.workspace_id, said.event_key)
    if earlier is not None:
        return _again(earlier)
    policy = services.policy(actor.workspace)
    place, _ = await _where(services, actor, said)
    visible = await can_see(services, actor, place.platform, place.channel)
    authorise(actor, Action.SAY, Subject(visible=visible), policy)
    await _opening(services, actor, policy, said, None, text)
    return None


def _checked_text(said: Said) -> str:
    text = clean(said.text).strip()
    if not text and not said.uploads:
        raise Refusal("empty_message")
    if len(text) > MAX_MESSAGE_CHARS:
        raise Refusal("message_too_long", had=len(text), limit=MAX_MESSAGE_CHARS)
    if len(said.uploads) > MAX_FILES:
        raise Refusal("too_many_files", had=len(said.uploads), limit=MAX_FILES)
    return text


async def _opening(
    services: Services, actor: Actor, policy: Policy, said: Said, known: Thread | None, text: str
) -> Opening | None:
    """How a new thread begins, or one that waits for its first message; None for one that has begun.

    Raises Refusal, also when the cost of a new thread was not shown before or is over a budget.
    """
    if known is None:
        opening = open_mode(services, policy, said.mode, said.setup, text, said.model)
        if len(opening.calls) > 1 and not said.estimate_seen:
            raise Refusal("estimate_first", calls=len(opening.calls))
    elif AWAITS_START in known.setup:
        opening = open_mode(services, policy, known.mode, known.setup[AWAITS_START], text, None)
    else:
        return None
    await check_opening(services, actor, policy, opening, text)
    return opening


async def check_opening(
    services: Services, actor: Actor, policy: Policy, opening: Opening, text: str
) -> None:
    """Return when the prompts that a workflow names are there and the budgets allow several calls; raise Refusal
    otherwise. A single call is checked as it is made."""
    await check_step_prompts(services, actor, opening)
    if len(opening.calls) > 1:
        expected = estimate(services, opening, text)
        async with services.store.reading() as session:
            await check_budget(
                session,
                actor.workspace_id,
                actor.person_id,
                policy,
                expected_usd=expected.cost_usd,
                now=services.clock.now(),
            )


async def _where(services: Services, actor: Actor, said: Said) -> tuple[Place, Thread | None]:
    if said.thread_id is not None:
        thread = await access_thread(services, actor, Action.SAY, said.thread_id)
        return thread.place, thread
    if said.place is None:
        raise Refusal("thread_not_found")
    async with services.store.reading() as session:
        return said.place, await find_thread_at(session, actor.workspace_id, said.place)


async def _message(services: Services, actor: Actor, said: Said) -> Message:
    """The message as it will be stored, with its files read. Its thread is filled in later."""
    attachments = []
    for upload in said.uploads:
        read = (
            FileText(media_type=upload.media_type, problem=upload.problem)
            if upload.problem
            else await services.files.read_file(upload.name, upload.media_type, upload.data)
        )
        attachments.append(
            Attachment(
                id=AttachmentId(services.clock.new_id()),
                name=clean(upload.name)[:FILE_NAME_CHARS],
                media_type=read.media_type,
                size_bytes=len(upload.data),
                sha256=hashlib.sha256(upload.data).hexdigest(),
                text=read.text,
                problem=read.problem,
            )
        )
    return Message(
        id=MessageId(services.clock.new_id()),
        thread_id=ThreadId(""),
        author=Author(kind=AuthorKind.PERSON, name=actor.name, person_id=actor.person_id),
        text=said.text,
        created_at=services.clock.now(),
        attachments=tuple(attachments),
        external_id=said.external_id,
    )


async def _do_begin(
    session: Session,
    services: Services,
    actor: Actor,
    said: Said,
    *,
    place: Place,
    opening: Opening,
    text: str,
) -> tuple[Thread, bool]:
    """The new thread; or the one that another message to the same place began meanwhile, and False."""
    thread_id = ThreadId(services.clock.new_id())
    thread = top_level_thread(
        thread_id=thread_id,
        workspace_id=actor.workspace_id,
        place=place if place.thread else replace(place, thread=thread_id),
        mode=opening.mode,
        title=title_from(text or clean(said.uploads[0].name)),
        owner_id=actor.person_id,
        locale=said.locale or actor.locale,
        setup=opening.setup,
        created_at=services.clock.now(),
    )
    if not await do_add_thread(session, thread):
        other = await find_thread_at(session, actor.workspace_id, thread.place)
        if other is None:
            raise LookupError("a place is taken by no thread")
        return other, False
    for name, model in opening.lines:
        line = Conversation(
            id=ConversationId(services.clock.new_id()), thread_id=thread_id, line=name, model=model
        )
        await do_add_conversation(session, actor.workspace_id, line)
    return thread, True


async def do_take_in(
    session: Session, services: Services, thread: Thread, earlier: Sequence[Earlier]
) -> None:
    """Put what stood at the thread's place before into its conversations, with its authors. Empty texts are skipped."""
    lines = await conversations(session, thread.workspace_id, thread.id)
    for said in earlier:
        if not said.text.strip():
            continue
        author_id = None
        if said.author_kind is AuthorKind.PERSON:
            author_id = await do_know_person(
                session,
                thread.workspace_id,
                external_id=said.author_external_id,
                name=said.author_name,
                locale=thread.locale,
                clock=services.clock,
            )
        message = Message(
            id=MessageId(services.clock.new_id()),
            thread_id=thread.id,
            author=Author(kind=said.author_kind, name=said.author_name, person_id=author_id),
            text=clean(said.text)[:MAX_MESSAGE_CHARS],
            created_at=said.created_at,
            external_id=said.external_id,
        )
        key = f"message:{thread.place.channel}:{said.external_id}"
        if await claim(session, thread.workspace_id, (key,), services.clock) is not None:
            continue
        await do_add_message(session, thread.workspace_id, message)
        for line in lines:
            await do_append(session, thread.workspace_id, line.id, message.id)
        await settle(
            session,
            thread.workspace_id,
            (key,),
            {"thread_id": thread.id, "message_id": message.id, "run_id": None},
        )


async def _do_store(
    session: Session,
    services: Services,
    actor: Actor,
    thread: Thread,
    message: Message,
    said: Said,
    policy: Policy,
    *,
    uploads: tuple[Upload, ...],
) -> Run | None:
    """Store the message in every conversation of the thread and, where it is to be answered, the run that does it."""
    await do_add_message(session, actor.workspace_id, message)
    for attachment, upload in zip(message.attachments, uploads, strict=True):
        if attachment.readable:
            await do_keep_file(session, actor.workspace_id, attachment.sha256, upload.data)
    lines = await conversations(session, actor.workspace_id, thread.id)
    for line in lines:
        await do_append(session, actor.workspace_id, line.id, message.id)
    listening = policy.listen is Listen.ALL or said.mentions_bot
    if said.mentions_other or not listening:
        return None
    return await do_begin_run(
        session,
        services,
        thread,
        thread.mode.value,
        by=actor.person_id,
        conversation_id=lines[0].id,
        request_id=message.id,
        model=lines[0].model,
    )


def _remember(result: SaidResult) -> dict[str, Any]:
    return {"thread_id": result.thread_id, "message_id": result.message_id, "run_id": result.run_id}


def _again(earlier: Mapping[str, Any]) -> SaidResult:
    return SaidResult(
        thread_id=ThreadId(earlier["thread_id"]),
        message_id=MessageId(earlier["message_id"]),
        run_id=RunId(earlier["run_id"]) if earlier["run_id"] else None,
        duplicate=True,
    )
