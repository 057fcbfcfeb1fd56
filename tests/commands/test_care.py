"""Care for data: erase, retention."""

import asyncio
import re
from datetime import timedelta

from core.commands.branch import BranchRequest, branch
from core.commands.care import erase_for_operator, erase_person
from core.commands.message import edit_message
from core.commands.receipt import show_ai_input
from core.commands.say import Upload
from core.commands.upkeep import apply_retention
from core.domain.ids import ThreadId
from core.domain.policy import Actor, Policy
from core.domain.view import MessageView
from tests.commands.look import message, new_thread, refused, rows, speaks
from tests.product import WORKSPACE, World

SECRET = re.compile(r"sekrit\w*", re.IGNORECASE)
PNG = b"\x89PNG\r\n\x1a\n sekrit pixels" + b"\x00" * 32


async def a_thread_full_of_secrets(world: World, tanaka: Actor, ben: Actor) -> tuple[ThreadId, ThreadId]:
    """A thread and its branch, in which Tanaka said, attached and named things."""
    uploads = (
        Upload(name="sekrit.md", media_type="text/markdown", data=b"sekrit text"),
        Upload(name="sekrit.png", media_type="image/png", data=PNG),
    )
    thread = (await world.say(tanaka, "sekrit title and words", uploads=uploads, model="seer")).thread_id
    assert thread
    await world.say(ben, "what Ben says stays", thread)
    first = message(await world.page(tanaka, thread), "sekrit title and words")
    await edit_message(world.services, tanaka, first.message_id, "sekrit second version", event_key="e")
    request = BranchRequest(thread_id=thread, name="sekrit name", reason="sekrit reason")
    new = await branch(world.services, tanaka, request, event_key="b")
    await world.say(tanaka, "sekrit in the branch", new.id)
    return thread, new.id


async def test_erasing_a_person_reaches_every_copy_and_leaves_ids_and_hashes(world: World) -> None:
    tanaka, ben = await world.person("U1", "Sekrito"), await world.person("U2", "Ben")
    thread, variant = await a_thread_full_of_secrets(world, tanaka, ben)
    tables = (
        "person",
        "thread",
        "message",
        "attachment",
        "file",
        "receipt",
        "receipt_part",
        "notice",
        "run",
        "audit",
        "claim",
    )
    before = {table: await rows(world, table) for table in tables}
    assert SECRET.search(repr(before))
    erased = await erase_person(world.services, tanaka, "U1")
    after = {table: await rows(world, table) for table in tables}
    assert {name for name, found in after.items() if SECRET.search(repr(found))} == set()
    assert (erased.messages, erased.receipts, erased.attachments) == (3, 3, 4)
    for table in ("message", "attachment", "receipt", "receipt_part"):
        assert [row.get("id") for row in after[table]] == [row.get("id") for row in before[table]]
    assert [r["input_sha256"] for r in after["receipt"]] == [r["input_sha256"] for r in before["receipt"]]
    assert [a["sha256"] for a in after["attachment"]] == [a["sha256"] for a in before["attachment"]]
    assert after["audit"][:-1] == before["audit"]
    assert after["audit"][-1]["details"] == {"messages": 3, "receipts": 3, "attachments": 4}
    assert "what Ben says stays" in repr(after["message"])

    for thread_id in (thread, variant):
        page = await world.page(ben, thread_id)
        assert not SECRET.search(repr(page))
        erased_view = page.items[0] if thread_id == thread else page.items[1]
        assert isinstance(erased_view, MessageView)
        assert all(speaks(a.problem) for a in erased_view.attachments)
    (receipt_id, *_) = [row["id"] for row in after["receipt"]]
    receipt = await show_ai_input(world.services, ben, receipt_id)
    assert (receipt.erased, receipt.expired, receipt.hash_matches) == (True, False, False)
    world.model.calls.clear()
    await world.say(ben, "and now?", thread)
    await world.say(ben, "and now?", variant)
    assert not any(SECRET.search(repr(call)) for call in world.model.calls)
    assert "what Ben says stays" in world.model.sent()


