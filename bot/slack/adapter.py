"""Slack, put together: what the engine posts with, and what listens."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp import web

from bot.slack.access import SlackAccess
from bot.slack.adoption import Adoptions
from bot.slack.app import SlackApp
from bot.slack.background import Background
from bot.slack.bots import Bots, OneBot
from bot.slack.caller import Callers
from bot.slack.calls import Calls
from bot.slack.carrying import Carrying
from bot.slack.desk import Desk
from bot.slack.evaluation import Evaluations
from bot.slack.files import SlackFiles
from bot.slack.handover import Handovers
from bot.slack.http import EventRoute
from bot.slack.installed import InstalledBots
from bot.slack.intake import Intake
from bot.slack.memo import Memo
from bot.slack.metrics import SlackMetrics
from bot.slack.modals import Modals
from bot.slack.oauth import Installing
from bot.slack.opening import Openings
from bot.slack.people import PLATFORM, People
from bot.slack.pin import Pins
from bot.slack.poster import EDIT_EVERY_S, SlackPoster
from bot.slack.private import Private
from bot.slack.prompt import Prompts
from bot.slack.review import Reviewer
from bot.slack.sending import Sendings
from bot.slack.socket import Sockets
from bot.slack.start import Starter
from bot.slack.status import Statuses
from bot.slack.stream import Streams
from bot.slack.turn import Turns
from core.commands.installation import Installations
from core.commands.services import Services
from core.domain.errors import PlatformFailure, StoreUnavailable
from core.domain.ids import WorkspaceId

log = logging.getLogger(__name__)

DRAIN_S: Final = 8.0
AGAIN_S: Final = 30.0
AT_ONCE: Final = 8
TAKEN_S: Final = 600.0
"""Longer than Slack delivers an event again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackPlatform:
    """Slack towards the core: poster and rights. Lives as long as the engine posts."""

    calls: Calls
    bots: Bots
    people: People
    access: SlackAccess
    files: SlackFiles
    streams: Streams
    statuses: Statuses
    background: Background
    poster: SlackPoster


@asynccontextmanager
async def open_platform(
    *,
    api_url: str,
    make_bots: Callable[[Calls], Bots],
    external_id: Callable[[WorkspaceId], Awaitable[str]],
    speed: float = 1.0,
    metrics: SlackMetrics | None = None,
) -> AsyncGenerator[SlackPlatform]:
    """Slack with its own HTTP session, until the block ends. Connects to nothing yet.

    `speed` multiplies how fast we send, for a Slack that allows more than the public one.
    """
    async with aiohttp.ClientSession() as session:
        calls = Calls(api_url=api_url, session=session, speed=speed, metrics=metrics)
        bots, background = make_bots(calls), Background()
        people, files, streams = People(calls), SlackFiles(calls), Streams(calls)
        statuses = Statuses(calls, background)
        poster = SlackPoster(
            calls, bots, files, streams, statuses, background, external_id, edit_every_s=EDIT_EVERY_S / speed
        )
        try:
            yield SlackPlatform(
                calls=calls,
                bots=bots,
                people=people,
                access=SlackAccess(calls, bots, people, external_id),
                files=files,
                streams=streams,
                statuses=statuses,
                background=background,
                poster=poster,
            )
        finally:
            await background.drain(DRAIN_S)


def one_bot(token: str) -> Callable[[Calls], OneBot]:
    """The bot of a single workspace, by the token in the settings."""

    def make(calls: Calls) -> OneBot:
        return OneBot(token, lambda given: calls.send(given, "auth.test"))

    return make


def many_bots(
    installations: Installations, client_id: str, client_secret: str
) -> Callable[[Calls], InstalledBots]:
    """The bots of all workspaces that installed the app."""

    def make(calls: Calls) -> InstalledBots:
        return InstalledBots(calls, installations, client_id=client_id, client_secret=client_secret)

    return make


