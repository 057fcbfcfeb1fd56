"""Evaluations of prompts: runs, results, verdicts of people"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "eval_run",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("prompt", sa.String(length=100), nullable=False),
        sa.Column("baseline_version", sa.String(length=40), nullable=False),
        sa.Column("baseline_sha256", sa.String(length=64), nullable=False),
        sa.Column("candidate_version", sa.String(length=40), nullable=False),
        sa.Column("candidate_sha256", sa.String(length=64), nullable=False),
        sa.Column("refs", sa.JSON(), nullable=False),
        sa.Column("baseline_model", sa.String(length=100), nullable=False),
        sa.Column("candidate_model", sa.String(length=100), nullable=False),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("conditions_sha256", sa.String(length=64), nullable=False),
        sa.Column("cases", sa.Integer(), nullable=False),
        sa.Column("author_id", sa.String(length=36), nullable=True),
        sa.Column("started_by", sa.String(length=36), nullable=True),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("held_usd", sa.Double(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(finished_at IS NULL) = (status IN ('queued', 'running'))", name=op.f("ck_eval_run_finished")
        ),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'stopped', 'failed')", name=op.f("ck_eval_run_status")
        ),
        sa.ForeignKeyConstraint(["author_id"], ["person.id"], name=op.f("fk_eval_run_author_id_person")),
        sa.ForeignKeyConstraint(["started_by"], ["person.id"], name=op.f("fk_eval_run_started_by_person")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_eval_run_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_eval_run")),
    )
    op.create_index(
        op.f("ix_eval_run_workspace_id_prompt"), "eval_run", ["workspace_id", "prompt"], unique=False
    )
    op.create_index(op.f("ix_eval_run_status_started_at"), "eval_run", ["status", "started_at"], unique=False)
    op.create_table(
        "eval_result",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("side", sa.String(length=10), nullable=False),
        sa.Column("case_id", sa.String(length=100), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("model_id", sa.String(length=200), nullable=False),
        sa.Column("reported_model_id", sa.String(length=200), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("input_sha256", sa.String(length=64), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cost_usd", sa.Double(), nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("repeat >= 1", name=op.f("ck_eval_result_repeat")),
        sa.CheckConstraint("side IN ('baseline', 'candidate')", name=op.f("ck_eval_result_side")),
        sa.ForeignKeyConstraint(["run_id"], ["eval_run.id"], name=op.f("fk_eval_result_run_id_eval_run")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_eval_result_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint("run_id", "side", "case_id", "repeat", name=op.f("pk_eval_result")),
    )
    op.create_index(
        op.f("ix_eval_result_workspace_id_created_at"),
        "eval_result",
        ["workspace_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "human_verdict",
        sa.Column("workspace_id", sa.String(length=36), nullable=False),
        sa.Column("prompt", sa.String(length=100), nullable=False),
        sa.Column("case_id", sa.String(length=100), nullable=False),
        sa.Column("criterion", sa.String(length=500), nullable=False),
        sa.Column("output_sha256", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("verdict IN ('pass', 'fail', 'hold')", name=op.f("ck_human_verdict_verdict")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_human_verdict_person_id_person")),
        sa.ForeignKeyConstraint(["run_id"], ["eval_run.id"], name=op.f("fk_human_verdict_run_id_eval_run")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_human_verdict_workspace_id_workspace")
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id",
            "prompt",
            "case_id",
            "criterion",
            "output_sha256",
            "person_id",
            name=op.f("pk_human_verdict"),
        ),
    )
