"""`promptflow serve`: everything in one process, from start to drain."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from bot.console.app import Console
from bot.logs import set_up_logs
from bot.settings import LOOPBACK, Settings
from bot.web.server import (
    Probes,
    Served,
    console_address,
    console_application,
    new_token,
    public_application,
    serve,
    serve_console,
)
from bot.wiring import Adapter, Product, open_product
from core.domain.errors import ConfigurationError

log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then stop intake, let runs finish or park them, and return.

    Raises ConfigurationError and StoreUnavailable when the product cannot begin.
    """
    set_up_logs()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    try:
        async with (
            open_product(settings) as product,
            _sockets(settings, product),
            _listening(product.adapters),
        ):
            await stopping.wait()
            log.info("draining")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def _listening(adapters: Sequence[Adapter]) -> AsyncGenerator[None]:
    """Listen to every platform until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        listening = [tasks.create_task(adapter.run(), name=adapter.name) for adapter in adapters]
        try:
            yield
        finally:
            for task in listening:
                task.cancel()


@asynccontextmanager
async def _sockets(settings: Settings, product: Product) -> AsyncGenerator[None]:
    probes, token = Probes(missing=product.missing, metrics=product.metrics), new_token()
    console = await asyncio.to_thread(Console, product.services, product.feed)
    application = console_application(
        console.routes(), probes=probes, token=token, close_feed=product.feed.close
    )
    async with AsyncExitStack() as stack:
        served = await _listen(serve_console(application, port=settings.port), LOOPBACK, settings.port)
        stack.push_async_callback(served.close)
        if settings.public is not None:
            routes = [route for adapter in product.adapters for route in adapter.routes()]
            public = public_application(routes, probes=probes)
            host, port = settings.public.host, settings.public.port
            stack.push_async_callback((await _listen(serve(public, host=host, port=port), host, port)).close)
        # Alone on a line, for people to click and scripts to read.
        print(console_address(served.port, token), flush=True)
        yield


async def _listen(starting: Coroutine[Any, Any, Served], host: str, port: int) -> Served:
    try:
        return await starting
    except OSError as error:
        raise ConfigurationError(
            f"{host}:{port}",
            f"cannot be listened on ({os.strerror(error.errno or 0).lower()}); is promptflow running already?",
        ) from error
