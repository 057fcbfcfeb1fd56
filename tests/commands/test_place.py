"""Threads that the platform did not open: told where they came from, opened by a second try, begun as they were to."""

from collections.abc import Iterator

import pytest

from core.commands.branch import BranchRequest, branch
from core.commands.handover import Sending, send_handover
from core.commands.place import Standing, open_again, standing_of
from core.domain.errors import PlatformFailure
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import Mode, Thread
from core.domain.view import (
    AnswerState,
    Button,
    ButtonAction,
    DeliveryView,
    HandoverHeaderView,
    MessageView,
    NoticeView,
)
from core.ports import PostRef
from tests.commands.look import count, new_thread, refused, speaks
from tests.commands.test_handover import FIELDS, SETUPS, drafted
from tests.product import World, eventually


@pytest.fixture
def shut(world: World) -> Iterator[pytest.MonkeyPatch]:
    """A platform that opens no thread; `undo` lets it again."""

    async def refuse(*args: object, **kwargs: object) -> PostRef:
        raise PlatformFailure("restricted_action", retryable=False)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(world.poster, "open_thread", refuse)
        yield patched


def notices(world: World, key: str) -> list[tuple[str, NoticeView]]:
    """Where such a line was posted, and the line."""
    shown = zip(world.poster.places, world.poster.posts.values(), strict=True)
    return [
        (place.thread, view)
        for place, view in shown
        if isinstance(view, NoticeView) and view.phrase.key == f"notice.{key}"
    ]


async def stands(world: World, actor: Actor, thread_id: str, wanted: Standing) -> None:
    """Return once a thread stands like this."""

    async def so() -> bool:
        return await standing_of(world.services, actor, thread_id) is wanted

    await eventually(so)


async def sent(world: World, actor: Actor, source: ThreadId, mode: Mode, start: str = "") -> Thread:
    """The target of a handover."""
    handover = await drafted(world, actor, source, mode.value)
    sending = Sending(
        handover_id=handover.id, fields=FIELDS, start=start, setup=SETUPS[mode], estimate_seen=True
    )
    return await send_handover(world.services, actor, sending, event_key=world.clock.new_id())


@pytest.mark.parametrize("mode", list(SETUPS))
async def test_a_target_that_was_not_opened_is_told_in_its_source_and_begins_once_it_is(
    world: World, shut: pytest.MonkeyPatch, mode: Mode
) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    source = await new_thread(world, aki, "Which supplier?")
    target = await sent(world, aki, source, mode, "Go on")
    await stands(world, aki, target.id, Standing.NOT_OPENED)
    calls, stored = len(world.model.calls), await count(world, "message")
    ((where, line),) = notices(world, "handover_not_opened")
    assert where == (await world.page(aki, source)).place.thread
    assert line.buttons == (Button(action=ButtonAction.OPEN_AGAIN, ref=target.id),)
    assert "(restricted_action)" in speaks(line.phrase)
    assert "“Open again”" in speaks(line.phrase)
    shut.undo()
    for _ in range(2):
        await open_again(world.services, ben, target.id, event_key="press")
    await stands(world, aki, target.id, Standing.OPEN)
    await eventually(lambda: any(isinstance(view, DeliveryView) for view in world.poster.posts.values()))
    await world.quiet(aki, target.id)
    (delivery,) = [view for view in world.poster.posts.values() if isinstance(view, DeliveryView)]
    assert not delivery.failed
    headers = [view for view in world.poster.posts.values() if isinstance(view, HandoverHeaderView)]
    assert [view.thread_id for view in headers] == [target.id]
    assert "Go on" in world.model.sent(calls)
    assert "plantedsummary" in world.model.sent(calls) or mode is Mode.CODRAFT
    page = await world.page(aki, target.id)
    said = [one.text for one in page.items if isinstance(one, MessageView) and one.text == "Go on"]
    assert said == ["Go on"], "what begins it was said once"
    assert await count(world, "message") > stored
    done = [one for one in await world.answers(aki, target.id) if one.state is AnswerState.DONE]
    assert done, "the second try brought the answers"


async def test_a_source_is_told_where_its_work_went_on(world: World) -> None:
    aki = await world.person(locale="ja")
    source = await new_thread(world, aki, "Which supplier?")
    target = await sent(world, aki, source, Mode.DEBATE)
    await eventually(lambda: notices(world, "handed_over"))
    ((where, line),) = notices(world, "handed_over")
    assert where == (await world.page(aki, source)).place.thread
    assert (line.link, line.buttons) == (target.id, ())
    assert line.link_place is not None
    assert line.link_place.thread.startswith("opened-")
    assert line.phrase.fields["mode"] == "AI 会議"
    assert len(await world.texts(aki, source)) == 2, "the line is no part of the conversation"


async def test_anyone_who_may_speak_in_a_branch_opens_it_again(
    world: World, shut: pytest.MonkeyPatch
) -> None:
    aki, ben, uwe = [await world.person(f"U{n}", name) for n, name in enumerate(("Aki", "Ben", "Uwe"))]
    thread = await new_thread(world, aki, "one")
    new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="branch")
    await stands(world, aki, new.id, Standing.NOT_OPENED)
    await eventually(lambda: notices(world, "branch_not_opened"))
    ((_, line),) = notices(world, "branch_not_opened")
    assert line.buttons == (Button(action=ButtonAction.OPEN_AGAIN, ref=new.id),)
    again = open_again(world.services, ben, new.id, event_key="in vain")
    await again
    # Every try that fails is told.
    await eventually(lambda: len(notices(world, "branch_not_opened")) == 2)
    await stands(world, aki, new.id, Standing.NOT_OPENED)
    world.doors.closed.add(("C1", "U2"))
    await refused(open_again(world.services, uwe, new.id, event_key="closed"), "thread_not_found")
    shut.undo()
    await open_again(world.services, ben, new.id, event_key="press")
    await stands(world, aki, new.id, Standing.OPEN)
    await eventually(lambda: [view.link for _, view in notices(world, "branched")] == [new.id])
    await refused(open_again(world.services, ben, new.id, event_key="late"), "thread_open_already")
    await refused(open_again(world.services, ben, "nowhere", event_key="wrong"), "thread_not_found")
    assert await count(world, "thread") == 2


async def test_what_was_said_in_vain_in_a_branch_is_answered_once_it_is_open(
    world: World, shut: pytest.MonkeyPatch
) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="branch")
    await world.say(aki, "two", new.id)
    await stands(world, aki, new.id, Standing.NOT_OPENED)
    calls = len(world.model.calls)
    shut.undo()
    await open_again(world.services, aki, new.id, event_key="press")
    await stands(world, aki, new.id, Standing.OPEN)
    await eventually(lambda: len(world.model.calls) > calls)
    await world.quiet(aki, new.id)
    assert await world.texts(aki, new.id) == ["one", "answer 1", "two", f"answer {calls + 1}"]
