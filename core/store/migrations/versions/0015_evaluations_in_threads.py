"""Evaluations of which a thread is told"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    with op.batch_alter_table("eval_run") as table:
        table.add_column(sa.Column("thread_id", sa.String(length=36), nullable=True))
        table.create_foreign_key(op.f("fk_eval_run_thread_id_thread"), "thread", ["thread_id"], ["id"])
