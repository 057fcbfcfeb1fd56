"""Evaluations on both databases: a result once for its place, one word a person, money held and counted."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import IntegrityError

from core.domain.errors import Refusal
from core.domain.eval_gate import HumanVerdict, Judgement
from core.domain.eval_run import EvalStatus, Side
from core.domain.evaluation import Conditions, Sample
from core.domain.ids import PersonId
from core.domain.policy import Policy
from core.store.budget import check_budget
from core.store.erasure import do_erase_person
from core.store.evaluation import (
    Place,
    do_add_eval,
    do_add_result,
    do_give_verdict,
    do_hold,
    do_mark_eval,
    eval_results,
    evals_for,
    evals_of,
    find_eval,
    open_evals,
    progress_of,
    verdicts_of,
)
from core.store.tables import EvalResultRow
from core.store.usage import usage_by
from tests.store.ground import Ground, a_result, an_eval


async def added(ground: Ground, **changes: Any) -> str:
    run = an_eval(ground, **changes)
    async with ground.store.writing() as session:
        await do_add_eval(session, run)
    return run.id


async def test_a_place_takes_one_result_whoever_comes_first(ground: Ground) -> None:
    run_id = await added(ground)

    async def add(output: str) -> bool:
        async with ground.store.writing() as session:
            result = a_result(ground, sample=Sample(output=output, checks=(), cost_usd=1.0))
            return await do_add_result(session, ground.workspace_id, run_id, result)

    assert sorted(await asyncio.gather(*(add(f"output {n}") for n in range(4)))) == [
        False,
        False,
        False,
        True,
    ]
    async with ground.store.reading() as session:
        (result,) = (await eval_results(session, ground.workspace_id, run_id)).values()
        assert (await progress_of(session, ground.workspace_id, [run_id])) == {run_id: (1, 1.0)}
    assert result.place == Place(side=Side.BASELINE, case_id="S1", repeat=1)


async def test_what_is_stored_comes_back(ground: Ground) -> None:
    conditions = Conditions(
        set_name="set", set_sha256="c" * 64, repeats=2, checks_version=3, params={"n": 1}, models=("a", "b")
    )
    run_id = await added(ground, conditions=conditions, started_by=None)
    async with ground.store.reading() as session:
        run = await find_eval(session, ground.workspace_id, run_id)
        assert run is not None
        assert (run.conditions, run.who, run.status) == (conditions, "", EvalStatus.QUEUED)
        assert run.conditions.sha256 == conditions.sha256
        assert [one.id for one in await evals_of(session, ground.workspace_id, "team.secret", most=5)] == [
            run_id
        ]
        assert await evals_of(session, ground.workspace_id, "team.other", most=5) == []


async def test_only_an_evaluation_that_was_carried_out_counts_for_its_texts(ground: Ground) -> None:
    done, stopped = await added(ground), await added(ground)
    of_models = await added(ground, models={Side.BASELINE: "alpha", Side.CANDIDATE: "beta"})
    run = an_eval(ground)
    async with ground.store.writing() as session:
        for run_id, status in (
            (done, EvalStatus.DONE),
            (stopped, EvalStatus.STOPPED),
            (of_models, EvalStatus.DONE),
        ):
            now = ground.clock.now()
            assert await do_mark_eval(session, ground.workspace_id, run_id, status, now=now)
    async with ground.store.reading() as session:
        found = await evals_for(session, ground.workspace_id, run.baseline, run.candidate)
        assert [one.id for one in found] == [of_models, done]
        assert await evals_for(session, ground.workspace_id, run.candidate, run.baseline) == []
        assert await open_evals(session, ground.clock.now(), 10) == []


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("eval_run", "status", "unheard-of"),
        ("eval_run", "status", "done"),  # without a time
        ("eval_result", "side", "third"),
        ("eval_result", "repeat", 0),
        ("human_verdict", "verdict", "perhaps"),
    ],
)
async def test_the_database_refuses_what_makes_no_sense(
    ground: Ground, table: str, column: str, value: str | int
) -> None:
    run_id = await added(ground)
    async with ground.store.writing() as session:
        await do_add_result(session, ground.workspace_id, run_id, a_result(ground))
        await do_give_verdict(
            session, ground.workspace_id, "team.secret", run_id, said(ground.person_id), ground.clock.now()
        )
    with pytest.raises(IntegrityError):
        async with ground.store.writing() as session:
            await session.execute(text(f"UPDATE {table} SET {column} = :value"), {"value": value})  # noqa: S608


def said(
    person: PersonId, judgement: Judgement = Judgement.FAIL, comment: str = "secret comment"
) -> HumanVerdict:
    return HumanVerdict(
        case_id="S1",
        criterion="It is real",
        output_sha256="f" * 64,
        judgement=judgement,
        person=person,
        comment=comment,
    )


async def test_a_change_of_mind_takes_the_place_of_what_a_person_said(ground: Ground) -> None:
    run_id = await added(ground)
    for judgement in (Judgement.FAIL, Judgement.PASS):
        async with ground.store.writing() as session:
            verdict = said(ground.person_id, judgement)
            now = ground.clock.now()
            await do_give_verdict(session, ground.workspace_id, "team.secret", run_id, verdict, now)
    async with ground.store.reading() as session:
        (kept,) = await verdicts_of(session, ground.workspace_id, "team.secret")
    assert kept.judgement is Judgement.PASS


async def test_what_an_erased_person_wrote_to_a_verdict_is_blanked(ground: Ground) -> None:
    run_id = await added(ground)
    async with ground.store.writing() as session:
        verdict, now = said(ground.person_id), ground.clock.now()
        await do_give_verdict(session, ground.workspace_id, "team.secret", run_id, verdict, now)
    async with ground.store.writing() as session:
        await do_erase_person(session, ground.workspace_id, ground.person_id)
    async with ground.store.reading() as session:
        (kept,) = await verdicts_of(session, ground.workspace_id, "team.secret")
    assert (kept.judgement, kept.comment) == (Judgement.FAIL, "")


async def test_money_is_held_and_counted_and_given_back_at_the_end(ground: Ground) -> None:
    run_id = await added(ground)
    policy = Policy(budget_workspace_usd_month=10.0, budget_person_usd_month=8.0)

    async def hold(usd: float) -> None:
        async with ground.store.writing() as session:
            now = ground.clock.now()
            await do_hold(
                session, ground.workspace_id, run_id, ground.person_id, policy, expected_usd=usd, now=now
            )

    async def fits(usd: float, person: PersonId | None) -> bool:
        async with ground.store.reading() as session:
            now = ground.clock.now()
            try:
                await check_budget(session, ground.workspace_id, person, policy, expected_usd=usd, now=now)
            except Refusal:
                return False
        return True

    await hold(6.0)
    # What is held anew takes the place of what was held.
    await hold(7.0)
    assert not await fits(2.0, ground.person_id)
    assert await fits(2.0, None)
    with pytest.raises(Refusal):
        await hold(9.0)
    async with ground.store.writing() as session:
        await do_add_result(session, ground.workspace_id, run_id, a_result(ground))
        await do_mark_eval(session, ground.workspace_id, run_id, EvalStatus.DONE, now=ground.clock.now())
    assert not await fits(7.5, ground.person_id)
    assert await fits(7.0, ground.person_id)
    async with ground.store.reading() as session:
        since = ground.clock.now().replace(day=1)
        for by, label in (("model", "alpha"), ("person", "Aki")):
            (line,) = await usage_by(session, ground.workspace_id, since, by=by)
            assert (line.label, line.calls, line.cost_usd) == (label, 1, 1.0)


async def test_a_result_belongs_to_an_evaluation(ground: Ground) -> None:
    with pytest.raises(IntegrityError):
        async with ground.store.writing() as session:
            await do_add_result(session, ground.workspace_id, "no such run", a_result(ground))
    async with ground.store.reading() as session:
        assert await session.scalar(select(func.count()).select_from(EvalResultRow)) == 0
