"""All tables. Every one has `workspace_id`; ids are UUIDv7 text; times are UTC.

Message rows never change, so a conversation is a list of references to them (`entry`), and a branch is a copy of that
list: exact, cheap, and with nothing to filter when it is read.
"""

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    CheckConstraint,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from core.domain.thread import MAX_DEPTH


class Utc(TypeDecorator[datetime]):
    """A moment in UTC. SQLite forgets the time zone; it is restored on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a stored time needs a time zone")
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Id = String(36)


class Row(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: Utc(),
        dict[str, Any]: JSON(),
        list[Any]: JSON(),
    }


def _workspace() -> Mapped[str]:
    return mapped_column(Id, ForeignKey("workspace.id"))


class WorkspaceRow(Row):
    __tablename__ = "workspace"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    platform: Mapped[str] = mapped_column(String(20))
    external_id: Mapped[str] = mapped_column(String(100))
    name: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    __table_args__ = (UniqueConstraint("platform", "external_id"),)


class PersonRow(Row):
    __tablename__ = "person"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
    external_id: Mapped[str] = mapped_column(String(100))
    name: Mapped[str] = mapped_column(String(200))
    locale: Mapped[str] = mapped_column(String(5))
    created_at: Mapped[datetime]
    __table_args__ = (UniqueConstraint("workspace_id", "external_id"),)


class InstallationRow(Row):
    """The app as installed in a workspace by its people. Tokens are sealed; nothing else here is secret."""

    __tablename__ = "installation"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    details: Mapped[dict[str, Any]]
    """What the platform said about the app and its bot there; the adapter's own."""
    token: Mapped[str] = mapped_column(Text)
    refresh_token: Mapped[str] = mapped_column(Text)
    """Sealed like the token; empty where tokens do not expire."""
    expires_at: Mapped[datetime | None]
    renewing_until: Mapped[datetime | None]
    """One process renews the token at a time; NULL when none does."""
    installed_by: Mapped[str] = mapped_column(String(100))
    updated_at: Mapped[datetime]


class ChannelRow(Row):
    """Channels of the local console; other platforms keep their own and are asked."""

    __tablename__ = "channel"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
    external_id: Mapped[str] = mapped_column(String(100))
    name: Mapped[str] = mapped_column(String(200))
    visibility: Mapped[str] = mapped_column(String(10))
    created_at: Mapped[datetime]
    __table_args__ = (
        UniqueConstraint("workspace_id", "external_id"),
        CheckConstraint("visibility IN ('public', 'private', 'direct')", name="visibility"),
    )


class ChannelMemberRow(Row):
    __tablename__ = "channel_member"
    channel_id: Mapped[str] = mapped_column(Id, ForeignKey("channel.id"), primary_key=True)
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"), primary_key=True)
    workspace_id: Mapped[str] = _workspace()


class ThreadRow(Row):
    __tablename__ = "thread"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
    platform: Mapped[str] = mapped_column(String(20))
    channel: Mapped[str] = mapped_column(String(100))
    place: Mapped[str | None] = mapped_column(String(100))
    """The platform's thread id; NULL until the platform thread is open."""
    mode: Mapped[str] = mapped_column(String(20))
    title: Mapped[str] = mapped_column(String(300))
    owner_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    locale: Mapped[str] = mapped_column(String(5))
    parent_id: Mapped[str | None] = mapped_column(Id, ForeignKey("thread.id"))
    top_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    depth: Mapped[int]
    split_message_id: Mapped[str | None] = mapped_column(Id)
    split_position: Mapped[int]
    branch_name: Mapped[str] = mapped_column(String(300))
    branch_reason: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(String(20))
    setup: Mapped[dict[str, Any]]
    """What its mode was started with; read by the mode's setup in core.domain."""
    source_thread_id: Mapped[str | None] = mapped_column(Id)
    """The thread it was handed over from; never a parent."""
    created_at: Mapped[datetime]
    __table_args__ = (
        UniqueConstraint("workspace_id", "channel", "place"),
        CheckConstraint(f"depth BETWEEN 0 AND {MAX_DEPTH}", name="depth"),
        CheckConstraint("(depth = 0) = (parent_id IS NULL)", name="depth_of_parent"),
        CheckConstraint("status IN ('active', 'adopt_pending', 'adopted')", name="status"),
        Index(None, "workspace_id", "channel"),
        Index(None, "parent_id"),
        Index(None, "top_id"),
    )


