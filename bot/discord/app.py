"""Discord as one of the product's platforms: what the wiring builds, opens and closes."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from bot.discord.access import DiscordAccess, Members
from bot.discord.action import Actions
from bot.discord.adoption import Adoptions
from bot.discord.attachment import Attachments
from bot.discord.catch_up import CatchUp
from bot.discord.channel import Channels
from bot.discord.client import Client, Handlers, Timing
from bot.discord.connection import Connection, point_library_at
from bot.discord.evaluation import Evaluations
from bot.discord.handover import Handovers
from bot.discord.intake import Intake
from bot.discord.interaction import Interactions
from bot.discord.limit import PLATFORM
from bot.discord.pin import Pins
from bot.discord.poster import DiscordPoster
from bot.discord.private import Private
from bot.discord.prompt import Prompts
from bot.discord.prompt_change import PromptChanges
from bot.discord.review import Reviews
from bot.discord.sending import Sendings
from bot.discord.start import Starts
from bot.discord.traffic import EditPace, Traffic
from bot.discord.word import CarriedWords
from bot.settings import DiscordSettings
from core.commands.services import Services

log = logging.getLogger(__name__)

FINISH_S: Final = 10.0
"""How long events that are being worked on may take when the product ends."""


class Discord:
    """One bot. Its poster and access are there from the start; events are taken in from `begin` on."""

    def __init__(self, settings: DiscordSettings, timing: Timing | None = None) -> None:
        point_library_at(settings)
        self._own_host = urlsplit(settings.api_url).netloc
        self._traffic = Traffic()
        self._timing = timing or Timing()
        self._handlers: asyncio.Future[Handlers] = asyncio.get_running_loop().create_future()
        self.connection = Connection(settings.token, self.make_client, backoff_s=self._timing.backoff_s)
        self._closing = asyncio.Event()
        self._channels = Channels(lambda: self.connection.client, self.connection.logged_in)
        self._members = Members()
        self.access = DiscordAccess(self._channels, self._members)
        self.poster = DiscordPoster(self._channels, EditPace(self._timing.edit_every_s))

    def make_client(self, reads_everything: bool, shard_count: int | None = None) -> Client:  # noqa: FBT001  a factory
        """A client whose events come to us."""
        client = Client(
            reads_everything=reads_everything,
            trace=self._traffic.trace(),
            timing=self._timing,
            shard_count=shard_count,
        )
        client.attach(self._handlers)
        return client

    def begin(self, services: Services) -> None:
        """Take in events from here on."""
        actions = Actions(services, self._channels, lambda: self.connection.reads_everything)
        attachments = Attachments(self._own_host)
        starts = Starts(services, self._channels, attachments)
        private = Private(services, self._channels, self._closing)
        handovers = Handovers(services, actions, private)
        adoptions = Adoptions(services, actions, private)
        pins = Pins(services, actions, private)
        intake = Intake(
            services=services,
            actions=actions,
            words=CarriedWords(services, actions, handovers, adoptions, pins),
            channels=self._channels,
            members=self._members,
            attachments=attachments,
            starts=starts,
            reads_everything=lambda: self.connection.reads_everything,
        )
        evals = Evaluations(services, private, attachments)
        prompts = Prompts(services, private, evals)
        interactions = Interactions(
            services=services,
            actions=actions,
            channels=self._channels,
            members=self._members,
            starts=starts,
            private=private,
            handovers=handovers,
            adoptions=adoptions,
            pins=pins,
            reviews=Reviews(services, actions, private, attachments),
            sendings=Sendings(services, private),
            prompts=prompts,
            evals=evals,
            prompt_changes=PromptChanges(prompts, attachments),
        )
        catch_up = CatchUp(services=services, take=intake.take)
        self._handlers.set_result(Handlers(intake=intake, interactions=interactions, catch_up=catch_up))

    async def stop_intake(self) -> None:
        """Take in nothing any more, and finish what is being worked on; posts still leave."""
        self._closing.set()
        client = self.connection.client
        if client is not None:
            client.accepts = False
            await client.finish(FINISH_S)
        if self._handlers.done():
            await self._handlers.result().catch_up.save()

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Connected while the block runs."""
        async with asyncio.TaskGroup() as tasks:
            at_work = (tasks.create_task(self.connection.run()), tasks.create_task(self._keep_saving()))
            try:
                yield
            finally:
                for task in at_work:
                    task.cancel()

    async def _keep_saving(self) -> None:
        handlers = await asyncio.shield(self._handlers)
        await handlers.catch_up.keep_saving()

    @property
    def ready(self) -> bool:
        """Whether events arrive and calls leave."""
        return self.connection.ready and not self._traffic.open_again_in_s


@dataclass(frozen=True, slots=True)
class DiscordAdapter:
    """Discord beside the other platforms that the product listens to."""

    bot: Discord
    services: Services

    @property
    def name(self) -> str:
        return PLATFORM

    def routes(self) -> list[web.AbstractRouteDef]:
        """None: all that Discord has to say comes through its gateway."""
        return []

    async def run(self) -> None:
        """Take in events until cancelled; then finish those that are being worked on."""
        self.bot.begin(self.services)
        try:
            await asyncio.Event().wait()
        finally:
            await self.bot.stop_intake()

    async def is_ready(self) -> bool:
        return self.bot.ready
