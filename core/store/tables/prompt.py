"""Prompts: versions, drafts, what is live, history, and what each process has loaded."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.store.tables.row import Id, Row, workspace_ref


class PromptVersionRow(Row):
    """One version of a prompt, whole. Rows are only ever added; a trigger refuses the rest."""

    __tablename__ = "prompt_version"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str | None] = mapped_column(Id, ForeignKey("workspace.id"))
    """NULL for what came as a file with a release, which belongs to nobody."""
    name: Mapped[str] = mapped_column(String(100))
    version: Mapped[str] = mapped_column(String(40))
    seq: Mapped[int]
    """Order within the workspace, counted from 1; 0 for a shipped version."""
    sha256: Mapped[str] = mapped_column(String(64))
    """Content hash of its parts."""
    files: Mapped[dict[str, Any]]
    """Text by file name."""
    parent_id: Mapped[str | None] = mapped_column(Id, ForeignKey("prompt_version.id"))
    author_id: Mapped[str | None] = mapped_column(Id, ForeignKey("person.id"))
    reason: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(String(10))
    created_at: Mapped[datetime]
    __table_args__ = (
        UniqueConstraint("workspace_id", "name", "version"),
        UniqueConstraint("workspace_id", "name", "seq"),
        CheckConstraint("workspace_id IS NULL OR length(trim(reason)) >= 5", name="reason"),
        CheckConstraint("source IN ('console', 'chat', 'file', 'import')", name="source"),
        CheckConstraint("(workspace_id IS NULL) = (seq = 0)", name="seq"),
        Index(None, "name", "version", "sha256"),
    )


class PromptDraftRow(Row):
    """A text that a person works on and has not saved as a version."""

    __tablename__ = "prompt_draft"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    author_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"), primary_key=True)
    base_id: Mapped[str] = mapped_column(String(36))
    """Version it was made from; empty for a first text."""
    head_id: Mapped[str] = mapped_column(String(36))
    """Newest version when it was begun; empty when there was none."""
    files: Mapped[dict[str, Any]]
    updated_at: Mapped[datetime]


class PromptPointerRow(Row):
    """Which version is live, or proposed, in a workspace. No version: the shipped one, or none."""

    __tablename__ = "prompt_pointer"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    label: Mapped[str] = mapped_column(String(10), primary_key=True)
    version_id: Mapped[str | None] = mapped_column(Id, ForeignKey("prompt_version.id"))
    rev: Mapped[int]
    """Grows with every move and never begins anew, so that a move from a stale page is recognised."""
    __table_args__ = (CheckConstraint("label IN ('production', 'candidate')", name="label"),)


class PromptEventRow(Row):
    """Who did what to a prompt, when and why. Rows are only ever added; a trigger refuses the rest."""

    __tablename__ = "prompt_event"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    name: Mapped[str] = mapped_column(String(100))
    """Empty for what concerns all prompts."""
    kind: Mapped[str] = mapped_column(String(15))
    from_id: Mapped[str | None] = mapped_column(Id, ForeignKey("prompt_version.id"))
    to_id: Mapped[str | None] = mapped_column(Id, ForeignKey("prompt_version.id"))
    actor_id: Mapped[str | None] = mapped_column(Id, ForeignKey("person.id"))
    """NULL for the operator's own commands."""
    reason: Mapped[str] = mapped_column(Text)
    before: Mapped[dict[str, Any]]
    """Whole text before, by file name; empty when there was none."""
    after: Mapped[dict[str, Any]]
    self_approved: Mapped[bool]
    eval_run_id: Mapped[str | None] = mapped_column(Id)
    created_at: Mapped[datetime]
    __table_args__ = (
        CheckConstraint(
            "kind IN ('save', 'verify', 'promote', 'rollback', 'import', 'export', 'reload', 'eval_override',"
            " 'archive')",
            name="kind",
        ),
        CheckConstraint("kind IN ('export', 'reload') OR length(trim(reason)) >= 5", name="reason"),
        Index(None, "workspace_id", "name"),
    )


class PromptGenerationRow(Row):
    """One row: grows when files are to be read again; of the installation, hence of no workspace."""

    __tablename__ = "prompt_generation"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    generation: Mapped[int]
    __table_args__ = (CheckConstraint("id = 1", name="one"),)


class PromptProcessRow(Row):
    """What one process has loaded; of the installation, hence of no workspace."""

    __tablename__ = "prompt_process"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    host: Mapped[str] = mapped_column(String(200))
    pid: Mapped[int]
    generation: Mapped[int]
    versions: Mapped[int]
    error: Mapped[str] = mapped_column(Text)
    """Why it keeps an older text; empty when all is well."""
    loaded_at: Mapped[datetime]
    seen_at: Mapped[datetime]