class ConversationRow(Row):
    __tablename__ = "conversation"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    line: Mapped[str] = mapped_column(String(100))
    model: Mapped[str] = mapped_column(String(100))
    copied_from_id: Mapped[str | None] = mapped_column(Id, ForeignKey("conversation.id"))
    inherited: Mapped[int]
    """How many entries were copied from the parent's conversation."""
    __table_args__ = (UniqueConstraint("thread_id", "line"),)


class MessageRow(Row):
    __tablename__ = "message"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
    thread_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    root_id: Mapped[str] = mapped_column(Id)
    """Id of the first version; an edit is a new row with the same root."""
    author_kind: Mapped[str] = mapped_column(String(10))
    author_id: Mapped[str | None] = mapped_column(Id, ForeignKey("person.id"))
    author_name: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    external_id: Mapped[str] = mapped_column(String(100))
    run_id: Mapped[str | None] = mapped_column(Id, ForeignKey("run.id"))
    answers_id: Mapped[str | None] = mapped_column(Id)
    """Root id of the message it answers."""
    step: Mapped[str] = mapped_column(String(60))
    """The step of its run that wrote it; empty for people's messages."""
    data: Mapped[dict[str, Any] | None]
    """Structured output behind the text, where the step has one."""
    cut: Mapped[str] = mapped_column(String(20))
    has_attachments: Mapped[bool]
    erased: Mapped[bool]
    created_at: Mapped[datetime]
    __table_args__ = (
        Index(None, "root_id"),
        Index(None, "run_id"),
        Index(None, "answers_id"),
        Index(None, "workspace_id", "external_id"),
        Index(None, "author_id"),
    )


class EntryRow(Row):
    """One place of a conversation: position, counted from 1 without gaps, and the message that stands there."""

    __tablename__ = "entry"
    conversation_id: Mapped[str] = mapped_column(Id, ForeignKey("conversation.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    message_id: Mapped[str] = mapped_column(Id, ForeignKey("message.id"))
    workspace_id: Mapped[str] = _workspace()
    __table_args__ = (
        CheckConstraint("position >= 1", name="position"),
        UniqueConstraint("message_id", "conversation_id"),
        # Clustered by position: reading a window and copying a branch are range scans.
        {"sqlite_with_rowid": False},
    )


class FileRow(Row):
    """Bytes of an attachment, kept once per workspace; they outlive the thread they were first posted in."""

    __tablename__ = "file"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class AttachmentRow(Row):
    __tablename__ = "attachment"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
    message_id: Mapped[str] = mapped_column(Id, ForeignKey("message.id"))
    ordinal: Mapped[int]
    name: Mapped[str] = mapped_column(String(300))
    media_type: Mapped[str] = mapped_column(String(100))
    size_bytes: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    text: Mapped[str] = mapped_column(Text)
    problem: Mapped[str] = mapped_column(String(40))
    __table_args__ = (Index(None, "message_id"),)


class ArtifactRow(Row):
    """A named result of a thread. A branch has rows of its own for what it inherited."""

    __tablename__ = "artifact"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
    branch_id: Mapped[str] = mapped_column(Id, ForeignKey("thread.id"))
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    draft: Mapped[dict[str, Any] | None]
    """None until it is drafted."""
    form: Mapped[dict[str, Any] | None]
    """The request as far as the person has filled it in; None before that."""
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "branch_id"),)


class RunRow(Row):
    __tablename__ = "run"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    usd: Mapped[float]
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "workspace_id"),)


class FeedbackRow(Row):
    """What one person holds of one answer; a change of mind takes the row's place."""

    __tablename__ = "feedback"
    message_id: Mapped[str] = mapped_column(Id, ForeignKey("message.id"), primary_key=True)
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"), primary_key=True)
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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
    workspace_id: Mapped[str] = _workspace()
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


class CommandSyncRow(Row):
    """What was last registered as commands with a platform; of the installation, hence of no workspace."""

    __tablename__ = "command_sync"
    application: Mapped[str] = mapped_column(String(100), primary_key=True)
    scope: Mapped[str] = mapped_column(String(100), primary_key=True)
    """The platform's id of the one workspace they were registered in; `global` for all."""
    sha256: Mapped[str] = mapped_column(String(64))
    updated_at: Mapped[datetime]


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
    workspace_id: Mapped[str] = _workspace()
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


