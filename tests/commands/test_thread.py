"""The tree of threads, one thread, and its name."""

import asyncio
from dataclasses import replace

import pytest

from core.commands.answer import answer_again
from core.commands.branch import BranchRequest, branch
from core.commands.model import list_models, show_usage
from core.commands.thread import list_channels, rename, show_thread
from core.domain.ids import ThreadId
from core.domain.policy import Actor, Policy
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, BranchHeaderView, MessageView, NoticeView, ThreadItem
from core.llm.catalogue import DEMO_MODELS
from tests.commands.look import new_thread, refused, rows
from tests.product import PLATFORM, WORKSPACE, World, eventually


def outline(items: tuple[ThreadItem, ...]) -> list[object]:
    """Titles as nested lists."""
    return [[item.title, *outline(item.children)] for item in items]


async def test_branches_stand_under_their_parent_newest_thread_first(world: World) -> None:
    aki = await world.person()
    older, newer = await new_thread(world, aki, "older"), await new_thread(world, aki, "newer")
    services = world.services
    left = await branch(services, aki, BranchRequest(thread_id=older, name="left"), event_key="1")
    await branch(services, aki, BranchRequest(thread_id=older, name="right"), event_key="2")
    await branch(services, aki, BranchRequest(thread_id=left.id, name="leftmost"), event_key="3")
    await eventually(lambda: sum(isinstance(v, NoticeView) for v in world.poster.posts.values()) == 3)
    (channel,) = await list_channels(services, aki, PLATFORM)
    assert outline(channel.threads) == [
        ["newer"],
        ["older", ["left", ["leftmost"]], ["right"]],
    ]
    top = channel.threads[1]
    assert (top.depth, top.children[0].depth, top.children[0].children[0].depth) == (0, 1, 2)
    assert channel.threads[0].thread_id == newer


