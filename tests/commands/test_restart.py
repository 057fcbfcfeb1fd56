"""The same product opened again on the same databases, after it was cut off in the middle of a run."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.commands.answer import stop
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, PostView
from core.ports import PostRef
from tests.commands.look import count, rows
from tests.product import RecordingPoster, ScriptedModel, open_world


@dataclass
class StuckAtTheEnd(RecordingPoster):
    """Holds back the final state of a post, which is shown after the answer was stored and before the step is."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        if final:
            self.reached.set()
            await asyncio.Event().wait()
        return await super().update(workspace_id, ref, view, final=final, locale=locale)


@pytest.fixture
def urls(tmp_path: Path) -> tuple[str, str]:
    return f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}"


async def test_a_run_cut_during_its_call_goes_on_and_posts_once(urls: tuple[str, str]) -> None:
    poster, model = RecordingPoster(), ScriptedModel(hold=asyncio.Event())
    async with open_world(*urls, model=model, poster=poster, patient=False) as world:
        aki = await world.person()
        said = await world.say(aki, "A", wait=False)
        await model.begun.wait()
        assert said.thread_id
        waiting = await world.say(aki, "B", said.thread_id, wait=False)
    assert model.closed == 1
    again = ScriptedModel()
    async with open_world(*urls, model=again, poster=poster) as world:
        aki = await world.person()
        assert waiting.run_id
        await world.finished(waiting.run_id)
        assert said.thread_id
        assert await world.texts(aki, said.thread_id) == ["A", "answer 1", "B", "answer 2"]
        assert [call.request_id.split("/")[0] for call in again.calls] == [said.run_id, waiting.run_id]
        assert await count(world, "receipt") == 2
        assert [row["status"] for row in await rows(world, "run")] == ["done", "done"]
    # RecordingPoster fails the test when one key is posted twice.
    assert len(poster.posts) == 2


async def test_an_answer_that_was_stored_is_not_asked_for_again(urls: tuple[str, str]) -> None:
    poster = StuckAtTheEnd()
    async with open_world(*urls, poster=poster, patient=False) as world:
        aki = await world.person()
        said = await world.say(aki, "A", wait=False)
        await poster.reached.wait()
        assert len(world.model.calls) == 1
    onwards = RecordingPoster(posts=dict(poster.posts))
    async with open_world(*urls, poster=onwards) as world:
        aki = await world.person()
        assert said.run_id
        assert said.thread_id
        await world.finished(said.run_id)
        assert world.model.calls == []
        assert await world.texts(aki, said.thread_id) == ["A", "answer 1"]
        assert (await count(world, "receipt"), await count(world, "message")) == (1, 2)
    (shown,) = onwards.posts.values()
    assert isinstance(shown, AnswerView)
    assert (shown.state, shown.text) == (AnswerState.DONE, "answer 1")


async def test_a_stop_pressed_before_the_crash_still_counts_after_it(urls: tuple[str, str]) -> None:
    model = ScriptedModel(hold=asyncio.Event())
    async with open_world(*urls, model=model, patient=False) as world:
        aki = await world.person()
        said = await world.say(aki, "A", wait=False)
        await model.begun.wait()
        assert said.thread_id
        waiting = await world.say(aki, "B", said.thread_id, wait=False)
        await stop(world.services, aki, run_id=waiting.run_id)
    again = ScriptedModel()
    async with open_world(*urls, model=again) as world:
        aki = await world.person()
        assert waiting.run_id
        await world.finished(waiting.run_id)
        states = [answer.state for answer in await world.answers(aki, said.thread_id)]
        assert states == [AnswerState.DONE, AnswerState.STOPPED]
        assert len(again.calls) == 1


async def test_what_was_settled_before_a_restart_is_still_known_as_delivered(urls: tuple[str, str]) -> None:
    place = Place(platform="test", channel="C1", thread="t1")
    async with open_world(*urls) as world:
        aki = await world.person()
        first = await world.say(aki, "once", event_key="event-1", external_id="m-1", place=place)
    async with open_world(*urls) as world:
        aki = await world.person()
        late = await world.say(aki, "once", event_key="event-9", external_id="m-1", place=place)
        assert (late.duplicate, late.message_id) == (True, first.message_id)
        assert world.model.calls == []
        said = await world.say(aki, "go on", first.thread_id)
        assert said.thread_id
        assert await world.texts(aki, said.thread_id) == ["once", "answer 1", "go on", "answer 1"]
