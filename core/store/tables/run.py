"""What was done: runs with their turns, receipts and posts, and what keeps track of events and people's acts."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.store.tables.row import Id, Row, workspace_ref


class RunRow(Row):
    __tablename__ = "run"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    kind: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(10))
    conversation_id: Mapped[str | None] = mapped_column(Id, ForeignKey("conversation.id"))
    request_id: Mapped[str | None] = mapped_column(Id)
    """Root id of the message to answer."""
    model: Mapped[str] = mapped_column(String(100))
    prompts: Mapped[list[Any]]
    """Prompt versions the run began with: name, version, sha256."""
    args: Mapped[dict[str, Any]]
    """What the run was asked to do beyond answering its request."""
    requested_by: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    failure: Mapped[dict[str, Any] | None]
    """Phrase of why it ended without an answer: key and fields."""
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    __table_args__ = (
        CheckConstraint("status IN ('queued', 'running', 'done', 'stopped', 'failed')", name="status"),
        Index(None, "thread_id", "request_id"),
        Index(None, "status", "created_at"),
    )


class StepRow(Row):
    """One turn of one speaker within a run: what is posted for it and how it ended."""

    __tablename__ = "run_step"
    run_id: Mapped[str] = mapped_column(Id, ForeignKey("run.id"), primary_key=True)
    step: Mapped[str] = mapped_column(String(60), primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    ordinal: Mapped[int]
    """Order within the run, counted from 1."""
    model: Mapped[str] = mapped_column(String(100))
    line: Mapped[str | None] = mapped_column(String(100))
    """The conversation its answer stands in; NULL for an answer that stands in none."""
    status: Mapped[str] = mapped_column(String(10))
    failure: Mapped[dict[str, Any] | None]
    message_id: Mapped[str | None] = mapped_column(Id)
    receipt_id: Mapped[str | None] = mapped_column(Id)
    __table_args__ = (
        CheckConstraint("status IN ('running', 'done', 'stopped', 'failed')", name="status"),
        Index(None, "message_id"),
    )


class ReceiptRow(Row):
    __tablename__ = "receipt"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    run_id: Mapped[str] = mapped_column(Id, ForeignKey("run.id"))
    step: Mapped[str] = mapped_column(String(60))
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    answer_id: Mapped[str | None] = mapped_column(Id, ForeignKey("message.id"))
    model: Mapped[str] = mapped_column(String(100))
    model_id: Mapped[str] = mapped_column(String(200))
    reported_model_id: Mapped[str] = mapped_column(String(200))
    prompts: Mapped[list[Any]]
    caps: Mapped[list[Any]]
    omissions: Mapped[list[Any]]
    params: Mapped[dict[str, Any]]
    input_sha256: Mapped[str] = mapped_column(String(64))
    estimate_tokens: Mapped[int]
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    tokens_estimated: Mapped[bool]
    cost_usd: Mapped[float | None]
    finish: Mapped[str] = mapped_column(String(20))
    failure: Mapped[str] = mapped_column(String(30))
    output_schema: Mapped[dict[str, Any] | None]
    shared_sha256: Mapped[str] = mapped_column(String(64))
    """Hash of the part that all candidates of a Compare were sent alike; empty elsewhere."""
    reasoning: Mapped[str] = mapped_column(Text)
    duration_s: Mapped[float]
    erased: Mapped[bool]
    """Some of its text was a person's whose content was erased."""
    expired: Mapped[bool]
    """All of its texts were let go when the workspace's retention was over."""
    created_at: Mapped[datetime]
    __table_args__ = (
        # One receipt per (run, step) is what makes storing an answer harmless to repeat.
        UniqueConstraint("run_id", "step"),
        Index(None, "answer_id"),
        Index(None, "workspace_id", "created_at"),
    )


