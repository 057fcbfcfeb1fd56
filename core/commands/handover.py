"""Handover: the same work goes on in a fresh thread, with a structure of fields that a person has seen (spec §9)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.ai_input.handover import Words, content_of, declared_inputs, premises, prior_context
from core.ai_input.material import SHARED_PROMPTS, Material
from core.commands.opening import Opening, estimate, open_mode
from core.commands.say import Said, check_opening, say
from core.commands.services import (
    Services,
    access_thread,
    allowed_models,
    do_begin_run,
    enqueue,
    stands_in,
    thread_now,
)
from core.domain.drafting import TargetForm
from core.domain.errors import Refusal
from core.domain.handover import HandoverFields, check, check_route, read_target, sent_fields
from core.domain.ids import ConversationId, MessageId, ThreadId
from core.domain.message import Author, AuthorKind, Message
from core.domain.policy import Action, Actor, Policy
from core.domain.thread import AWAITS_START, Conversation, Mode, Place, Thread, title_from, top_level_thread
from core.domain.view import EstimateView
from core.modes.handing_over import DRAFT, OPEN, note
from core.store.audit import do_audit, do_notice
from core.store.carried_erasure import STRUCTURE
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.handover import (
    Handover,
    do_add_handover,
    do_edit_fields,
    do_edit_form,
    do_send,
    drafts_of,
    find_handover,
    handovers_of,
)
from core.store.message import do_add_message, find_message, first_of_person
from core.store.page import hidden_name
from core.store.run import Run
from core.store.thread import conversations, do_add_conversation, do_add_thread

_PICKED_FROM = (Mode.COMPARE, Mode.DEBATE, Mode.WORKFLOW)
"""Modes of which one answer can be the centre: picked in a Compare, or found the better one by a Cross Review."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """What the form sends."""

    handover_id: str
    fields: Mapping[str, object]
    """Every field as the person left it, under the names of the structure."""
    start: str = ""
    """The next question, topic or task: with one the target's mode starts at once."""
    setup: Mapping[str, object] = field(default_factory=dict)
    """What the form gave for the target's mode."""
    model: str | None = None
    estimate_seen: bool = False


async def begin_handover(
    services: Services,
    actor: Actor,
    source_id: str,
    target: str,
    *,
    centre: str | None = None,
    event_key: str,
) -> str:
    """Have a handover drafted from a thread; returns its id. `centre` is the answer to go on with, if one was picked.

    Raises Refusal, among others for a route that is not allowed, with the list of those that are.
    """
    source = await access_thread(services, actor, Action.HAND_OVER, source_id)
    mode = read_target(target)
    check_route(source.mode, mode, services.policy(actor.workspace))
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return str(earlier["handover_id"])
        line = (await conversations(session, source.workspace_id, source.id))[0]
        if await first_of_person(session, source.workspace_id, line.id) is None:
            raise Refusal("handover_nothing_yet")
        if centre is not None:
            await _check_centre(session, source, centre)
        handover = Handover(
            id=services.clock.new_id(),
            workspace_id=actor.workspace_id,
            source_thread_id=source.id,
            target_thread_id=None,
            target_mode=mode,
            status="drafting",
            centre_id=MessageId(centre) if centre else None,
            draft={},
            fields={},
            person_id=actor.person_id,
            created_at=services.clock.now(),
        )
        await do_add_handover(session, handover)
        run = await _do_draft(session, services, actor, source, handover)
        await settle(session, actor.workspace_id, (event_key,), {"handover_id": handover.id})
    await enqueue(services, run)
    return handover.id


async def _check_centre(session: Session, source: Thread, centre: str) -> None:
    row = await find_message(session, source.workspace_id, centre)
    is_answer = row is not None and row.run_id is not None and await stands_in(session, source, row)
    if not is_answer or source.mode not in _PICKED_FROM:
        raise Refusal("answer_not_found")


async def centre_model(services: Services, actor: Actor, handover_id: str) -> str:
    """The model that wrote the picked answer, for a target that goes on with it (spec §8). Raises Refusal.

    Empty where no answer was picked, where names are hidden, and where the workspace may not use the model.
    """
    handover = await show_handover(services, actor, handover_id)
    if handover.centre_id is None:
        return ""
    async with services.store.reading() as session:
        source = await thread_now(session, actor.workspace_id, handover.source_thread_id)
        row = await find_message(session, actor.workspace_id, handover.centre_id)
    allowed = allowed_models(services, services.policy(actor.workspace))
    if row is None or row.author_name not in allowed or hidden_name(source, source.mode.value, None):
        return ""
    return row.author_name


async def _do_draft(
    session: Session, services: Services, actor: Actor, source: Thread, handover: Handover
) -> Run:
    line = (await conversations(session, source.workspace_id, source.id))[0]
    return await do_begin_run(
        session,
        services,
        source,
        DRAFT,
        by=actor.person_id,
        conversation_id=line.id,
        model=services.models.defaults.drafting,
        args={
            "handover_id": handover.id,
            "target": handover.target_mode.value,
            **({"centre": handover.centre_id} if handover.centre_id else {}),
        },
    )