class EvalRunRow(Row):
    """An evaluation: two versions of a prompt, or two models, on the cases of an eval set."""

    __tablename__ = "eval_run"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = _workspace()
    prompt: Mapped[str] = mapped_column(String(100))
    baseline_version: Mapped[str] = mapped_column(String(40))
    baseline_sha256: Mapped[str] = mapped_column(String(64))
    candidate_version: Mapped[str] = mapped_column(String(40))
    candidate_sha256: Mapped[str] = mapped_column(String(64))
    refs: Mapped[list[Any]]
    """Versions of the other prompts, the same on both sides: name, version, sha256."""
    baseline_model: Mapped[str] = mapped_column(String(100))
    candidate_model: Mapped[str] = mapped_column(String(100))
    conditions: Mapped[dict[str, Any]]
    """What `Conditions` holds."""
    conditions_sha256: Mapped[str] = mapped_column(String(64))
    cases: Mapped[int]
    author_id: Mapped[str | None] = mapped_column(Id, ForeignKey("person.id"))
    """Whose change it is; NULL for what came with a release."""
    started_by: Mapped[str | None] = mapped_column(Id, ForeignKey("person.id"))
    """NULL for the operator's own command."""
    status: Mapped[str] = mapped_column(String(10))
    failure: Mapped[dict[str, Any] | None]
    counts: Mapped[dict[str, Any]]
    """Cases by outcome; empty until it is done."""
    held_usd: Mapped[float]
    """What its calls under way are expected to cost; 0 once it has ended."""
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    __table_args__ = (
        CheckConstraint("status IN ('queued', 'running', 'done', 'stopped', 'failed')", name="status"),
        CheckConstraint("(finished_at IS NULL) = (status IN ('queued', 'running'))", name="finished"),
        Index(None, "workspace_id", "prompt"),
        Index(None, "status", "started_at"),
    )


class EvalResultRow(Row):
    """One call of an evaluation, with what was sent and what came. One row a place: a call is never paid twice."""

    __tablename__ = "eval_result"
    run_id: Mapped[str] = mapped_column(Id, ForeignKey("eval_run.id"), primary_key=True)
    side: Mapped[str] = mapped_column(String(10), primary_key=True)
    case_id: Mapped[str] = mapped_column(String(100), primary_key=True)
    repeat: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Counted from 1."""
    workspace_id: Mapped[str] = _workspace()
    model: Mapped[str] = mapped_column(String(100))
    model_id: Mapped[str] = mapped_column(String(200))
    reported_model_id: Mapped[str] = mapped_column(String(200))
    request: Mapped[list[Any]]
    """The parts as they were sent: role and text, in order; empty where nothing was sent."""
    input_sha256: Mapped[str] = mapped_column(String(64))
    """Content hash of what was sent; empty where nothing was."""
    output: Mapped[str] = mapped_column(Text)
    """Without personal data."""
    checks: Mapped[list[Any]]
    failure: Mapped[dict[str, Any] | None]
    """Why no whole answer came."""
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    cost_usd: Mapped[float | None]
    latency_ms: Mapped[int | None]
    created_at: Mapped[datetime]
    __table_args__ = (
        CheckConstraint("side IN ('baseline', 'candidate')", name="side"),
        CheckConstraint("repeat >= 1", name="repeat"),
        Index(None, "workspace_id", "created_at"),
    )


class HumanVerdictRow(Row):
    """What a person said of one condition on one output; a change of mind takes the row's place."""

    __tablename__ = "human_verdict"
    workspace_id: Mapped[str] = mapped_column(Id, ForeignKey("workspace.id"), primary_key=True)
    prompt: Mapped[str] = mapped_column(String(100), primary_key=True)
    case_id: Mapped[str] = mapped_column(String(100), primary_key=True)
    criterion: Mapped[str] = mapped_column(String(500), primary_key=True)
    output_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    person_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"), primary_key=True)
    run_id: Mapped[str] = mapped_column(Id, ForeignKey("eval_run.id"))
    """The evaluation in which it was asked."""
    verdict: Mapped[str] = mapped_column(String(10))
    comment: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    __table_args__ = (CheckConstraint("verdict IN ('pass', 'fail', 'hold')", name="verdict"),)
