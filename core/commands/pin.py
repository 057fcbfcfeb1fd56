"""Pins: mark a message or typed text as constraint, decision, open question or reference (spec §2)."""

from core.commands.services import Services, access_thread, stands_in
from core.domain.errors import Refusal
from core.domain.ids import PersonId, ThreadId
from core.domain.pin import MOST_PINS, Pin, PinKind, pin_text
from core.domain.policy import Action, Actor
from core.domain.thread import Thread
from core.files.charset import clean
from core.store.audit import do_audit
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.message import find_message
from core.store.pin import do_add_pin, do_end_pin, find_pin, pin_history, pins
from core.store.tables import PinRow


async def pin(
    services: Services,
    actor: Actor,
    thread_id: str,
    kind: str,
    text: str = "",
    *,
    message_id: str | None = None,
    event_key: str,
) -> str:
    """Mark typed text, or a message of the thread as it stands; returns the pin's id. Raises Refusal.

    The text is kept to the letter; nothing that summarises may drop or reword it.
    """
    thread = await access_thread(services, actor, Action.PIN, thread_id)
    wanted = PinKind.read(kind)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return str(earlier["pin_id"])
        if message_id is not None:
            marked = await _text_of(session, thread, message_id)
            text = text if text.strip() else marked
        if len(await pins(session, actor.workspace_id, thread.id)) >= MOST_PINS:
            raise Refusal("too_many_pins", limit=MOST_PINS)
        new = _new(services, actor, wanted, pin_text(clean(text)), message_id)
        await do_add_pin(session, actor.workspace_id, thread.id, new, actor.person_id)
        await _record(session, services, actor, "pin", new.root_id)
        await settle(session, actor.workspace_id, (event_key,), {"pin_id": new.id})
    return new.id


async def _text_of(session: Session, thread: Thread, message_id: str) -> str:
    """The text of a message that stands in the thread or was said there. Raises Refusal."""
    row = await find_message(session, thread.workspace_id, message_id)
    if row is None or not await stands_in(session, thread, row):
        raise Refusal("message_not_found")
    return row.text


def _new(
    services: Services,
    actor: Actor,
    kind: PinKind,
    text: str,
    message_id: str | None,
    *,
    root_id: str | None = None,
) -> Pin:
    pin_id = services.clock.new_id()
    return Pin(
        id=pin_id,
        root_id=root_id or pin_id,
        kind=kind,
        text=text,
        message_id=message_id,
        author=actor.name,
        created_at=services.clock.now(),
    )


async def _record(session: Session, services: Services, actor: Actor, action: str, root_id: str) -> None:
    await do_audit(
        session,
        actor.workspace_id,
        actor_id=actor.person_id,
        action=action,
        subject_id=root_id,
        clock=services.clock,
    )


async def edit_pin(
    services: Services, actor: Actor, pin_id: str, text: str, *, kind: str | None = None, event_key: str
) -> str:
    """Put another text, or another kind, in a pin's place; returns the new version's id. Raises Refusal."""
    row = await _access(services, actor, Action.PIN, pin_id)
    wanted = PinKind.read(kind) if kind else PinKind(row.kind)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return str(earlier["pin_id"])
        new = _new(services, actor, wanted, pin_text(clean(text)), row.message_id, root_id=row.root_id)
        await _end(session, services, actor, pin_id, removed=False)
        await do_add_pin(session, actor.workspace_id, ThreadId(row.thread_id), new, actor.person_id)
        await _record(session, services, actor, "edit_pin", row.root_id)
        await settle(session, actor.workspace_id, (event_key,), {"pin_id": new.id})
    return new.id


async def remove_pin(services: Services, actor: Actor, pin_id: str, *, event_key: str) -> None:
    """Take a pin away; its history stays. Raises Refusal."""
    row = await _access(services, actor, Action.PIN, pin_id)
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return
        await _end(session, services, actor, pin_id, removed=True)
        await _record(session, services, actor, "remove_pin", row.root_id)


async def _end(session: Session, services: Services, actor: Actor, pin_id: str, *, removed: bool) -> None:
    by, now = PersonId(actor.person_id), services.clock.now()
    if not await do_end_pin(session, actor.workspace_id, pin_id, by=by, now=now, removed=removed):
        raise Refusal("pin_changed")


async def _access(services: Services, actor: Actor, action: Action, pin_id: str) -> PinRow:
    """The pin, when the actor may do `action` in its thread. Raises Refusal."""
    async with services.store.reading() as session:
        row = await find_pin(session, actor.workspace_id, pin_id)
    if row is None:
        raise Refusal("pin_not_found")
    await access_thread(services, actor, action, row.thread_id, unknown="pin_not_found")
    return row


async def list_pins(services: Services, actor: Actor, thread_id: str) -> tuple[Pin, ...]:
    """The pins of a thread as they stand, in the order in which they were marked. Raises Refusal."""
    thread = await access_thread(services, actor, Action.READ, thread_id)
    async with services.store.reading() as session:
        return tuple(await pins(session, actor.workspace_id, thread.id))


async def show_pin_history(services: Services, actor: Actor, pin_id: str) -> tuple[Pin, ...]:
    """Every version of a pin, the first first. Raises Refusal."""
    row = await _access(services, actor, Action.READ, pin_id)
    async with services.store.reading() as session:
        return tuple(await pin_history(session, actor.workspace_id, row.root_id))
