"""The only file that names concrete classes: it builds what the settings ask for and ties it together."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from aiohttp import web
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from bot.check import Check
from bot.console.feed import Feed
from bot.console.poster import ConsolePoster
from bot.discord.app import Discord, DiscordAdapter
from bot.discord.limit import PLATFORM as DISCORD
from bot.discord.sync import Synced, sync_commands
from bot.doctor import Probes
from bot.settings import MIN_SECRET_KEY_CHARS, Settings
from bot.slack.adapter import SlackAdapter, many_bots, one_bot
from bot.slack.adapter import open_platform as open_slack
from bot.slack.doctor import try_slack
from bot.slack.installed import InstalledBots
from bot.slack.metrics import SlackMetrics
from bot.slack.oauth import Installing
from bot.slack.people import PLATFORM as SLACK
from core.commands import care, prompt_files
from core.commands.console import PLATFORM, LocalChannels, set_up
from core.commands.eval_view import EvalViewer
from core.commands.export import export_for_operator
from core.commands.high_water import CommandRegister
from core.commands.installation import Installations
from core.commands.prompt_gate import floating_targets
from core.commands.services import Services, enqueue
from core.commands.upkeep import (
    apply_retention,
    close_run_out_requests,
    pick_up_evals,
    pick_up_left_behind,
)
from core.domain.errors import ConfigurationError, StoreUnavailable
from core.domain.ids import IdSource, WorkspaceId
from core.domain.policy import Policy
from core.domain.reported import ReportedModel
from core.domain.view import Phrase
from core.engine.bench import Bench
from core.engine.engine import Engine
from core.engine.execution import carry_out
from core.engine.metrics import EngineMetrics
from core.engine.run import DurableRun
from core.engine.settings import EngineSettings
from core.files.reader import FileReader
from core.llm.catalogue import Catalogue, load_catalogue
from core.llm.doctor import ProbeResult, probe
from core.llm.floating import report_floating
from core.llm.gateway import Gateway
from core.llm.link import WorkerLink
from core.llm.local import local_installed
from core.llm.metrics import ModelMetrics
from core.modes.workflow_file import WORKFLOW_FOLDER, load_workflows
from core.ports import ChannelAccess, Poster
from core.prompts.eval_file import load_eval_sets
from core.prompts.eval_library import EvalLibrary
from core.prompts.pinned import load_pinned
from core.prompts.registry import LIBRARY_FOLDER, check_folder, load_library
from core.store.database import Store
from core.store.erasure import Erased
from core.store.migrations import is_current, migrate, revision
from core.store.prompt_library import Prompts
from core.store.reported import reported_models
from core.store.sealing import Sealer
from core.store.workspace import external_id_of

PICK_UP_EVERY_S = 10.0
RETENTION_EVERY_S = 3600.0
ADOPTIONS_EVERY_S = 600


class SystemClock:
    """The machine's clock, and UUIDv7 from it."""

    def __init__(self) -> None:
        self._ids = IdSource()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def new_id(self) -> str:
        return self._ids.new()


class Adapter(Protocol):
    """One chat platform that people come from."""

    @property
    def name(self) -> str: ...

    def routes(self) -> list[web.AbstractRouteDef]:
        """What it answers on the public socket."""
        ...

    async def run(self) -> None:
        """Listen until cancelled."""
        ...

    async def is_ready(self) -> bool:
        """Events of the platform reach this process."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Platforms:
    """The platforms that are set up: what the engine posts with and asks, and how to listen to each."""

    posters: dict[str, Poster]
    access: dict[str, ChannelAccess]
    listen: list[Callable[[Services], Adapter]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Everything that is running once the product is open."""

    services: Services
    gateway: Gateway
    feed: Feed
    registry: CollectorRegistry
    adapters: tuple[Adapter, ...]

    async def missing(self) -> tuple[str, ...]:
        """Parts that are not ready for work."""
        parts = []
        try:
            await self.services.store.ping()
        except StoreUnavailable:
            parts.append("database")
        if not self.gateway.ready:
            parts.append("models")
        parts += [adapter.name for adapter in self.adapters if not await adapter.is_ready()]
        return tuple(parts)

    def metrics(self) -> bytes:
        """Prometheus text format."""
        return generate_latest(self.registry)


def catalogue_of(settings: Settings) -> Catalogue:
    """The model catalogue that the settings describe. Raises ConfigurationError."""
    configuration = settings.configuration
    catalogue = load_catalogue(
        configuration.table("models"),
        configuration.table("defaults"),
        file=configuration.file,
        line_of=configuration.line_of,
        env=settings.env,
        local=local_installed(),
    )
    settings.check_allowed_models(tuple(catalogue.models))
    return catalogue


