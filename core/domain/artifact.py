"""Artifacts: named results apart from the conversation, in versions (spec §7)."""

import difflib
import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from core.domain.errors import Refusal
from core.domain.ids import MessageId, PersonId, ReceiptId, ThreadId

NAME_CHARS = 120
REASON_CHARS = 500
TEXT_CHARS = 400_000
EVERY_LINE_COMPARED = 250_000
LINES_COMPARED = 4_000_000
"""Lines of one text times lines of the other, with which the time to compare them grows. Up to the first every line is
compared; up to the second, lines that stand everywhere begin no match; beyond that only what is around the changes."""
CONTEXT_LINES = 3
"""Unchanged lines shown on each side of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactVersion:
    """One version; never changes once stored."""

    number: int
    """From 1, without gaps."""
    text: str
    person_id: PersonId | None
    """Who wrote or saved it; None when a model wrote it within a run."""
    model: str
    """Alias of the model that wrote the text; empty for a person's text."""
    reason: str
    created_at: datetime
    message_id: MessageId | None = None
    receipt_id: ReceiptId | None = None
    source_thread_id: ThreadId | None = None
    """For a copy: where it was copied from, with the two fields below."""
    source_artifact_id: str = ""
    source_number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    id: str
    thread_id: ThreadId
    name: str
    """Unique in its thread, by `name_key`."""
    versions: tuple[ArtifactVersion, ...]
    """Oldest first; never empty."""

    @property
    def newest(self) -> ArtifactVersion:
        return self.versions[-1]


def artifact_name(given: str) -> str:
    """A name as it is stored and shown: one line, NFC. Raises Refusal for one that cannot be a file's name."""
    name = " ".join(unicodedata.normalize("NFC", given).split())
    if not name.strip(". "):
        raise Refusal("artifact_name_empty")
    if len(name) > NAME_CHARS:
        raise Refusal("artifact_name_too_long", had=len(name), limit=NAME_CHARS)
    if bad := sorted({c for c in name if c in '/\\:*?"<>|' or unicodedata.category(c).startswith("C")}):
        shown = " ".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in bad)
        raise Refusal("artifact_name_characters", characters=shown)
    return name


def name_key(name: str) -> str:
    """Names are the same in a thread when their keys are: letters of any case and width count alike."""
    return unicodedata.normalize("NFKC", name).casefold()


def name_digest(name: str) -> str:
    """SHA-256 of the name's key, as the database compares it: a key can be many times as long as its name."""
    return hashlib.sha256(name_key(name).encode()).hexdigest()


class Change(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"
    SKIPPED = "skipped"
    """Unchanged lines that are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow:
    change: Change
    text: str
    """The line; empty for `SKIPPED`."""
    old_line: int
    """Line number in the old text, from 1; 0 for an added line."""
    new_line: int
    """Line number in the new text, from 1; 0 for a removed line."""
    count: int = 1
    """How many lines a `SKIPPED` row stands for."""


def diff(old: str, new: str, *, context: int = CONTEXT_LINES) -> tuple[DiffRow, ...]:
    """What changed, line by line, with `context` unchanged lines around each change; empty when nothing did.

    Rows that are not `SKIPPED`, with what the skipped ones stand for, give back both texts in full.
    """
    before, after = old.splitlines(), new.splitlines()
    if before == after:
        return ()
    rows: list[DiffRow] = []
    for tag, i1, i2, j1, j2 in _changes(before, after):
        if tag == "equal":
            rows += [
                DiffRow(change=Change.SAME, text=before[i1 + n], old_line=i1 + n + 1, new_line=j1 + n + 1)
                for n in range(i2 - i1)
            ]
            continue
        rows += [
            DiffRow(change=Change.REMOVED, text=before[i], old_line=i + 1, new_line=0) for i in range(i1, i2)
        ]
        rows += [
            DiffRow(change=Change.ADDED, text=after[j], old_line=0, new_line=j + 1) for j in range(j1, j2)
        ]
    return _without_distant(rows, context)


def _changes(before: list[str], after: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """What changed as `difflib` says it; of very long texts all between the first change and the last is one."""
    pairs = len(before) * len(after)
    if pairs <= LINES_COMPARED:
        every_line = pairs <= EVERY_LINE_COMPARED
        return difflib.SequenceMatcher(None, before, after, autojunk=not every_line).get_opcodes()
    most = min(len(before), len(after))
    head = next((n for n in range(most) if before[n] != after[n]), most)
    tail = next((n for n in range(most - head) if before[-1 - n] != after[-1 - n]), most - head)
    end_before, end_after = len(before) - tail, len(after) - tail
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, end_before, head, end_after),
        ("equal", end_before, len(before), end_after, len(after)),
    ]


def _without_distant(rows: list[DiffRow], context: int) -> tuple[DiffRow, ...]:
    changed = [place for place, row in enumerate(rows) if row.change is not Change.SAME]
    near = sorted(
        {n for place in changed for n in range(place - context, place + context + 1) if 0 <= n < len(rows)}
    )
    shown: list[DiffRow] = []
    for before, place in pairwise([-1, *near, len(rows)]):
        if place - before > 1:
            first = rows[before + 1]
            shown.append(
                DiffRow(
                    change=Change.SKIPPED,
                    text="",
                    old_line=first.old_line,
                    new_line=first.new_line,
                    count=place - before - 1,
                )
            )
        if place < len(rows):
            shown.append(rows[place])
    return tuple(shown)
