"""What a crash between the two databases leaves, and who picks it up."""

import asyncio
from datetime import timedelta

import pytest

from core.commands.branch import BranchRequest, branch
from core.commands.upkeep import pick_up_left_behind
from core.domain.errors import StoreUnavailable
from core.domain.view import AnswerState, NoticeView
from tests.commands.look import count, new_thread, rows, speaks
from tests.product import World, eventually


async def away(*args: object, **kwargs: object) -> None:
    raise StoreUnavailable("the engine's database does not answer")


async def test_a_run_that_was_stored_and_never_enqueued_is_picked_up_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki = await world.person()
    with monkeypatch.context() as patch:
        patch.setattr(world.services.engine, "enqueue", away)
        said = await world.say(aki, "is anybody there?", wait=False)
    assert said.thread_id
    assert said.run_id
    assert await world.texts(aki, said.thread_id) == ["is anybody there?"]
    (waiting,) = await world.answers(aki, said.thread_id)
    assert waiting.state is AnswerState.QUEUED
    # Young runs are left alone: their command may be about to enqueue them.
    await pick_up_left_behind(world.services)
    assert await world.services.engine.state(said.run_id) is None
    world.clock.advance(timedelta(seconds=6))
    await asyncio.gather(*(pick_up_left_behind(world.services) for _ in range(3)))
    await world.finished(said.run_id)
    assert await world.texts(aki, said.thread_id) == ["is anybody there?", "answer 1"]
    await pick_up_left_behind(world.services)
    assert len(world.model.calls) == 1


async def test_a_branch_that_was_stored_and_never_enqueued_is_opened(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    with monkeypatch.context() as patch:
        patch.setattr(world.services.engine, "enqueue", away)
        new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    world.clock.advance(timedelta(seconds=6))
    await pick_up_left_behind(world.services)
    await eventually(lambda: any(isinstance(v, NoticeView) for v in world.poster.posts.values()))
    assert (await world.page(aki, new.id)).place.thread


async def test_a_run_that_is_going_on_is_left_alone(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    said = await world.say(aki, "slowly", wait=False)
    await world.model.begun.wait()
    world.clock.advance(timedelta(seconds=60))
    await pick_up_left_behind(world.services)
    (run,) = await rows(world, "run")
    assert run["status"] == "running"
    world.model.hold.set()
    assert said.run_id
    await world.finished(said.run_id)
    assert len(world.model.calls) == 1
    assert await count(world, "receipt") == 1


async def test_a_run_that_the_engine_gave_up_is_shown_as_failed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki = await world.person()

    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        # As if the process had died between the run's failure and the note of it.
        patch.setattr("core.engine.execution.RUNS", {"chat": broken})
        patch.setattr("core.engine.context.Context.fail", lambda *_: asyncio.sleep(0))
        said = await world.say(aki, "hello", wait=True)
    assert said.thread_id
    world.clock.advance(timedelta(seconds=60))
    await pick_up_left_behind(world.services)
    (shown,) = await world.answers(aki, said.thread_id)
    assert shown.state is AnswerState.FAILED
    assert "Something went wrong on our side" in speaks(shown.failure)
