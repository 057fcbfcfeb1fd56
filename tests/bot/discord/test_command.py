"""What is registered with Discord, and the step of a deployment that does it."""

import json
from pathlib import Path

import pytest

from bot.discord.command import COMMANDS, command_named, manifest, payload, problems, shown_name
from bot.discord.permission import PERMISSIONS, invite
from bot.discord.sync import sync_commands
from bot.settings import DiscordSettings
from core.commands.high_water import CommandRegister
from core.domain.errors import ConfigurationError
from core.store.database import Store
from core.store.migrations import migrate
from tests.bot.discord.world import settings_of
from tests.platforms.discord_api import GUILD, Fault
from tests.platforms.discord_server import DiscordServer
from tests.product import SteppingClock
from tests.tree import ROOT


def test_the_manifest_is_what_the_code_registers() -> None:
    """Write it anew with `python -c "from bot.discord.command import manifest; print(manifest(), end='')"`."""
    assert (ROOT / "manifests/discord-commands.json").read_text(encoding="utf-8") == manifest()


def test_everything_registered_is_within_the_limits() -> None:
    assert list(problems(payload())) == []
    assert sum(c["type"] == 3 for c in payload()) <= 5


def test_a_registration_over_the_limits_is_noticed() -> None:
    menu = payload()[-1]
    assert "more than 5" in next(problems([{**menu, "name": str(n)} for n in range(6)]))
    long = {**payload()[0], "description": "x" * 8_000}
    assert "too long" in next(problems([long]))
    optional_first = [{**o, "required": bool(n)} for n, o in enumerate(payload()[0]["options"])]
    assert "after others" in next(problems([{**payload()[0], "options": optional_first}]))


def test_commands_work_in_servers_only_and_have_japanese_names() -> None:
    for command in payload():
        assert command["contexts"] == [0]
        assert command["integration_types"] == [0]
        assert command["name_localizations"]["ja"] != command["name"]


def test_a_registered_name_leads_to_its_command_and_another_to_none() -> None:
    for command in COMMANDS:
        assert command_named(shown_name(command, "en"), is_menu=command.is_menu) is command
        assert command_named(shown_name(command, "en"), is_menu=not command.is_menu) is None


def test_the_invitation_asks_for_exactly_what_is_needed() -> None:
    assert PERMISSIONS == 377957223424
    assert invite(5) == (
        "https://discord.com/oauth2/authorize?client_id=5&scope=bot+applications.commands&permissions=377957223424"
    )
    assert invite(5, 7).endswith("&guild_id=7&disable_guild_select=true")


@pytest.fixture
async def store(tmp_path: Path) -> Store:
    opened = Store(f"sqlite:///{tmp_path / 'app.db'}")
    await migrate(opened)
    return opened


async def test_the_same_commands_are_registered_once_for_each_scope(
    server: DiscordServer, store: Store
) -> None:
    settings, register = settings_of(server), CommandRegister(store, SteppingClock())
    first = await sync_commands(settings, register)
    assert (first.changed, first.count) == (True, len(COMMANDS))
    assert not (await sync_commands(settings, register)).changed
    assert (await sync_commands(settings, register, guild=GUILD)).changed
    assert (await sync_commands(settings, register, again=True)).changed
    registered = [call.path for call in server.calls_of("PUT", "/commands$")]
    assert [path.count("guilds") for path in registered] == [0, 1, 0]
    assert json.dumps(server.calls_of("PUT", "/commands$")[0].body) == json.dumps(payload())
    await store.close()


async def test_a_registration_that_cannot_be_made_says_why(server: DiscordServer, store: Store) -> None:
    settings, register = settings_of(server), CommandRegister(store, SteppingClock())
    with pytest.raises(ConfigurationError, match="DISCORD_TOKEN: is not set"):
        await sync_commands(DiscordSettings(token="", api_url="", gateway_url=""), register)
    with pytest.raises(ConfigurationError, match="must be the id of a server"):
        await sync_commands(settings, register, guild="general")
    server.faults.append(Fault("GET /users/@me", "before", 401))
    with pytest.raises(ConfigurationError, match="not a token that Discord knows"):
        await sync_commands(settings, register)
    await store.close()
