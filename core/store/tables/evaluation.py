"""Evaluations of prompts: runs, results, verdicts of people; eval sets that a workspace made itself; cases
that people set aside."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.store.tables.row import Id, Row, workspace_ref


class EvalRunRow(Row):
    """An evaluation: two versions of a prompt, or two models, on the cases of an eval set."""

    __tablename__ = "eval_run"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
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
    thread_id: Mapped[str | None] = mapped_column(Id, ForeignKey("thread.id"))
    """The thread that is told of it; NULL where it is looked at in the console alone."""
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
    workspace_id: Mapped[str] = workspace_ref()
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


class EvalSetVersionRow(Row):
    """A version of a workspace's own eval set. Never changed, except where a person's content is erased from it."""

    __tablename__ = "eval_set_version"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    name: Mapped[str] = mapped_column(String(100))
    version: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    """Content hash as it was saved."""
    files: Mapped[dict[str, Any]]
    """Text by path."""
    sources: Mapped[dict[str, Any]]
    """Ids of the messages that a case was made of, by case; only cases from real threads are in it."""
    author_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    reason: Mapped[str] = mapped_column(Text)
    erased: Mapped[bool]
    created_at: Mapped[datetime]
    __table_args__ = (
        CheckConstraint("length(trim(reason)) >= 5", name="reason"),
        CheckConstraint("version >= 1", name="version"),
        UniqueConstraint("workspace_id", "name", "version"),
    )


class EvalQuarantineRow(Row):
    """A case that a person set aside, so that it is shown and does not gate; once lifted, its record."""

    __tablename__ = "eval_quarantine"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[str] = workspace_ref()
    eval_set: Mapped[str] = mapped_column(String(100))
    case_id: Mapped[str] = mapped_column(String(100))
    kind: Mapped[str] = mapped_column(String(10))
    reason: Mapped[str] = mapped_column(Text)
    owner_id: Mapped[str] = mapped_column(Id, ForeignKey("person.id"))
    created_at: Mapped[datetime]
    until: Mapped[datetime]
    lifted_at: Mapped[datetime | None]
    lifted_by: Mapped[str | None] = mapped_column(Id, ForeignKey("person.id"))
    """NULL where its time ran out and the case was set aside again."""
    __table_args__ = (
        CheckConstraint("kind IN ('flaky', 'wrong')", name="kind"),
        CheckConstraint("length(trim(reason)) >= 5", name="reason"),
        Index(
            "uq_eval_quarantine_open",
            "workspace_id",
            "eval_set",
            "case_id",
            unique=True,
            sqlite_where=text("lifted_at IS NULL"),
            postgresql_where=text("lifted_at IS NULL"),
        ),
    )
