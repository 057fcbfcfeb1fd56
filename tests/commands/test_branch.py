"""Branching: where, what it holds, who is told, and what is refused."""

import asyncio
from typing import Any

import pytest

from core.commands.answer import answer_again
from core.commands.branch import BranchRequest, branch
from core.commands.message import delete_message
from core.commands.text import parse_command
from core.commands.thread import rename
from core.domain.errors import PlatformFailure
from core.domain.ids import ThreadId
from core.domain.policy import Actor, Policy
from core.domain.thread import Thread
from core.domain.view import AnswerState, BranchHeaderView, NoticeView, Phrase
from core.ports import PostRef
from tests.commands.look import answer, count, message, new_thread, refused, rows, speaks
from tests.product import WORKSPACE, World, eventually


async def branched(world: World, actor: Actor, thread: ThreadId, **where: Any) -> Thread:
    """A branch whose opening on the platform is done."""
    request = BranchRequest(thread_id=thread, **where)
    new = await branch(world.services, actor, request, event_key=world.clock.new_id())
    await eventually(lambda: any(v.link == new.id for v in notices(world)))
    return new


def notices(world: World) -> list[NoticeView]:
    return [view for view in world.poster.posts.values() if isinstance(view, NoticeView)]


async def test_a_branch_holds_what_stood_up_to_its_point(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one", "two")
    page = await world.page(aki, thread)
    everything = ["one", "answer 1", "two", "answer 2"]
    second = answer(page, "answer 1")
    assert second.message_id
    points: list[tuple[dict[str, Any], int]] = [
        ({}, 4),
        ({"position": 3}, 3),
        ({"position": "2"}, 2),
        ({"position": " #3 "}, 3),
        ({"position": "＃３"}, 3),
        ({"message_id": message(page, "two").message_id}, 3),
        ({"message_id": second.message_id}, 2),
        ({"message_id": second.run_id}, 2),
    ]
    for where, held in points:
        new = await branched(world, aki, thread, **where)
        assert await world.texts(aki, new.id) == everything[:held], where
        shown = (await world.page(aki, thread)).items[held - 1]
        assert (new.split_position, new.depth, new.top_id, new.parent_id) == (held, 1, thread, thread)
        assert new.split_message_id == getattr(shown, "message_id", None)
    assert await world.texts(aki, thread) == everything
    assert len(world.model.calls) == 2


async def test_both_threads_go_on_and_the_branch_is_linked_both_ways(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben", locale="ja")
    thread = await new_thread(world, aki, "one")
    new = await branched(world, ben, thread, name="  the bold\n plan ", reason=" because ")
    assert (new.title, new.branch_name, new.branch_reason) == ("the bold plan", "the bold plan", "because")
    await world.say(ben, "two in the branch", new.id)
    await world.say(aki, "two in the parent", thread)
    assert "two in the branch" not in world.model.sent()
    assert "two in the parent" not in world.model.sent(-2)

    parent = await world.page(aki, thread)
    (note,) = [item for item in parent.items if isinstance(item, NoticeView)]
    assert (speaks(note.phrase), note.link) == ("Branched at #2: the bold plan", new.id)
    assert [type(item).__name__ for item in parent.items] == [
        "MessageView",
        "AnswerView",
        "NoticeView",
        "MessageView",
        "AnswerView",
    ]
    page = await world.page(aki, new.id)
    assert (page.parent_id, page.parent_title, page.chain) == (thread, "one", ("one", "the bold plan"))
    header = page.items[0]
    assert isinstance(header, BranchHeaderView)
    assert (header.name, header.reason, header.inherited, header.split_position) == (
        "the bold plan",
        "because",
        2,
        2,
    )
    assert [quote.text for quote in header.quotes] == ["one", "answer 1"]
    assert message(page, "one").inherited
    assert not message(page, "two in the branch").inherited

    posted = [view for view in world.poster.posts.values() if isinstance(view, BranchHeaderView)]
    assert [header.name for header in posted] == ["the bold plan"]
    assert "one" in posted[0].transcript
    assert "answer 1" in posted[0].transcript
    (line,) = notices(world)
    assert (line.link, speaks(line.phrase)) == (new.id, "Branched at #2: the bold plan")
    assert page.place.thread
    assert page.place == line.link_place
    # Neither the note nor the header is part of a conversation.
    assert all("bold plan" not in "\n".join(p.text for p in c.ai_input.parts) for c in world.model.calls)


async def test_a_branch_without_a_name_is_numbered(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    names = [(await branched(world, aki, thread)).branch_name for _ in range(2)]
    assert names == ["Branch 1", "Branch 2"]


async def test_what_is_no_position_is_refused_with_those_that_are(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one", "two")
    before = await count(world, "claim")
    for given in (0, -1, "5", "11", "1_0", "abc", "²", "", "1.5", "+1", "1\n2", "9" * 5_000, "0" * 9):
        request = BranchRequest(thread_id=thread, position=given)
        found = await refused(branch(world.services, aki, request, event_key="e"), "position_invalid")
        assert found.fields == {"given": str(given)[:20], "last": 4}
    assert (await count(world, "thread"), await count(world, "claim")) == (1, before)


def test_a_typed_branch_command_is_understood_in_both_widths() -> None:
    typed = {
        "/branch 2 bold": ("2", "bold"),
        "／branch　＃２　大胆な案": ("2", "大胆な案"),
        "BRANCH #12": ("12", ""),
        "branch bold plan": (None, "bold plan"),
        "branch 0": ("0", ""),
        "branch -1 x": ("-1", "x"),
        "branch": (None, ""),
    }
    for text, (position, name) in typed.items():
        command = parse_command(text)
        assert command
        assert (command.position, command.rest) == (position, name), text
    assert parse_command("branches are nice") is None
    assert parse_command("") is None


async def test_an_empty_conversation_gives_an_empty_branch(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "@Ben hello", mentions_other=True)
    assert said.thread_id
    assert said.message_id
    await delete_message(world.services, aki, said.message_id, event_key="d")
    no_place = branch(world.services, aki, BranchRequest(thread_id=said.thread_id, position=1), event_key="e")
    await refused(no_place, "position_in_empty")
    new = await branched(world, aki, said.thread_id)
    assert (new.split_position, new.split_message_id) == (0, None)
    assert await world.texts(aki, new.id) == []
    assert speaks(notices(world)[0].phrase) == "Branched before the first message: Branch 1"
    await world.say(aki, "a fresh start", new.id)
    assert await world.texts(aki, new.id) == ["a fresh start", "answer 1"]


async def test_a_fifth_level_is_refused_with_the_chain(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "top")
    for level in range(1, 5):
        new = await branched(world, aki, thread, name=f"level {level}")
        assert new.depth == level
        thread = new.id
    await rename(world.services, aki, thread, "the last one")
    found = await refused(
        branch(world.services, aki, BranchRequest(thread_id=thread), event_key="e"), "branch_too_deep"
    )
    assert found.fields == {"limit": 4, "chain": "top › level 1 › level 2 › level 3 › the last one"}
    assert await count(world, "thread") == 5
    await world.say(aki, "deep down", thread)
    assert await world.texts(aki, thread) == ["top", "answer 1", "deep down", "answer 2"]


async def test_there_is_never_half_an_answer_in_a_branch(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    world.model.hold, world.model.begun = asyncio.Event(), asyncio.Event()
    said = await world.say(aki, "two", thread, wait=False)
    await world.model.begun.wait()
    assert said.run_id
    services = world.services
    await refused(
        branch(services, aki, BranchRequest(thread_id=thread), event_key="1"), "branch_while_answering"
    )
    at_answer = BranchRequest(thread_id=thread, message_id=said.run_id)
    await refused(branch(services, aki, at_answer, event_key="2"), "branch_while_answering")
    new = await branched(world, aki, thread, position=2)
    at_question = await branched(world, aki, thread, message_id=said.message_id)
    world.model.hold.set()
    await world.finished(said.run_id)
    assert await world.texts(aki, new.id) == ["one", "answer 1"]
    assert await world.texts(aki, at_question.id) == ["one", "answer 1", "two"]
    assert [a.state for a in await world.answers(aki, at_question.id)] == [AnswerState.DONE]
    assert await world.texts(aki, (await branched(world, aki, thread, message_id=said.run_id)).id) == [
        "one",
        "answer 1",
        "two",
        "answer 2",
    ]


async def test_a_branch_delivered_twice_is_one_branch(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    request = BranchRequest(thread_id=thread)
    made = await asyncio.gather(*(branch(world.services, aki, request, event_key="same") for _ in range(5)))
    assert len({new.id for new in made}) == 1
    await eventually(lambda: notices(world))
    assert (await count(world, "thread"), await count(world, "notice")) == (2, 1)


async def test_refused_branches_store_nothing(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread, other = await new_thread(world, aki, "one"), await new_thread(world, aki, "elsewhere")
    before = await count(world, "claim")
    elsewhere = message(await world.page(aki, other), "elsewhere").message_id

    async def attempt(actor: Actor, thread_id: ThreadId, **more: Any) -> None:
        await branch(world.services, actor, BranchRequest(thread_id=thread_id, **more), event_key="e")

    too_long = await refused(attempt(aki, thread, name="n" * 81), "name_too_long")
    assert too_long.fields == {"had": 81, "limit": 80}
    await refused(attempt(aki, thread, reason="r" * 501), "reason_too_long")
    await refused(attempt(aki, thread, message_id=elsewhere), "branch_point_not_found")
    await refused(attempt(aki, thread, message_id="unknown"), "branch_point_not_found")
    await refused(attempt(aki, ThreadId("unknown")), "thread_not_found")
    world.policies[WORKSPACE.external_id] = Policy(branch=False)
    await refused(attempt(aki, thread), "branch_not_allowed")
    world.policies.clear()
    world.doors.closed.add(("C1", "U2"))
    await refused(attempt(ben, thread), "thread_not_found")
    assert (await count(world, "thread"), await count(world, "claim")) == (2, before)
    await attempt(aki, thread, name="n" * 80, reason="r" * 500)


async def test_an_answer_that_the_history_does_not_keep_is_no_point(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    first = answer(await world.page(aki, thread), "answer 1")
    run_id = await answer_again(world.services, aki, thread, first.run_id, model=None, event_key="r")
    await world.finished(run_id)
    request = BranchRequest(thread_id=thread, message_id=first.message_id)
    await refused(branch(world.services, aki, request, event_key="e"), "branch_point_not_found")


async def test_a_message_said_before_the_platform_opened_the_branch_waits_for_it(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    assert new.place.thread == ""
    await world.say(aki, "two", new.id)
    place = (await world.page(aki, new.id)).place
    assert place.thread.startswith("opened-")
    assert [p.thread for p in world.poster.places if p.channel == "C1"].count("") == 0


async def test_a_branch_is_recorded_with_who_and_where_but_no_words(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    new = await branched(world, aki, thread, name="secret plan", reason="secret reason", position=1)
    (record,) = await rows(world, "audit")
    assert (record["actor_id"], record["action"], record["subject_id"]) == (aki.person_id, "branch", new.id)
    assert record["details"] == {
        "parent": thread,
        "message": new.split_message_id,
        "position": 1,
        "depth": 1,
    }
    assert "secret" not in repr(record)


async def test_a_branch_that_the_platform_did_not_open_never_speaks_in_the_channel_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")

    async def gone(*args: object, **kwargs: object) -> PostRef:
        raise PlatformFailure("channel_not_found", retryable=False)

    monkeypatch.setattr(world.poster, "open_thread", gone)
    new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    said = await world.say(aki, "two", new.id)
    assert [place.thread for place in world.poster.places].count("") == 0
    assert len(world.poster.places) == 2, "the answer, and that the branch could not be opened"
    assert len(world.model.calls) == 1
    (inherited, shown) = await world.answers(aki, new.id)
    assert inherited.state is AnswerState.DONE
    assert (shown.run_id, shown.state) == (said.run_id, AnswerState.FAILED)
    assert "The chat platform did not take the post" in speaks(shown.failure)
    assert await world.texts(aki, new.id) == ["one", "answer 1", "two"]


def refusals(world: World) -> list[tuple[str, Phrase]]:
    """Where people were told that a branch could not be opened, and in which words."""
    shown = zip(world.poster.places, world.poster.posts.values(), strict=True)
    return [
        (place.thread, view.phrase)
        for place, view in shown
        if isinstance(view, NoticeView) and view.phrase.key == "notice.branch_not_opened"
    ]


async def no_branch_is_being_opened(world: World) -> bool:
    runs = [row for row in await rows(world, "run") if row["kind"] == "branch"]
    return all(row["status"] not in ("queued", "running") for row in runs)


async def test_a_branch_that_could_not_be_opened_is_told_in_the_parent_and_opened_by_asking_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one", "two")
    request = BranchRequest(thread_id=thread, position=2, name="bold")

    async def refuse(*args: object, **kwargs: object) -> PostRef:
        raise PlatformFailure("restricted_action", retryable=False)

    with monkeypatch.context() as patched:
        patched.setattr(world.poster, "open_thread", refuse)
        new = await branch(world.services, aki, request, event_key="first")
        await eventually(lambda: no_branch_is_being_opened(world))
    parent = (await world.page(aki, thread)).place.thread
    ((where, phrase),) = refusals(world)
    assert where == parent
    assert (phrase.fields["name"], phrase.fields["code"]) == ("bold", "restricted_action")
    assert "branch again from the same place" in speaks(phrase)
    again = await branch(world.services, aki, request, event_key="second")
    await eventually(lambda: no_branch_is_being_opened(world))
    assert again.id == new.id
    assert await count(world, "thread") == 2
    assert (await world.page(aki, new.id)).place.thread.startswith("opened-")
    assert [row["status"] for row in await rows(world, "run") if row["kind"] == "branch"] == [
        "failed",
        "done",
    ]
    assert len([v for v in (await world.page(aki, thread)).items if isinstance(v, NoticeView)]) == 1
    await world.say(aki, "on we go", new.id)
    assert "on we go" in world.model.sent()
    assert "two" not in world.model.sent()


async def test_only_the_same_request_of_the_same_person_opens_a_branch_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one", "two")

    async def refuse(*args: object, **kwargs: object) -> PostRef:
        raise PlatformFailure("restricted_action", retryable=False)

    async def ask(actor: Actor, key: str, **where: Any) -> ThreadId:
        made = await branch(world.services, actor, BranchRequest(thread_id=thread, **where), event_key=key)
        await eventually(lambda: no_branch_is_being_opened(world))
        return made.id

    monkeypatch.setattr(world.poster, "open_thread", refuse)
    first = await ask(aki, "1", position=2, name="bold")
    assert await ask(aki, "2", position=2) == first
    others = [
        await ask(ben, "3", position=2, name="bold"),
        await ask(aki, "4", position=3, name="bold"),
        await ask(aki, "5", position=2, name="meek"),
    ]
    assert len({first, *others}) == 4


async def test_a_branch_that_is_being_opened_is_not_taken_for_one_that_failed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    going_on = asyncio.Event()
    opening = world.poster.open_thread

    async def slow(*args: Any, **kwargs: Any) -> PostRef:
        await going_on.wait()
        return await opening(*args, **kwargs)

    monkeypatch.setattr(world.poster, "open_thread", slow)
    request = BranchRequest(thread_id=thread, position=1)
    one = await branch(world.services, aki, request, event_key="1")
    two = await branch(world.services, aki, request, event_key="2")
    going_on.set()
    await eventually(lambda: {one.id, two.id} <= {view.link for view in notices(world)})
    assert one.id != two.id