def gateway_of(settings: Settings, catalogue: Catalogue, registry: CollectorRegistry) -> Gateway:
    return Gateway(
        catalogue=catalogue,
        env=settings.env,
        metrics=ModelMetrics(registry),
        link=WorkerLink(env=settings.env),
    )


@asynccontextmanager
async def open_product(settings: Settings) -> AsyncGenerator[Product]:
    """The product at work, until the block ends: then runs are drained and everything is closed, the engine last.

    Raises ConfigurationError and StoreUnavailable before anything runs.
    """
    catalogue = catalogue_of(settings)
    report_floating(catalogue, await asyncio.to_thread(load_pinned))
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    store, feed = Store(settings.database_url), Feed()
    gateway = gateway_of(settings, catalogue, registry)
    try:
        async with _open_platforms(settings, store, feed, registry) as platforms:
            engine_url = settings.engine_database_url
            services = _services(settings, store, catalogue, gateway, platforms, registry, engine_url)
            _schedule(services)
            await migrate(store)
            await services.prompts.start()
            await set_up(services)
            await gateway.start()
            await services.engine.start()
            try:
                async with _kept_current(services.prompts):
                    yield Product(
                        services=services,
                        gateway=gateway,
                        feed=feed,
                        registry=registry,
                        adapters=tuple(listen(services) for listen in platforms.listen),
                    )
            finally:
                await services.engine.drain()
    finally:
        await gateway.close()
        await store.close()


@asynccontextmanager
async def _kept_current(prompts: Prompts) -> AsyncGenerator[None]:
    """Have this process notice reloads of prompts until the block ends."""
    looking = asyncio.create_task(prompts.keep_current(), name="prompts")
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.wait([looking])
        await prompts.leave()


def _services(
    settings: Settings,
    store: Store,
    catalogue: Catalogue,
    gateway: Gateway,
    platforms: Platforms,
    registry: CollectorRegistry,
    engine_url: str,
) -> Services:
    """The engine with its bench, and what commands work with."""
    clock, library = SystemClock(), load_library()
    workflows = load_workflows(*filter(None, (WORKFLOW_FOLDER, settings.workflow_dir)))
    prompts = Prompts(store, library, clock)
    evals = EvalLibrary(lambda: load_eval_sets(library))

    names: dict[WorkspaceId, str] = {}

    async def policy_of(workspace_id: WorkspaceId) -> Policy:
        # The platform's id of a workspace never changes; asking for it again would be one read more a call.
        if workspace_id not in names:
            async with store.reading() as session:
                names[workspace_id] = await external_id_of(session, workspace_id)
        return settings.policy_for(names[workspace_id])

    metrics = EngineMetrics(registry)
    bench = Bench(
        store=store,
        gateway=gateway,
        models=catalogue,
        prompts=prompts,
        workflows=workflows,
        evals=evals,
        posters=platforms.posters,
        policy=policy_of,
        clock=clock,
        delivery=metrics.count_delivery,
        model_change=metrics.count_model_change,
    )

    async def body(run: DurableRun) -> None:
        following = await carry_out(bench, run, EvalViewer(services))
        if following is not None:
            await enqueue(services, following)

    engine = Engine(EngineSettings(url=engine_url), body, metrics=metrics)
    services = Services(
        store=store,
        engine=engine,
        models=catalogue,
        prompts=prompts,
        workflows=workflows,
        evals=evals,
        policy=settings.policy_for,
        access=platforms.access,
        files=FileReader(),
        clock=clock,
        feedback=metrics.count_feedback,
    )
    return services


def _schedule(services: Services) -> None:
    """Have done from time to time what nobody asks for."""
    engine = services.engine
    engine.schedule("left-behind", PICK_UP_EVERY_S, lambda: pick_up_left_behind(services))
    engine.schedule("left-behind-evals", PICK_UP_EVERY_S, lambda: pick_up_evals(services))
    engine.schedule("retention", RETENTION_EVERY_S, lambda: apply_retention(services))
    engine.schedule("adoptions", ADOPTIONS_EVERY_S, lambda: close_run_out_requests(services))


@asynccontextmanager
async def _open_platforms(
    settings: Settings, store: Store, feed: Feed, registry: CollectorRegistry
) -> AsyncGenerator[Platforms]:
    """The console, and every platform that the settings name tokens for. Raises ConfigurationError."""

    async def external_id(workspace_id: WorkspaceId) -> str:
        async with store.reading() as session:
            return await external_id_of(session, workspace_id)

    platforms = Platforms(
        posters={PLATFORM: ConsolePoster(feed)}, access={PLATFORM: LocalChannels(store)}, listen=[]
    )
    async with AsyncExitStack() as stack:
        if settings.slack.bot_token or settings.slack.client_id:
            await _add_slack(settings, store, stack, platforms, external_id, SlackMetrics(registry))
        if settings.discord.token:
            discord = Discord(settings.discord)
            platforms.posters[DISCORD], platforms.access[DISCORD] = discord.poster, discord.access
            platforms.listen.append(lambda services: DiscordAdapter(discord, services))
            await stack.enter_async_context(discord.opened())
        yield platforms


