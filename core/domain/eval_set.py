"""Eval sets as people see them and bring them in (spec §10).

The product's own sets come with a release. A workspace adds sets of its own; their names begin with `team-`. A version
of such a set is never changed: whatever changes it makes the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from core.domain.view import Phrase

TEAM_SETS = "team-"
"""Begins the name of an eval set that a workspace made itself."""
SET_NAME_CHARS = 60


QUARANTINE_TIME = timedelta(days=30)
"""After which a case that was set aside counts again, unless somebody sets it aside anew."""


class QuarantineKind(StrEnum):
    """Why a case is set aside; people read it as `eval_quarantine.<value>` of the catalogue."""

    FLAKY = "flaky"
    """It passes at times, whatever the prompt says."""
    WRONG = "wrong"
    """What it asks for is not what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCase:
    """A case that a person set aside: it is run and shown, and does not gate while this holds."""

    held_id: str
    eval_set: str
    case_id: str
    kind: QuarantineKind
    reason: str
    who: str
    """Who answers for it."""
    owner_id: str
    since: datetime
    until: datetime
    lifted_at: datetime | None = None
    lifted_by: str = ""
    """Empty also where its time ran out."""
    counts: bool = True
    """False in the evaluation of a change that whoever set the case aside made: there it gates all the same."""

    def holds(self, now: datetime) -> bool:
        return self.lifted_at is None and now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRequest:
    eval_set: str
    case_id: str
    kind: QuarantineKind
    reason: str


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
    held: tuple[HeldCase, ...] = ()
    """Everything that people set aside of it, newest first; what holds still is the first."""
    is_held: bool = False


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
    can_hold: bool = False
    """The reader may set cases aside."""


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


# --- cases from real threads ----------------------------------------------------------------------------------------


FROM_THREADS = ("chat.answer", "compare.answer")
"""Prompts whose requests are messages and nothing else, so that a case can be made of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCaseRequest:
    """A case that is to be made of an answer, as a person filled the form in; empty fields take what is usual."""

    receipt_id: str
    eval_set: str = ""
    case_id: str = ""
    kind: str = ""
    """One of the kinds of cases; by default a past failure."""
    human: str = ""
    """A condition for a person; without one a person is asked whether the output does what is asked."""
    also_mask: tuple[str, ...] = ()
    """Words that masking would not find, such as a nickname or a street."""
    seen: str = ""
    """`LogCase.sha256` of what the person was shown."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCase:
    """What would be stored of an answer, after masking. Nothing is before it is confirmed."""

    receipt_id: str
    thread_id: str
    prompt: str
    eval_set: str
    is_new_set: bool
    sets: tuple[str, ...]
    """The workspace's own sets that have cases of this prompt."""
    case_id: str
    kind: str
    lines: tuple[tuple[str, str], ...]
    """Who said what, in order; models have no name. The last is what is answered."""
    masked: Mapping[str, int]
    """Personal data that was replaced, by `personal.<kind>` of the catalogue."""
    doubts: tuple[tuple[Phrase, str], ...]
    """What a person should look at, and the text in question."""
    blind_spots: tuple[Phrase, ...]
    """What masking cannot see."""
    left_out: tuple[Phrase, ...]
    """What stood in the request and is no part of the case."""
    sha256: str
    """Changes with anything that would be stored of the thread."""
