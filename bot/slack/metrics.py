"""What is measured of Slack, for `/metrics`. Labels hold kinds, methods and Slack's own codes, no text of anyone."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from core.domain.errors import PlatformFailure

T = TypeVar("T")

BUCKETS_S: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Up to the three seconds that Slack waits for an acknowledgement."""


class SlackMetrics:
    """Meters of one connection to Slack in `registry`, a new one when none is given."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = r = registry if registry is not None else CollectorRegistry()
        prefix = "promptflow_slack"
        self.acknowledgement = Histogram(
            f"{prefix}_acknowledge_seconds",
            "From reading a delivery to its acknowledgement.",
            ["kind"],
            registry=r,
            buckets=BUCKETS_S,
        )
        self.events = Counter(
            f"{prefix}_events",
            "Events by what they are and how they ended: taken, ignored, again (to be delivered again), failed.",
            ["kind", "outcome"],
            registry=r,
        )
        self.calls = Counter(
            f"{prefix}_calls",
            "Calls of the Web API by how they ended: ok, or Slack's code.",
            ["method", "outcome"],
            registry=r,
        )
        self.asked_to_wait = Counter(
            f"{prefix}_ratelimited_seconds",
            "Seconds that Slack asked us to wait.",
            ["method"],
            registry=r,
        )
        self.connections = Gauge(
            f"{prefix}_connections_well", "Connections of Socket Mode that hear Slack.", registry=r
        )
        self.openings = Counter(
            f"{prefix}_connections_opened",
            "Connections of Socket Mode that Slack greeted, first ones and new ones.",
            registry=r,
        )
        self.losses = Counter(
            f"{prefix}_connections_lost",
            "Connections of Socket Mode that were not well for long and given up.",
            registry=r,
        )

    async def timed(self, kind: str, answering: Awaitable[T]) -> T:
        """What `answering` gives, with the time it took."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            return await answering
        finally:
            self.acknowledgement.labels(kind).observe(clock() - began)

    def count_event(self, kind: str, outcome: str) -> None:
        self.events.labels(kind, outcome).inc()

    def count_call(self, method: str, failure: PlatformFailure | None) -> None:
        """Count a call that ended; with what kept it from working, None where it worked."""
        # A scope stands behind the code that one is missing.
        outcome = failure.code.partition(":")[0] if failure else "ok"
        self.calls.labels(method, outcome).inc()
        if failure and failure.code == "ratelimited":
            self.asked_to_wait.labels(method).inc(failure.retry_after_s or 0.0)