async def _add_slack(
    settings: Settings,
    store: Store,
    stack: AsyncExitStack,
    platforms: Platforms,
    external_id: Callable[[WorkspaceId], Awaitable[str]],
    metrics: SlackMetrics,
) -> None:
    slack = settings.slack
    check_slack(settings)
    installations = (
        None
        if slack.bot_token
        else Installations(store, SystemClock(), Sealer(settings.secret_key.split(",")), platform=SLACK)
    )
    bots = (
        one_bot(slack.bot_token)
        if installations is None
        else many_bots(installations, slack.client_id, slack.client_secret)
    )
    opened = await stack.enter_async_context(
        open_slack(api_url=slack.api_url, make_bots=bots, external_id=external_id, metrics=metrics)
    )
    installing = (
        Installing(
            opened.bots, client_id=slack.client_id, secret_key=settings.secret_key, api_url=slack.api_url
        )
        if isinstance(opened.bots, InstalledBots)
        else None
    )
    platforms.posters[SLACK], platforms.access[SLACK] = opened.poster, opened.access
    platforms.listen.append(
        lambda services: SlackAdapter(
            opened,
            services,
            app_token=slack.app_token,
            signing_secret=slack.signing_secret,
            installing=installing,
        )
    )


def check_slack(settings: Settings) -> None:
    """Raise ConfigurationError when Slack is half set up, naming what is missing."""
    slack = settings.slack
    if not slack.app_token and not (slack.signing_secret and settings.public):
        name = "SLACK_BOT_TOKEN" if slack.bot_token else "SLACK_CLIENT_ID"
        raise ConfigurationError(
            name,
            "needs SLACK_APP_TOKEN beside it (Socket Mode), or SLACK_SIGNING_SECRET and PROMPTFLOW_PUBLIC_PORT (HTTP)",
        )
    if slack.bot_token:
        return
    if not slack.client_secret or not settings.public:
        raise ConfigurationError(
            "SLACK_CLIENT_ID",
            "needs SLACK_CLIENT_SECRET and PROMPTFLOW_PUBLIC_PORT, where people install the app",
        )
    if not settings.secret_key or any(
        len(key) < MIN_SECRET_KEY_CHARS for key in settings.secret_key.split(",")
    ):
        raise ConfigurationError(
            "PROMPTFLOW_SECRET_KEY",
            f"is needed to store the tokens of workspaces: at least {MIN_SECRET_KEY_CHARS} characters; for a change of "
            "the key the new one, a comma, and the old one",
        )


@asynccontextmanager
async def open_evaluating(settings: Settings) -> AsyncGenerator[Services]:
    """What evaluations by command need. The engine is of this command alone: whatever a serving process has under way
    is left to that one. Raises ConfigurationError and StoreUnavailable."""
    catalogue, registry = await asyncio.to_thread(catalogue_of, settings), CollectorRegistry()
    gateway = gateway_of(settings, catalogue, registry)
    nowhere = Platforms(posters={}, access={}, listen=[])
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(_store(settings))
        stack.push_async_callback(gateway.close)
        folder = await asyncio.to_thread(TemporaryDirectory)
        stack.push_async_callback(asyncio.to_thread, folder.cleanup)
        engine_url = f"sqlite:///{folder.name}/engine.db"
        # Reads the files of the release.
        services = await asyncio.to_thread(
            _services, settings, store, catalogue, gateway, nowhere, registry, engine_url
        )
        await services.prompts.start()
        stack.push_async_callback(services.prompts.leave)
        await set_up(services)
        await gateway.start()
        await services.engine.start()
        stack.push_async_callback(services.engine.drain)
        yield services


async def migrate_database(settings: Settings) -> str:
    """Bring the database to this release; returns the revision it has then."""
    async with _store(settings) as store:
        return await revision(store)


async def export_thread(settings: Settings, thread_id: str, form: str) -> AsyncGenerator[str]:
    """A thread as Markdown or JSON, part by part. Raises Refusal."""
    async with _store(settings) as store:
        file = await export_for_operator(store, thread_id, form="json" if form == "json" else "markdown")
        async with aclosing(file.parts) as parts:
            async for part in parts:
                yield part


