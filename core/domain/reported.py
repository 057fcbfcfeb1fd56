"""Which model a provider says it answered with, as long as the configured id stayed the same (spec §10)."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedModel:
    """What the last call under one configured model reported."""

    model: str
    """Alias."""
    model_id: str
    """As it is configured. Another id is another model: what is reported of it is no change."""
    reported_id: str
    before: str
    """What was reported until `since`; empty when it never was anything else."""
    since: datetime

    @property
    def changed(self) -> bool:
        """Another model than before answers, though nobody here chose one."""
        return bool(self.before)
