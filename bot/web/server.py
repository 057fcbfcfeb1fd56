"""The HTTP servers. Adapters offer routes; this mounts them, guards the console's and starts the sockets."""

import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from bot.web.guard import LOOPBACK_NAMES, guard, secure

TOKEN_BYTES: Final = 24
MAX_BODY_BYTES: Final = 2_000_000
"""For every body but uploads, which the console's form reader bounds: a message of 100,000 characters fits encoded."""

SHUTDOWN_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """What operators ask. `missing` names the parts that are not ready, none when the process can do its work."""

    missing: Callable[[], Awaitable[tuple[str, ...]]]
    metrics: Callable[[], bytes]
    """Prometheus text format."""


def probe_routes(probes: Probes) -> list[web.AbstractRouteDef]:
    """`/healthz` (this process answers), `/readyz` (it can do its work), `/metrics`."""

    async def healthz(request: web.Request) -> web.Response:
        return web.json_response({"status": "alive"})

    async def readyz(request: web.Request) -> web.Response:
        missing = await probes.missing()
        status = "waiting" if missing else "ready"
        return web.json_response({"status": status, "missing": list(missing)}, status=503 if missing else 200)

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(
            body=probes.metrics(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)]


def new_token() -> str:
    """A token for one start of the console."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def console_address(port: int, token: str) -> str:
    """The address that a person opens, whole."""
    return f"http://127.0.0.1:{port}/?token={token}"


def console_application(
    routes: Iterable[web.AbstractRouteDef],
    *,
    probes: Probes,
    token: str,
    close_feed: Callable[[], None],
) -> web.Application:
    """The console behind its guard. `close_feed` ends the event streams, which would otherwise hold up a shutdown."""
    application = web.Application(middlewares=[guard(token)], client_max_size=MAX_BODY_BYTES)
    application.add_routes([*probe_routes(probes), *routes])

    async def end_streams(_: web.Application) -> None:
        close_feed()

    application.on_response_prepare.append(secure)
    application.on_shutdown.append(end_streams)
    return application


def public_application(routes: Iterable[web.AbstractRouteDef], *, probes: Probes) -> web.Application:
    """What other machines may reach: the platforms' routes, health and metrics; never the console."""
    application = web.Application(client_max_size=MAX_BODY_BYTES)
    application.add_routes([*routes, *probe_routes(probes)])
    return application


class Served:
    """A socket that answers. `port` is the real one, also when 0 was asked for."""

    def __init__(self, runner: web.AppRunner) -> None:
        self._runner = runner
        self.port: int = runner.addresses[0][1]

    async def close(self) -> None:
        """Stop accepting, let running answers end, at most a few seconds."""
        await self._runner.cleanup()


async def serve(application: web.Application, *, host: str, port: int) -> Served:
    """Start to answer. Raises OSError when the port is taken."""
    # The access log would write the console's token, and addresses say nothing that the metrics do not.
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return Served(runner)


async def serve_console(application: web.Application, *, host: str = "127.0.0.1", port: int) -> Served:
    """Start the console, on loopback only. Raises ValueError for any other host and OSError when the port is taken."""
    if host not in LOOPBACK_NAMES:
        raise ValueError(f"the console is for this machine alone, not for {host}")
    return await serve(application, host=host, port=port)
