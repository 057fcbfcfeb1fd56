"""`promptflow discord-sync`: registers our commands with Discord, as an explicit step of a deployment."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import discord

from bot.discord.command import payload, payload_hash, problems
from bot.discord.connection import point_library_at
from bot.discord.permission import invite
from bot.discord.traffic import translated
from bot.settings import DiscordSettings
from core.commands.high_water import CommandRegister
from core.domain.errors import ConfigurationError, PlatformFailure

EVERYWHERE: Final = "global"
LOGIN_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a registration did. `changed` is False when Discord has these commands from an earlier one."""

    count: int
    changed: bool
    invite: str
    """Where an administrator adds the bot to a server."""


async def sync_commands(
    settings: DiscordSettings, register: CommandRegister, *, guild: str = "", again: bool = False
) -> Synced:
    """Register the commands everywhere, or in one server (its id), unless the same ones were registered last.

    `again` registers them in any case. Raises ConfigurationError for a token or server that is not right, and
    PlatformFailure.
    """
    if not settings.token:
        raise ConfigurationError("DISCORD_TOKEN", "is not set")
    if guild and not guild.isdecimal():
        raise ConfigurationError("--guild", "must be the id of a server, which is a number")
    commands = payload()
    if found := list(problems(commands)):
        raise ConfigurationError("commands", "; ".join(found))
    point_library_at(settings)
    async with discord.Client(intents=discord.Intents(guilds=True)) as client:
        application = await _login(client, settings.token)
        scope = guild or EVERYWHERE
        wanted = payload_hash()
        known = await register.known(str(application), scope)
        if known != wanted or again:
            await _register(client, application, guild, commands)
            await register.note(str(application), scope, wanted)
    return Synced(count=len(commands), changed=known != wanted or again, invite=invite(application))


async def _login(client: discord.Client, token: str) -> int:
    try:
        async with translated(), asyncio.timeout(LOGIN_S):
            await client.login(token)
    except discord.LoginFailure as failure:
        raise ConfigurationError("DISCORD_TOKEN", "is not a token that Discord knows") from failure
    if client.application_id is None:
        raise PlatformFailure("no_application", retryable=False)
    return client.application_id


async def _register(
    client: discord.Client, application: int, guild: str, commands: list[dict[str, Any]]
) -> None:
    # The library's own synchronising knows no commands but those of its decorators.
    http: Any = client.http
    async with translated():
        if guild:
            await http.bulk_upsert_guild_commands(application, int(guild), commands)
        else:
            await http.bulk_upsert_global_commands(application, commands)