async def show_handover(services: Services, actor: Actor, handover_id: str) -> Handover:
    """A handover as it stands, for whoever can see its source. Raises Refusal."""
    async with services.store.reading() as session:
        handover = await find_handover(session, actor.workspace_id, handover_id)
    if handover is None:
        raise Refusal("handover_not_found")
    await access_thread(services, actor, Action.READ, handover.source_thread_id, unknown="handover_not_found")
    return handover


async def list_handovers(services: Services, actor: Actor, thread_id: str) -> tuple[Handover, ...]:
    """Handovers from a thread and into it, newest first. Raises Refusal."""
    thread = await access_thread(services, actor, Action.READ, thread_id)
    async with services.store.reading() as session:
        return tuple(await handovers_of(session, actor.workspace_id, thread.id))


async def list_drafts(services: Services, actor: Actor, thread_id: str) -> tuple[Handover, ...]:
    """The actor's own handovers from a thread that are not sent yet, newest first. Raises Refusal."""
    thread = await access_thread(services, actor, Action.HAND_OVER, thread_id)
    async with services.store.reading() as session:
        return tuple(await drafts_of(session, actor.workspace_id, thread.id, actor.person_id))


async def edit_handover(
    services: Services, actor: Actor, handover_id: str, fields: Mapping[str, object]
) -> None:
    """Keep what a person has in the form so far; caps are checked when it is sent. Raises Refusal."""
    handover = await show_handover(services, actor, handover_id)
    read = HandoverFields.from_json(fields)
    async with services.store.writing() as session:
        if not await do_edit_fields(session, actor.workspace_id, handover.id, read.to_json()):
            raise _closed(handover)


async def keep_target_form(services: Services, actor: Actor, handover_id: str, form: TargetForm) -> None:
    """Keep how a person wants the target to begin so far; it is checked when it is sent. Raises Refusal."""
    handover = await show_handover(services, actor, handover_id)
    async with services.store.writing() as session:
        if not await do_edit_form(session, actor.workspace_id, handover.id, form.to_json()):
            raise _closed(handover)


def _closed(handover: Handover) -> Refusal:
    return Refusal("handover_drafting" if handover.status == "drafting" else "handover_sent_already")


async def send_handover(services: Services, actor: Actor, sending: Sending, *, event_key: str) -> Thread:
    """Send a handover into a thread of its own, which this one routine creates. Raises Refusal; then nothing is sent.

    Without a start the target waits for a person's first message. Its place on the platform is opened by a run.
    """
    handover = await show_handover(services, actor, sending.handover_id)
    source = await access_thread(services, actor, Action.HAND_OVER, handover.source_thread_id)
    policy, target = services.policy(actor.workspace), handover.target_mode
    check_route(source.mode, target, policy)
    fields = HandoverFields.from_json(sending.fields)
    check(fields, target)
    start = sending.start.strip()
    given = await _given(services, source, target, fields, sending.setup)
    opening = _opening(services, policy, target, given, start, fields, sending)
    if start:
        await check_opening(services, actor, policy, opening, _carried_text(start, fields, target))
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            thread, run = await thread_now(session, actor.workspace_id, earlier["thread_id"]), None
        else:
            thread = _target(services, actor, source, opening, given, start, fields)
            run = await _do_create(session, services, actor, source, thread, opening, fields)
            if not await do_send(
                session,
                actor.workspace_id,
                handover.id,
                target_id=thread.id,
                fields=fields.to_json(),
                now=services.clock.now(),
            ):
                raise _closed(handover)
            await settle(session, actor.workspace_id, (event_key,), {"thread_id": thread.id})
    if run is not None:
        await enqueue(services, run)
    if start:
        # Again too when the same form comes twice: the first time may have ended before this was said.
        await _start(services, actor, thread, start, event_key=f"{event_key}:start")
    return thread


async def estimate_handover(services: Services, actor: Actor, sending: Sending) -> EstimateView:
    """What the target's first run is expected to cost, now or once it is started. Raises Refusal as sending does."""
    handover = await show_handover(services, actor, sending.handover_id)
    source = await access_thread(services, actor, Action.HAND_OVER, handover.source_thread_id)
    policy, target = services.policy(actor.workspace), handover.target_mode
    check_route(source.mode, target, policy)
    fields = HandoverFields.from_json(sending.fields)
    check(fields, target)
    given = await _given(services, source, target, fields, sending.setup)
    seen = replace(sending, estimate_seen=True)
    opening = _opening(services, policy, target, given, sending.start.strip(), fields, seen)
    return estimate(services, opening, _carried_text(sending.start, fields, target))


