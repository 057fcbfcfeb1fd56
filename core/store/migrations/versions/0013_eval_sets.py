"""Eval sets that a workspace made itself"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

GUARD = (
    "NOT NEW.erased OR NEW.id <> OLD.id OR NEW.workspace_id <> OLD.workspace_id OR NEW.name <> OLD.name"
    " OR NEW.version <> OLD.version OR NEW.sha256 <> OLD.sha256"
)
REASON = "versions of eval sets are never changed"


def upgrade() -> None:
    op.create_table(
        "eval_set_version",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("author_id", sa.String(length=36), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("erased", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("length(trim(reason)) >= 5", name=op.f("ck_eval_set_version_reason")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_eval_set_version_version")),
        sa.ForeignKeyConstraint(
            ["author_id"], ["person.id"], name=op.f("fk_eval_set_version_author_id_person")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_eval_set_version_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_eval_set_version")),
        sa.UniqueConstraint(
            "workspace_id", "name", "version", name=op.f("uq_eval_set_version_workspace_id_name_version")
        ),
    )
    for event, when in (("UPDATE", f"WHEN ({GUARD})"), ("DELETE", "")):
        refuse(event, when)


def refuse(event: str, when: str) -> None:
    """Let the database itself refuse changes of a row, except those that erase."""
    name = f"eval_set_version_no_{event.lower()}"
    if op.get_bind().dialect.name == "sqlite":
        act = f"BEGIN SELECT RAISE(ABORT, '{REASON}'); END"
    else:
        op.execute(
            f"CREATE OR REPLACE FUNCTION eval_set_version_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{REASON}'; END $$"
        )
        act = "EXECUTE FUNCTION eval_set_version_refuse()"
    op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON eval_set_version FOR EACH ROW {when} {act}")
