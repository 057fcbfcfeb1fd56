"""Feedback on answers"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("message_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("thumb", sa.String(length=10), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("thumb IN ('up', 'down')", name=op.f("ck_feedback_thumb")),
        sa.ForeignKeyConstraint(["message_id"], ["message.id"], name=op.f("fk_feedback_message_id_message")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_feedback_person_id_person")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_feedback_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("message_id", "person_id", name=op.f("pk_feedback")),
    )
    op.create_index(op.f("ix_feedback_person_id"), "feedback", ["person_id"], unique=False)
