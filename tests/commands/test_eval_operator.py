"""Evaluations by command line: versions by number, nobody behind them, left to their own command by the sweep."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest

from core.commands.eval import list_evals, show_eval
from core.commands.eval_operator import (
    EvalAsk,
    begin_for_operator,
    operator_of,
    request_of,
    resume_for_operator,
)
from core.commands.upkeep import pick_up_evals
from core.domain.eval_run import EvalStatus
from tests.commands.evaluating import (
    CASES,
    SUMMARY,
    answering,
    candidate,
    eval_set,
    evaluated,
    library,
    unheard,
)
from tests.commands.look import refused
from tests.commands.prompting import page
from tests.product import World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, eval_library=library(eval_set())) as opened:
        opened.model.plan = answering({})
        yield opened


async def test_what_is_proposed_is_tried_against_what_is_live(world: World) -> None:
    aki = await world.person()
    version_id = await candidate(world, aki)
    operator = await operator_of(world.services, "W1", "en")
    request = await request_of(world.services, operator, EvalAsk(prompt=SUMMARY, model="alpha", repeats=1))
    assert (request.candidate_id, request.baseline_id) == (version_id, None)
    run_id = await begin_for_operator(world.services, operator, request)
    await world.finished(run_id)
    seen = await show_eval(world.services, operator, run_id)
    assert (seen.item.status, seen.item.done, seen.item.who) == (EvalStatus.DONE, 2 * CASES, "")
    assert seen.closed == ()
    assert [item.run_id for item in await list_evals(world.services, aki)] == [run_id]


async def test_versions_go_by_number_and_two_models_by_what_is_live(world: World) -> None:
    aki = await world.person()
    version_id = await candidate(world, aki)
    seen = await page(world, aki, SUMMARY)
    number = next(version.version for version in seen.versions if version.version_id == version_id)
    operator = await operator_of(world.services, "W1", "en")
    ask = EvalAsk(prompt=SUMMARY, candidate=number, baseline="1.0.0")
    request = await request_of(world.services, operator, ask)
    assert (request.candidate_id, request.baseline_id) == (version_id, seen.live_id)
    models = EvalAsk(prompt=SUMMARY, model="alpha", candidate_model="beta")
    assert (await request_of(world.services, operator, models)).candidate_id == seen.live_id
    for ask, code in (
        (EvalAsk(prompt=SUMMARY, candidate="9.9.9"), "prompt_version_unknown"),
        (EvalAsk(prompt="no.such"), "prompt_not_found"),
    ):
        await refused(request_of(world.services, operator, ask), code)
    await refused(operator_of(world.services, "W9", "en"), "workspace_not_found")


async def test_the_sweep_leaves_it_to_its_command_which_can_go_on_with_it(world: World) -> None:
    aki = await world.person()
    await candidate(world, aki)
    operator = await operator_of(world.services, "W1", "en")
    request = await request_of(world.services, operator, EvalAsk(prompt=SUMMARY, model="alpha", repeats=1))
    run_id = await begin_for_operator(unheard(world), operator, request)
    world.clock.advance(timedelta(minutes=1))
    await pick_up_evals(world.services)
    assert await world.services.engine.state(run_id) is None
    await resume_for_operator(world.services, operator, run_id)
    await world.finished(run_id)
    assert (await show_eval(world.services, operator, run_id)).item.status is EvalStatus.DONE


async def test_only_its_own_evaluations_are_gone_on_with(world: World) -> None:
    aki = await world.person()
    seen = await evaluated(world, aki, await candidate(world, aki))
    operator = await operator_of(world.services, "W1", "en")
    for run_id in (seen.item.run_id, "no"):
        await refused(resume_for_operator(world.services, operator, run_id), "eval_not_found")