def _desk(platform: SlackPlatform, services: Services, callers: Callers, private: Private) -> Desk:
    """What people can ask for, and the parts it is made of."""
    openings = Openings(services=services, callers=callers, private=private, background=platform.background)
    starter = Starter(
        services=services,
        access=platform.access,
        poster=platform.poster,
        streams=platform.streams,
        statuses=platform.statuses,
    )
    reviewer = Reviewer(services=services)
    carrying = _carrying(platform, services, openings, reviewer)
    evals = Evaluations(services=services, access=platform.access, files=platform.files, openings=openings)
    return Desk(
        services,
        platform.access,
        platform.files,
        starter=starter,
        reviewer=reviewer,
        carrying=carrying,
        prompts=Prompts(
            services=services, access=platform.access, files=platform.files, openings=openings, evals=evals
        ),
    )


def _carrying(
    platform: SlackPlatform, services: Services, openings: Openings, reviewer: Reviewer
) -> Carrying:
    """The forms that take content from one thread into another."""
    return Carrying(
        services=services,
        callers=openings.callers,
        private=openings.private,
        background=platform.background,
        handovers=Handovers(services=services, openings=openings),
        adoptions=Adoptions(services=services, access=platform.access, files=platform.files),
        pins=Pins(services=services),
        reviewer=reviewer,
        sendings=Sendings(services=services),
    )


class SlackAdapter:
    """Slack towards people: listens over sockets or HTTP, and says whether it hears."""

    name = PLATFORM

    def __init__(
        self,
        platform: SlackPlatform,
        services: Services,
        *,
        app_token: str,
        signing_secret: str,
        installing: Installing | None = None,
    ) -> None:
        self._platform = platform
        callers = Callers(services, platform.people, platform.access)
        private = Private(platform.calls, platform.files, platform.access)
        desk = _desk(platform, services, callers, private)
        intake = Intake(
            services=services,
            calls=platform.calls,
            callers=callers,
            people=platform.people,
            files=platform.files,
            streams=platform.streams,
            statuses=platform.statuses,
            poster=platform.poster,
            desk=desk,
            private=private,
            turns=Turns(),
            taken=Memo(fresh_s=TAKEN_S),
            places=asyncio.Semaphore(AT_ONCE),
        )
        self.app = SlackApp(
            calls=platform.calls,
            bots=platform.bots,
            access=platform.access,
            callers=callers,
            intake=intake,
            desk=desk,
            modals=Modals(platform.calls, callers, desk, platform.background, private),
            private=private,
            background=platform.background,
        )
        self.sockets = Sockets(self.app.bolt, platform.calls, app_token) if app_token else None
        self._events = EventRoute(self.app.bolt, signing_secret) if signing_secret else None
        self._installing = installing
        self._known = False
        """Whether Slack said who we are, or the installations could be opened."""

    def routes(self) -> list[web.AbstractRouteDef]:
        """For the public socket: the address of events and the pages of the installation, as far as they are set up."""
        offered = (self._events, self._installing)
        return [route for each in offered if each is not None for route in each.routes()]

    async def is_ready(self) -> bool:
        """Slack's events reach this process, and it may answer."""
        return self._known and (self.sockets is None or await self.sockets.is_well())

    async def run(self) -> None:
        """Listen until cancelled; what is being taken in is carried to its end."""
        try:
            async with asyncio.TaskGroup() as tasks:
                _ = tasks.create_task(self._introduce())
                if self.sockets is not None:
                    _ = tasks.create_task(self.sockets.keep())
        finally:
            await self._platform.background.drain(DRAIN_S)

    async def _introduce(self) -> None:
        """Find out who we are, again until it works; without that nothing can be answered."""
        while not self._known:
            try:
                await self._find_out()
            except PlatformFailure as failure:
                log.error("Slack does not accept the bot (%s)", failure.code)  # noqa: TRY400  one word says it
                await asyncio.sleep(failure.retry_after_s or AGAIN_S)
            except StoreUnavailable as away:
                log.warning("installations cannot be read yet (%s)", away)
                await asyncio.sleep(AGAIN_S)
            else:
                self._known = True

    async def _find_out(self) -> None:
        bots = self._platform.bots
        if isinstance(bots, OneBot):
            bot = await bots.get()
            log.info("connected to Slack as %s in %s", bot.user, bot.name)
        elif isinstance(bots, InstalledBots):
            await bots.begin()