def _carried_text(start: str, fields: HandoverFields, target: Mode) -> str:
    """What the target's first call is sent besides its prompts, for an estimate."""
    return "\n".join([start, *(content_of(fields, each) for each in sent_fields(target, fields))])


async def _given(
    services: Services, source: Thread, target: Mode, fields: HandoverFields, setup: Mapping[str, object]
) -> dict[str, object]:
    """What the target's mode is set up with: the form, and what it takes from the handover itself."""
    given = dict(setup)
    prompts = await services.prompts.live(source.workspace_id, SHARED_PROMPTS)
    words = Words(material=Material.of(prompts), locale=source.locale)
    if target is Mode.DEBATE:
        filled = premises(str(given.get("background", "")), fields, words)
        given |= {"background": filled.text, "background_auto": filled.auto}
        given["priorContext"] = prior_context(fields, words)
    if target is Mode.WORKFLOW:
        workflow = services.workflows.get(str(given.get("workflow", "")))
        typed = given.get("inputs")
        carried = declared_inputs(fields, workflow, words) if workflow else {}
        given["inputs"] = {**carried, **(typed if isinstance(typed, dict) else {})}
    return given


def _opening(
    services: Services,
    policy: Policy,
    target: Mode,
    given: Mapping[str, object],
    start: str,
    fields: HandoverFields,
    sending: Sending,
) -> Opening:
    """The target's opening; one that waits is tried with what it would most likely be started with."""
    text = start or fields.first_request or fields.summary or target.value
    opening = open_mode(services, policy, target, given, text[:1000], sending.model)
    if start and len(opening.calls) > 1 and not sending.estimate_seen:
        raise Refusal("estimate_first", calls=len(opening.calls))
    return opening


def _target(
    services: Services,
    actor: Actor,
    source: Thread,
    opening: Opening,
    given: Mapping[str, object],
    start: str,
    fields: HandoverFields,
) -> Thread:
    thread_id = ThreadId(services.clock.new_id())
    waits = not start and opening.mode is not Mode.CHAT
    return top_level_thread(
        thread_id=thread_id,
        workspace_id=source.workspace_id,
        place=Place(platform=source.place.platform, channel=source.place.channel, thread=""),
        mode=opening.mode,
        title=title_from(start or source.title),
        owner_id=actor.person_id,
        locale=source.locale,
        created_at=services.clock.now(),
        setup={AWAITS_START: dict(given)} if waits else opening.setup,
        source_thread_id=source.id,
    )


async def _do_create(
    session: Session,
    services: Services,
    actor: Actor,
    source: Thread,
    thread: Thread,
    opening: Opening,
    fields: HandoverFields,
) -> Run:
    """The target with its lines, the message that holds the structure, the notes on both sides, and its first run."""
    await do_add_thread(session, thread)
    for name, model in opening.lines:
        line = Conversation(
            id=ConversationId(services.clock.new_id()), thread_id=thread.id, line=name, model=model
        )
        await do_add_conversation(session, actor.workspace_id, line)
    structure = Message(
        id=MessageId(services.clock.new_id()),
        thread_id=thread.id,
        author=Author(kind=AuthorKind.PRODUCT, name=actor.name, person_id=actor.person_id),
        text="",
        created_at=services.clock.now(),
        step=STRUCTURE,
        data={**fields.to_json(), "source_thread_id": source.id},
    )
    await do_add_message(session, actor.workspace_id, structure)
    told = note(thread)
    await do_notice(
        session,
        actor.workspace_id,
        source.id,
        told.key,
        told.fields,
        clock=services.clock,
        link=thread.id,
    )
    await do_audit(
        session,
        actor.workspace_id,
        actor_id=actor.person_id,
        action="hand_over",
        subject_id=thread.id,
        clock=services.clock,
        details={"source": source.id, "mode": thread.mode.value},
    )
    return await do_begin_run(session, services, thread, OPEN, by=actor.person_id)


async def _start(services: Services, actor: Actor, thread: Thread, text: str, *, event_key: str) -> None:
    """Say the first message of a target."""
    said = Said(
        text=text,
        event_key=event_key,
        external_id=event_key,
        mentions_bot=True,
        thread_id=thread.id,
        estimate_seen=True,
    )
    await say(services, actor, said)


async def start_target(services: Services, actor: Actor, thread_id: str, *, event_key: str) -> None:
    """Start a target that waits, with the first request it was handed. Raises Refusal."""
    thread = await access_thread(services, actor, Action.SAY, thread_id)
    async with services.store.reading() as session:
        sent = await handovers_of(session, actor.workspace_id, thread.id)
    mine = next((one for one in sent if one.target_thread_id == thread.id), None)
    if mine is None or AWAITS_START not in thread.setup:
        raise Refusal("handover_started_already")
    fields = HandoverFields.from_json(mine.fields)
    await _start(
        services, actor, replace(thread), fields.first_request or fields.summary, event_key=event_key
    )
