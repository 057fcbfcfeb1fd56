"""A thread: one piece of work, with its mode, its place on a platform and its place under a parent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from core.domain.ids import ConversationId, MessageId, PersonId, ThreadId, WorkspaceId

MAX_DEPTH = 4
"""Branches lie 1 to 4 below their top-level thread (spec §5)."""

TITLE_CHARS = 80


class Mode(StrEnum):
    """How people and models work in a thread (spec §3)."""

    CHAT = "chat"
    COMPARE = "compare"
    DEBATE = "debate"
    CODRAFT = "codraft"
    WORKFLOW = "workflow"


class Status(StrEnum):
    """Where a branch stands; a top-level thread stays active (spec §5)."""

    ACTIVE = "active"
    ADOPT_PENDING = "adopt_pending"
    ADOPTED = "adopted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a thread lives on its platform. `thread` is empty while the platform thread is not open yet."""

    platform: str
    channel: str
    thread: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    id: ThreadId
    workspace_id: WorkspaceId
    place: Place
    mode: Mode
    title: str
    owner_id: PersonId
    locale: str
    parent_id: ThreadId | None
    top_id: ThreadId
    """The top-level thread above; the thread itself when it has no parent."""
    depth: int
    split_message_id: MessageId | None
    """Last message copied from the parent; None for a top-level thread and for a branch of an empty one."""
    split_position: int
    """Position of the split message in the parent at the time of the branch; 0 where there is none."""
    branch_name: str
    branch_reason: str
    status: Status
    created_at: datetime
    setup: Mapping[str, Any] = field(default_factory=dict)
    """What its mode was started with; empty for Chat."""
    source_thread_id: ThreadId | None = None
    """The thread it was handed over from; never a parent (spec §2)."""


def top_level_thread(
    *,
    thread_id: ThreadId,
    workspace_id: WorkspaceId,
    place: Place,
    mode: Mode,
    title: str,
    owner_id: PersonId,
    locale: str,
    created_at: datetime,
    setup: Mapping[str, Any] = MappingProxyType({}),
    source_thread_id: ThreadId | None = None,
) -> Thread:
    """A new thread that is no branch of another; one that came by handover names its source."""
    return Thread(
        id=thread_id,
        workspace_id=workspace_id,
        place=place,
        mode=mode,
        title=title,
        owner_id=owner_id,
        locale=locale,
        parent_id=None,
        top_id=thread_id,
        depth=0,
        split_message_id=None,
        split_position=0,
        branch_name="",
        branch_reason="",
        status=Status.ACTIVE,
        created_at=created_at,
        setup=setup,
        source_thread_id=source_thread_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The messages between people and one AI line; `line` names the line within its thread."""

    id: ConversationId
    thread_id: ThreadId
    line: str
    model: str
    """Alias of the model that answers in this line."""
    inherited: int = 0
    """How many of its messages a branch copied from its parent."""


MAIN_LINE = "main"

AWAITS_START = "awaits_start"
"""In the setup of a thread that came by handover and waits for its first message: what the form gave for its mode."""


def title_from(text: str) -> str:
    """A thread's title until someone renames it: first words of its first message, one line, at most 80 characters."""
    words = " ".join(text.split())
    if len(words) <= TITLE_CHARS:
        return words
    head = words[: TITLE_CHARS - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > TITLE_CHARS // 2 else head) + "…"
