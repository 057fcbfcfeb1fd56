"""High-water marks of events, and what was registered as commands"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "high_water",
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("source", sa.String(length=100), nullable=False),
        sa.Column("mark", sa.String(length=100), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_high_water_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "source", name=op.f("pk_high_water")),
    )
    op.create_table(
        "command_sync",
        sa.Column("application", sa.String(length=100), nullable=False),
        sa.Column("scope", sa.String(length=100), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("application", "scope", name=op.f("pk_command_sync")),
    )
