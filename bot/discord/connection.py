"""Keeping one bot connected: first connects that fail, tokens and intents that are refused, sessions that run out."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from typing import Final

import discord
import yarl

from bot.discord.client import Client
from bot.settings import DiscordSettings

log = logging.getLogger(__name__)

BACKOFF_AT_MOST_S: Final = 60.0
READY_S: Final = 180.0
"""How long login and the first sessions may take before all is begun anew."""

CLOSE_S: Final = 10.0

FATAL_CODES: Final = frozenset({4004, 4010, 4011, 4012, 4013})
"""Ends of a session that come again however often one tries (Discord, gateway close codes)."""


def point_library_at(settings: DiscordSettings) -> None:
    """Have the library speak to other addresses than Discord's own, where settings name them.

    The library keeps them in its classes, so this holds for the whole process.
    """
    if settings.api_url:
        discord.http.Route.BASE = settings.api_url.rstrip("/")
    if settings.gateway_url:
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(settings.gateway_url)
    # Voice is not ours; without this the library warns of missing packages for it at every start.
    discord.VoiceClient.warn_nacl = False
    discord.VoiceClient.warn_dave = False


class Refused(Exception):
    """Discord takes neither this token nor this configuration; trying again changes nothing."""


class Connection:
    """The client that is connected at the moment. `make` makes one, with or without the content of all messages."""

    def __init__(self, token: str, make: Callable[[bool], Client], *, backoff_s: float) -> None:
        self._token = token
        self._make = make
        self._backoff_s = backoff_s
        self.client: Client | None = None
        self.logged_in = asyncio.Event()
        self.refused = ""
        """Why Discord does not let us in at all; empty while it may."""
        self._reads_everything = True

    @property
    def ready(self) -> bool:
        """Whether events arrive."""
        client = self.client
        return client is not None and client.was_ready.is_set() and not client.is_closed()

    @property
    def reads_everything(self) -> bool:
        return self._reads_everything

    async def run(self) -> None:
        """Stay connected until cancelled; returns only when Discord refuses us for good, which is logged."""
        backoff_s = self._backoff_s
        while True:
            client = self.client = self._make(self._reads_everything)
            try:
                await self._live(client)
            except Refused as refused:
                self.refused = str(refused)
                log.error("Discord does not let us in: %s", refused)  # noqa: TRY400  the sentence says all
                return
            except discord.PrivilegedIntentsRequired:
                self._go_without_content()
                continue
            except Exception:
                log.exception("the connection to Discord ended")
            finally:
                self.logged_in.clear()
                await close(client)
            if client.was_ready.is_set():
                backoff_s = self._backoff_s
            if client.reads_everything != self._reads_everything:
                continue
            await asyncio.sleep(backoff_s * random.uniform(0.8, 1.2))  # noqa: S311  spreads reconnects
            backoff_s = min(backoff_s * 2, BACKOFF_AT_MOST_S)

    async def _live(self, client: Client) -> None:
        """One life of a client, from login to the end of its connection."""
        try:
            async with asyncio.timeout(READY_S):
                await client.login(self._token)
        except discord.LoginFailure as failure:
            raise Refused("the token in DISCORD_TOKEN is not valid") from failure
        self.logged_in.set()
        flags = client.application.flags if client.application else discord.ApplicationFlags()
        if client.reads_everything and not (
            flags.gateway_message_content or flags.gateway_message_content_limited
        ):
            self._go_without_content()
            return
        await self._wait_for_sessions(client)
        try:
            await self._connect(client)
        except discord.ConnectionClosed as closed:
            if closed.code in FATAL_CODES:
                raise Refused(f"the gateway closed with {closed.code}") from closed
            raise

    def _go_without_content(self) -> None:
        self._reads_everything = False
        log.warning(
            "the Message Content intent is off in the developer portal: only messages that mention the bot, "
            "commands and message menus reach it"
        )

    async def _wait_for_sessions(self, client: Client) -> None:
        """Do not begin a session when the day's are used up: Discord would void the token."""
        limits = await client.fetch_session_start_limits()
        if limits.remaining < 2:
            log.warning("no new session of Discord for %.0f s", limits.reset_after / 1000)
            await asyncio.sleep(limits.reset_after / 1000)

    async def _connect(self, client: Client) -> None:
        connected = asyncio.create_task(client.connect())
        ready = asyncio.create_task(client.was_ready.wait())
        try:
            await asyncio.wait((connected, ready), timeout=READY_S, return_when=asyncio.FIRST_COMPLETED)
            if not (ready.done() or connected.done()):
                raise TimeoutError("no session within the time for it")
            await connected
        finally:
            for task in (connected, ready):
                task.cancel()
            await asyncio.gather(connected, ready, return_exceptions=True)


async def close(client: Client) -> None:
    """End a client; one that does not end in time is left alone."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            await client.close()
