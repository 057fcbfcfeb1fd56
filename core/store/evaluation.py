"""Evaluations: runs, the result of every call, and what people said of outputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.eval_gate import HumanVerdict, Judgement
from core.domain.eval_run import OPEN, EvalStatus, Side
from core.domain.evaluation import CheckResult, Conditions, Sample
from core.domain.ids import PersonId, ThreadId, WorkspaceId
from core.domain.policy import Policy
from core.domain.receipt import PromptRef
from core.domain.view import Phrase
from core.store.budget import check_budget, do_lock_budget
from core.store.claim import insert_or_ignore
from core.store.tables import EvalResultRow, EvalRunRow, HumanVerdictRow, PersonRow

_IN_BULK = {"synchronize_session": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """An evaluation as it is stored."""

    id: str
    workspace_id: WorkspaceId
    prompt: str
    baseline: PromptRef
    candidate: PromptRef
    refs: tuple[PromptRef, ...]
    """Versions of the other prompts, the same on both sides."""
    models: Mapping[Side, str]
    """Aliases."""
    conditions: Conditions
    cases: int
    author_id: PersonId | None
    started_by: PersonId | None
    thread_id: ThreadId | None = None
    """The thread that is told of it."""
    status: EvalStatus = EvalStatus.QUEUED
    failure: Phrase | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    started_at: datetime
    finished_at: datetime | None = None
    who: str = ""
    """Name of whoever started it, as it is now; read, never written."""

    def model_id(self, side: Side) -> str:
        """Id that the model of a side had when it began."""
        return self.conditions.models[0 if side is Side.BASELINE else -1]

    @property
    def expected(self) -> int:
        """Calls without those that confirm."""
        return self.cases * self.conditions.repeats * len(Side)

    def prompts(self, side: Side) -> tuple[PromptRef, ...]:
        """All versions that a side works with."""
        return (self.baseline if side is Side.BASELINE else self.candidate, *self.refs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which call of an evaluation; `repeat` counts from 1."""

    side: Side
    case_id: str
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResult:
    """What one call of an evaluation brought."""

    place: Place
    sample: Sample
    model: str
    model_id: str
    reported_model_id: str = ""
    request: Sequence[Mapping[str, str]] = ()
    """Role and text of the parts as they were sent."""
    input_sha256: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    created_at: datetime


# --- runs -----------------------------------------------------------------------------------------------------------


async def do_add_eval(session: AsyncSession, run: EvalRun) -> None:
    session.add(
        EvalRunRow(
            id=run.id,
            workspace_id=run.workspace_id,
            prompt=run.prompt,
            baseline_version=run.baseline.version,
            baseline_sha256=run.baseline.sha256,
            candidate_version=run.candidate.version,
            candidate_sha256=run.candidate.sha256,
            refs=[{"name": ref.name, "version": ref.version, "sha256": ref.sha256} for ref in run.refs],
            baseline_model=run.models[Side.BASELINE],
            candidate_model=run.models[Side.CANDIDATE],
            conditions=run.conditions.to_json(),
            conditions_sha256=run.conditions.sha256,
            cases=run.cases,
            author_id=run.author_id,
            started_by=run.started_by,
            thread_id=run.thread_id,
            status=run.status.value,
            failure=None,
            counts={},
            held_usd=0.0,
            started_at=run.started_at,
            finished_at=None,
        )
    )
    await session.flush()


def _runs(workspace_id: WorkspaceId) -> Select[EvalRunRow, str]:
    return (
        select(EvalRunRow, PersonRow.name)
        .outerjoin(PersonRow, PersonRow.id == EvalRunRow.started_by)
        .where(EvalRunRow.workspace_id == workspace_id)
    )


def _run(row: EvalRunRow, who: str | None) -> EvalRun:
    def ref(version: str, sha256: str) -> PromptRef:
        return PromptRef(name=row.prompt, version=version, sha256=sha256)

    return EvalRun(
        id=row.id,
        workspace_id=WorkspaceId(row.workspace_id),
        prompt=row.prompt,
        baseline=ref(row.baseline_version, row.baseline_sha256),
        candidate=ref(row.candidate_version, row.candidate_sha256),
        refs=tuple(PromptRef(**one) for one in row.refs),
        models={Side.BASELINE: row.baseline_model, Side.CANDIDATE: row.candidate_model},
        conditions=Conditions.from_json(row.conditions),
        cases=row.cases,
        author_id=PersonId(row.author_id) if row.author_id else None,
        started_by=PersonId(row.started_by) if row.started_by else None,
        thread_id=ThreadId(row.thread_id) if row.thread_id else None,
        status=EvalStatus(row.status),
        failure=Phrase(key=row.failure["key"], fields=row.failure["fields"]) if row.failure else None,
        counts=row.counts,
        started_at=row.started_at,
        finished_at=row.finished_at,
        who=who or "",
    )


