"""The list of models, and what becomes of a model that turns into another one."""

import logging
from pathlib import Path

import pytest

from core.commands.model import list_models
from core.commands.say import SaidResult
from core.domain.policy import Actor
from core.domain.view import ModelItem
from tests.commands.look import rows
from tests.product import World, open_world

CHANGES = "promptflow_model_id_changes_total"


async def alpha(world: World, actor: Actor) -> ModelItem:
    return next(one for one in await list_models(world.services, actor) if one.alias == "alpha")


async def answered(world: World, actor: Actor, reported: str) -> SaidResult:
    world.model.reported = reported
    return await world.say(actor, "Hello?")


async def test_a_model_that_was_never_called_reports_nothing(world: World) -> None:
    aki = await world.person()
    assert (await alpha(world, aki)).reported is None


async def test_a_change_of_what_a_provider_reports_is_stored_logged_counted_and_listed(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    aki = await world.person()
    with caplog.at_level(logging.WARNING, logger="core.engine.model_change"):
        await answered(world, aki, "alpha-1")
        await answered(world, aki, "alpha-1")
        assert caplog.messages == []
        await answered(world, aki, "alpha-2")
    assert caplog.messages == [
        "model alpha (openai/alpha-2026-01-01) reports another model than before: alpha-2, until now alpha-1; "
        "evaluate the prompts that use it"
    ]
    assert world.registry.get_sample_value(CHANGES, {"model": "alpha"}) == 1
    assert [row["reported_model_id"] for row in await rows(world, "receipt")] == [
        "alpha-1",
        "alpha-1",
        "alpha-2",
    ]
    (row,) = await rows(world, "reported_model")
    assert (row["model"], row["reported_id"], row["before"]) == ("alpha", "alpha-2", "alpha-1")
    reported = (await alpha(world, aki)).reported
    assert reported is not None
    assert (reported.changed, reported.reported_id, reported.before) == (True, "alpha-2", "alpha-1")


async def test_a_restart_remembers_what_was_reported(tmp_path: Path) -> None:
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls) as world:
        await answered(world, await world.person(), "alpha-1")
    async with open_world(*urls) as world:
        aki = await world.person()
        await answered(world, aki, "alpha-2")
        reported = (await alpha(world, aki)).reported
        assert reported is not None
        assert reported.before == "alpha-1"
        assert world.registry.get_sample_value(CHANGES, {"model": "alpha"}) == 1


async def test_the_list_says_which_ids_can_be_another_model_tomorrow(world: World) -> None:
    aki = await world.person()
    fixed = {one.alias: one.fixed for one in await list_models(world.services, aki)}
    assert fixed["alpha"]
    assert fixed["demo-sage"]
    assert not fixed["fluid"]
