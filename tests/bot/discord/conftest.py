"""A small Discord and the product on it."""

import json
import os
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import discord
import pytest

from tests.bot.discord.world import DiscordWorld, open_discord_world
from tests.platforms.discord_rest import running_discord
from tests.platforms.discord_schema import Schema
from tests.platforms.discord_server import DiscordServer


@pytest.fixture(autouse=True)
def library_as_it_was() -> Iterator[None]:
    """The addresses that the library keeps in its classes are Discord's own again after each test."""
    base, gateway = discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
    yield
    discord.http.Route.BASE = base
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway


@pytest.fixture(scope="session")
def schema() -> Schema | None:
    """Discord's own description of its API, where `DISCORD_OPENAPI` names the file; the project does not need it."""
    file = os.environ.get("DISCORD_OPENAPI", "")
    return Schema(json.loads(Path(file).read_text())) if file else None


@pytest.fixture
async def server(schema: Schema | None) -> AsyncGenerator[DiscordServer]:
    async with running_discord() as running:
        if schema is not None:
            running.check = lambda method, path, body: running.broken.extend(
                schema.problems(method, path, body)
            )
        yield running


@pytest.fixture
async def there(server: DiscordServer, tmp_path: Path) -> AsyncGenerator[DiscordWorld]:
    async with open_discord_world(tmp_path, server) as world:
        yield world
    assert server.broken == []