async def test_a_file_that_someone_else_attached_too_stays(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    upload = Upload(name="shared.md", media_type="text/markdown", data=b"shared text")
    await world.say(aki, "mine", uploads=(upload,))
    await world.say(ben, "mine too", uploads=(upload,))
    await erase_person(world.services, aki, "U1")
    assert [row["data"] for row in await rows(world, "file")] == [b"shared text"]
    await erase_person(world.services, ben, "U2")
    assert await rows(world, "file") == []


async def test_what_is_being_answered_during_an_erasure_leaves_no_copy_behind(world: World) -> None:
    tanaka = await world.person("U1", "Sekrito")
    world.model.hold = asyncio.Event()
    said = await world.say(tanaka, "sekrit question", wait=False)
    await world.model.begun.wait()
    await erase_person(world.services, tanaka, "U1")
    world.model.hold.set()
    assert said.run_id
    await world.finished(said.run_id)
    (receipt,) = await rows(world, "receipt")
    assert receipt["erased"]
    assert not SECRET.search(repr(await rows(world, "receipt_part")))


async def test_one_erases_oneself_and_an_administrator_anyone(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "words")
    await refused(erase_person(world.services, ben, "U1"), "erase_not_allowed")
    await refused(erase_person(world.services, aki, "U9"), "person_not_found")
    await refused(erase_for_operator(world.store, world.clock, "W9", "U1"), "workspace_not_found")
    await refused(erase_for_operator(world.store, world.clock, "W1", "U9"), "person_not_found")
    assert (await world.texts(aki, thread))[0] == "words"
    boss = await world.person("U3", "Boss", is_admin=True)
    assert (await erase_person(world.services, boss, "U1")).messages == 1
    assert (await world.texts(aki, thread))[0] == ""
    assert (await erase_for_operator(world.store, world.clock, "W1", "U1")).messages == 1


async def test_a_receipt_whose_time_is_over_is_not_said_to_be_erased(world: World) -> None:
    aki = await world.person()
    await new_thread(world, aki, "old words")
    world.policies[WORKSPACE.external_id] = Policy(retention_days=30)
    world.clock.advance(timedelta(days=31))
    await apply_retention(world.services)
    (row,) = await rows(world, "receipt")
    shown = await show_ai_input(world.services, aki, row["id"])
    assert (shown.erased, shown.expired, shown.hash_matches) == (False, True, False)
    assert not any(part.text for part in shown.parts)


async def test_receipts_lose_their_texts_when_the_workspace_no_longer_keeps_them(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "old words")
    await world.say(ben, "old words of Ben", thread)
    await erase_person(world.services, aki, "U1")
    await apply_retention(world.services)
    assert "old words of Ben" in repr(await rows(world, "receipt_part"))
    world.policies[WORKSPACE.external_id] = Policy(retention_days=30)
    world.clock.advance(timedelta(days=31))
    await world.say(ben, "new words of Ben", thread)
    await apply_retention(world.services)
    *old, new = await rows(world, "receipt")
    kept = [row for row in await rows(world, "receipt_part") if row["text"]]
    assert {row["receipt_id"] for row in kept} == {new["id"]}
    assert "new words of Ben" in repr(kept)
    # The first two calls held what Aki had said.
    assert [(row["erased"], row["expired"]) for row in (*old, new)] == [
        (True, True),
        (True, True),
        (False, False),
    ]
    assert all(row["input_tokens"] == 100 and row["cost_usd"] == 0.25 for row in old)
    shown = await show_ai_input(world.services, ben, old[0]["id"])
    assert (shown.erased, shown.expired, shown.hash_matches) == (True, True, False)
    # The conversation itself is kept.
    assert "old words of Ben" in await world.texts(ben, thread)