async def test_a_thread_is_busy_exactly_while_something_is_written_or_waits(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")

    async def busy() -> dict[str, bool]:
        (channel,) = await list_channels(world.services, aki, PLATFORM)
        return {item.title: item.busy for item in channel.threads}

    assert await busy() == {"one": False}
    world.model.hold, world.model.begun = asyncio.Event(), asyncio.Event()
    said = await world.say(aki, "two", thread, wait=False)
    assert (await busy())["one"]
    await world.model.begun.wait()
    assert (await busy())["one"]
    world.model.hold.set()
    assert said.run_id
    await world.finished(said.run_id)
    assert not (await busy())["one"]


async def test_a_channel_that_cannot_be_seen_is_not_listed_nor_its_threads_shown(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    hidden = await new_thread(world, aki, "private matter")
    place = Place(platform=PLATFORM, channel="C2", thread="t")
    await world.say(aki, "open matter", place=place)
    world.doors.closed.add(("C1", "U2"))
    assert [c.external_id for c in await list_channels(world.services, ben, PLATFORM)] == ["C2"]
    assert [c.external_id for c in await list_channels(world.services, aki, PLATFORM)] == ["C1", "C2"]
    assert (await refused(show_thread(world.services, ben, hidden), "thread_not_found")).fields == {}
    await refused(show_thread(world.services, ben, ThreadId("unknown")), "thread_not_found")


async def test_another_workspace_sees_nothing_of_this_one(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "among us")
    stranger = await world.person(workspace=replace(WORKSPACE, external_id="W2"))  # type: ignore[arg-type]
    assert stranger.workspace_id != aki.workspace_id
    await refused(show_thread(world.services, stranger, thread), "thread_not_found")
    assert await list_channels(world.services, stranger, PLATFORM) == ()
    assert await show_usage(world.services, stranger, by="model") == ()


@pytest.mark.soak
async def test_pages_of_a_long_thread_join_without_gap_and_show_each_notice_once(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "message 1")
    for number in range(2, 160):
        if number in {20, 60, 110, 155}:
            await branch(
                world.services,
                aki,
                BranchRequest(thread_id=thread, name=f"at {number}"),
                event_key=str(number),
            )
        await context_only(world, aki, thread, f"message {number}")
    shown: list[object] = []
    before = None
    while True:
        page = await show_thread(world.services, aki, thread, before=before)
        shown[:0] = page.items
        if not page.earlier:
            break
        before = page.earlier + 1
    texts = [i.text for i in shown if isinstance(i, MessageView)]
    assert texts == [f"message {number}" for number in range(1, 160)]
    names = [i.phrase.fields["name"] for i in shown if isinstance(i, NoticeView)]
    assert names == ["at 20", "at 60", "at 110", "at 155"]
    after = [shown[n + 1] for n, i in enumerate(shown) if isinstance(i, NoticeView)]
    assert [i.text for i in after if isinstance(i, MessageView)] == [
        f"message {number}" for number in (20, 60, 110, 155)
    ]
    new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="end")
    last = await show_thread(world.services, aki, new.id)
    assert last.earlier
    first = await show_thread(world.services, aki, new.id, before=2)
    assert [type(item) for item in first.items[:2]] == [BranchHeaderView, MessageView]
    for odd in (0, -1, 10**9):
        assert (await show_thread(world.services, aki, thread, before=odd)).thread_id == thread


async def context_only(world: World, actor: Actor, thread: ThreadId, text: str) -> None:
    await world.say(actor, text, thread, mentions_other=True)


async def test_the_owner_and_administrators_rename_a_thread_and_nobody_else(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    boss = await world.person("U3", "Boss", is_admin=True)
    thread = await new_thread(world, aki, "first words")
    services = world.services
    await refused(rename(services, ben, thread, "mine now"), "not_thread_owner")
    await refused(rename(services, aki, thread, " \n "), "empty_title")
    too_long = await refused(rename(services, aki, thread, "t" * 81), "name_too_long")
    assert too_long.fields == {"had": 81, "limit": 80}
    assert (await world.page(aki, thread)).title == "first words"
    await rename(services, aki, thread, " a better\n name ")
    assert (await world.page(aki, thread)).title == "a better name"
    assert (await world.page(aki, thread)).can_rename
    assert not (await world.page(ben, thread)).can_rename
    await rename(services, boss, thread, "t" * 80)
    assert [row["action"] for row in await rows(world, "audit")] == ["rename", "rename"]
    assert "better" not in repr(await rows(world, "audit"))
    await world.say(aki, "go on", thread)
    assert "t" * 80 not in world.model.sent()


async def test_a_title_is_the_first_words_on_one_line(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "Which  supplier\nfits us best? " + "and why so, " * 20)
    title = (await world.page(aki, thread)).title
    assert title.startswith("Which supplier fits us best? and why so,")
    assert title.endswith("…")
    assert len(title) <= 80


async def test_usage_adds_up_by_day_model_and_person(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one", "two")
    await world.say(ben, "three", thread)
    await world.say(ben, "four", model="beta")

    async def lines(by: str) -> list[tuple[str, int, int, int, float]]:
        return [
            (x.label, x.calls, x.input_tokens, x.output_tokens, x.cost_usd)
            for x in await show_usage(world.services, aki, by=by)  # type: ignore[arg-type]
        ]

    assert await lines("day") == [("2026-11-30", 4, 400, 40, 1.0)]
    assert await lines("model") == [("alpha", 3, 300, 30, 0.75), ("beta", 1, 100, 10, 0.25)]
    assert sorted(await lines("person")) == [("Aki", 2, 200, 20, 0.5), ("Ben", 2, 200, 20, 0.5)]


async def test_models_are_listed_with_what_the_workspace_may_use(world: World) -> None:
    aki = await world.person()
    world.policies[WORKSPACE.external_id] = Policy(allowed_models=("beta",))
    items = await list_models(world.services, aki)
    assert [item.alias for item in items if item.allowed] == ["beta"]
    assert [item.alias for item in items if item.demo] == [model.alias for model in DEMO_MODELS]
    assert next(item for item in items if item.alias == "seer").vision


async def test_answers_to_one_message_stand_in_the_order_they_were_asked_for(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    first = (await world.answers(aki, thread))[0]
    world.model.hold, world.model.begun = asyncio.Event(), asyncio.Event()
    run_id = await answer_again(world.services, aki, thread, first.run_id, model="beta", event_key="r")
    await world.model.begun.wait()
    items = (await world.page(aki, thread)).items
    states = [item.state for item in items if isinstance(item, AnswerView)]
    assert states == [AnswerState.DONE, AnswerState.WRITING]
    world.model.hold.set()
    await world.finished(run_id)
    assert [a.text for a in await world.answers(aki, thread)] == ["answer 1", "answer 2"]
