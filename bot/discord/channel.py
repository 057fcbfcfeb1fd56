"""Channels and threads of Discord: finding them, and where a thread of ours lives in them."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import discord

from bot.discord.limit import PLATFORM
from bot.discord.traffic import translated
from core.domain.errors import PlatformFailure
from core.domain.thread import Place

log = logging.getLogger(__name__)

LOGIN_S: Final = 30.0
"""How long a post waits for the first login before it is told to come again."""

HIDDEN_NAME: Final = "___hidden___"

ThreadParent = discord.TextChannel | discord.ForumChannel
"""Where threads can be opened; a TextChannel may be an announcement channel. Media channels are forums too."""


def is_hidden(channel: ThreadParent) -> bool:
    """Whether the bot itself cannot see a channel: what it then knows of it is made up (Discord, November 2026)."""
    me: discord.Member | None = channel.guild.me
    # Before the gateway has told of a server nothing is known of our rights there.
    return me is None or channel.name == HIDDEN_NAME or not channel.permissions_for(me).view_channel


@dataclass
class Channels:
    """Finds channels by id. `client` gives the client that is logged in at the moment, None while there is none."""

    client: Callable[[], discord.Client | None]
    logged_in: asyncio.Event

    async def connected(self) -> discord.Client:
        """The client that is logged in; waits for it a while. Raises PlatformFailure."""
        try:
            async with asyncio.timeout(LOGIN_S):
                await self.logged_in.wait()
        except TimeoutError as error:
            raise PlatformFailure("not_connected", retryable=True, retry_after_s=5.0) from error
        client = self.client()
        if client is None or client.is_closed():
            raise PlatformFailure("not_connected", retryable=True, retry_after_s=5.0)
        return client

    async def own_id(self) -> int:
        """Our user's id. Raises PlatformFailure."""
        user = (await self.connected()).user
        return user.id if user else 0

    async def find(self, channel_id: int) -> ThreadParent | discord.Thread:
        """A channel or thread, from what the gateway told or else from Discord.

        A parent that the gateway did not tell of is one that we cannot see; such a thread's `parent` is None.
        Raises PlatformFailure; code 10003 for one that does not exist, `no_threads` for a kind that has none.
        """
        client = await self.connected()
        channel = client.get_channel(channel_id)
        if channel is None:
            async with translated():
                channel = await client.fetch_channel(channel_id)
        if isinstance(channel, ThreadParent | discord.Thread):
            return channel
        raise PlatformFailure("no_threads", retryable=False)


def place_of(channel: ThreadParent | discord.Thread, thread: str = "") -> Place:
    """Where something stands. A private thread is a channel of its own: only its members may know of it."""
    if not isinstance(channel, discord.Thread):
        return Place(platform=PLATFORM, channel=str(channel.id), thread=thread)
    home = channel.id if channel.is_private() else channel.parent_id
    return Place(platform=PLATFORM, channel=str(home), thread=str(channel.id))


async def retitle(channels: Channels, place: Place, name: str) -> bool:
    """Give Discord's own thread a name too; False where that is not ours to do or was done too often of late."""
    try:
        thread = await channels.find(int(place.thread))
        async with translated():
            await thread.edit(name=name)
    except PlatformFailure as failure:
        log.info("a thread's name on Discord stays as it is (%s)", failure.code)
        return False
    return True
