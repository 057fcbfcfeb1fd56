"""What is measured of model calls, for `/metrics`. Labels hold aliases and kinds, never a text of anyone."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from core.domain.errors import ModelFailure
from core.llm.admission import Admission
from core.llm.catalogue import Model
from core.llm.link import WorkerLink
from core.ports import Done, ModelEvent, Started

_SHORT_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
_LONG_S = (1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0)


class ModelMetrics:
    """Meters of one gateway in `registry`, a new one when none is given."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        r, prefix, by_model = self.registry, "promptflow_model", ["model"]
        self.calls = Counter(
            f"{prefix}_calls_total", "Calls by how they ended.", ["model", "outcome"], registry=r
        )
        self.retries = Counter(f"{prefix}_retries_total", "Second tries.", by_model, registry=r)
        self.tokens = Counter(
            f"{prefix}_tokens_total", "Tokens, reported or estimated.", ["model", "direction"], registry=r
        )
        self.cost = Counter(f"{prefix}_cost_usd_total", "Cost where a price is known.", by_model, registry=r)
        self.unpriced = Counter(
            f"{prefix}_unpriced_calls_total", "Complete calls whose price is not known.", by_model, registry=r
        )
        self.queue_wait = Histogram(
            f"{prefix}_queue_wait_seconds", "Wait for a place.", by_model, registry=r, buckets=_SHORT_S
        )
        self.first_delta = Histogram(
            f"{prefix}_first_delta_seconds", "Sending to first delta.", by_model, registry=r, buckets=_SHORT_S
        )
        self.delta_gap = Histogram(
            f"{prefix}_delta_gap_seconds", "Between deltas.", by_model, registry=r, buckets=_SHORT_S
        )
        self.duration = Histogram(
            f"{prefix}_duration_seconds", "Sending to end.", by_model, registry=r, buckets=_LONG_S
        )
        self.estimate_ratio = Gauge(
            f"{prefix}_estimate_ratio", "Reported over estimated input tokens.", by_model, registry=r
        )
        self.active = Gauge(f"{prefix}_active_calls", "Calls under way.", registry=r)
        self.queued = Gauge(f"{prefix}_queued_calls", "Calls waiting for a place.", registry=r)
        self.worker_ready = Gauge(f"{prefix}_worker_ready", "1 while the worker takes calls.", registry=r)
        self.worker_starts = Gauge(f"{prefix}_worker_starts", "Starts of the worker that worked.", registry=r)
        self.worker_import = Gauge(
            f"{prefix}_worker_import_seconds", "What the worker's last start took.", registry=r
        )
        self.worker_memory = Gauge(f"{prefix}_worker_resident_bytes", "Memory of the worker.", registry=r)

    def watch(self, admission: Admission, link: WorkerLink) -> None:
        """Read the gauges from these when they are asked for."""
        self.active.set_function(lambda: admission.active)
        self.queued.set_function(lambda: admission.queued)
        self.worker_ready.set_function(lambda: link.ready)
        self.worker_starts.set_function(lambda: link.starts)
        self.worker_import.set_function(lambda: link.import_s)
        self.worker_memory.set_function(lambda: link.resident_bytes)

    def count(self, model: Model, done: Done) -> None:
        """A complete call."""
        self.tokens.labels(model.alias, "input").inc(done.usage.input_tokens)
        self.tokens.labels(model.alias, "output").inc(done.usage.output_tokens)
        self.duration.labels(model.alias).observe(done.total_s)
        if done.usage.cost_usd is None:
            self.unpriced.labels(model.alias).inc()
        else:
            self.cost.labels(model.alias).inc(done.usage.cost_usd)


async def measured(
    metrics: ModelMetrics, model: Model, events: AsyncGenerator[ModelEvent]
) -> AsyncGenerator[ModelEvent]:
    """The same events, with what they tell put into `metrics`."""
    loop = asyncio.get_running_loop()
    outcome = "cancelled"
    begun = False
    heard_at = loop.time()
    try:
        async with aclosing(events):
            async for event in events:
                match event:
                    case Started():
                        metrics.queue_wait.labels(model.alias).observe(event.queued_s)
                    case Done():
                        outcome = event.finish.value
                        metrics.count(model, event)
                    case _:
                        meter = metrics.delta_gap if begun else metrics.first_delta
                        meter.labels(model.alias).observe(loop.time() - heard_at)
                        begun = True
                heard_at = loop.time()
                yield event
    except ModelFailure as failure:
        outcome = failure.kind.value
        raise
    finally:
        metrics.calls.labels(model.alias, outcome).inc()