class ReceiptPartRow(Row):
    __tablename__ = "receipt_part"
    receipt_id: Mapped[str] = mapped_column(Id, ForeignKey("receipt.id"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    workspace_id: Mapped[str] = workspace_ref()
    role: Mapped[str] = mapped_column(String(10))
    origin: Mapped[str] = mapped_column(String(20))
    message_id: Mapped[str | None] = mapped_column(Id)
    text: Mapped[str] = mapped_column(Text)
    images: Mapped[list[Any]]
    __table_args__ = (Index(None, "message_id"),)


class ReservationRow(Row):
    """What a call that is under way is expected to cost; gone once its receipt is stored or its run has ended."""

    __tablename__ = "reservation"
    run_id: Mapped[str] = mapped_column(Id, ForeignKey("run.id"), primary_key=True)
    step: Mapped[str] = mapped_column(String(60), primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    usd: Mapped[float]
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "workspace_id"),)


class FeedbackRow(Row):
    """What one person holds of one answer; a change of mind takes the row's place."""

    __tablename__ = "feedback"
    message_id: Mapped[str] = mapped_column(Id, ForeignKey("message.id"), primary_key=True)
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"), primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    thumb: Mapped[str] = mapped_column(String(10))
    comment: Mapped[str] = mapped_column(Text)
    updated_at: Mapped[datetime]
    __table_args__ = (
        CheckConstraint("thumb IN ('up', 'down')", name="thumb"),
        Index(None, "person_id"),
    )


class NoticeRow(Row):
    """A line of the product itself in a thread; no position, never part of an AI input."""

    __tablename__ = "notice"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    key: Mapped[str] = mapped_column(String(60))
    fields: Mapped[dict[str, Any]]
    link_id: Mapped[str | None] = mapped_column(Id)
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "thread_id"),)


class PostRow(Row):
    """One part of a post of ours on a platform, by the platform's id, and what it shows."""

    __tablename__ = "post"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    channel: Mapped[str] = mapped_column(String(100), primary_key=True)
    external_id: Mapped[str] = mapped_column(String(100), primary_key=True)
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    run_id: Mapped[str] = mapped_column(Id, ForeignKey("run.id"))
    step: Mapped[str] = mapped_column(String(60))
    __table_args__ = (Index(None, "run_id"),)


class ClaimRow(Row):
    """An event that was taken in; the primary key is what makes a second delivery harmless."""

    __tablename__ = "claim"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    result: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class AuditRow(Row):
    """Who did what, when and why. Rows are only ever added; a trigger refuses the rest."""

    __tablename__ = "audit"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    actor_id: Mapped[str | None] = mapped_column(Id)
    action: Mapped[str] = mapped_column(String(40))
    subject_id: Mapped[str] = mapped_column(Id)
    reason: Mapped[str] = mapped_column(Text)
    details: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "workspace_id", "created_at"), Index(None, "subject_id"))


class HighWaterRow(Row):
    """How far a source of a workspace's events has been taken in; what came later is read again after a restart."""

    __tablename__ = "high_water"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    source: Mapped[str] = mapped_column(String(100), primary_key=True)
    mark: Mapped[str] = mapped_column(String(100))
    """The platform's id of the last event that needs no second reading."""
    updated_at: Mapped[datetime]


class ReportedModelRow(Row):
    """Which model a provider said it answered with last; of the installation, hence of no workspace."""

    __tablename__ = "reported_model"
    model: Mapped[str] = mapped_column(String(100), primary_key=True)
    model_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    """As it is configured."""
    reported_id: Mapped[str] = mapped_column(String(200))
    before: Mapped[str] = mapped_column(String(200))
    """What it said before that; empty when it never said anything else."""
    since: Mapped[datetime]


class CommandSyncRow(Row):
    """What was last registered as commands with a platform; of the installation, hence of no workspace."""

    __tablename__ = "command_sync"
    application: Mapped[str] = mapped_column(String(100), primary_key=True)
    scope: Mapped[str] = mapped_column(String(100), primary_key=True)
    """The platform's id of the one workspace they were registered in; `global` for all."""
    sha256: Mapped[str] = mapped_column(String(64))
    updated_at: Mapped[datetime]
