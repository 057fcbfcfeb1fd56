"""What is kept apart from a conversation or taken along from it: artifacts, pins, handovers, adoptions."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.store.tables.row import Id, Row, workspace_ref


class ArtifactRow(Row):
    """A named result of a thread. A branch has rows of its own for what it inherited."""

    __tablename__ = "artifact"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    name: Mapped[str] = mapped_column(String(120))
    name_key: Mapped[str] = mapped_column(String(64))
    """`name_digest` of the name: what makes a name unique in its thread."""
    kind: Mapped[str] = mapped_column(String(10))
    created_at: Mapped[datetime]
    __table_args__ = (
        UniqueConstraint("thread_id", "name"),
        Index("uq_artifact_thread_id_name_key", "thread_id", "name_key", unique=True),
    )


class ArtifactVersionRow(Row):
    __tablename__ = "artifact_version"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    artifact_id: Mapped[str] = mapped_column(Id, ForeignKey("artifact.id"))
    number: Mapped[int]
    text: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64))
    author_kind: Mapped[str] = mapped_column(String(10))
    author_id: Mapped[str | None] = mapped_column(Id)
    author_name: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(Text)
    message_id: Mapped[str | None] = mapped_column(Id)
    receipt_id: Mapped[str | None] = mapped_column(Id)
    source_thread_id: Mapped[str | None] = mapped_column(Id)
    source_artifact_id: Mapped[str | None] = mapped_column(Id)
    source_version_id: Mapped[str | None] = mapped_column(Id)
    created_at: Mapped[datetime]
    __table_args__ = (UniqueConstraint("artifact_id", "number"), Index(None, "message_id"))


class PinRow(Row):
    """One version of a pin. Rows never change but for the marks that a newer version or a removal leaves."""

    __tablename__ = "pin"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    root_id: Mapped[str] = mapped_column(Id)
    """Id of the first version."""
    kind: Mapped[str] = mapped_column(String(20))
    text: Mapped[str] = mapped_column(Text)
    message_id: Mapped[str | None] = mapped_column(Id)
    author_id: Mapped[str | None] = mapped_column(Id, ForeignKey("person.id"))
    author_name: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    """When a newer version took its place, or it was removed."""
    ended_by: Mapped[str | None] = mapped_column(Id)
    removed: Mapped[bool]
    __table_args__ = (
        CheckConstraint(
            "kind IN ('constraint', 'decision', 'open_question', 'reference')",
            name="kind",
        ),
        Index(None, "thread_id"),
        Index(None, "root_id"),
        Index(None, "author_id"),
    )


class HandoverRow(Row):
    """A piece of work on its way from one thread to another: drafted, edited by a person, sent once."""

    __tablename__ = "handover"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    source_thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    target_thread_id: Mapped[str | None] = mapped_column(Id, ForeignKey("thread.id"))
    target_mode: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(10))
    centre_id: Mapped[str | None] = mapped_column(Id)
    """The answer of a Compare that is the centre, where one was picked."""
    draft: Mapped[dict[str, Any]]
    """Fields as they were drafted, with what the drafting has to say about itself."""
    fields: Mapped[dict[str, Any]]
    """Fields as the person has them now, or sent them."""
    form: Mapped[dict[str, Any] | None]
    """How the target is to begin, as far as the person has filled it in; None before that."""
    delivery: Mapped[dict[str, Any] | None]
    """What the first calls of the target held of it, looked up in their receipts."""
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    __table_args__ = (
        CheckConstraint("status IN ('drafting', 'draft', 'sent', 'dropped')", name="status"),
        CheckConstraint("(status = 'sent') = (target_thread_id IS NOT NULL)", name="target_of_sent"),
        Index(None, "source_thread_id"),
        Index(None, "target_thread_id"),
    )


class AdoptionRow(Row):
    """A request to take a branch's content into its parent, and how it was decided."""

    __tablename__ = "adoption"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    branch_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    parent_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    top_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    status: Mapped[str] = mapped_column(String(10))
    requested_by: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    reason: Mapped[str] = mapped_column(Text)
    review: Mapped[dict[str, Any]]
    """Texts of the pre-adoption review as the requester sent them."""
    messages: Mapped[dict[str, Any]]
    """Message ids to append, by line: what the request covers, fixed at its moment."""
    artifacts: Mapped[list[Any]]
    """Artifact versions covered, with the choice made for each name that the parent has too."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    decided_by: Mapped[str | None] = mapped_column(Id)
    decided_at: Mapped[datetime | None]
    decision_reason: Mapped[str] = mapped_column(Text)
    before_sha256: Mapped[str] = mapped_column(String(64))
    after_sha256: Mapped[str] = mapped_column(String(64))
    card_run_id: Mapped[str | None] = mapped_column(Id)
    __table_args__ = (
        CheckConstraint(
            "status IN ('pending', 'approved', 'rejected', 'withdrawn', 'expired')", name="status"
        ),
        # One at a time under a top-level thread, guaranteed by the database (spec §6).
        Index(
            "uq_adoption_pending_top_id",
            "top_id",
            unique=True,
            sqlite_where=text("status = 'pending'"),
            postgresql_where=text("status = 'pending'"),
        ),
        Index(None, "branch_id"),
        Index(None, "parent_id"),
        Index(None, "status", "expires_at"),
    )


class AdoptionReviewRow(Row):
    """What a model drafted for a person who is about to ask for an adoption."""

    __tablename__ = "adoption_review"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    branch_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    draft: Mapped[dict[str, Any] | None]
    """None until it is drafted."""
    form: Mapped[dict[str, Any] | None]
    """The request as far as the person has filled it in; None before that."""
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "branch_id"),)
