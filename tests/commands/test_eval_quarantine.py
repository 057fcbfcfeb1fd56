"""Cases that people set aside: what is stored, what is shown, and what the gate makes of it."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from core.commands.care import erase_person
from core.commands.eval import show_eval
from core.commands.eval_quarantine import count_case_again, set_case_aside
from core.commands.eval_question import human_queue
from core.commands.eval_set import show_eval_set
from core.domain.eval_run import EvalPage, Side
from core.domain.eval_set import QUARANTINE_TIME, QuarantineKind, QuarantineRequest
from core.domain.evaluation import Outcome
from core.domain.policy import Actor, Policy
from tests.commands.evaluating import LOST, answering, candidate, case, eval_set, evaluated, found, library
from tests.commands.look import count, refused, rows
from tests.product import World, open_world

SET = "compare-v1"
REQUEST = QuarantineRequest(
    eval_set=SET, case_id="S04", kind=QuarantineKind.WRONG, reason="asks for a lease that ended"
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    hard = {6: case(6, tags="hard"), 7: case(7, human="The points are real")}
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, eval_library=library(eval_set(changes=hard))) as opened:
        opened.model.plan = answering({(Side.CANDIDATE, "S04"): LOST, (Side.CANDIDATE, "S07"): "kept, too"})
        yield opened


async def people(world: World) -> tuple[Actor, Actor]:
    return await world.person(), await world.person("U2", "Ben")


async def aside(world: World, actor: Actor, **changes: object) -> None:
    await set_case_aside(
        world.services,
        actor,
        replace(REQUEST, **changes),  # type: ignore[arg-type]
        event_key=world.clock.new_id(),
    )


async def again(world: World, actor: Actor, case_id: str = "S04") -> None:
    await count_case_again(world.services, actor, SET, case_id, event_key=world.clock.new_id())


def shut_by(page: EvalPage) -> list[str]:
    return [reason.key.removeprefix("eval_gate.") for reason in page.closed]


async def test_a_case_set_aside_is_shown_and_does_not_gate_until_it_is_counted_again(world: World) -> None:
    aki, ben = await people(world)
    page = await evaluated(world, aki, await candidate(world, aki))
    run_id = page.item.run_id
    assert found(page, "S04").outcome is Outcome.BROKEN
    assert shut_by(page) == ["broken", "open_questions"]
    assert page.can_hold
    asked = [one.case_id for one in await human_queue(world.services, ben, run_id)]
    await aside(world, ben)
    page = await show_eval(world.services, aki, run_id)
    assert shut_by(page) == ["open_questions"]
    assert (found(page, "S04").outcome, found(page, "S04").quarantined) == (Outcome.BROKEN, True)
    kept = page.held["S04"]
    assert (kept.who, kept.kind, kept.reason, kept.counts) == ("Ben", REQUEST.kind, REQUEST.reason, True)
    await aside(world, ben, case_id="S07", kind=QuarantineKind.FLAKY)
    assert asked == ["S04", "S07"]
    assert await human_queue(world.services, ben, run_id) == ()
    assert (await show_eval(world.services, aki, run_id)).closed == ()

    await again(world, aki)
    page = await show_eval(world.services, aki, run_id)
    assert shut_by(page) == ["broken", "open_questions"]
    assert list(page.held) == ["S07"]
    shown = {one.case_id: one for one in (await show_eval_set(world.services, aki, SET)).cases}
    assert (shown["S04"].is_held, shown["S07"].is_held) == (False, True)
    assert [(one.who, one.lifted_by) for one in shown["S04"].held] == [("Ben", "Aki")]
    stored = {row["case_id"]: row for row in await rows(world, "eval_quarantine")}
    assert (stored["S04"]["reason"], stored["S04"]["lifted_by"]) == (REQUEST.reason, aki.person_id)


async def test_it_counts_again_by_itself_after_a_while_and_can_be_set_aside_anew(world: World) -> None:
    aki, ben = await people(world)
    page = await evaluated(world, aki, await candidate(world, aki))
    await aside(world, ben)
    world.clock.advance(QUARANTINE_TIME)
    page = await show_eval(world.services, aki, page.item.run_id)
    assert "broken" in shut_by(page)
    assert page.held == {}
    await refused(again(world, aki), "eval_quarantine_none")
    await aside(world, aki)
    assert await count(world, "eval_quarantine") == 2


async def test_whoever_made_the_change_does_not_take_cases_out_of_its_way(world: World) -> None:
    aki, ben = await people(world)
    world.policies["W1"] = Policy(prompt_four_eyes=True)
    page = await evaluated(world, aki, await candidate(world, aki))
    await aside(world, aki)
    page = await show_eval(world.services, ben, page.item.run_id)
    assert "broken" in shut_by(page)
    assert not page.held["S04"].counts
    world.policies["W1"] = Policy()
    assert "broken" not in shut_by(await show_eval(world.services, ben, page.item.run_id))


async def test_what_cannot_be_set_aside_says_why_and_nothing_is_kept(world: World) -> None:
    aki, ben = await people(world)
    for changes, code in (
        ({"reason": " x "}, "eval_quarantine_reason"),
        ({"reason": "\u200b" * 10}, "eval_quarantine_reason"),
        ({"reason": "x" * 501}, "eval_quarantine_reason"),
        ({"case_id": "S99"}, "eval_case_not_found"),
        ({"case_id": "S06"}, "eval_quarantine_hard"),
        ({"eval_set": "none"}, "eval_set_not_found"),
    ):
        await refused(aside(world, aki, **changes), code)
    await refused(again(world, aki), "eval_quarantine_none")
    world.policies["W1"] = Policy(prompt_verifiers=("U2",))
    await refused(aside(world, aki), "prompt_verify_not_allowed")
    assert await count(world, "eval_quarantine") == 0
    await aside(world, ben)
    twice = await refused(aside(world, ben), "eval_quarantine_already")
    assert twice.fields["who"] == "Ben"
    await refused(again(world, aki), "prompt_verify_not_allowed")
    assert not (await show_eval_set(world.services, aki, SET)).can_hold
    assert await count(world, "eval_quarantine") == 1


async def test_the_same_press_twice_is_one(world: World) -> None:
    aki, _ = await people(world)
    for _ in range(2):
        await set_case_aside(world.services, aki, REQUEST, event_key="press")
    for _ in range(2):
        await count_case_again(world.services, aki, SET, "S04", event_key="other press")
    (row,) = await rows(world, "eval_quarantine")
    assert row["lifted_by"] == aki.person_id


async def test_erasing_a_person_blanks_the_reasons_they_gave(world: World) -> None:
    aki, ben = await people(world)
    await aside(world, ben)
    await erase_person(world.services, ben, "U2")
    (row,) = await rows(world, "eval_quarantine")
    assert "lease" not in row["reason"]
    shown = {one.case_id: one for one in (await show_eval_set(world.services, aki, SET)).cases}
    assert shown["S04"].is_held
