"""Prompts as people see and change them: versions, drafts, the pointer that says what is live, and history (spec §10).

The product's own prompts are files that come with a release (shipped). A workspace that never promoted a version of
its own follows the files; once it did, its pointer is the truth for that workspace alone. A prompt whose name begins
with `team.` belongs to one workspace and has no file behind it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from unicodedata import category

from core.domain.errors import Refusal
from core.domain.view import Phrase

TEAM_PREFIX = "team."
"""Begins the name of a prompt that a workspace made itself."""
TEAM_NAME = re.compile(r"team(\.[a-z][a-z0-9_]*)+")

UNWRITTEN = frozenset({"Cc", "Cs"})
"""Unicode categories that no line holds: control characters, which a database may refuse, and half characters."""
UNSEEN = "CZ"
"""First letters of the categories of which nothing is seen: format, control, unassigned, spaces."""

MIN_REASON_CHARS = 5
MAX_REASON_CHARS = 500

GATE_REFUSALS = frozenset(
    {
        "prompt_needs_eval",
        "prompt_needs_eval_with",
        "prompt_switch_without_set",
        "prompt_two_changes",
        "prompt_gate_shut",
    }
)
"""Why the eval set keeps a version from going live; a promotion past it may be asked for, with a reason."""

SHIPPED = ""
"""In place of a version's id: the version that the files of this release hold."""


class PromptLabel(StrEnum):
    PRODUCTION = "production"
    CANDIDATE = "candidate"
    """The newest version, proposed and not live."""


class PromptSource(StrEnum):
    """Where a version came from; people read it as `prompt_source.<value>` of the catalogue."""

    CONSOLE = "console"
    CHAT = "chat"
    FILE = "file"
    IMPORT = "import"


class PromptEventKind(StrEnum):
    """People read it as `prompt_event.<value>` of the catalogue."""

    SAVE = "save"
    VERIFY = "verify"
    PROMOTE = "promote"
    ROLLBACK = "rollback"
    IMPORT = "import"
    EXPORT = "export"
    RELOAD = "reload"
    EVAL_OVERRIDE = "eval_override"
    ARCHIVE = "archive"


