"""Receipts tell whether a person's content was erased or the texts were kept long enough"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("receipt", sa.Column("expired", sa.Boolean(), nullable=False, server_default=sa.false()))
    # The end of retention takes every text; an erasure leaves at least that of the prompt.
    op.execute(
        "UPDATE receipt SET expired = true, erased = false WHERE erased AND NOT EXISTS "
        "(SELECT 1 FROM receipt_part WHERE receipt_part.receipt_id = receipt.id AND receipt_part.text <> '')"
    )
