"""People, places, threads and what was said in them."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.domain.thread import MAX_DEPTH
from core.store.tables.row import Id, Row, workspace_ref


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
    workspace_id: Mapped[str] = workspace_ref()
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
    workspace_id: Mapped[str] = workspace_ref()
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
    workspace_id: Mapped[str] = workspace_ref()


class ThreadRow(Row):
    __tablename__ = "thread"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
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
    workspace_id: Mapped[str] = workspace_ref()
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
    workspace_id: Mapped[str] = workspace_ref()
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
    workspace_id: Mapped[str] = workspace_ref()
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
    workspace_id: Mapped[str] = workspace_ref()
    message_id: Mapped[str] = mapped_column(Id, ForeignKey("message.id"))
    ordinal: Mapped[int]
    name: Mapped[str] = mapped_column(String(300))
    media_type: Mapped[str] = mapped_column(String(100))
    size_bytes: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    text: Mapped[str] = mapped_column(Text)
    problem: Mapped[str] = mapped_column(String(40))
    __table_args__ = (Index(None, "message_id"),)
