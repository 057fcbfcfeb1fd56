"""The library's client: listeners that hand each event on and decide nothing."""

import asyncio
import logging
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import aiohttp
import discord

from bot.discord.catch_up import CatchUp
from bot.discord.component import NO_MENTIONS
from bot.discord.intake import Intake
from bot.discord.interaction import Interactions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Distances that Discord asks for, or that its library waits."""

    edit_every_s: float = 1.2
    """Between two live edits in one channel; the bucket is the channel's, however many answers run in it."""
    identify_every_s: float = 5.0
    """Between two new sessions of a bot."""
    guild_ready_s: float = 2.0
    """After the last server that a new session told of."""
    backoff_s: float = 1.0
    """Before the second try to connect; doubled for each further one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Where events go."""

    intake: Intake
    interactions: Interactions
    catch_up: CatchUp


class Client(discord.AutoShardedClient):
    """One bot over all its shards. `handlers` may come later than the login; events wait for them."""

    def __init__(
        self,
        *,
        reads_everything: bool,
        trace: aiohttp.TraceConfig,
        timing: Timing,
        shard_count: int | None = None,
    ) -> None:
        intents = discord.Intents.none()
        intents.guilds = True
        intents.guild_messages = True
        intents.dm_messages = True
        intents.message_content = reads_everything
        super().__init__(
            intents=intents,
            allowed_mentions=NO_MENTIONS,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=timing.guild_ready_s,
            http_trace=trace,
            shard_count=shard_count,
        )
        self.reads_everything = reads_everything
        self.was_ready = asyncio.Event()
        self._where: asyncio.Future[Handlers] | None = None
        self._identify_every_s = timing.identify_every_s
        self._last_identify_s = -timing.identify_every_s
        self._identify_turn = asyncio.Lock()
        self._at_work: set[asyncio.Task[Any]] = set()
        self.accepts = True
        """Set to False to take in nothing any more; what comes then is read after the next start."""

    def attach(self, handlers: asyncio.Future[Handlers]) -> None:
        """Where events go, once that is known."""
        self._where = handlers

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        async with self._identify_turn:
            wait_s = self._last_identify_s + self._identify_every_s - time.monotonic()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            self._last_identify_s = time.monotonic()

    async def finish(self, within_s: float) -> None:
        """Wait for the events that are being worked on, for so long at most."""
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=within_s)

    async def _hand_on(self, what: str, work: Awaitable[None]) -> None:
        """Work on one event; a bug in it is written down and concerns no other event."""
        task = asyncio.current_task()
        if task is not None:
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)
        try:
            await work
        except Exception:
            log.exception("an event could not be handled", extra={"event": what})

    async def _handlers_when_set(self) -> Handlers:
        if self._where is None:
            raise RuntimeError("a client without handlers")
        return await asyncio.shield(self._where)

    async def on_shard_connect(self, shard_id: int) -> None:
        if self._where is not None and self._where.done():
            count = self.shard_count or 1
            self._where.result().catch_up.begin_session(lambda guild: (guild >> 22) % count == shard_id)

    async def on_ready(self) -> None:
        log.info("connected to Discord", extra={"guilds": len(self.guilds), "shards": self.shard_count})
        self.was_ready.set()

    async def on_guild_available(self, guild: discord.Guild) -> None:
        if self.accepts:
            await self._hand_on("guild", (await self._handlers_when_set()).catch_up.guild(guild))

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self.on_guild_available(guild)

    async def on_message(self, message: discord.Message) -> None:
        if not self.accepts or message.author.bot:
            return
        handlers = await self._handlers_when_set()
        if message.guild is None:
            await self._hand_on("direct message", handlers.intake.decline_direct(message))
        else:
            await self._hand_on("message", handlers.catch_up.live(message))

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        if self.accepts:
            await self._hand_on("edit", (await self._handlers_when_set()).intake.edit(payload))

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        if self.accepts:
            intake = (await self._handlers_when_set()).intake
            await self._hand_on(
                "deletion", intake.delete(payload.guild_id, payload.channel_id, payload.message_id)
            )

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        if self.accepts:
            intake = (await self._handlers_when_set()).intake
            for message_id in sorted(payload.message_ids):
                await self._hand_on(
                    "deletion", intake.delete(payload.guild_id, payload.channel_id, message_id)
                )

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        if self.accepts:
            await self._hand_on(
                "interaction", (await self._handlers_when_set()).interactions.take(interaction)
            )
