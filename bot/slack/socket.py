"""Socket Mode: two connections, each watched and replaced when it hears nothing.

Slack sends a payload to any one of an app's connections, and takes one down for a refresh every few hours: with two
there is no gap. The library's own reconnecting retries an expired address for ever and trusts a socket that is open
(python-slack-sdk#1446, bolt-python#1529), so a connection that is not well for a while is given up and made anew.
"""

import asyncio
import logging
from typing import Any, Final

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.calls import Calls
from bot.slack.metrics import SlackMetrics

log = logging.getLogger(__name__)

CONNECTIONS: Final = 2
PING_S: Final = 5.0
CONNECT_S: Final = 8.0
ILL_S: Final = 8.0
"""A connection that is down for longer than a refresh takes is given up."""

LOOK_S: Final = 0.5
CLOSE_S: Final = 3.0
PAUSES_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0)


class Connection:
    """One connection that is made again whenever it ends."""

    def __init__(
        self, app: AsyncApp, client: AsyncWebClient, app_token: str, metrics: SlackMetrics, number: int
    ) -> None:
        self._metrics = metrics
        self._app = app
        self._client = client
        self._app_token = app_token
        self._number = number
        self._heard_hello = False
        self.opened = 0
        """How many times a connection was begun."""
        self._handler: AsyncSocketModeHandler | None = None

    async def is_well(self) -> bool:
        """Open, greeted by Slack, and answering pings."""
        return self._handler is not None and self._heard_hello and await self._handler.client.is_connected()

    async def keep(self) -> None:
        """Stay connected until cancelled."""
        failures = 0
        while True:
            handler = self._handler = self._new_handler()
            self.opened += 1
            try:
                async with asyncio.timeout(CONNECT_S):
                    handler.client.wss_uri = await handler.client.issue_new_wss_url()
                    await handler.client.connect()  # type: ignore[no-untyped-call]
                well_for_s = await self._watch()
                self._metrics.losses.inc()
                log.warning("Slack connection %d was lost and is made anew", self._number)
                failures = 0 if well_for_s > PAUSES_S[-1] else failures + 1
            except (SlackApiError, aiohttp.ClientError, TimeoutError, OSError) as error:
                log.warning("Slack connection %d could not be opened: %s", self._number, _reason(error))
                failures += 1
            finally:
                self._handler = None
                await self._close(handler)
            await asyncio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])

    def _new_handler(self) -> AsyncSocketModeHandler:
        self._heard_hello = False
        handler = AsyncSocketModeHandler(
            self._app, self._app_token, web_client=self._client, ping_interval=PING_S, logger=log
        )

        async def hear(_: AsyncBaseSocketModeClient, message: dict[str, Any], __: str | None) -> None:
            if message.get("type") == "hello":
                self._heard_hello = True
                self._metrics.openings.inc()

        handler.client.message_listeners.append(hear)
        return handler

    async def _watch(self) -> float:
        """Return once the connection was not well for a while; for how many seconds it had been."""
        clock = asyncio.get_running_loop().time
        began = well_at = clock()
        while clock() - well_at < ILL_S:
            await asyncio.sleep(LOOK_S)
            if await self.is_well():
                well_at = clock()
        return well_at - began

    async def _close(self, handler: AsyncSocketModeHandler) -> None:
        try:
            async with asyncio.timeout(CLOSE_S):
                await handler.client.close()  # type: ignore[no-untyped-call]
        except (TimeoutError, aiohttp.ClientError, OSError):
            # Closing politely takes the other side; what the library holds is let go of all the same.
            for task in (
                handler.client.message_processor,
                handler.client.current_session_monitor,
                handler.client.message_receiver,
            ):
                if task is not None:
                    task.cancel()
            await handler.client.aiohttp_client_session.close()


def _reason(error: Exception) -> str:
    if isinstance(error, SlackApiError):
        return str(error.response.get("error", "refused"))
    return type(error).__name__


class Sockets:
    """All connections of this process."""

    def __init__(self, app: AsyncApp, calls: Calls, app_token: str) -> None:
        self._metrics = calls.metrics
        client = calls.client(None)
        self.connections = tuple(
            Connection(app, client, app_token, self._metrics, n + 1) for n in range(CONNECTIONS)
        )

    async def is_well(self) -> bool:
        """At least one connection hears."""
        return any([await one.is_well() for one in self.connections])

    async def keep(self) -> None:
        """Stay connected until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for connection in self.connections:
                _ = tasks.create_task(connection.keep())
            _ = tasks.create_task(self._measure())

    async def _measure(self) -> None:
        """Show for ever how many connections hear."""
        while True:
            self._metrics.connections.set(sum([await one.is_well() for one in self.connections]))
            await asyncio.sleep(LOOK_S)
