"""The one way to a model: places, breaker, deadlines, retries, cost, over the worker or in a demo model."""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final

from core.ai_input.estimate import estimate_parts, estimate_tokens
from core.domain.errors import FailureKind, ModelFailure
from core.domain.receipt import AiInput, Usage
from core.llm.admission import Admission, AdmissionSettings
from core.llm.answer import Answer, Deadlines
from core.llm.breaker import Breaker, BreakerSettings
from core.llm.catalogue import Catalogue, Model
from core.llm.demo import DemoSettings, stream_demo
from core.llm.link import WorkerCall, WorkerLink
from core.llm.local import LocalServer
from core.llm.metrics import ModelMetrics, measured
from core.llm.request import worker_call
from core.ports import Done, ModelCall, ModelEvent, ReasoningDelta, Started, TextDelta

_log: Final = logging.getLogger(__name__)

CORRECTION_RANGE: Final = (0.7, 1.6)
_CORRECTION_WEIGHT: Final = 0.2
_BACKSTOP_S: Final = 5.0
# Failures in which the provider spoke to us, whatever it said.
_HEARD: Final = frozenset(
    {
        FailureKind.QUOTA,
        FailureKind.RATE_LIMITED,
        FailureKind.CONTEXT_TOO_LONG,
        FailureKind.CONTENT_POLICY,
        FailureKind.MODEL_NOT_FOUND,
        FailureKind.BAD_REQUEST,
        FailureKind.EMPTY,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    first_delta_s: float = 30.0
    first_delta_reasoning_s: float = 120.0
    """For models that think before they write, and for the local one."""
    idle_s: float = 30.0
    total_s: float = 300.0
    """For the whole call, second try included."""
    tries: int = 2
    backoff_s: float = 0.25
    """Least wait before a second try; up to twice as long, by chance."""
    retry_after_most_s: float = 10.0
    """A provider that asks for a longer wait is not tried again; the person decides."""
    ready_s: float = 30.0
    """Longest wait for a worker that is still starting."""
    admission: AdmissionSettings = field(default_factory=AdmissionSettings)
    breaker: BreakerSettings = field(default_factory=BreakerSettings)
    demo: DemoSettings = field(default_factory=DemoSettings)


class Gateway:
    """The ModelGateway of the product. `env` holds the keys that the catalogue names.

    The worker is started by `start` when there is a real model, and only then; demo models need none. The process of
    the local model is started by the first call to it.
    """

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        env: Mapping[str, str],
        metrics: ModelMetrics,
        link: WorkerLink,
        local: LocalServer | None = None,
        settings: GatewaySettings | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._env = env
        self._metrics = metrics
        self._link = link
        self._local = local or LocalServer(env=env)
        self._settings = settings or GatewaySettings()
        self._admission = Admission(self._settings.admission)
        self._breakers: defaultdict[str, Breaker] = defaultdict(lambda: Breaker(self._settings.breaker))
        self._corrections: dict[str, float] = {}
        metrics.watch(self._admission, link)

    async def start(self) -> None:
        """Begin to start the worker and return at once; calls made meanwhile wait for it."""
        if self._catalogue.real:
            self._link.start()

    async def close(self) -> None:
        """End the worker and the local model; calls in flight fail as interrupted."""
        await self._link.close()
        await self._local.close()

    @property
    def ready(self) -> bool:
        """Whether a call would leave at once: the worker is up, or no model needs it."""
        return self._link.ready or not self._catalogue.real

    def correction(self, alias: str) -> float:
        """Factor from our token estimate to what the provider of `alias` reports, 0.7 to 1.6; 1.0 before any."""
        return self._corrections.get(alias, 1.0)

    async def stream(self, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        """See `ModelGateway.stream`. Besides provider failures, raises ModelFailure OVERLOADED when no place comes."""
        model = self._catalogue.models.get(call.model)
        if model is None:
            raise ModelFailure(FailureKind.MODEL_NOT_FOUND)
        events = stream_demo(model, call, self._settings.demo) if model.demo else self._guarded(model, call)
        async with aclosing(measured(self._metrics, model, events)) as passing:
            async for event in passing:
                yield event

    async def _guarded(self, model: Model, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        """A call to a real model, behind its breaker and in its place."""
        loop = asyncio.get_running_loop()
        breaker = self._breakers[model.alias]
        breaker.enter(loop.time())
        outcome: FailureKind | None = None
        heard = False
        try:
            async with (
                self._admission.place(call.workspace_id, model) as queued_s,
                aclosing(self._tried(model, call, queued_s)) as events,
            ):
                async for event in events:
                    heard = heard or not isinstance(event, Started)
                    yield event
        except ModelFailure as failure:
            outcome = failure.kind
            heard = heard or failure.kind in _HEARD
            raise
        finally:
            breaker.leave(loop.time(), outcome, heard=heard)

    async def _tried(self, model: Model, call: ModelCall, queued_s: float) -> AsyncGenerator[ModelEvent]:
        """Started, deltas and Done of one call, tried again when nothing came and that may help."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        deadlines = self._deadlines(model)
        request = await self._request(model, call, deadlines)
        if not await self._link.wait_ready(self._settings.ready_s):
            raise ModelFailure(FailureKind.OVERLOADED, retryable=True)
        end_at = loop.time() + deadlines.total_s
        yield Started(queued_s=queued_s + loop.time() - asked_at)
        attempt = 1
        while True:
            exchange = await self._link.call(request)
            answer = Answer(exchange, deadlines, sent_at=loop.time(), end_at=end_at)
            try:
                async for delta in answer.deltas():
                    yield ReasoningDelta(text=delta.text) if delta.reasoning else TextDelta(text=delta.text)
            except ModelFailure as failure:
                names = (model.alias, failure.kind.value, answer.error or "-", attempt)
                _log.info("call to %s failed: %s (%s), try %d", *names)
                pause_s = self._pause_s(failure, attempt, answer)
                if pause_s is None or loop.time() + pause_s >= end_at:
                    raise
            else:
                yield self._done(model, call.ai_input, answer)
                return
            finally:
                exchange.close()
            self._metrics.retries.labels(model.alias).inc()
            attempt += 1
            await asyncio.sleep(pause_s)
            if model.local:
                # It may have died, and answers at another address then.
                request = await self._request(model, call, deadlines)
            if not await self._link.wait_ready(end_at - loop.time()):
                raise ModelFailure(FailureKind.INTERRUPTED, retryable=True)

    async def _request(self, model: Model, call: ModelCall, deadlines: Deadlines) -> WorkerCall:
        key = self._env.get(model.api_key_env, "")
        if model.local:
            address = await self._local.address()
            model, key = replace(model, api_base=address.api_base), address.key
        if model.api_key_env and not key:
            raise ModelFailure(FailureKind.AUTH)
        limit_s = max(deadlines.first_s, deadlines.idle_s) + _BACKSTOP_S
        if not call.images:
            return worker_call(model, call, key=key, timeout_s=limit_s)
        # Images become megabytes of text, which takes too long on the loop.
        return await asyncio.to_thread(worker_call, model, call, key=key, timeout_s=limit_s)

    def _deadlines(self, model: Model) -> Deadlines:
        settings = self._settings
        # The local model takes a minute to read a full context on a small machine.
        waits = model.reasoning or model.local
        first_s = settings.first_delta_reasoning_s if waits else settings.first_delta_s
        # An answer that comes in one piece comes at its end.
        return Deadlines(
            first_s=first_s if model.streaming else settings.total_s,
            idle_s=settings.idle_s,
            total_s=settings.total_s,
        )

    def _pause_s(self, failure: ModelFailure, attempt: int, answer: Answer) -> float | None:
        """Seconds to wait before another try; None when there is to be none."""
        asked_s = failure.retry_after_s or 0.0
        if answer.begun or not failure.retryable or attempt >= self._settings.tries:
            return None
        if asked_s > self._settings.retry_after_most_s:
            return None
        jitter = 1.0 + random.random()  # noqa: S311 - spreads retries, guards nothing
        return max(asked_s, self._settings.backoff_s * jitter)

    def _done(self, model: Model, ai_input: AiInput, answer: Answer) -> Done:
        ended = answer.ended
        if ended.usage is None:
            factor = self.correction(model.alias)
            spoken = estimate_tokens(answer.text) + estimate_tokens(answer.reasoning)
            tokens = (round(estimate_parts(ai_input.parts) * factor), round(spoken * factor))
        else:
            tokens = ended.usage
            self._learn(model, ai_input, reported=tokens[0])
        usage = Usage(
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            estimated=ended.usage is None,
            cost_usd=_cost_usd(model, *tokens) if model.input_price is not None else ended.cost_usd,
        )
        return Done(
            finish=ended.finish,
            usage=usage,
            reported_model_id=ended.reported_model_id,
            first_delta_s=answer.first_delta_s,
            total_s=answer.total_s,
        )

    def _learn(self, model: Model, ai_input: AiInput, *, reported: int) -> None:
        """Draw the correction of a model towards what was reported. Images are priced too differently to learn from."""
        estimate = estimate_parts(ai_input.parts)
        if not estimate or any(part.images for part in ai_input.parts):
            return
        ratio = reported / estimate
        before = self.correction(model.alias)
        learnt = before + _CORRECTION_WEIGHT * (ratio - before)
        self._corrections[model.alias] = min(max(learnt, CORRECTION_RANGE[0]), CORRECTION_RANGE[1])
        self._metrics.estimate_ratio.labels(model.alias).set(ratio)


def _cost_usd(model: Model, input_tokens: int, output_tokens: int) -> float | None:
    """What the tokens cost by our own price table; None without a price."""
    if model.input_price is None or model.output_price is None:
        return None
    return (input_tokens * model.input_price + output_tokens * model.output_price) / 1_000_000
