"""What people have filled in of a handover's target and of an adoption request"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("handover", sa.Column("form", sa.JSON(), nullable=True))
    op.add_column("adoption_review", sa.Column("form", sa.JSON(), nullable=True))