class PromptState(StrEnum):
    """How a workspace's live text stands to the files; people read it as `prompt_state.<value>`."""

    FOLLOWS = "follows"
    """The file is live."""
    EDITED = "edited"
    """A version of the workspace is live; the file is still the one it was made from."""
    DIVERGED = "diverged"
    """A version of the workspace is live, and the file has moved on since."""
    TEAM = "team"
    """The workspace's own prompt, live."""
    NOT_LIVE = "not_live"
    """The workspace's own prompt, never promoted or archived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptProblem:
    """What is wrong with a text. `line` counts from 1; 0 when no line applies."""

    file: str
    reason: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    """One part before and after, as text; empty where there is no such part."""

    file: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMerge:
    """One part that two people changed from the same base."""

    file: str
    base: str
    mine: str
    theirs: str
    merged: str
    """Both changes; where they meet, both texts between conflict marks."""
    conflicts: int
    """Places where they meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A rollback, as whoever brings the text back is reminded of it."""

    version: str
    """What was rolled back from."""
    to_version: str
    at: datetime
    who: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVersionView:
    version_id: str
    version: str
    """Semantic version, `major.minor.patch`."""
    sha256: str
    shipped: bool
    """It came as a file with a release."""
    of_release: bool
    """It is the file of this release: made live, the workspace follows the files again."""
    live: bool
    candidate: bool
    author: str
    """Empty for a shipped version."""
    mine: bool
    """The reader wrote it."""
    reason: str
    source: PromptSource
    parent_version: str
    created_at: datetime
    verified_by: tuple[str, ...] = ()
    withdrawn: Withdrawal | None = None
    """The newest rollback from it."""
    overridden: str = ""
    """Reason for which it was promoted past its eval set; stays for ever."""
    self_approved: bool = False
    """Its author promoted it, with nobody else having looked."""
    was_live: bool = False
    """It is or was live here at some time, or came with a release: it can be gone back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptItem:
    """One line of the list of prompts."""

    name: str
    description: str
    state: PromptState
    version: str
    """The live one; empty for a prompt that is not live."""
    sha256: str
    newest_version: str
    candidate_version: str
    """Proposed and not live; empty when there is none."""
    eval_set: str
    """Of the live version; where it has none, of the proposed one."""
    has_draft: bool
    """The reader left a draft."""
    broken: tuple[Phrase, ...] = ()
    """Why runs that need it fail: the live version no longer fits the product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDraftView:
    """A text that a person has not saved as a version yet, or could not."""

    base_id: str
    head_id: str
    files: Mapping[str, str]
    updated_at: datetime
    stale: tuple[PartMerge, ...] = ()
    """What others changed since, part by part; empty while nobody did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPage:
    """One prompt as one reader sees it."""

    item: PromptItem
    live_id: str
    """Version that is live; empty for a prompt that is not live."""
    rev: int
    """To be given with the next move of what is live; another number means that somebody moved it meanwhile."""
    head_id: str
    """Newest version; to be given with the next save."""
    files: Mapping[str, str]
    """Parts of the version asked for, by file name."""
    shown: PromptVersionView | None
    versions: tuple[PromptVersionView, ...]
    """Newest first, the shipped one included."""
    draft: PromptDraftView | None
    diverged: tuple[PartMerge, ...]
    """Base: the shipped version ours was made from; mine: ours; theirs: the file now."""
    can_edit: bool
    can_verify: bool
    can_promote: bool
    four_eyes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEventView:
    """One record of a prompt's history."""

    event_id: str
    kind: PromptEventKind
    who: str
    at: datetime
    reason: str
    from_version: str
    to_version: str
    changes: tuple[PartChange, ...]
    """Parts whose text differs between before and after."""
    self_approved: bool
    eval_run_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftCheck:
    """What is known about a text before it is saved."""

    problems: tuple[PromptProblem, ...] = ()
    """All of them; while there is one nothing can be saved."""
    bump: str = ""
    """`major`, `minor` or `patch`: the least that the change asks for. Empty for a first version or no change."""
    because: tuple[Phrase, ...] = ()
    """Why not less."""
    version: str = ""
    """The version it would get."""
    changed: bool = False
    warnings: tuple[Phrase, ...] = ()
    """Instructions that only grow, repeat or contradict each other; saving is allowed."""
    blocked: tuple[Phrase, ...] = ()
    """Why it can be saved and not be made live: the product could not work with it."""
    withdrawn: Withdrawal | None = None
    """It is close to what was rolled back from; saving wants an acknowledgement."""
    changes: tuple[PartChange, ...] = ()
    """Against the base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """A text that a person works on.

    `files` holds the parts that the person has before them, by file name; parts that are not named stay as in the
    base, an empty one is taken away. Version and date in `prompt.yaml` are written by the product.
    """

    name: str
    base_id: str = SHIPPED
    """Version that the text was made from; SHIPPED also for the first text of a team's own prompt."""
    head_id: str = SHIPPED
    """Newest version when the person began (`PromptPage.head_id`)."""
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRequest:
    text: PromptText
    reason: str
    source: PromptSource
    version: str = ""
    """Wished for; empty takes the least that fits the change."""
    acknowledged: bool = False
    """The person was shown why a text like this was withdrawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedVersion:
    version_id: str
    version: str
    bump: str
    warnings: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteRequest:
    name: str
    version_id: str
    rev: int
    """`PromptPage.rev` as the person saw it."""
    reason: str
    acknowledged: bool = False
    override: bool = False
    """Promote past the eval set; the reason is kept with the version for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBackRequest:
    name: str
    version_id: str
    """SHIPPED goes back to the file of this release."""
    rev: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMoved:
    """What a promotion or rollback did."""

    name: str
    from_version: str
    to_version: str
    self_approved: bool = False
    told_in: str = ""
    """The thread that tells people of a rollback, where a channel is set for that; the platform may not open it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStatus:
    """What one process has loaded."""

    process_id: str
    host: str
    pid: int
    generation: int
    loaded_at: datetime
    seen_at: datetime
    versions: int
    error: str
    """Why it keeps an older text; empty when all is well."""
    current: bool
    """It has the newest generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptStatus:
    generation: int
    processes: tuple[ProcessStatus, ...]


def one_line(text: str) -> str:
    """What a person wrote, in one line and without control characters; empty where nobody would see any of it."""
    line = " ".join("".join(" " if category(one) in UNWRITTEN else one for one in text).split())
    return line if any(category(one)[0] not in UNSEEN for one in line) else ""


def change_reason(text: str) -> str:
    """The reason for a change, as it is kept. Raises Refusal without one, or for one that says nothing."""
    reason = one_line(text)
    if len(reason) < MIN_REASON_CHARS:
        raise Refusal("prompt_reason_missing", least=MIN_REASON_CHARS)
    if len(reason) > MAX_REASON_CHARS:
        raise Refusal("prompt_reason_long", limit=MAX_REASON_CHARS)
    return reason
