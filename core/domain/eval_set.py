"""Eval sets as people see them and bring them in (spec §10).

The product's own sets come with a release. A workspace adds sets of its own; their names begin with `team-`. A version
of such a set is never changed: whatever changes it makes the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from core.domain.view import Phrase

TEAM_SETS = "team-"
"""Begins the name of an eval set that a workspace made itself."""
SET_NAME_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetItem:
    """One line of the list of eval sets."""

    name: str
    version: int
    shipped: bool
    prompts: tuple[str, ...]
    """Names of the prompts whose cases it holds."""
    cases: int
    kinds: Mapping[str, int]
    """How many cases are of a kind; people read it as `eval_case_kind.<kind>` of the catalogue."""
    from_logs: int
    """Cases that come from real threads."""
    warnings: tuple[Phrase, ...]
    """What it should be and is not."""
    who: str = ""
    """Who saved the newest version; empty for a shipped set."""
    reason: str = ""
    saved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCaseView:
    case_id: str
    prompt: str
    kind: str
    hard: bool
    from_log: bool
    shown: str
    """What goes in."""
    checks: tuple[str, ...]
    """Names of its conditions for a machine, the set's own included."""
    human: tuple[str, ...]
    """Conditions for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetVersionView:
    version: int
    sha256: str
    who: str
    reason: str
    saved_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetPage:
    """One eval set as one reader sees it."""

    item: EvalSetItem
    cases: tuple[EvalCaseView, ...]
    versions: tuple[EvalSetVersionView, ...]
    """Newest first; none of a shipped set."""
    can_edit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetFiles:
    """The files of an eval set by path, as they are exported and brought in: `set.yaml` and `cases/*.yaml`."""

    name: str
    version: int
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedEvalSet:
    name: str
    version: int
    cases: int
    warnings: tuple[Phrase, ...] = ()
