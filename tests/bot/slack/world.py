"""The product in the small Slack: genuine slack_bolt and slack_sdk, store, engine and commands."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bot.slack.adapter import SlackAdapter, SlackPlatform, one_bot, open_platform
from bot.slack.bots import Bots
from bot.slack.caller import Callers
from bot.slack.calls import Calls
from bot.slack.people import PLATFORM
from core.commands.thread import list_channels, show_thread
from core.domain.ids import ThreadId, WorkspaceId
from core.domain.policy import Actor
from core.domain.view import ThreadPage
from core.prompts.eval_library import EvalLibrary
from core.store.run import OPEN
from core.store.tables import RunRow, ThreadRow
from core.store.workspace import external_id_of
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import APP_TOKEN, BOT_TOKEN, BOT_USER, TEAM
from tests.product import ScriptedModel, World, eventually, open_world

HURRY = 40.0
"""The small Slack has no speed limits but the faults it is told to have."""

MENTION = f"<@{BOT_USER}>"


OF_OTHER_CARDS = {
    "do.approve",
    "do.reject",
    "do.show_changes",
    "do.withdraw",
    "do.start",
    "do.open_again",
}


@dataclass
class SlackWorld:
    """Everything a test can touch."""

    world: World
    server: SlackServer
    platform: SlackPlatform
    adapter: SlackAdapter

    @property
    def model(self) -> ScriptedModel:
        return self.world.model

    async def ask(self, text: str, *, channel: str = "C1", user: str = "UALICE", **more: Any) -> str:
        """Start a thread with a mention (or a direct message) and wait for the whole answer; the thread's root."""
        said = text if channel.startswith("D") else f"{MENTION} {text}"
        root = await self.server.say(said, channel=channel, user=user, **more)
        thread = more.get("thread") or root
        await self.settled(channel, thread)
        return root

    async def settled(self, channel: str, thread: str, *, answers: int = 1) -> None:
        """Return when the thread shows so many complete answers and nothing is being written."""

        def complete() -> bool:
            cards = [m for m in self.server.posts(channel, thread) if is_card(m)]
            return len(cards) >= answers and all(is_final(m) for m in cards)

        async def at_rest() -> bool:
            # A post is final a moment before its run has ended, and until then nothing else can be asked.
            async with self.world.services.store.reading() as session:
                going = select(RunRow.id).join(ThreadRow, ThreadRow.id == RunRow.thread_id)
                going = going.where(ThreadRow.place == thread, RunRow.status.in_(OPEN))
                return (await session.scalars(going)).first() is None

        await eventually(complete)
        await eventually(at_rest)

    async def actor(self, user: str = "UALICE") -> Actor:
        bot = await self.platform.bots.of_workspace(TEAM)
        return (await self.callers.caller(bot, user)).actor

    @property
    def callers(self) -> Callers:
        return Callers(self.services, self.platform.people, self.platform.access)

    @property
    def services(self) -> Any:
        access = {**self.world.services.access, PLATFORM: self.platform.access}
        return replace(self.world.services, access=access)

    def metric(self, name: str, **labels: str) -> float:
        """What is measured under a name."""
        return (
            self.platform.calls.metrics.registry.get_sample_value(f"promptflow_slack_{name}", labels) or 0.0
        )

    async def threads(self, user: str = "UALICE") -> list[ThreadId]:
        """Every thread that a person can see, branches too."""
        found: list[ThreadId] = []

        def walk(items: Any) -> None:
            for item in items:
                found.append(item.thread_id)
                walk(item.children)

        for channel in await list_channels(self.services, await self.actor(user), PLATFORM):
            walk(channel.threads)
        return found

    async def page(self, user: str = "UALICE", number: int = 0) -> ThreadPage:
        actor = await self.actor(user)
        return await show_thread(self.services, actor, (await self.threads(user))[number])


def texts_of(message: dict[str, Any]) -> str:
    """Everything a message shows, as one text."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in ("text", "alt_text") and isinstance(inner, str):
                    found.append(inner)
                walk(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                walk(inner)

    walk(message.get("blocks") or [])
    return "\n".join(found) or str(message.get("text", ""))


def actions_of(message: dict[str, Any]) -> list[str]:
    """Ids of the buttons under a message."""
    return [
        e["action_id"]
        for b in message.get("blocks") or ()
        for e in b.get("elements") or ()
        if "action_id" in e
    ]


def is_card(message: dict[str, Any]) -> bool:
    """Whether it shows an answer; cards of handovers and adoptions have buttons too."""
    return bool(set(actions_of(message)) - OF_OTHER_CARDS) or "streaming_state" in message


def is_final(message: dict[str, Any]) -> bool:
    return bool(set(actions_of(message)) & {"do.retry", "do.keep_answer"})


@asynccontextmanager
async def open_slack_world(
    folder: Path,
    server: SlackServer,
    *,
    model: ScriptedModel | None = None,
    app_token: str = APP_TOKEN,
    signing_secret: str = "",
    before: Callable[[SlackPlatform], None] = lambda platform: None,
    patient: bool = True,
    make_bots: Callable[[Calls], Bots] | None = None,
    eval_library: EvalLibrary | None = None,
) -> AsyncGenerator[SlackWorld]:
    """The product connected to `server`. Opened again on the same folder it is the same product after a restart."""
    holder: list[World] = []

    async def external_id(workspace_id: WorkspaceId) -> str:
        async with holder[0].store.reading() as session:
            return await external_id_of(session, workspace_id)

    opened = open_platform(
        api_url=server.api_url,
        make_bots=make_bots or one_bot(BOT_TOKEN),
        external_id=external_id,
        speed=HURRY,
    )
    async with opened as platform:
        before(platform)
        urls = (f"sqlite:///{folder / 'app.db'}", f"sqlite:///{folder / 'engine.db'}")
        posters = {PLATFORM: platform.poster}
        opened_world = open_world(
            *urls, model=model, posters=posters, patient=patient, eval_library=eval_library
        )
        async with opened_world as world:
            holder.append(world)
            services = replace(world.services, access={**world.services.access, PLATFORM: platform.access})
            adapter = SlackAdapter(platform, services, app_token=app_token, signing_secret=signing_secret)
            listening = asyncio.create_task(adapter.run())
            try:
                if app_token:
                    await eventually(adapter.is_ready)
                    await eventually(lambda: len(server.connected) == 2)
                yield SlackWorld(world=world, server=server, platform=platform, adapter=adapter)
            finally:
                listening.cancel()
                with suppress(asyncio.CancelledError):
                    await listening
