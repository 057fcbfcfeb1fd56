"""Which model providers say they answered with"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "reported_model",
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("model_id", sa.String(length=200), nullable=False),
        sa.Column("reported_id", sa.String(length=200), nullable=False),
        sa.Column("before", sa.String(length=200), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("model", "model_id", name=op.f("pk_reported_model")),
    )
