"""Threads that Discord may not open: whoever asked for one is told, with the button to try again."""

from dataclasses import replace

from bot.discord.card import Card
from bot.discord.handover_card import unopened_card
from bot.discord.private import OPENS_S, Private, problem_on
from core.commands.place import Standing, standing_of
from core.commands.thread import show_thread
from core.domain.errors import Refusal
from core.domain.policy import Actor


async def once_opened(private: Private, actor: Actor, card: Card, thread_id: str) -> Card:
    """The card of what was done, with the way to open the thread that tells people of it where Discord did not."""
    services = private.services

    async def opened() -> bool:
        return await standing_of(services, actor, thread_id) is not Standing.OPENING

    try:
        await private.until(opened, within_s=OPENS_S)
        if await standing_of(services, actor, thread_id) is not Standing.NOT_OPENED:
            return card
        page = await show_thread(services, actor, thread_id)
    except Refusal:
        # The channel that is told is not one that this person can see.
        return card
    unopened = unopened_card(thread_id, page.title, actor.locale)
    return replace(problem_on(card, unopened.content), buttons=(*unopened.buttons, *card.buttons))
