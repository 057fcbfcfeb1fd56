"""The product on the small Discord: the genuine library, store, engine and commands."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bot.discord.app import Discord
from bot.discord.client import Timing
from bot.discord.limit import PLATFORM
from bot.discord.sync import sync_commands
from bot.settings import DiscordSettings
from core.commands.high_water import CommandRegister
from core.commands.person import PersonSeen, WorkspaceSeen, identify
from core.commands.place import thread_at
from core.commands.services import Services
from core.commands.thread import list_channels, show_thread
from core.domain.policy import Actor
from core.domain.thread import Place
from core.domain.view import AnswerView, ChannelItem, MessageView
from core.prompts.eval_library import EvalLibrary
from core.store.tables import RunRow
from tests.platforms.discord_api import ALICE, BOT, GENERAL, GUILD, Json, components_of
from tests.platforms.discord_server import DiscordServer
from tests.product import ScriptedModel, World, eventually, open_world

MENTION = f"<@{BOT}>"
HURRIED = Timing(edit_every_s=0.02, identify_every_s=0.0, guild_ready_s=0.05, backoff_s=0.05)
SEEN = WorkspaceSeen(platform=PLATFORM, external_id=GUILD, name="Testers")


@dataclass
class DiscordWorld:
    """Everything a test can touch."""

    server: DiscordServer
    world: World
    bot: Discord
    services: Services

    @property
    def model(self) -> ScriptedModel:
        return self.world.model

    async def ask(self, text: str, *, channel: str = GENERAL, user: str = ALICE, **more: Any) -> str:
        """Start a thread with a mention and wait for the whole answer; the thread's id."""
        thread = await self.server.says(channel, f"{MENTION} {text}", user=user, **more)
        await self.answered(thread)
        return thread

    async def answered(self, thread: str, answers: int = 1) -> None:
        """Return when a thread shows so many complete answers and nothing is being written."""
        await self.server.until(lambda: self.complete(thread) >= answers and not self.busy(thread))
        await eventually(self.idle)

    async def idle(self) -> bool:
        """No run is open; the last words of one are shown a moment before it ends."""
        async with self.world.store.reading() as session:
            open_run = select(RunRow.id).where(RunRow.status.in_(("queued", "running")))
            return await session.scalar(open_run.limit(1)) is None

    def complete(self, thread: str) -> int:
        return sum(is_complete(message) for message in self.server.ours(thread))

    def busy(self, thread: str) -> bool:
        return any("Stop" in labels(message) for message in self.server.ours(thread))

    async def actor(self, user: str = ALICE) -> Actor:
        seen = PersonSeen(workspace=SEEN, external_id=user, name="x", locale="en", locale_is_guess=True)
        return await identify(self.services, replace(seen, name=self.server.users[user]["global_name"]))

    async def channels(self, user: str = ALICE) -> tuple[ChannelItem, ...]:
        return await list_channels(self.services, await self.actor(user), PLATFORM)

    async def titles(self, user: str = ALICE) -> list[str]:
        """Titles of all threads that a person sees, branches after their parents."""
        found: list[str] = []

        def walk(items: Any) -> None:
            for item in items:
                found.append(item.title)
                walk(item.children)

        for channel in await self.channels(user):
            walk(channel.threads)
        return found

    async def conversation(self, thread: str, *, channel: str = GENERAL) -> list[str]:
        """What our store holds of a thread of Discord, in order."""
        actor = await self.actor()
        place = Place(platform=PLATFORM, channel=channel, thread=thread)

        async def is_there() -> bool:
            return await thread_at(self.services, actor, place) is not None

        await eventually(is_there)
        found = await thread_at(self.services, actor, place)
        assert found is not None
        page = await show_thread(self.services, actor, found.id)
        spoken = [item for item in page.items if isinstance(item, MessageView | AnswerView)]
        return [item.text for item in spoken if item.position is not None]


def labels(message: Json) -> list[str]:
    return [c["label"] for c in components_of(message) if "label" in c]


def is_complete(message: Json) -> bool:
    """An answer that is finished, well or badly."""
    return "Retry" in labels(message) or "Keep this answer" in labels(message)


def settings_of(server: DiscordServer) -> DiscordSettings:
    return DiscordSettings(token="a.b.c", api_url=server.api_url, gateway_url=server.gateway_url)


@asynccontextmanager
async def open_discord_world(
    folder: Path,
    server: DiscordServer,
    *,
    model: ScriptedModel | None = None,
    patient: bool = True,
    wait: bool = True,
    eval_library: EvalLibrary | None = None,
) -> AsyncGenerator[DiscordWorld]:
    """The product with one bot. Opened again on the same folder it is the same after a restart."""
    bot = Discord(settings_of(server), HURRIED)
    urls = (f"sqlite:///{folder / 'app.db'}", f"sqlite:///{folder / 'engine.db'}")
    async with (
        bot.opened(),
        open_world(
            *urls,
            model=model,
            posters={PLATFORM: bot.poster},
            patient=patient,
            eval_library=eval_library,
        ) as world,
    ):
        services = replace(world.services, access={**world.services.access, PLATFORM: bot.access})
        if "global" not in server.commands:
            await sync_commands(settings_of(server), CommandRegister(world.store, world.clock))
        bot.begin(services)
        if wait:
            await server.until(lambda: bot.ready)
        try:
            yield DiscordWorld(server=server, world=world, bot=bot, services=services)
        finally:
            await bot.stop_intake()
