"""Cases of eval sets that people set aside"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "eval_quarantine",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("eval_set", sa.String(length=100), nullable=False),
        sa.Column("case_id", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lifted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lifted_by", sa.String(length=36), nullable=True),
        sa.CheckConstraint("kind IN ('flaky', 'wrong')", name=op.f("ck_eval_quarantine_kind")),
        sa.CheckConstraint("length(trim(reason)) >= 5", name=op.f("ck_eval_quarantine_reason")),
        sa.ForeignKeyConstraint(
            ["lifted_by"], ["person.id"], name=op.f("fk_eval_quarantine_lifted_by_person")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["person.id"], name=op.f("fk_eval_quarantine_owner_id_person")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_eval_quarantine_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_eval_quarantine")),
    )
    op.create_index(
        "uq_eval_quarantine_open",
        "eval_quarantine",
        ["workspace_id", "eval_set", "case_id"],
        unique=True,
        sqlite_where=sa.text("lifted_at IS NULL"),
        postgresql_where=sa.text("lifted_at IS NULL"),
    )