async def find_eval(session: AsyncSession, workspace_id: WorkspaceId, eval_id: str) -> EvalRun | None:
    row = (await session.execute(_runs(workspace_id).where(EvalRunRow.id == eval_id))).one_or_none()
    return _run(*row) if row else None


async def evals_of(
    session: AsyncSession, workspace_id: WorkspaceId, prompt: str | None, *, most: int
) -> list[EvalRun]:
    """Evaluations of a prompt, or of all, newest first."""
    wanted = _runs(workspace_id).order_by(EvalRunRow.id.desc()).limit(most)
    if prompt is not None:
        wanted = wanted.where(EvalRunRow.prompt == prompt)
    return [_run(row, who) for row, who in await session.execute(wanted)]


async def evals_for(
    session: AsyncSession, workspace_id: WorkspaceId, before: PromptRef, after: PromptRef
) -> list[EvalRun]:
    """Evaluations that came to their end and tried exactly one text, newest first: against what it would replace, or
    under another model against itself."""
    found = await session.execute(
        _runs(workspace_id)
        .where(
            EvalRunRow.prompt == after.name,
            EvalRunRow.baseline_sha256.in_((before.sha256, after.sha256)),
            EvalRunRow.candidate_sha256 == after.sha256,
            EvalRunRow.status == EvalStatus.DONE.value,
        )
        .order_by(EvalRunRow.id.desc())
    )
    return [_run(row, who) for row, who in found]


async def open_evals(session: AsyncSession, before: datetime, limit: int) -> list[tuple[str, WorkspaceId]]:
    """Evaluations of all workspaces that began before a moment and have not ended: id and workspace, oldest first.

    Those of the operator are left out: a command carries them out by itself.
    """
    rows = await session.execute(
        select(EvalRunRow.id, EvalRunRow.workspace_id)
        .where(_is_open(), EvalRunRow.started_at < before, EvalRunRow.started_by.is_not(None))
        .order_by(EvalRunRow.started_at)
        .limit(limit)
    )
    return [(eval_id, WorkspaceId(workspace_id)) for eval_id, workspace_id in rows]


def _is_open() -> ColumnElement[bool]:
    return EvalRunRow.status.in_([status.value for status in OPEN])


async def do_mark_eval(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    eval_id: str,
    status: EvalStatus,
    *,
    now: datetime,
    failure: Phrase | None = None,
    counts: Mapping[str, int] | None = None,
) -> bool:
    """Move an evaluation on; one that has ended stays as it ended and holds no money. True when it changed."""
    values: dict[str, Any] = {"status": status.value}
    if status not in OPEN:
        values |= {"finished_at": now, "held_usd": 0.0, "counts": dict(counts or {})}
    if failure is not None:
        values["failure"] = {"key": failure.key, "fields": dict(failure.fields)}
    changed = await session.execute(
        update(EvalRunRow)
        .where(EvalRunRow.workspace_id == workspace_id, EvalRunRow.id == eval_id, _is_open())
        .values(**values)
        .execution_options(**_IN_BULK)
    )
    return bool(changed.rowcount)  # type: ignore[attr-defined]


async def do_hold(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    eval_id: str,
    person_id: PersonId | None,
    policy: Policy,
    *,
    expected_usd: float,
    now: datetime,
) -> None:
    """Hold what the calls that leave next are expected to cost, in the place of what was held before.

    Raises Refusal with the numbers when they would go over a budget.
    """
    await do_lock_budget(session, workspace_id)
    held = update(EvalRunRow).where(EvalRunRow.workspace_id == workspace_id, EvalRunRow.id == eval_id)
    await session.execute(held.values(held_usd=0.0).execution_options(**_IN_BULK))
    await check_budget(session, workspace_id, person_id, policy, expected_usd=expected_usd, now=now)
    await session.execute(held.values(held_usd=expected_usd).execution_options(**_IN_BULK))


# --- results --------------------------------------------------------------------------------------------------------


