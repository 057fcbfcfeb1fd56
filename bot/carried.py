"""Pins and adoptions asked for in chat, by a typed word or by a button of a card: the same on every chat platform.

What shows a form first, a handover or a request for adoption, each platform begins in its own way.
"""

import re
from typing import Final

from core import i18n
from core.commands.adoption import approve, pending_for, reject, withdraw
from core.commands.handover import start_target
from core.commands.pin import pin
from core.commands.place import open_again
from core.commands.services import Services
from core.commands.text import TextCommand, Word
from core.domain.errors import Refusal
from core.domain.handover import read_target
from core.domain.ids import ThreadId
from core.domain.pin import PinKind
from core.domain.policy import Actor
from core.domain.view import ButtonAction

DRAFTED_WORDS: Final = frozenset({Word.HANDOVER, Word.ADOPT})
"""Words for something that is drafted, and seen by whoever asked before anything is sent."""

LISTED_WORDS: Final = frozenset({Word.PINS, Word.ADOPTIONS})
CARRIED_WORDS: Final = frozenset(
    {Word.PIN, Word.APPROVE, Word.REJECT, Word.WITHDRAW, *DRAFTED_WORDS, *LISTED_WORDS}
)
CARRIED_BUTTONS: Final = frozenset(
    {ButtonAction.START, ButtonAction.OPEN_AGAIN, ButtonAction.APPROVE, ButtonAction.WITHDRAW}
)


QUOTES: Final = ' "“”「」『』'
_QUOTED: Final = re.compile(r"[\"“「『].*[\"”」』]", re.DOTALL)


def is_name(rest: str) -> bool:
    """Whether what follows a word is at most one name: a single word, or several in quotation marks."""
    return len(rest.split()) <= 1 or _QUOTED.fullmatch(rest) is not None


def is_meant(command: TextCommand) -> bool:
    """Whether a word that may begin an ordinary sentence too stands here as a command of chat."""
    try:
        if command.word is Word.PIN:
            PinKind.read(command.rest.partition(" ")[0])
        # One word after "handover" should be a mode, and is refused as one; several must name one.
        if command.word is Word.HANDOVER and len(command.rest.split()) > 1:
            read_target(command.rest)
    except Refusal:
        return False
    return True


async def typed(services: Services, actor: Actor, thread_id: ThreadId, command: TextCommand, key: str) -> str:
    """Pin a typed text, or decide on the request that waits in a thread; what the writer is told. Raises Refusal."""
    if command.word is Word.PIN:
        kind, _, words = command.rest.partition(" ")
        await pin(services, actor, thread_id, kind, words, event_key=key)
        return i18n.text(actor.locale, "card.pinned")
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
        case ButtonAction.OPEN_AGAIN:
            await open_again(services, actor, ref, event_key=key)
            return i18n.text(actor.locale, "card.opening")
        case ButtonAction.WITHDRAW:
            await withdraw(services, actor, ref, event_key=key)
            return i18n.text(actor.locale, "card.withdrawn")
        case _:
            await approve(services, actor, ref, event_key=key)
            return i18n.text(actor.locale, "card.approved")
