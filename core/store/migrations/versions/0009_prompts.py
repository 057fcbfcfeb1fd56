"""Prompts: versions, drafts, what is live, history, processes"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "prompt_version",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=True),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.String(length=40), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("parent_id", sa.String(length=36), nullable=True),
        sa.Column("author_id", sa.String(length=36), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "workspace_id IS NULL OR length(trim(reason)) >= 5", name=op.f("ck_prompt_version_reason")
        ),
        sa.CheckConstraint("(workspace_id IS NULL) = (seq = 0)", name=op.f("ck_prompt_version_seq")),
        sa.CheckConstraint(
            "source IN ('console', 'chat', 'file', 'import')", name=op.f("ck_prompt_version_source")
        ),
        sa.ForeignKeyConstraint(
            ["author_id"], ["person.id"], name=op.f("fk_prompt_version_author_id_person")
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["prompt_version.id"], name=op.f("fk_prompt_version_parent_id_prompt_version")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_prompt_version_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_version")),
        sa.UniqueConstraint(
            "workspace_id", "name", "seq", name=op.f("uq_prompt_version_workspace_id_name_seq")
        ),
        sa.UniqueConstraint(
            "workspace_id", "name", "version", name=op.f("uq_prompt_version_workspace_id_name_version")
        ),
    )
    op.create_index(
        op.f("ix_prompt_version_name_version_sha256"),
        "prompt_version",
        ["name", "version", "sha256"],
        unique=False,
    )
    op.create_table(
        "prompt_draft",
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("author_id", sa.String(length=36), nullable=False),
        sa.Column("base_id", sa.String(length=36), nullable=False),
        sa.Column("head_id", sa.String(length=36), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["person.id"], name=op.f("fk_prompt_draft_author_id_person")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_prompt_draft_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "name", "author_id", name=op.f("pk_prompt_draft")),
    )
    op.create_table(
        "prompt_pointer",
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("label", sa.String(length=10), nullable=False),
        sa.Column("version_id", sa.String(length=36), nullable=True),
        sa.Column("rev", sa.Integer(), nullable=False),
        sa.CheckConstraint("label IN ('production', 'candidate')", name=op.f("ck_prompt_pointer_label")),
        sa.ForeignKeyConstraint(
            ["version_id"], ["prompt_version.id"], name=op.f("fk_prompt_pointer_version_id_prompt_version")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_prompt_pointer_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "name", "label", name=op.f("pk_prompt_pointer")),
    )
    op.create_table(
        "prompt_event",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=15), nullable=False),
        sa.Column("from_id", sa.String(length=36), nullable=True),
        sa.Column("to_id", sa.String(length=36), nullable=True),
        sa.Column("actor_id", sa.String(length=36), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("before", sa.JSON(), nullable=False),
        sa.Column("after", sa.JSON(), nullable=False),
        sa.Column("self_approved", sa.Boolean(), nullable=False),
        sa.Column("eval_run_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('save', 'verify', 'promote', 'rollback', 'import', 'export', 'reload', 'eval_override',"
            " 'archive')",
            name=op.f("ck_prompt_event_kind"),
        ),
        sa.CheckConstraint(
            "kind IN ('export', 'reload') OR length(trim(reason)) >= 5", name=op.f("ck_prompt_event_reason")
        ),
        sa.ForeignKeyConstraint(["actor_id"], ["person.id"], name=op.f("fk_prompt_event_actor_id_person")),
        sa.ForeignKeyConstraint(
            ["from_id"], ["prompt_version.id"], name=op.f("fk_prompt_event_from_id_prompt_version")
        ),
        sa.ForeignKeyConstraint(
            ["to_id"], ["prompt_version.id"], name=op.f("fk_prompt_event_to_id_prompt_version")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_prompt_event_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_event")),
    )
    op.create_index(
        op.f("ix_prompt_event_workspace_id_name"), "prompt_event", ["workspace_id", "name"], unique=False
    )
    op.create_table(
        "prompt_generation",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_prompt_generation_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_generation")),
    )
    op.create_table(
        "prompt_process",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("host", sa.String(length=200), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("versions", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("loaded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompt_process")),
    )
    op.execute("INSERT INTO prompt_generation (id, generation) VALUES (1, 1)")
    refuse("prompt_version", "prompt versions are never changed")
    refuse("prompt_event", "prompt events are never changed")


def refuse(table: str, reason: str) -> None:
    """Let the database itself refuse every change and deletion of a row."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    if not sqlite:
        op.execute(
            f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{reason}'; END $$"
        )
    for event in ("UPDATE", "DELETE"):
        act = (
            f"BEGIN SELECT RAISE(ABORT, '{reason}'); END" if sqlite else f"EXECUTE FUNCTION {table}_refuse()"
        )
        op.execute(f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} FOR EACH ROW {act}")
