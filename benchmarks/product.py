"""The product without a platform: genuine store, engine, commands and gateway on SQLite."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry

from bot.wiring import SystemClock
from core.commands.eval_view import EvalViewer
from core.commands.person import PersonSeen, WorkspaceSeen, identify
from core.commands.services import Services, enqueue
from core.domain.ids import WorkspaceId
from core.domain.policy import Actor, Policy
from core.domain.thread import Place
from core.domain.view import AnswerView, PostView
from core.engine.bench import Bench
from core.engine.engine import Engine
from core.engine.execution import carry_out
from core.engine.metrics import EngineMetrics
from core.engine.run import DurableRun
from core.engine.settings import EngineSettings
from core.files.reader import FileReader
from core.llm.catalogue import Catalogue
from core.modes.workflow_file import load_workflows
from core.ports import ModelCall, ModelEvent, ModelGateway, PostRef, Started
from core.prompts.eval_file import load_eval_sets
from core.prompts.eval_library import EvalLibrary
from core.prompts.registry import load_library
from core.store.database import Store
from core.store.migrations import migrate
from core.store.prompt_library import Prompts

PLATFORM = "benchmark"
WORKSPACE = WorkspaceSeen(platform=PLATFORM, external_id="W1", name="Benchmark")


@dataclass(frozen=True, slots=True)
class Departures:
    """The genuine gateway, with the loop's time at which each call left for its provider."""

    gateway: ModelGateway
    left: dict[str, float] = field(default_factory=dict)
    """By the run that called, or by the call's own id where none did."""

    async def stream(self, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        async with aclosing(self.gateway.stream(call)) as events:
            async for event in events:
                if isinstance(event, Started):
                    self.left[call.request_id.partition("/")[0]] = asyncio.get_running_loop().time()
                yield event


@dataclass(frozen=True, slots=True)
class Audience:
    """A platform that takes every post at once, and knows which runs have shown their last state."""

    ended: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    shown_at: dict[str, float] = field(default_factory=dict)
    """The loop's time at which each run last showed a final state."""

    async def can_see(self, workspace_id: WorkspaceId, channel: str, person: str) -> bool:
        return True

    async def open_thread(
        self, workspace_id: WorkspaceId, channel: str, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        return PostRef(place=Place(platform=PLATFORM, channel=channel, thread=key), ids=(key,))

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        return PostRef(place=place, ids=(key,))

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        return None

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        if final and isinstance(view, AnswerView):
            self.shown_at[view.run_id] = asyncio.get_running_loop().time()
            self.ended[view.run_id].set()
        return ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    services: Services
    departures: Departures
    audience: Audience
    actor: Actor


@asynccontextmanager
async def running_product(folder: Path, models: Catalogue, gateway: ModelGateway) -> AsyncGenerator[Running]:
    """The product at work in a folder, with one person."""
    store, clock, audience, departures = (
        Store(f"sqlite:///{folder / 'promptflow.db'}"),
        SystemClock(),
        Audience(),
        Departures(gateway),
    )
    library = await asyncio.to_thread(load_library)
    prompts, evals = Prompts(store, library, clock), EvalLibrary(lambda: load_eval_sets(library))
    workflows = await asyncio.to_thread(load_workflows)

    async def policy_of(workspace_id: WorkspaceId) -> Policy:
        return Policy()

    metrics = EngineMetrics(CollectorRegistry())
    bench = Bench(
        store=store,
        gateway=departures,
        models=models,
        prompts=prompts,
        workflows=workflows,
        evals=evals,
        posters={PLATFORM: audience},
        policy=policy_of,
        clock=clock,
        delivery=metrics.count_delivery,
        model_change=metrics.count_model_change,
    )

    async def body(run: DurableRun) -> None:
        following = await carry_out(bench, run, EvalViewer(services))
        if following is not None:
            await enqueue(services, following)

    settings = EngineSettings(url=f"sqlite:///{folder / 'engine.db'}", drain_s=5.0)
    engine = Engine(settings, body, metrics=metrics)
    services = Services(
        store=store,
        engine=engine,
        models=models,
        prompts=prompts,
        workflows=workflows,
        evals=evals,
        policy=lambda workspace: Policy(),
        access={PLATFORM: audience},
        files=FileReader(),
        clock=clock,
        feedback=metrics.count_feedback,
    )
    await migrate(store)
    await prompts.start()
    await engine.start()
    try:
        seen = PersonSeen(workspace=WORKSPACE, external_id="U1", name="Aki", locale="en")
        actor = await identify(services, seen)
        yield Running(services=services, departures=departures, audience=audience, actor=actor)
    finally:
        await engine.drain()
        await store.close()
