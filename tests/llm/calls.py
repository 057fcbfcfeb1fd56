"""Calls, gateways and what came of them, for the tests of this room."""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from types import MappingProxyType

from prometheus_client import CollectorRegistry

from core.domain.errors import ModelFailure
from core.domain.ids import WorkspaceId
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.llm.catalogue import DEMO_MODELS, Catalogue, Defaults, Model
from core.llm.demo import DemoSettings
from core.llm.gateway import Gateway, GatewaySettings
from core.llm.link import WorkerLink
from core.llm.metrics import ModelMetrics
from core.ports import Done, ModelCall, ModelEvent, ReasoningDelta, Started, TextDelta

KEY = "sk-very-secret-key"
SECRET = "the launch code is 7391"
QUICK = GatewaySettings(
    first_delta_s=0.8,
    first_delta_reasoning_s=0.8,
    idle_s=0.6,
    total_s=2.5,
    backoff_s=0.05,
    demo=DemoSettings(word_s=0.0),
)


def make_input(*parts: InputPart) -> AiInput:
    asked = InputPart(role=Role.USER, origin=Origin.REQUEST, text=SECRET)
    return AiInput(parts=parts or (asked,), prompts=(), estimate_tokens=0)


def make_call(alias: str, *, workspace: str = "w1", ai_input: AiInput | None = None) -> ModelCall:
    return ModelCall(
        request_id="r1",
        workspace_id=WorkspaceId(workspace),
        model=alias,
        ai_input=ai_input or make_input(),
        images={},
    )


def make_model(name: str, base_url: str, **changes: object) -> Model:
    """A model of the fake provider whose alias is the name of its behaviour."""
    model = Model(alias=name, id=name, api_base=base_url, api_key_env="FAKE_KEY")
    return replace(model, **changes)  # type: ignore[arg-type]


def make_gateway(
    models: Iterable[Model], link: WorkerLink, settings: GatewaySettings = QUICK
) -> tuple[Gateway, CollectorRegistry]:
    by_alias = {model.alias: model for model in (*models, *DEMO_MODELS)}
    first = next(iter(by_alias))
    defaults = Defaults(
        chat=first, compare=(first,), debate=(first,), moderator=first, drafting=first, reviewers=(first,)
    )
    metrics = ModelMetrics()
    gateway = Gateway(
        catalogue=Catalogue(models=MappingProxyType(by_alias), defaults=defaults),
        env={"FAKE_KEY": KEY},
        metrics=metrics,
        link=link,
        settings=settings,
    )
    return gateway, metrics.registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All that came of one call."""

    events: tuple[ModelEvent, ...]
    failure: ModelFailure | None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ReasoningDelta))

    @property
    def started(self) -> int:
        return sum(isinstance(event, Started) for event in self.events)

    @property
    def done(self) -> Done:
        assert isinstance(self.events[-1], Done), self
        return self.events[-1]


async def run(gateway: Gateway, call: ModelCall) -> Outcome:
    events: list[ModelEvent] = []
    keep = events.append
    try:
        async with aclosing(gateway.stream(call)) as stream:
            async for event in stream:
                keep(event)
    except ModelFailure as failure:
        return Outcome(events=tuple(events), failure=failure)
    return Outcome(events=tuple(events), failure=None)