async def erase_person(settings: Settings, workspace: str, person: str) -> Erased:
    """Blank a person's content. Raises Refusal."""
    async with _store(settings) as store:
        return await care.erase_for_operator(store, SystemClock(), workspace, person)


async def export_prompts(settings: Settings, workspace: str, folder: Path) -> int:
    """Write the live prompts of a workspace into a folder; how many. Raises Refusal."""
    async with _store(settings) as store:
        files = await prompt_files.export_prompts(store, await _prompts(store), SystemClock(), workspace)
    await asyncio.to_thread(prompt_files.write_folder, folder, files)
    return len({path.partition("/")[0] for path in files if "/" in path})


async def import_prompts(
    settings: Settings, workspace: str, folder: Path, reason: str
) -> Sequence[prompt_files.Imported]:
    """Take the prompts of a folder in as proposed versions. Raises ConfigurationErrors and Refusal."""
    given = (await asyncio.to_thread(load_library, folder)).versions
    async with _store(settings) as store:
        return await prompt_files.import_prompts(
            store, await _prompts(store), SystemClock(), workspace, given, reason
        )


async def check_prompts(settings: Settings, folder: Path | None, workspace: str) -> prompt_files.Checked:
    """Hold a folder against its lock and, where one is named, a workspace. Raises ConfigurationErrors and Refusal."""
    given = (await asyncio.to_thread(check_folder, folder or LIBRARY_FOLDER)).versions
    models = catalogue_of(settings)

    def floating() -> dict[str, tuple[str, ...]]:
        found = {name: floating_targets(models, version) for name, version in given.items()}
        return {name: targets for name, targets in found.items() if targets}

    drift: tuple[prompt_files.Drift, ...] = ()
    if workspace:
        async with _store(settings) as store:
            drift = await prompt_files.drift(store, await _prompts(store), workspace, given)
    return prompt_files.Checked(count=len(given), drift=drift, floating=await asyncio.to_thread(floating))


async def snapshot_prompts(settings: Settings, workspace: str, folder: Path) -> Path:
    """Write a full copy of the live prompts into a new dated folder; which. Raises Refusal."""
    target = folder / f"prompts-{SystemClock().now():%Y%m%dT%H%M%SZ}"
    await export_prompts(settings, workspace, target)
    return target


async def _prompts(store: Store) -> Prompts:
    return Prompts(store, await asyncio.to_thread(load_library), SystemClock())


async def sync_discord(settings: Settings, guild: str, again: bool) -> Synced:  # noqa: FBT001  as `bot.cli` calls it
    """Register the commands of this release with Discord. Raises ConfigurationError and PlatformFailure."""
    async with _store(settings) as store:
        register = CommandRegister(store, SystemClock())
        return await sync_commands(settings.discord, register, guild=guild, again=again)


@asynccontextmanager
async def _store(settings: Settings) -> AsyncGenerator[Store]:
    """The database in this release's form, for one command of the operator."""
    await asyncio.to_thread(settings.data_dir.mkdir, parents=True, exist_ok=True)
    store = Store(settings.database_url)
    try:
        await migrate(store)
        yield store
    finally:
        await store.close()


async def ping(url: str) -> None:
    """Ask a database one question. Raises StoreUnavailable."""
    store = Store(url)
    try:
        await store.ping()
    finally:
        await store.close()


async def try_models(
    settings: Settings, catalogue: Catalogue, aliases: Sequence[str]
) -> AsyncIterator[ProbeResult]:
    """Ask each model one small question."""
    gateway = gateway_of(settings, catalogue, CollectorRegistry())
    await gateway.start()
    try:
        for alias in aliases:
            yield await probe(gateway, alias)
    finally:
        await gateway.close()


async def reported(url: str) -> Mapping[tuple[str, str], ReportedModel]:
    """What models reported last; nothing from a database in the form of an earlier release."""
    store = Store(url)
    try:
        if not await is_current(store):
            return {}
        async with store.reading() as session:
            return await reported_models(session)
    finally:
        await store.close()


async def try_platforms(settings: Settings) -> AsyncIterator[Check]:
    """Ask Slack about the tokens that are set."""
    slack = settings.slack
    if not (slack.bot_token or slack.app_token or slack.client_id):
        return
    try:
        check_slack(settings)
    except ConfigurationError as error:
        yield Check(well=False, phrase=Phrase(key="cli.doctor_slack_half", fields={"reason": str(error)}))
    found = try_slack(api_url=slack.api_url, bot_token=slack.bot_token, app_token=slack.app_token)
    async for check in found:
        yield check


PROBES = Probes(
    ping=ping,
    catalogue=catalogue_of,
    try_models=try_models,
    reported=reported,
    try_platforms=try_platforms,
)
