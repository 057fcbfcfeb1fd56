"""First tables"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "workspace",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("platform", sa.String(length=20), nullable=False),
        sa.Column("external_id", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace")),
        sa.UniqueConstraint("platform", "external_id", name=op.f("uq_workspace_platform_external_id")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("actor_id", sa.String(length=36), nullable=True),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("subject_id", sa.String(length=36), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_audit_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_subject_id"), "audit", ["subject_id"], unique=False)
    op.create_index(
        op.f("ix_audit_workspace_id_created_at"), "audit", ["workspace_id", "created_at"], unique=False
    )

    op.create_table(
        "channel",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("external_id", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("visibility", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "visibility IN ('public', 'private', 'direct')", name=op.f("ck_channel_visibility")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_channel_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel")),
        sa.UniqueConstraint("workspace_id", "external_id", name=op.f("uq_channel_workspace_id_external_id")),
    )
    op.create_table(
        "claim",
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_claim_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "key", name=op.f("pk_claim")),
    )
    op.create_table(
        "file",
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_file_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "sha256", name=op.f("pk_file")),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("external_id", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("locale", sa.String(length=5), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_person_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("workspace_id", "external_id", name=op.f("uq_person_workspace_id_external_id")),
    )
    op.create_table(
        "channel_member",
        sa.Column("channel_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_channel_member_channel_id_channel")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_channel_member_person_id_person")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_channel_member_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("channel_id", "person_id", name=op.f("pk_channel_member")),
    )
    op.create_table(
        "thread",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("platform", sa.String(length=20), nullable=False),
        sa.Column("channel", sa.String(length=100), nullable=False),
        sa.Column("place", sa.String(length=100), nullable=True),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("title", sa.String(length=300), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("locale", sa.String(length=5), nullable=False),
        sa.Column("parent_id", sa.String(length=36), nullable=True),
        sa.Column("top_id", sa.String(length=36), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("split_message_id", sa.String(length=36), nullable=True),
        sa.Column("split_position", sa.Integer(), nullable=False),
        sa.Column("branch_name", sa.String(length=300), nullable=False),
        sa.Column("branch_reason", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("setup", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status IN ('active', 'adopt_pending', 'adopted')", name=op.f("ck_thread_status")),
        sa.CheckConstraint("(depth = 0) = (parent_id IS NULL)", name=op.f("ck_thread_depth_of_parent")),
        sa.CheckConstraint("depth BETWEEN 0 AND 4", name=op.f("ck_thread_depth")),
        sa.ForeignKeyConstraint(["owner_id"], ["person.id"], name=op.f("fk_thread_owner_id_person")),
        sa.ForeignKeyConstraint(["parent_id"], ["thread.id"], name=op.f("fk_thread_parent_id_thread")),
        sa.ForeignKeyConstraint(["top_id"], ["thread.id"], name=op.f("fk_thread_top_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_thread_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_thread")),
        sa.UniqueConstraint(
            "workspace_id", "channel", "place", name=op.f("uq_thread_workspace_id_channel_place")
        ),
    )
    op.create_index(op.f("ix_thread_parent_id"), "thread", ["parent_id"], unique=False)
    op.create_index(op.f("ix_thread_top_id"), "thread", ["top_id"], unique=False)
    op.create_index(
        op.f("ix_thread_workspace_id_channel"), "thread", ["workspace_id", "channel"], unique=False
    )

    op.create_table(
        "artifact",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_artifact_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_artifact_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifact")),
        sa.UniqueConstraint("thread_id", "name", name=op.f("uq_artifact_thread_id_name")),
    )
    op.create_table(
        "conversation",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("line", sa.String(length=100), nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("copied_from_id", sa.String(length=36), nullable=True),
        sa.Column("inherited", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["copied_from_id"], ["conversation.id"], name=op.f("fk_conversation_copied_from_id_conversation")
        ),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_conversation_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_conversation_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation")),
        sa.UniqueConstraint("thread_id", "line", name=op.f("uq_conversation_thread_id_line")),
    )
    op.create_table(
        "notice",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("key", sa.String(length=60), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("link_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_notice_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_notice_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notice")),
    )
    op.create_index(op.f("ix_notice_thread_id"), "notice", ["thread_id"], unique=False)

    op.create_table(
        "artifact_version",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("artifact_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("author_kind", sa.String(length=10), nullable=False),
        sa.Column("author_id", sa.String(length=36), nullable=True),
        sa.Column("author_name", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("message_id", sa.String(length=36), nullable=True),
        sa.Column("receipt_id", sa.String(length=36), nullable=True),
        sa.Column("source_thread_id", sa.String(length=36), nullable=True),
        sa.Column("source_artifact_id", sa.String(length=36), nullable=True),
        sa.Column("source_version_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifact.id"], name=op.f("fk_artifact_version_artifact_id_artifact")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_artifact_version_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifact_version")),
        sa.UniqueConstraint("artifact_id", "number", name=op.f("uq_artifact_version_artifact_id_number")),
    )
    op.create_index(op.f("ix_artifact_version_message_id"), "artifact_version", ["message_id"], unique=False)

    op.create_table(
        "run",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("conversation_id", sa.String(length=36), nullable=True),
        sa.Column("request_id", sa.String(length=36), nullable=True),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("prompts", sa.JSON(), nullable=False),
        sa.Column("args", sa.JSON(), nullable=False),
        sa.Column("requested_by", sa.String(length=36), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'stopped', 'failed')", name=op.f("ck_run_status")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversation.id"], name=op.f("fk_run_conversation_id_conversation")
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["person.id"], name=op.f("fk_run_requested_by_person")),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_run_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_run_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_status_created_at"), "run", ["status", "created_at"], unique=False)
    op.create_index(op.f("ix_run_thread_id_request_id"), "run", ["thread_id", "request_id"], unique=False)

    op.create_table(
        "message",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("author_kind", sa.String(length=10), nullable=False),
        sa.Column("author_id", sa.String(length=36), nullable=True),
        sa.Column("author_name", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("external_id", sa.String(length=100), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=True),
        sa.Column("answers_id", sa.String(length=36), nullable=True),
        sa.Column("step", sa.String(length=60), nullable=False),
        sa.Column("data", sa.JSON(), nullable=True),
        sa.Column("cut", sa.String(length=20), nullable=False),
        sa.Column("has_attachments", sa.Boolean(), nullable=False),
        sa.Column("erased", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["person.id"], name=op.f("fk_message_author_id_person")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_message_run_id_run")),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_message_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_message_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message")),
    )
    op.create_index(op.f("ix_message_author_id"), "message", ["author_id"], unique=False)
    op.create_index(op.f("ix_message_root_id"), "message", ["root_id"], unique=False)
    op.create_index(op.f("ix_message_run_id"), "message", ["run_id"], unique=False)
    op.create_index(
        op.f("ix_message_workspace_id_external_id"), "message", ["workspace_id", "external_id"], unique=False
    )

    op.create_table(
        "post",
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("channel", sa.String(length=100), nullable=False),
        sa.Column("external_id", sa.String(length=100), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.String(length=60), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_post_run_id_run")),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_post_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_post_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "channel", "external_id", name=op.f("pk_post")),
    )
    op.create_index(op.f("ix_post_run_id"), "post", ["run_id"], unique=False)

    op.create_table(
        "attachment",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("message_id", sa.String(length=36), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("media_type", sa.String(length=100), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("problem", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["message.id"], name=op.f("fk_attachment_message_id_message")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_attachment_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attachment")),
    )
    op.create_index(op.f("ix_attachment_message_id"), "attachment", ["message_id"], unique=False)

    op.create_table(
        "entry",
        sa.Column("conversation_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("message_id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.CheckConstraint("position >= 1", name=op.f("ck_entry_position")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversation.id"], name=op.f("fk_entry_conversation_id_conversation")
        ),
        sa.ForeignKeyConstraint(["message_id"], ["message.id"], name=op.f("fk_entry_message_id_message")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_entry_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("conversation_id", "position", name=op.f("pk_entry")),
        sa.UniqueConstraint(
            "message_id", "conversation_id", name=op.f("uq_entry_message_id_conversation_id")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "receipt",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.String(length=60), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("answer_id", sa.String(length=36), nullable=True),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("model_id", sa.String(length=200), nullable=False),
        sa.Column("reported_model_id", sa.String(length=200), nullable=False),
        sa.Column("prompts", sa.JSON(), nullable=False),
        sa.Column("caps", sa.JSON(), nullable=False),
        sa.Column("omissions", sa.JSON(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("input_sha256", sa.String(length=64), nullable=False),
        sa.Column("estimate_tokens", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("tokens_estimated", sa.Boolean(), nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=True),
        sa.Column("finish", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.String(length=30), nullable=False),
        sa.Column("output_schema", sa.JSON(), nullable=True),
        sa.Column("shared_sha256", sa.String(length=64), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.Column("duration_s", sa.Double(), nullable=False),
        sa.Column("erased", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["answer_id"], ["message.id"], name=op.f("fk_receipt_answer_id_message")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_receipt_person_id_person")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_receipt_run_id_run")),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_receipt_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_receipt_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_receipt")),
        sa.UniqueConstraint("run_id", "step", name=op.f("uq_receipt_run_id_step")),
    )
    op.create_index(op.f("ix_receipt_answer_id"), "receipt", ["answer_id"], unique=False)
    op.create_index(
        op.f("ix_receipt_workspace_id_created_at"), "receipt", ["workspace_id", "created_at"], unique=False
    )

    op.create_table(
        "receipt_part",
        sa.Column("receipt_id", sa.String(length=36), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("origin", sa.String(length=20), nullable=False),
        sa.Column("message_id", sa.String(length=36), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("images", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["receipt_id"], ["receipt.id"], name=op.f("fk_receipt_part_receipt_id_receipt")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_receipt_part_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("receipt_id", "ordinal", name=op.f("pk_receipt_part")),
    )
    op.create_index(op.f("ix_receipt_part_message_id"), "receipt_part", ["message_id"], unique=False)

    op.create_index(op.f("ix_message_answers_id"), "message", ["answers_id"], unique=False)
    op.create_table(
        "run_step",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.String(length=60), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("line", sa.String(length=100), nullable=True),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("message_id", sa.String(length=36), nullable=True),
        sa.Column("receipt_id", sa.String(length=36), nullable=True),
        sa.CheckConstraint(
            "status IN ('running', 'done', 'stopped', 'failed')", name=op.f("ck_run_step_status")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_step_run_id_run")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_run_step_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("run_id", "step", name=op.f("pk_run_step")),
    )
    op.create_index(op.f("ix_run_step_message_id"), "run_step", ["message_id"], unique=False)

    for table, guard, reason in GUARDS:
        refuse(table, guard, reason)


GUARDS = (
    ("audit", "", "audit rows are never changed"),
    ("message", "NOT (NEW.erased AND NEW.text = '')", "message rows are never changed"),
    ("receipt_part", "NEW.text <> ''", "receipt parts are never changed"),
)


def refuse(table: str, guard: str, reason: str) -> None:
    """Let the database itself refuse updates that `guard` describes; for the audit log deletions as well."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    events = ("UPDATE", "DELETE") if table == "audit" else ("UPDATE",)
    if not sqlite:
        op.execute(
            f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{reason}'; END $$"
        )
    for event in events:
        name = f"{table}_no_{event.lower()}"
        when = f"WHEN ({guard})" if guard else ""
        if sqlite:
            op.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW {when} "
                f"BEGIN SELECT RAISE(ABORT, '{reason}'); END"
            )
        else:
            op.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW {when} "
                f"EXECUTE FUNCTION {table}_refuse()"
            )
