"""What operators can watch."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from core.domain.feedback import Thumb
from core.domain.reported import ReportedModel
from core.domain.view import DeliveryView

WAIT_BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300)


class EngineMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.deliveries = Counter(
            "promptflow_handover_fields",
            "Fields of handovers by what the recorded AI input held of them",
            ["state"],
            registry=registry,
        )
        self.feedback = Counter(
            "promptflow_feedback",
            "What people said of answers: up, down, or withdrawn",
            ["thumb"],
            registry=registry,
        )
        self.model_changes = Counter(
            "promptflow_model_id_changes",
            "Times that a provider reported another model than before under the same configured id",
            ["model"],
            registry=registry,
        )
        self.started = Counter(
            "promptflow_runs_started", "Runs begun or resumed in this process", registry=registry
        )
        self.finished = Counter("promptflow_runs_finished", "Runs that ended as intended", registry=registry)
        self.failed = Counter("promptflow_runs_failed", "Runs that ended with an error", registry=registry)
        self.parked = Counter(
            "promptflow_runs_parked", "Runs left for another process at shutdown", registry=registry
        )
        self.takeovers = Counter(
            "promptflow_takeovers", "Runs taken over from a dead process", registry=registry
        )
        self.active = Gauge("promptflow_runs_active", "Runs going on in this process", registry=registry)
        self.lane_wait_s = Histogram(
            "promptflow_lane_wait_seconds",
            "From enqueueing to the first start of a run",
            registry=registry,
            buckets=WAIT_BUCKETS_S,
        )
        self._lease_age = Gauge(
            "promptflow_lease_age_seconds", "Since the lease was renewed last", registry=registry
        )

    def watch_lease(self, age_s: Callable[[], float]) -> None:
        self._lease_age.set_function(age_s)

    def count_delivery(self, view: DeliveryView) -> None:
        """Count the fields of a handover by what became of them."""
        for model in view.models:
            for one in model.fields:
                self.deliveries.labels(one.state.value).inc()

    def count_model_change(self, change: ReportedModel) -> None:
        """Count that another model answers under an id than did before."""
        self.model_changes.labels(change.model).inc()

    def count_feedback(self, thumb: Thumb | None) -> None:
        """Count what a person said of an answer; None for what they took back."""
        self.feedback.labels(thumb.value if thumb else "withdrawn").inc()
