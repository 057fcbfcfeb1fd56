"""Words after a mention about pins, handovers and adoptions. What only one person may see opens from a button."""

from dataclasses import dataclass

from bot import carried
from bot.discord.action import Actions, Spot
from bot.discord.adoption import Adoptions
from bot.discord.card import Card
from bot.discord.handover import Handovers
from bot.discord.pin import Pins
from bot.discord.render import plain_lines
from core.commands.services import Services
from core.commands.text import TextCommand, Word
from core.domain.policy import Actor


@dataclass(frozen=True, slots=True)
class CarriedWords:
    services: Services
    actions: Actions
    handovers: Handovers
    adoptions: Adoptions
    pins: Pins

    async def typed(self, actor: Actor, spot: Spot, command: TextCommand, *, key: str) -> Card:
        """Carry out one of the `CARRIED_WORDS`; what is said about it for all in the thread to see. Raises Refusal."""
        thread_id = await self.actions.thread(actor, spot, command.word.value)
        event_key = f"discord:{key}"
        match command.word:
            case Word.HANDOVER:
                return await self.handovers.typed(actor, thread_id, command.rest, event_key)
            case Word.ADOPT:
                return await self.adoptions.typed(actor, thread_id, command.rest, event_key)
            case Word.PINS:
                return await self.pins.listed(actor, thread_id, 0)
            case Word.ADOPTIONS:
                return await self.adoptions.listed(actor, thread_id)
            case _:
                said = await carried.typed(self.services, actor, thread_id, command, event_key)
                return Card(content=plain_lines(said))
