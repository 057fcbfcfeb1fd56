"""Calls that leave side by side cannot spend the same money, on either database (spec §14)."""

import asyncio
from datetime import timedelta

import pytest

from core.domain.errors import Refusal
from core.domain.policy import Policy
from core.store.budget import check_budget, do_release, do_reserve
from core.store.run import Run, do_mark
from tests.store.ground import Ground, dump

PERSON = Policy(budget_person_usd_month=1.0)
WORKSPACE = Policy(budget_workspace_usd_month=1.0)


async def reserve(ground: Ground, run: Run, step: str, policy: Policy, usd: float = 0.3) -> bool:
    """Whether a call may leave."""
    try:
        async with ground.store.writing() as session:
            await do_reserve(
                session,
                ground.workspace_id,
                run.id,
                step,
                ground.person_id,
                policy,
                expected_usd=usd,
                now=ground.clock.now(),
            )
    except Refusal:
        return False
    return True


async def held(ground: Ground) -> list[tuple[str, float]]:
    return sorted((row[1], row[4]) for row in (await dump(ground.store))["reservation"])


@pytest.mark.parametrize("policy", [PERSON, WORKSPACE], ids=["person", "workspace"])
async def test_of_calls_that_leave_at_once_only_so_many_go_as_the_budget_allows(
    ground: Ground, policy: Policy
) -> None:
    runs = [await ground.add_run() for _ in range(8)]
    left = await asyncio.gather(*(reserve(ground, run, "answer", policy) for run in runs))
    assert sum(left) == 3
    assert await held(ground) == [("answer", 0.3)] * 3


async def test_a_refusal_counts_what_is_spent_and_what_is_reserved_and_reserves_nothing(
    ground: Ground,
) -> None:
    first, second = await ground.add_run(), await ground.add_run()
    await ground.add_receipt(first, await ground.say("one"))
    assert await reserve(ground, first, "b", PERSON)
    with pytest.raises(Refusal) as caught:
        async with ground.store.writing() as session:
            await do_reserve(
                session,
                ground.workspace_id,
                second.id,
                "answer",
                ground.person_id,
                PERSON,
                expected_usd=0.25,
                now=ground.clock.now(),
            )
    assert caught.value.fields == {"budget": 1.0, "spent": 0.8, "expected": 0.25}
    assert await held(ground) == [("b", 0.3)]


async def test_a_call_that_is_made_again_takes_over_its_own_reservation(ground: Ground) -> None:
    run = await ground.add_run()
    for _ in range(5):
        assert await reserve(ground, run, "answer", PERSON, usd=0.9)
    assert await held(ground) == [("answer", 0.9)]


async def test_a_settled_call_and_a_run_that_ended_hold_no_money(ground: Ground) -> None:
    run, other = await ground.add_run(), await ground.add_run()
    for step in ("a", "b"):
        assert await reserve(ground, run, step, PERSON)
    assert await reserve(ground, other, "a", PERSON)
    async with ground.store.writing() as session:
        await do_release(session, ground.workspace_id, run.id, step="a")
    assert await held(ground) == [("a", 0.3), ("b", 0.3)]
    async with ground.store.writing() as session:
        await do_mark(session, ground.workspace_id, run.id, "failed", now=ground.clock.now())
    assert await held(ground) == [("a", 0.3)]
    assert await reserve(ground, run, "c", PERSON, usd=0.7)


async def test_what_was_spent_last_month_does_not_count(ground: Ground) -> None:
    await ground.add_receipt(await ground.add_run(), await ground.say("one"))
    for later, refused in ((timedelta(), True), (timedelta(days=2), False)):
        now = ground.clock.now() + later
        async with ground.store.reading() as session:
            check = check_budget(
                session, ground.workspace_id, ground.person_id, PERSON, expected_usd=0.6, now=now
            )
            if refused:
                with pytest.raises(Refusal):
                    await check
            else:
                await check
