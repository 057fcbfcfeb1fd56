"""Pins, handovers, adoptions"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "adoption",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("branch_id", sa.String(length=36), nullable=False),
        sa.Column("parent_id", sa.String(length=36), nullable=False),
        sa.Column("top_id", sa.String(length=36), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("requested_by", sa.String(length=36), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("review", sa.JSON(), nullable=False),
        sa.Column("messages", sa.JSON(), nullable=False),
        sa.Column("artifacts", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_by", sa.String(length=36), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decision_reason", sa.Text(), nullable=False),
        sa.Column("before_sha256", sa.String(length=64), nullable=False),
        sa.Column("after_sha256", sa.String(length=64), nullable=False),
        sa.Column("card_run_id", sa.String(length=36), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'approved', 'rejected', 'withdrawn', 'expired')",
            name=op.f("ck_adoption_status"),
        ),
        sa.ForeignKeyConstraint(["branch_id"], ["thread.id"], name=op.f("fk_adoption_branch_id_thread")),
        sa.ForeignKeyConstraint(["parent_id"], ["thread.id"], name=op.f("fk_adoption_parent_id_thread")),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["person.id"], name=op.f("fk_adoption_requested_by_person")
        ),
        sa.ForeignKeyConstraint(["top_id"], ["thread.id"], name=op.f("fk_adoption_top_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_adoption_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_adoption")),
    )
    op.create_index(op.f("ix_adoption_branch_id"), "adoption", ["branch_id"], unique=False)
    op.create_index(op.f("ix_adoption_parent_id"), "adoption", ["parent_id"], unique=False)
    op.create_index(op.f("ix_adoption_status_expires_at"), "adoption", ["status", "expires_at"], unique=False)
    op.create_index(
        "uq_adoption_pending_top_id",
        "adoption",
        ["top_id"],
        unique=True,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )

    op.create_table(
        "adoption_review",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("branch_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("draft", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["branch_id"], ["thread.id"], name=op.f("fk_adoption_review_branch_id_thread")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_adoption_review_person_id_person")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_adoption_review_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_adoption_review")),
    )
    op.create_index(op.f("ix_adoption_review_branch_id"), "adoption_review", ["branch_id"], unique=False)
    op.create_table(
        "handover",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("source_thread_id", sa.String(length=36), nullable=False),
        sa.Column("target_thread_id", sa.String(length=36), nullable=True),
        sa.Column("target_mode", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("centre_id", sa.String(length=36), nullable=True),
        sa.Column("draft", sa.JSON(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("delivery", sa.JSON(), nullable=True),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'sent') = (target_thread_id IS NOT NULL)", name=op.f("ck_handover_target_of_sent")
        ),
        sa.CheckConstraint(
            "status IN ('drafting', 'draft', 'sent', 'dropped')", name=op.f("ck_handover_status")
        ),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_handover_person_id_person")),
        sa.ForeignKeyConstraint(
            ["source_thread_id"], ["thread.id"], name=op.f("fk_handover_source_thread_id_thread")
        ),
        sa.ForeignKeyConstraint(
            ["target_thread_id"], ["thread.id"], name=op.f("fk_handover_target_thread_id_thread")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_handover_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_handover")),
    )
    op.create_index(op.f("ix_handover_source_thread_id"), "handover", ["source_thread_id"], unique=False)
    op.create_index(op.f("ix_handover_target_thread_id"), "handover", ["target_thread_id"], unique=False)

    op.create_table(
        "pin",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thread_id", sa.String(length=36), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("message_id", sa.String(length=36), nullable=True),
        sa.Column("author_id", sa.String(length=36), nullable=True),
        sa.Column("author_name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.String(length=36), nullable=True),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('constraint', 'decision', 'open_question', 'reference')", name=op.f("ck_pin_kind")
        ),
        sa.ForeignKeyConstraint(["author_id"], ["person.id"], name=op.f("fk_pin_author_id_person")),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], name=op.f("fk_pin_thread_id_thread")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_pin_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pin")),
    )
    op.create_index(op.f("ix_pin_author_id"), "pin", ["author_id"], unique=False)
    op.create_index(op.f("ix_pin_root_id"), "pin", ["root_id"], unique=False)
    op.create_index(op.f("ix_pin_thread_id"), "pin", ["thread_id"], unique=False)

    with op.batch_alter_table("thread", schema=None) as batch_op:
        batch_op.add_column(sa.Column("source_thread_id", sa.String(length=36), nullable=True))
