"""What calls under way may still spend"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "reservation",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.String(length=60), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("usd", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_reservation_person_id_person")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_reservation_run_id_run")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_reservation_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("run_id", "step", name=op.f("pk_reservation")),
    )
    op.create_index(op.f("ix_reservation_workspace_id"), "reservation", ["workspace_id"], unique=False)
