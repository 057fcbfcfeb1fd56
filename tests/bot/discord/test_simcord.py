"""The same bot in an independent harness, which models rights, limits and interactions by itself."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import discord
import pytest
import simcord

from bot.discord.app import Discord
from bot.discord.command import payload
from bot.discord.limit import PLATFORM
from bot.settings import DiscordSettings
from tests.bot.discord.world import HURRIED
from tests.product import World, eventually, open_world


@dataclass
class Sim:
    env: Any
    world: World
    channel: Any
    alice: Any
    ben: Any
    guild: Any
    again: Callable[[], discord.Client]
    """A new client of the same bot, as after a restart."""


@asynccontextmanager
async def open_sim(folder: Path) -> AsyncGenerator[Sim]:
    bot = Discord(DiscordSettings(token="a.b.c", api_url="", gateway_url=""), HURRIED)
    client = bot.make_client(True, shard_count=1)
    urls = (f"sqlite:///{folder / 'app.db'}", f"sqlite:///{folder / 'engine.db'}")
    async with open_world(*urls, posters={PLATFORM: bot.poster}) as world:
        services = replace(world.services, access={**world.services.access, PLATFORM: bot.access})
        bot.connection.client = client
        bot.connection.logged_in.set()
        bot.begin(services)
        async with simcord.run(client) as env:
            http: Any = client.http
            await http.bulk_upsert_global_commands(client.application_id, payload())
            guild = env.create_guild()
            channel = guild.create_text_channel("general")
            alice = guild.add_member(env.create_user("alice"))
            ben = guild.add_member(env.create_user("ben"))

            def again() -> discord.Client:
                bot.connection.client = bot.make_client(True, shard_count=1)
                return bot.connection.client

            yield Sim(env=env, world=world, channel=channel, alice=alice, ben=ben, guild=guild, again=again)


async def answered(sim: Sim, thread: Any, answers: int = 1) -> list[Any]:
    """The messages of a thread, once it shows so many complete answers."""

    def complete() -> int:
        return sum("Retry" in labels(message) for message in thread.history())

    await eventually(lambda: complete() >= answers)
    await sim.env.settle()
    return list(thread.history())


def labels(message: Any) -> list[str]:
    return [child.label for row in message.components for child in row.children if child.label]


def shown(result: Any) -> str:
    """What one person was told, and nobody else."""
    assert result.ephemeral
    return str(result.response.content)


async def ask(sim: Sim, text: str = "Which one?") -> Any:
    """A thread with one answer."""
    await sim.alice.send(sim.channel, f"<@{sim.env.bot.user.id}> {text}")
    await eventually(lambda: sim.channel.threads)
    thread = sim.channel.threads[-1]
    await answered(sim, thread)
    return thread


async def branch_named(sim: Sim, name: str) -> Any:
    await eventually(lambda: any(thread.name == name for thread in sim.channel.threads))
    return next(thread for thread in sim.channel.threads if thread.name == name)


async def test_commands_menus_buttons_and_forms(tmp_path: Path) -> None:
    async with open_sim(tmp_path) as sim:
        thread = await ask(sim)
        answer = thread.history()[-1]
        form = await sim.ben.click(answer, label="Branch from here")
        done = await sim.ben.submit_modal(form, {"name": "By button", "reason": "curious"})
        assert "By button" in shown(done)
        await branch_named(sim, "By button")
        form = await sim.alice.context_menu(thread, "Branch from here", answer)
        await sim.alice.submit_modal(form, {"name": "By menu"})
        await branch_named(sim, "By menu")
        done = await sim.alice.slash(thread, "branch", position="1", name="By command")
        assert "By command" in shown(done)
        await branch_named(sim, "By command")
        receipt = await sim.ben.click(answer, label="Show AI input")
        assert [file.filename for file in receipt.response.attachments] == ["ai-input.md"]
        offered = await sim.ben.click(answer, label="Other model ▸")
        await sim.ben.select(offered.response.message, ["beta"])
        await answered(sim, thread, 2)
        choices = await sim.alice.autocomplete(thread, "branch", "position", "")
        assert [choice["value"] for choice in choices] == ["2", "1"]
        assert "“11” is not a position" in shown(await sim.alice.slash(thread, "branch", position="11"))


async def test_chat_by_command_opens_a_public_thread(tmp_path: Path) -> None:
    async with open_sim(tmp_path) as sim:
        done = await sim.alice.slash(sim.channel, "chat", message="Which one?")
        (thread,) = sim.channel.threads
        assert shown(done) == f"Your thread: <#{thread.id}>"
        (answer,) = [m for m in await answered(sim, thread) if m.content]
        assert answer.content.startswith("answer 1")


async def test_buttons_and_forms_outlive_the_bot(tmp_path: Path) -> None:
    async with open_sim(tmp_path) as sim:
        thread = await ask(sim)
        answer = thread.history()[-1]
        form = await sim.ben.click(answer, label="Branch from here")
        await sim.env.restart_bot(sim.again())
        await sim.ben.submit_modal(form, {"name": "Later"})
        await branch_named(sim, "Later")
        await sim.alice.click(answer, label="Retry")
        await answered(sim, thread, 2)


async def test_whoever_cannot_see_a_channel_gets_nothing_of_it(tmp_path: Path) -> None:
    async with open_sim(tmp_path) as sim:
        closed, open_ = (
            discord.PermissionOverwrite(view_channel=False),
            discord.PermissionOverwrite(view_channel=True),
        )
        overwrites = {sim.guild.default_role: closed, sim.alice: open_, sim.env.bot.user: open_}
        inside = sim.guild.create_text_channel("inside", overwrites=overwrites)
        await sim.alice.send(inside, f"<@{sim.env.bot.user.id}> Between us")
        await eventually(lambda: inside.threads)
        await answered(sim, inside.threads[0])
        assert "Between us" in shown(await sim.alice.slash(sim.channel, "threads"))
        assert "Between us" not in shown(await sim.ben.slash(sim.channel, "threads"))


def shown_in_place(result: Any) -> str:
    """What the card of one person says after something was pressed in it."""
    assert result.response.ephemeral
    return str(result.response.content).replace("\\", "")


@pytest.mark.soak
async def test_a_prompt_is_edited_saved_and_made_live_in_forms_with_a_restart_between(tmp_path: Path) -> None:
    async with open_sim(tmp_path) as sim:
        alice = sim.alice
        listed = await alice.slash(sim.channel, "prompts")
        page = await alice.select(listed.response.message, ["chat.answer"])
        form = await alice.click(page.response.message, label="Edit: Instructions to the model")
        await sim.env.restart_bot(sim.again())
        draft = await alice.submit_modal(form, {"text.0n": "Answer in one short sentence."})
        assert "This change is at least major" in shown_in_place(draft)
        assert [one.filename for one in draft.response.attachments] == ["draft.md", "changes.diff"]
        form = await alice.click(draft.response.message, label="Save version …")
        version = form.modal["components"][1]["component"]["options"][0]["value"]
        saved = await alice.submit_modal(form, {"reason": "people asked for it", "version": [version]})
        assert "is saved and proposed" in shown_in_place(saved)
        seen = await alice.slash(sim.channel, "prompts", prompt=f"chat.answer {version}")
        form = await alice.click(seen.response.message, label=f"Make version {version} live")
        refused = await alice.submit_modal(form, {"reason": "why"})
        form = await alice.click(refused.response.message, label="Give another reason")
        live = await alice.submit_modal(form, {"reason": "tried by hand for a week"})
        assert f"Version {version} is live in every process" in shown_in_place(live)
