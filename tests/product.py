"""The product for tests: genuine store, engine and commands; only the model, the platform and the clock are ours."""

import asyncio
import atexit
import json
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from prometheus_client import CollectorRegistry

from core.commands.eval_view import EvalViewer
from core.commands.person import PersonSeen, WorkspaceSeen, identify
from core.commands.say import Said, SaidResult, Upload, say
from core.commands.services import Services, enqueue
from core.commands.thread import show_thread
from core.domain.errors import FailureKind, ModelFailure, PlatformFailure
from core.domain.ids import IdSource, ThreadId, WorkspaceId
from core.domain.policy import Actor, Policy
from core.domain.receipt import Finish, Usage
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, MessageView, PostView, ThreadPage
from core.domain.workflow import Workflow
from core.engine.bench import Bench
from core.engine.engine import Engine
from core.engine.execution import carry_out
from core.engine.metrics import EngineMetrics
from core.engine.run import DurableRun
from core.engine.settings import EngineSettings
from core.files.reader import FileReader
from core.llm.catalogue import Catalogue, load_catalogue
from core.modes.workflow_file import load_workflows
from core.ports import Done, ModelCall, ModelEvent, Poster, PostRef, Started, TextDelta
from core.prompts.eval_file import load_eval_sets
from core.prompts.eval_library import EvalLibrary
from core.prompts.eval_set import EvalSet
from core.prompts.registry import PromptLibrary, load_library
from core.store.database import Store
from core.store.migrations import migrate
from core.store.prompt_library import Prompts

PLATFORM = "test"
FILES = ("app.db", "engine.db")
WORKSPACE = WorkspaceSeen(platform=PLATFORM, external_id="W1", name="Testers")
DEADLINE_S = 15.0


