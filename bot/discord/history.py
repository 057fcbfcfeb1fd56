"""What stood in a thread of people before it was ours."""

import logging
from typing import Final

import discord

from bot.discord.parse import earlier_of, own_of
from bot.discord.traffic import translated
from core.commands.say import Earlier

log = logging.getLogger(__name__)

EARLIER: Final = 1_000
"""Messages of a human thread that are taken in; of a longer one the newest."""


async def earlier_in(message: discord.Message, thread: discord.Thread) -> tuple[Earlier, ...]:
    """What stood in a human thread before a message, with the message that it hangs on, in the parent.

    Raises PlatformFailure.
    """
    async with translated(), thread.typing():
        found = [m async for m in thread.history(limit=EARLIER, before=message)]
        found.reverse()
        if isinstance(thread.parent, discord.TextChannel):
            try:
                found.insert(0, await thread.parent.fetch_message(thread.id))
            except discord.NotFound:
                log.info("the message that a thread hangs on is gone", extra={"thread_id": thread.id})
    return earlier_of(found, own_of(thread.guild))
