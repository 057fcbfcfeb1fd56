"""Telling operators that a provider answers with another model than before under the same id (spec §10)."""

import logging

from core.domain.reported import ReportedModel
from core.engine.bench import Bench

log = logging.getLogger(__name__)


def report_change(bench: Bench, change: ReportedModel | None) -> None:
    """Count and log a change; None for a call that brought none. Call it once the change is stored."""
    if change is None:
        return
    bench.model_change(change)
    log.warning(
        "model %s (%s) reports another model than before: %s, until now %s; evaluate the prompts that use it",
        change.model,
        change.model_id,
        change.reported_id,
        change.before,
    )