async def do_add_result(
    session: AsyncSession, workspace_id: WorkspaceId, eval_id: str, result: EvalResult
) -> bool:
    """Keep what a call brought; False when its place is taken, and then nothing changes."""
    place, sample = result.place, result.sample
    failure = sample.failure
    values = {
        "run_id": eval_id,
        "side": place.side.value,
        "case_id": place.case_id,
        "repeat": place.repeat,
        "workspace_id": workspace_id,
        "model": result.model,
        "model_id": result.model_id,
        "reported_model_id": result.reported_model_id,
        "request": [dict(part) for part in result.request],
        "input_sha256": result.input_sha256,
        "output": sample.output,
        "checks": [check.to_json() for check in sample.checks],
        "failure": {"key": failure.key, "fields": dict(failure.fields)} if failure else None,
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
        "cost_usd": sample.cost_usd,
        "latency_ms": sample.latency_ms,
        "created_at": result.created_at,
    }
    added = await session.execute(insert_or_ignore(session, EvalResultRow).values(values))
    return bool(added.rowcount)  # type: ignore[attr-defined]


async def eval_results(
    session: AsyncSession, workspace_id: WorkspaceId, eval_id: str
) -> dict[Place, EvalResult]:
    """What every call so far brought, in the order of repeats; requests are left out, they are long."""
    columns = [column for column in EvalResultRow.__table__.c if column.name != "request"]
    rows = await session.execute(
        select(*columns)
        .where(EvalResultRow.workspace_id == workspace_id, EvalResultRow.run_id == eval_id)
        .order_by(EvalResultRow.repeat)
    )
    found = [_result(row) for row in rows]
    return {result.place: result for result in found}


def _result(row: Any) -> EvalResult:
    return EvalResult(
        place=Place(side=Side(row.side), case_id=row.case_id, repeat=row.repeat),
        sample=Sample(
            output=row.output,
            checks=tuple(CheckResult.from_json(check) for check in row.checks),
            failure=Phrase(key=row.failure["key"], fields=row.failure["fields"]) if row.failure else None,
            latency_ms=row.latency_ms,
            cost_usd=row.cost_usd,
        ),
        model=row.model,
        model_id=row.model_id,
        reported_model_id=row.reported_model_id,
        input_sha256=row.input_sha256,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        created_at=row.created_at,
    )


async def progress_of(
    session: AsyncSession, workspace_id: WorkspaceId, eval_ids: Iterable[str]
) -> dict[str, tuple[int, float]]:
    """Stored calls and their known cost (USD), by evaluation; one without any is missing."""
    rows = await session.execute(
        select(EvalResultRow.run_id, func.count(), func.coalesce(func.sum(EvalResultRow.cost_usd), 0.0))
        .where(EvalResultRow.workspace_id == workspace_id, EvalResultRow.run_id.in_(tuple(eval_ids)))
        .group_by(EvalResultRow.run_id)
    )
    return {eval_id: (calls, float(usd or 0.0)) for eval_id, calls, usd in rows}


# --- verdicts of people ---------------------------------------------------------------------------------------------


async def do_give_verdict(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    prompt: str,
    eval_id: str,
    verdict: HumanVerdict,
    now: datetime,
) -> None:
    """Keep what a person says of an output, in the place of what the same person said of it before."""
    mine = {
        "workspace_id": workspace_id,
        "prompt": prompt,
        "case_id": verdict.case_id,
        "criterion": verdict.criterion,
        "output_sha256": verdict.output_sha256,
        "person_id": verdict.person,
    }
    row = HumanVerdictRow
    await session.execute(delete(row).where(*(getattr(row, name) == value for name, value in mine.items())))
    more = {"run_id": eval_id, "verdict": verdict.judgement.value, "comment": verdict.comment}
    session.add(HumanVerdictRow(**mine, **more, created_at=now))
    await session.flush()


async def verdicts_of(session: AsyncSession, workspace_id: WorkspaceId, prompt: str) -> list[HumanVerdict]:
    """Everything that people said of outputs of a prompt, oldest first."""
    rows = await session.scalars(
        select(HumanVerdictRow)
        .where(HumanVerdictRow.workspace_id == workspace_id, HumanVerdictRow.prompt == prompt)
        .order_by(HumanVerdictRow.created_at)
    )
    return [
        HumanVerdict(
            case_id=row.case_id,
            criterion=row.criterion,
            output_sha256=row.output_sha256,
            judgement=Judgement(row.verdict),
            person=row.person_id,
            comment=row.comment,
        )
        for row in rows
    ]
