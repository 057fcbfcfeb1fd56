"""Pins: marked, changed, taken away, inherited by branches, and gone with whoever wrote them (spec §2)."""

import asyncio

import pytest

from core.commands.branch import BranchRequest, branch
from core.commands.care import erase_person
from core.commands.message import edit_message
from core.commands.person import PersonSeen, WorkspaceSeen, identify
from core.commands.pin import edit_pin, list_pins, pin, remove_pin, show_pin_history
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.pin import MOST_PINS, PIN_CHARS, PinKind
from core.domain.policy import Actor
from tests.commands.look import answer, message, new_thread, refused, rows
from tests.product import PLATFORM, World


async def mark(world: World, actor: Actor, thread: ThreadId, kind: str, text: str = "", **more: str) -> str:
    return await pin(world.services, actor, thread, kind, text, **{"event_key": world.clock.new_id(), **more})


async def texts(world: World, actor: Actor, thread: ThreadId) -> list[str]:
    return [one.text for one in await list_pins(world.services, actor, thread)]


async def test_every_kind_is_kept_to_the_letter_in_the_order_of_marking(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    odd = '  Keep:\n\tA < B & "C" 🚢 <@U1>  '
    for kind in ("constraint", "decision", "question", "参照"):
        await mark(world, aki, thread, kind, odd)
    held = await list_pins(world.services, aki, thread)
    assert [one.kind for one in held] == [
        PinKind.CONSTRAINT,
        PinKind.DECISION,
        PinKind.OPEN_QUESTION,
        PinKind.REFERENCE,
    ]
    assert {one.text for one in held} == {odd.strip()}
    unknown = await refused(mark(world, aki, thread, "wish", "x"), "unknown_pin_kind")
    assert "constraint" in str(unknown.fields["allowed"])
    await refused(mark(world, aki, thread, "decision", " \n "), "pin_empty")
    await refused(mark(world, aki, thread, "decision", "x" * (PIN_CHARS + 1)), "pin_too_long")


async def test_pins_travel_in_no_answer_of_their_thread(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    await mark(world, aki, thread, "constraint", "onlypinned")
    await world.say(aki, "two", thread)
    assert "onlypinned" not in world.model.sent()


async def test_a_marked_message_is_pinned_as_it_stood(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "Deliver by May")
    said = message(await world.page(aki, thread), "Deliver by May")
    await mark(world, aki, thread, "constraint", message_id=said.message_id)
    await edit_message(world.services, aki, said.message_id, "Deliver by June", event_key="e")
    assert await texts(world, aki, thread) == ["Deliver by May"]
    shown = answer(await world.page(aki, thread), "answer 1")
    assert shown.message_id
    await mark(world, aki, thread, "decision", message_id=shown.message_id)
    assert await texts(world, aki, thread) == ["Deliver by May", "answer 1"]


async def test_a_message_of_another_place_cannot_be_marked(world: World) -> None:
    """Whoever guesses an id of a private channel must not get its text into a thread of theirs."""
    aki, ben = await world.person(), await world.person("U2", "Ben")
    hidden, open_to_all = await new_thread(world, aki, "classified"), await new_thread(world, ben, "one")
    secret = message(await world.page(aki, hidden), "classified")
    for text in ("", "words of my own"):
        act = mark(world, ben, open_to_all, "decision", text, message_id=secret.message_id)
        await refused(act, "message_not_found")
    assert await rows(world, "pin") == []


async def test_an_inherited_message_can_be_marked_in_the_branch(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    said = message(await world.page(aki, thread), "one")
    await mark(world, aki, new.id, "decision", message_id=said.message_id)
    assert await texts(world, aki, new.id) == ["one"]
    assert await texts(world, aki, thread) == []


async def test_versions_stay_as_the_history_of_a_pin(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one")
    first = await mark(world, aki, thread, "question", "Who pays?")
    await mark(world, aki, thread, "decision", "Kita")
    second = await edit_pin(
        world.services, ben, first, "Ben pays", kind="decision", event_key=world.clock.new_id()
    )
    # A version in another's place keeps that place.
    assert await texts(world, aki, thread) == ["Ben pays", "Kita"]
    await refused(edit_pin(world.services, aki, first, "Aki pays", event_key="late"), "pin_changed")
    await remove_pin(world.services, aki, second, event_key="r")
    assert await texts(world, aki, thread) == ["Kita"]
    history = await show_pin_history(world.services, aki, first)
    assert [(one.text, one.kind, one.author, one.removed) for one in history] == [
        ("Who pays?", PinKind.OPEN_QUESTION, "Aki", False),
        ("Ben pays", PinKind.DECISION, "Ben", True),
    ]
    assert all(one.ended_at for one in history)
    await refused(remove_pin(world.services, aki, second, event_key="again"), "pin_changed")
    audit = [row["action"] for row in await rows(world, "audit") if row["subject_id"] == first]
    assert audit == ["pin", "edit_pin", "remove_pin"]


async def test_the_same_press_delivered_twice_is_one_pin_and_one_edit(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    first, again = await asyncio.gather(
        *(mark(world, aki, thread, "decision", "Kita", event_key="twice") for _ in range(2))
    )
    assert first == again
    edits = [await edit_pin(world.services, aki, first, "Minami", event_key="edit") for _ in range(2)]
    assert edits[0] == edits[1]
    for _ in range(2):
        await remove_pin(world.services, aki, edits[0], event_key="remove")
    assert len(await rows(world, "pin")) == 2


async def test_of_two_edits_at_once_one_wins(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one")
    first = await mark(world, aki, thread, "decision", "Kita")
    results = await asyncio.gather(
        edit_pin(world.services, aki, first, "by Aki", event_key="a"),
        edit_pin(world.services, ben, first, "by Ben", event_key="b"),
        return_exceptions=True,
    )
    lost = [each for each in results if isinstance(each, Refusal)]
    assert [each.code for each in lost] == ["pin_changed"]
    assert len(await list_pins(world.services, aki, thread)) == 1


async def test_a_thread_holds_so_many_pins_and_no_more(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    ids = [await mark(world, aki, thread, "reference", f"https://example.test/{n}") for n in range(MOST_PINS)]
    await refused(mark(world, aki, thread, "reference", "one more"), "too_many_pins")
    await remove_pin(world.services, aki, ids[0], event_key="r")
    await mark(world, aki, thread, "reference", "one more")


async def test_a_branch_has_the_pins_of_its_point_and_each_side_goes_its_own_way(world: World) -> None:
    aki = await world.person()
    thread = (await world.say(aki, "one")).thread_id
    assert thread
    kept = await mark(world, aki, thread, "constraint", "as of one")
    removed = await mark(world, aki, thread, "decision", "removed later")
    gone = await mark(world, aki, thread, "decision", "removed before")
    await remove_pin(world.services, aki, gone, event_key="r1")
    await world.say(aki, "two", thread)
    await edit_pin(world.services, aki, kept, "changed after two", event_key="e1")
    await remove_pin(world.services, aki, removed, event_key="r2")
    await mark(world, aki, thread, "decision", "marked after two")
    parents = await rows(world, "pin")
    early = await branch(world.services, aki, BranchRequest(thread_id=thread, position=2), event_key="b1")
    late = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b2")
    assert await texts(world, aki, early.id) == ["as of one", "removed later"]
    assert await texts(world, aki, late.id) == ["changed after two", "marked after two"]
    below = await branch(world.services, aki, BranchRequest(thread_id=early.id, position=2), event_key="b3")
    assert await texts(world, aki, below.id) == ["as of one", "removed later"]
    first = await branch(world.services, aki, BranchRequest(thread_id=thread, position=1), event_key="b4")
    assert await texts(world, aki, first.id) == []
    (own, _) = await list_pins(world.services, aki, early.id)
    await edit_pin(world.services, aki, own.id, "only here", event_key="e2")
    assert await texts(world, aki, early.id) == ["only here", "removed later"]
    assert [row for row in await rows(world, "pin") if row["thread_id"] == thread] == parents
    history = await show_pin_history(world.services, aki, own.id)
    assert [one.text for one in history] == ["as of one", "only here"]


async def test_erasing_a_person_blanks_their_pins_and_what_others_marked_of_their_words(world: World) -> None:
    aki, ben = await world.person("U1", "Sekrito"), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "sekrit words")
    said = message(await world.page(aki, thread), "sekrit words")
    typed = await mark(world, aki, thread, "decision", "sekrit typed")
    await edit_pin(world.services, aki, typed, "sekrit edited", event_key="e")
    await mark(world, ben, thread, "constraint", message_id=said.message_id)
    await mark(world, ben, thread, "constraint", "what Ben typed stays")
    new = await branch(world.services, ben, BranchRequest(thread_id=thread), event_key="b")
    before = await rows(world, "pin")
    assert sum("sekrit" in row["text"] for row in before) == 5
    await erase_person(world.services, aki, "U1")
    after = await rows(world, "pin")
    assert "sekrit" not in repr(after).casefold()
    assert [row["id"] for row in after] == [row["id"] for row in before]
    for place in (thread, new.id):
        assert (await texts(world, ben, place))[-1] == "what Ben typed stays"


@pytest.mark.parametrize("door", ["closed", "another workspace"])
async def test_pins_of_a_place_that_cannot_be_seen_look_like_none(world: World, door: str) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one")
    held = await mark(world, aki, thread, "decision", "hidden")
    if door == "closed":
        world.doors.closed.add(("C1", "U2"))
    else:
        elsewhere = WorkspaceSeen(platform=PLATFORM, external_id="W2", name="Others")
        ben = await identify(
            world.services, PersonSeen(workspace=elsewhere, external_id="U2", name="Ben", locale="en")
        )
    services = world.services
    await refused(list_pins(services, ben, thread), "thread_not_found")
    await refused(pin(services, ben, thread, "decision", "x", event_key="p"), "thread_not_found")
    for nowhere in (held, "unknown"):
        await refused(show_pin_history(services, ben, nowhere), "pin_not_found")
        await refused(edit_pin(services, ben, nowhere, "x", event_key="e"), "pin_not_found")
        await refused(remove_pin(services, ben, nowhere, event_key="r"), "pin_not_found")
    assert await texts(world, aki, thread) == ["hidden"]
