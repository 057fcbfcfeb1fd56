"""Editing and deleting a message: the next AI input follows, copies and receipts stay."""

import asyncio

from core.commands.branch import BranchRequest, branch
from core.commands.message import delete_message, edit_message
from core.commands.receipt import show_ai_input
from core.domain.message import MAX_MESSAGE_CHARS
from core.domain.view import AnswerState
from tests.commands.look import answer, count, message, new_thread, refused, rows
from tests.product import World, eventually


async def test_an_edit_reaches_the_next_ai_input_but_no_branch_and_no_receipt(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "buy ten", "and then?")
    page = await world.page(aki, thread)
    variant = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    old = message(page, "buy ten")
    new_id = await edit_message(world.services, aki, old.message_id, " buy two ", event_key="e")
    await world.say(aki, "go on", thread)
    assert "buy two" in world.model.sent()
    assert "buy ten" not in world.model.sent()
    edited = message(await world.page(aki, thread), "buy two")
    assert (edited.message_id, edited.position, edited.edited, edited.created_at) == (
        new_id,
        1,
        True,
        old.created_at,
    )
    await world.say(aki, "go on here", variant.id)
    assert "buy ten" in world.model.sent()
    assert "buy two" not in world.model.sent()
    receipt_id = answer(page, "answer 1").receipt_id
    assert receipt_id
    receipt = await show_ai_input(world.services, aki, receipt_id)
    assert "buy ten" in receipt.parts[-1].text
    assert receipt.hash_matches
    assert {row["text"] for row in await rows(world, "message")} >= {"buy ten", "buy two"}


async def test_a_deletion_reaches_the_next_ai_input_but_no_branch(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one", "two")
    page = await world.page(aki, thread)
    variant = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    await delete_message(world.services, aki, message(page, "one").message_id, event_key="d")
    assert await world.texts(aki, thread) == ["answer 1", "two", "answer 2"]
    await world.say(aki, "three", thread)
    assert not any(text.endswith("\none") for text in world.model.sent_texts())
    assert await world.texts(aki, variant.id) == ["one", "answer 1", "two", "answer 2"]
    await world.say(aki, "three here", variant.id)
    assert any(text.endswith("\none") for text in world.model.sent_texts())


async def test_a_page_that_shows_an_older_version_can_still_edit_and_delete(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "first version")
    stale = message(await world.page(aki, thread), "first version").message_id
    await edit_message(world.services, aki, stale, "second version", event_key="e1")
    await edit_message(world.services, aki, stale, "third version", event_key="e2")
    assert await world.texts(aki, thread) == ["third version", "answer 1"]
    await delete_message(world.services, aki, stale, event_key="d")
    assert await world.texts(aki, thread) == ["answer 1"]
    await refused(edit_message(world.services, aki, stale, "late", event_key="e3"), "message_not_found")
    await refused(delete_message(world.services, aki, stale, event_key="d2"), "message_not_found")
    assert await world.texts(aki, thread) == ["answer 1"]


async def test_edits_and_deletions_delivered_twice_are_done_once(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    message_id = message(await world.page(aki, thread), "one").message_id
    ids = [await edit_message(world.services, aki, message_id, "two", event_key="same") for _ in range(2)]
    assert ids[0] == ids[1]
    assert await count(world, "message") == 3
    for _ in range(2):
        await delete_message(world.services, aki, message_id, event_key="same-delete")
    assert [row["action"] for row in await rows(world, "audit")] == ["edit_message", "delete_message"]


async def test_only_the_author_edits_and_only_who_sees_the_channel_learns_of_it(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben", is_admin=True)
    thread = await new_thread(world, aki, "mine")
    page = await world.page(aki, thread)
    message_id = message(page, "mine").message_id
    written = answer(page, "answer 1").message_id
    assert written
    services = world.services
    await refused(edit_message(services, ben, message_id, "yours", event_key="1"), "not_your_message")
    await refused(delete_message(services, ben, message_id, event_key="2"), "not_your_message")
    await refused(edit_message(services, aki, written, "I said that", event_key="3"), "not_your_message")
    await refused(edit_message(services, aki, message_id, " ", event_key="4"), "empty_message")
    too_long = "x" * (MAX_MESSAGE_CHARS + 1)
    await refused(edit_message(services, aki, message_id, too_long, event_key="5"), "message_too_long")
    world.doors.closed.add(("C1", "U2"))
    await refused(edit_message(services, ben, message_id, "yours", event_key="6"), "message_not_found")
    await refused(edit_message(services, ben, "unknown", "yours", event_key="7"), "message_not_found")
    assert await world.texts(aki, thread) == ["mine", "answer 1"]
    assert await count(world, "message") == 2


async def test_a_message_deleted_while_it_waits_is_not_answered(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    first = await world.say(aki, "A", wait=False)
    await world.model.begun.wait()
    assert first.thread_id
    second = await world.say(aki, "B", first.thread_id, wait=False)
    third = await world.say(aki, "C", first.thread_id, wait=False)
    assert second.message_id
    assert third.run_id
    await delete_message(world.services, aki, second.message_id, event_key="d")
    world.model.hold.set()
    await world.finished(third.run_id)
    assert len(world.model.calls) == 2
    assert await world.texts(aki, first.thread_id) == ["A", "answer 1", "C", "answer 2"]
    assert "B" not in [part.text.split("\n")[-1] for part in world.model.calls[-1].ai_input.parts]
    assert (await rows(world, "receipt"))[-1]["run_id"] == third.run_id


async def test_deleting_what_is_being_answered_stops_the_answer_where_it_stands(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    first = await world.say(aki, "A", wait=False)
    await world.model.begun.wait()
    assert first.thread_id
    assert first.message_id
    assert first.run_id
    second = await world.say(aki, "B", first.thread_id, wait=False)
    await delete_message(world.services, aki, first.message_id, event_key="d")
    await world.finished(first.run_id)
    world.model.hold.set()
    assert second.run_id
    await world.finished(second.run_id)
    # Where the deleted message stood, before what was said later.
    assert await world.texts(aki, first.thread_id) == ["ans", "B", "answer 2"]
    assert "\nA" not in world.model.sent()
    stopped = answer(await world.page(aki, first.thread_id), "ans")
    assert stopped.state is AnswerState.STOPPED
    assert world.model.closed == 2


async def test_an_edit_during_an_answer_leaves_that_answer_to_the_old_words(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    said = await world.say(aki, "old words", wait=False)
    await world.model.begun.wait()
    assert said.message_id
    assert said.run_id
    assert said.thread_id
    await edit_message(world.services, aki, said.message_id, "new words", event_key="e")
    world.model.hold.set()
    await world.finished(said.run_id)
    assert await world.texts(aki, said.thread_id) == ["new words", "answer 1"]
    assert "old words" in world.model.sent(0)
    await eventually(lambda: world.model.closed == 1)