class SteppingClock:
    """Moves one millisecond with every look, so that no two moments are the same; `advance` moves it by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
        self.ids = IdSource()

    def now(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time

    def new_id(self) -> str:
        return self.ids.new()

    def advance(self, by: timedelta) -> None:
        self.time += by


Planned = str | FailureKind | tuple[str, FailureKind]
"""An answer, a failure, or an answer that breaks off in one."""


@dataclass
class ScriptedModel:
    """A ModelGateway that keeps every call, and answers from a script or with the call's number."""

    calls: list[ModelCall] = field(default_factory=list)
    script: list[Planned] = field(default_factory=list)
    plan: Callable[[ModelCall], Planned | None] = lambda call: None
    """What a call is answered with before the script is asked; None leaves it to the script."""
    hold: asyncio.Event | None = None
    """While set and not fired, answers stop after their first piece."""
    held: str = ""
    """Only calls whose id holds this, such as a step, are held."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a call is held."""
    closed: int = 0
    reported: str = "reported-1"
    """What it says it is."""

    async def stream(self, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        self.calls.append(call)
        schema = call.ai_input.output_schema
        usual = (
            f"answer {len(self.calls)}" if schema is None else json.dumps(fitting(schema, len(self.calls)))
        )
        planned = self.plan(call) or (self.script.pop(0) if self.script else usual)
        try:
            yield Started(queued_s=0.0)
            text, failure = planned if isinstance(planned, tuple) else (planned, None)
            if isinstance(text, FailureKind):
                raise ModelFailure(text)
            head, tail = text[:3], text[3:]
            yield TextDelta(text=head)
            if self.hold is not None and self.held in call.request_id:
                self.begun.set()
                await self.hold.wait()
            if tail:
                yield TextDelta(text=tail)
            if failure is not None:
                raise ModelFailure(failure, partial_text=text)
            yield Done(
                finish=Finish.STOP,
                usage=Usage(input_tokens=100, output_tokens=10, estimated=False, cost_usd=0.25),
                reported_model_id=self.reported,
                first_delta_s=0.01,
                total_s=0.02,
            )
        finally:
            self.closed += 1

    def sent_texts(self, number: int = -1) -> list[str]:
        """Texts of the parts of one call, the last by default: the truth about what the model got."""
        return [part.text for part in self.calls[number].ai_input.parts]

    def sent(self, number: int = -1) -> str:
        return "\n".join(self.sent_texts(number))


def fitting(schema: Any, number: int) -> Any:
    """The smallest value that satisfies a schema of ours; its texts end in the number of the call."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: fitting(schema["properties"][name], number) for name in schema.get("required", ())}
        case "array":
            least = schema.get("minItems", 0)
            choices = schema["items"].get("enum") if schema.get("uniqueItems") else None
            return choices[:least] if choices else [fitting(schema["items"], number)] * least
        case "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return f"text {number}"


@dataclass
class RecordingPoster:
    """A platform that keeps its posts by key and remembers every state it was asked to show."""

    posts: dict[str, PostView] = field(default_factory=dict)
    shown: list[PostView] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    """Where each post went."""
    gone: set[str] = field(default_factory=set)
    """Keys of posts that the platform does not show any more."""

    async def open_thread(
        self, workspace_id: WorkspaceId, channel: str, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        place = Place(platform=PLATFORM, channel=channel, thread=f"opened-{len(self.posts)}")
        return await self.post(workspace_id, place, view, key=key, locale=locale)

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        if key in self.posts:
            raise AssertionError(f"posted twice: {key}")
        self.posts[key] = view
        self.shown.append(view)
        self.places.append(place)
        return PostRef(place=place, ids=(key,))

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        return PostRef(place=place, ids=(key,)) if key in self.posts else None

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        if ref.ids[0] in self.gone:
            raise PlatformFailure("message_not_found", retryable=False)
        self.posts[ref.ids[0]] = view
        self.shown.append(view)
        return ref


@dataclass
class OpenDoors:
    """ChannelAccess by a list of what is closed to whom."""

    closed: set[tuple[str, str]] = field(default_factory=set)

    async def can_see(self, workspace_id: WorkspaceId, channel: str, person: str) -> bool:
        return (channel, person) not in self.closed


@dataclass
class World:
    """Everything a test can touch."""

    services: Services
    store: Store
    model: ScriptedModel
    poster: RecordingPoster
    doors: OpenDoors
    clock: SteppingClock
    policies: dict[str, Policy]
    registry: CollectorRegistry
    """What `/metrics` is made of."""

    async def person(self, external_id: str = "U1", name: str = "Aki", **more: str | bool) -> Actor:
        seen = PersonSeen(workspace=WORKSPACE, external_id=external_id, name=name, locale="en")
        return await identify(self.services, replace(seen, **more))  # type: ignore[arg-type]

    async def say(
        self,
        actor: Actor,
        text: str,
        thread: ThreadId | None = None,
        *,
        wait: bool = True,
        uploads: tuple[Upload, ...] = (),
        **more: object,
    ) -> SaidResult:
        """Say something in a thread, or in a new one, and wait for the answer."""
        place = Place(platform=PLATFORM, channel="C1", thread=self.clock.new_id()) if thread is None else None
        event = self.clock.new_id()
        said = Said(
            text=text,
            event_key=event,
            external_id=event,
            mentions_bot=True,
            place=place,
            thread_id=thread,
            uploads=uploads,
        )
        result = await say(self.services, actor, replace(said, **more))  # type: ignore[arg-type]
        if wait and result.run_id:
            await self.finished(result.run_id)
        return result

    async def finished(self, run_id: str) -> None:
        """Return when the engine has ended a run."""
        await eventually(lambda: self.services.engine.is_finished(run_id))

    async def page(self, actor: Actor, thread: ThreadId) -> ThreadPage:
        return await show_thread(self.services, actor, thread)

    async def texts(self, actor: Actor, thread: ThreadId) -> list[str]:
        """Texts of the conversation in order, as shown: people's messages and kept answers."""
        page = await self.page(actor, thread)
        spoken = [item for item in page.items if isinstance(item, MessageView | AnswerView)]
        return [item.text for item in spoken if item.position is not None]

    async def answers(self, actor: Actor, thread: ThreadId) -> list[AnswerView]:
        page = await self.page(actor, thread)
        return [item for item in page.items if isinstance(item, AnswerView)]

    async def quiet(self, actor: Actor, thread: ThreadId) -> None:
        """Return when nothing is being answered in a thread."""

        async def idle() -> bool:
            open_states = (AnswerState.QUEUED, AnswerState.WRITING)
            return all(answer.state not in open_states for answer in await self.answers(actor, thread))

        await eventually(idle)


async def eventually(holds: Callable[[], object]) -> None:
    """Return when `holds()` (a value or an awaitable of one) becomes true; fail after 15 s."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            value = holds()
            if await value if asyncio.iscoroutine(value) else value:
                return
            await asyncio.sleep(0.01)


def catalogue() -> Catalogue:
    """Real-looking models whose calls end in the ScriptedModel: `seer` sees images, `small` is small and dear, the id
    of `fluid` floats."""
    models = {
        "alpha": {
            "id": "openai/alpha-2026-01-01",
            "api_base": "http://127.0.0.1:9/v1",
            "context_tokens": 64_000,
        },
        "beta": {
            "id": "openai/beta-2026-01-01",
            "api_base": "http://127.0.0.1:9/v1",
            "context_tokens": 64_000,
        },
        "seer": {
            "id": "openai/seer-2026-01-01",
            "api_base": "http://127.0.0.1:9/v1",
            "context_tokens": 64_000,
            "vision": True,
        },
        "small": {
            "id": "openai/small-2026-01-01",
            "api_base": "http://127.0.0.1:9/v1",
            "context_tokens": 4_000,
            "max_output_tokens": 1_000,
            "input_price": 1_000.0,
            "output_price": 1_000.0,
        },
        "fluid": {
            "id": "openai/fluid-latest",
            "api_base": "http://127.0.0.1:9/v1",
            "context_tokens": 64_000,
        },
    }
    return load_catalogue(
        models, {"chat": "alpha"}, file="test.toml", line_of=lambda path: 1, env={}, local=False
    )


@cache
def _shipped() -> PromptLibrary:
    """Read once in the life of a process, as the product does."""
    return load_library()


@cache
def _eval_sets() -> Mapping[str, EvalSet]:
    return load_eval_sets(_shipped())


@cache
def _workflows() -> Mapping[str, Workflow]:
    return load_workflows()


@cache
def _empty() -> Path:
    """A folder with both databases as a first start leaves them: making their tables costs more than most tests."""
    folder = Path(tempfile.mkdtemp(prefix="promptflow-empty-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    async def make() -> None:
        async with _open(*[f"sqlite:///{folder / name}" for name in FILES]):
            pass

    asyncio.run(make())
    return folder


def _begin_from_empty(urls: Sequence[str]) -> None:
    """Give databases that are SQLite files and not there yet the tables of a first start."""
    for url, name in zip(urls, FILES, strict=True):
        file = Path(url.removeprefix("sqlite:///"))
        if url.startswith("sqlite:///") and not file.exists():
            shutil.copy(_empty() / name, file)


@asynccontextmanager
async def open_world(database_url: str, engine_url: str, **more: Any) -> AsyncGenerator[World]:
    """A product on these databases. Opened again on the same ones it is the same product after a restart.

    `posters` are those of further platforms. What is going on when it closes may end, or is cut off unless `patient`.
    """
    await asyncio.to_thread(_begin_from_empty, (database_url, engine_url))
    async with _open(database_url, engine_url, **more) as world:
        # What the first start stored, by a clock that began like this one, comes before all that a test does.
        world.clock.advance(timedelta(seconds=1))
        yield world


@asynccontextmanager
async def _open(
    database_url: str,
    engine_url: str,
    *,
    model: ScriptedModel | None = None,
    poster: RecordingPoster | None = None,
    posters: Mapping[str, Poster] = MappingProxyType({}),
    patient: bool = True,
    lease_ttl_s: float = 15.0,
    eval_library: EvalLibrary | None = None,
    workflows: Mapping[str, Workflow] | None = None,
) -> AsyncGenerator[World]:
    store, clock, doors, poster = (
        Store(database_url),
        SteppingClock(),
        OpenDoors(),
        poster or RecordingPoster(),
    )
    scripted = model or ScriptedModel()
    policies: dict[str, Policy] = {}
    prompts, models = Prompts(store, await asyncio.to_thread(_shipped), clock), catalogue()
    evals = eval_library or EvalLibrary(_eval_sets)
    known: Mapping[str, Workflow] = await asyncio.to_thread(_workflows) if workflows is None else workflows

    def policy(workspace: str) -> Policy:
        return policies.get(workspace) or Policy()

    async def policy_of(workspace_id: WorkspaceId) -> Policy:
        return policy(WORKSPACE.external_id)

    registry = CollectorRegistry()
    metrics = EngineMetrics(registry)
    bench = Bench(
        store=store,
        gateway=scripted,
        models=models,
        prompts=prompts,
        workflows=known,
        evals=evals,
        posters={PLATFORM: poster, **posters},
        policy=policy_of,
        clock=clock,
        delivery=metrics.count_delivery,
        model_change=metrics.count_model_change,
    )

    async def body(run: DurableRun) -> None:
        following = await carry_out(bench, run, EvalViewer(services))
        if following is not None:
            await enqueue(services, following)

    engine = Engine(
        EngineSettings(
            url=engine_url,
            lease_ttl_s=lease_ttl_s,
            drain_s=5.0 if patient else 0.0,
        ),
        body,
        metrics=metrics,
    )
    services = Services(
        store=store,
        engine=engine,
        models=models,
        prompts=prompts,
        workflows=known,
        evals=evals,
        policy=policy,
        access={PLATFORM: doors},
        files=FileReader(),
        clock=clock,
        feedback=metrics.count_feedback,
    )
    await migrate(store)
    await prompts.start()
    await engine.start()
    try:
        yield World(
            services=services,
            store=store,
            model=scripted,
            poster=poster,
            doors=doors,
            clock=clock,
            policies=policies,
            registry=registry,
        )
    finally:
        if scripted.hold is not None and patient:
            scripted.hold.set()
        await engine.drain()
        if patient:
            await prompts.leave()
        await store.close()
