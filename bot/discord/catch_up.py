"""Reading what was missed: Discord replays nothing after a restart or a long break (spec §12).

For each server one mark is kept: a message's id up to which everything was taken in. After a new session everything
later is read again, channel by channel, before what comes live; what was taken in already is recognised.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import discord

from bot.discord.channel import ThreadParent, is_hidden
from bot.discord.lane import Water
from bot.discord.parse import workspace_of
from bot.discord.traffic import translated
from core.commands.high_water import raise_high_water, read_high_water
from core.commands.services import Services
from core.domain.errors import PlatformFailure, StoreUnavailable

log = logging.getLogger(__name__)

SOURCE: Final = "messages"
OVERLAP: Final = timedelta(seconds=30)
"""Ids follow the clocks of several machines; so much is read twice at a mark."""

SAVE_EVERY_S: Final = 5.0
READ_AT_MOST: Final = 2_000
"""Messages of one channel that are read after a break."""

GATE_S: Final = 120.0
"""How long live messages wait for what was missed before them."""

ARCHIVED_AFTER: Final = timedelta(minutes=55)
"""Within a shorter break no thread is archived by itself: the shortest time that Discord offers is an hour."""


@dataclass
class CatchUp:
    """The marks of all servers, and the gate before live messages of those that are still being read."""

    services: Services
    take: Callable[[discord.Message], Awaitable[None]]
    waters: dict[int, Water] = field(default_factory=dict)
    saved: dict[int, int] = field(default_factory=dict)
    names: dict[int, discord.Guild] = field(default_factory=dict)
    gates: defaultdict[int, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    def begin_session(self, of_shard: Callable[[int], bool]) -> None:
        """A new session of a shard begins: its servers' live messages wait until what was missed is read."""
        for guild_id, gate in self.gates.items():
            if of_shard(guild_id):
                gate.clear()

    async def live(self, message: discord.Message) -> None:
        """Take in a message that came live, after what was missed before it."""
        if message.guild is None:
            return
        gate = self.gates[message.guild.id]
        try:
            async with asyncio.timeout(GATE_S):
                await gate.wait()
        except TimeoutError:
            log.warning("reading what was missed takes long; a live message goes before it")
        water = self.waters.get(message.guild.id)
        if water is None:
            await self.take(message)
            return
        with water.taking_in(message.id):
            await self.take(message)

    async def guild(self, guild: discord.Guild) -> None:
        """Read what was missed in a server, then let its live messages in."""
        self.names[guild.id] = guild
        try:
            water = self.waters.get(guild.id) or await self._water(guild)
            first_id = water.mark + 1
            # Held until all is read: whatever is taken in live meanwhile, the mark stays where the reading began.
            with water.taking_in(first_id):
                self.waters[guild.id] = water
                since = discord.utils.snowflake_time(water.mark) - OVERLAP
                async for message in self._missed(guild, since):
                    await self.take(message)
        except (PlatformFailure, StoreUnavailable) as failure:
            log.warning("what was missed could not be read: %s", failure, extra={"guild_id": guild.id})
        finally:
            self.gates[guild.id].set()

    async def _water(self, guild: discord.Guild) -> Water:
        """The mark of a server; for a new one the present, as nothing before it was for us."""
        while True:
            try:
                mark = await read_high_water(self.services, workspace_of(guild), SOURCE)
            except StoreUnavailable:
                log.warning("the database is away; a server waits for its mark")
                await asyncio.sleep(2.0)
            else:
                now = discord.utils.time_snowflake(discord.utils.utcnow())
                return Water(int(mark) if mark else now)

    async def _missed(self, guild: discord.Guild, since: datetime) -> AsyncIterator[discord.Message]:
        after = discord.utils.time_snowflake(since)
        channels: list[discord.TextChannel | discord.Thread] = [*guild.text_channels, *guild.threads]
        for channel in channels:
            parent = channel.parent if isinstance(channel, discord.Thread) else channel
            if parent is None or is_hidden(parent) or (channel.last_message_id or 0) <= after:
                continue
            async for message in self._read(channel, after):
                yield message
        if discord.utils.utcnow() - discord.utils.snowflake_time(after) > ARCHIVED_AFTER:
            homes: list[ThreadParent] = [*guild.text_channels, *guild.forums]
            for home in homes:
                if not is_hidden(home):
                    async for thread in self._archived(home, after):
                        async for message in self._read(thread, after):
                            yield message

    async def _archived(self, parent: ThreadParent, after: int) -> AsyncIterator[discord.Thread]:
        """Threads that were archived since, newest first."""
        async with translated():
            found = [thread async for thread in parent.archived_threads(limit=100)]
        for thread in found:
            if (thread.last_message_id or 0) > after:
                yield thread

    async def _read(
        self, channel: discord.TextChannel | discord.Thread, after: int
    ) -> AsyncIterator[discord.Message]:
        try:
            async with translated():
                found = [
                    message
                    async for message in channel.history(
                        limit=READ_AT_MOST, after=discord.Object(after), oldest_first=True
                    )
                ]
        except PlatformFailure as failure:
            if failure.retryable:
                raise
            # A channel that may not be read is not ours to read; the others are.
            log.info("a channel is not read (%s)", failure.code, extra={"channel_id": channel.id})
            return
        for message in found:
            yield message

    async def keep_saving(self) -> None:
        """Record the marks every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            await self.save()

    async def save(self) -> None:
        """Record the marks that rose. A database that is away is tried again with the next round."""
        for guild_id, water in tuple(self.waters.items()):
            mark = water.mark
            if mark <= self.saved.get(guild_id, 0):
                continue
            try:
                await raise_high_water(self.services, workspace_of(self.names[guild_id]), SOURCE, str(mark))
            except StoreUnavailable:
                log.warning("the database is away; marks are recorded later")
                return
            self.saved[guild_id] = mark
