"""Pins and adoptions asked for in chat, by a typed word or by a button of a card: the same on every chat platform."""

from typing import Final

from core import i18n
from core.commands.adoption import (
    AdoptionRequest,
    approve,
    list_adoptions,
    pending_for,
    reject,
    request_adoption,
    withdraw,
)
from core.commands.handover import start_target
from core.commands.pin import list_pins, pin
from core.commands.services import Services
from core.commands.text import TextCommand, Word
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.pin import PinKind
from core.domain.policy import Actor
from core.domain.view import ButtonAction

CARRIED_WORDS: Final = frozenset(
    {Word.PIN, Word.PINS, Word.ADOPT, Word.ADOPTIONS, Word.APPROVE, Word.REJECT, Word.WITHDRAW}
)
CARRIED_BUTTONS: Final = frozenset({ButtonAction.START, ButtonAction.APPROVE, ButtonAction.WITHDRAW})


def is_meant(command: TextCommand) -> bool:
    """Whether a word that may begin an ordinary sentence too stands here as a command of chat."""
    if command.word is Word.PIN:
        try:
            PinKind.read(command.rest.partition(" ")[0])
        except Refusal:
            return False
    return command.word is not Word.HANDOVER


async def typed(services: Services, actor: Actor, thread_id: ThreadId, command: TextCommand, key: str) -> str:
    """Carry out one of the words in a thread; what its writer is told. Raises Refusal."""
    t, rest = actor.locale, command.rest
    match command.word:
        case Word.PIN:
            kind, _, words = rest.partition(" ")
            await pin(services, actor, thread_id, kind, words, event_key=key)
            return i18n.text(t, "card.pinned")
        case Word.PINS:
            held = await list_pins(services, actor, thread_id)
            lines = [f"{i18n.text(t, f'pin_kind.{one.kind.value}')}: {one.text}" for one in held]
            return "\n".join(lines) or i18n.text(t, "card.no_pins")
        case Word.ADOPT:
            await request_adoption(
                services, actor, AdoptionRequest(branch_id=thread_id, reason=rest), event_key=key
            )
            return i18n.text(t, "card.requested")
        case Word.ADOPTIONS:
            found = await list_adoptions(services, actor, thread_id)
            lines = [f"{i18n.text(t, f'adoption_status.{one.status.value}')}: {one.reason}" for one in found]
            return "\n".join(lines) or i18n.text(t, "card.no_adoptions")
        case _:
            return await _decided(services, actor, thread_id, command, key)


async def _decided(
    services: Services, actor: Actor, thread_id: ThreadId, command: TextCommand, key: str
) -> str:
    pending = await pending_for(services, actor, thread_id)
    if pending is None:
        raise Refusal("adoption_not_found")
    if command.word is Word.REJECT:
        await reject(services, actor, pending.id, command.rest, event_key=key)
        return i18n.text(actor.locale, "card.rejected")
    if command.word is Word.WITHDRAW:
        return await pressed(services, actor, ButtonAction.WITHDRAW, pending.id, key)
    return await pressed(services, actor, ButtonAction.APPROVE, pending.id, key)


async def pressed(services: Services, actor: Actor, action: ButtonAction, ref: str, key: str) -> str:
    """Carry out one of the buttons of `CARRIED_BUTTONS`; what whoever pressed it is told. Raises Refusal."""
    match action:
        case ButtonAction.START:
            await start_target(services, actor, ref, event_key=key)
            return i18n.text(actor.locale, "card.started")
        case ButtonAction.WITHDRAW:
            await withdraw(services, actor, ref, event_key=key)
            return i18n.text(actor.locale, "card.withdrawn")
        case _:
            await approve(services, actor, ref, event_key=key)
            return i18n.text(actor.locale, "card.approved")
