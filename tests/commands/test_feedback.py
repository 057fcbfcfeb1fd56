"""Feedback on answers: who may give it, what is kept of it, and who reads it."""

import asyncio
import json

from core.commands.branch import BranchRequest, branch
from core.commands.care import erase_person
from core.commands.export import export_thread
from core.commands.feedback import give_feedback
from core.domain.feedback import COMMENT_CHARS, Thumb
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.view import AnswerState
from tests.commands.look import answer, count, new_thread, refused, rows, whole
from tests.product import World


async def rated(world: World) -> tuple[Actor, ThreadId, str]:
    """A person, their thread, and what its one answer is rated by."""
    aki = await world.person()
    thread = await new_thread(world, aki, "Which database?")
    return aki, thread, answer(await world.page(aki, thread), "answer 1").feedback_ref


async def held(world: World) -> list[tuple[str, str, str]]:
    return [(row["person_id"], row["thumb"], row["comment"]) for row in await rows(world, "feedback")]


async def test_a_thumb_is_kept_once_a_person_and_changing_one_s_mind_replaces_it(world: World) -> None:
    aki, thread, ref = await rated(world)
    ben = await world.person("U2", "Ben")
    assert await give_feedback(world.services, aki, ref, "up", event_key="1") is Thumb.UP
    assert await give_feedback(world.services, ben, ref, "up", event_key="2") is Thumb.UP
    assert await give_feedback(world.services, aki, ref, "down", event_key="3") is Thumb.DOWN
    assert sorted(await held(world)) == sorted([(aki.person_id, "down", ""), (ben.person_id, "up", "")])
    assert answer(await world.page(aki, thread), "answer 1").thumb is Thumb.DOWN
    assert answer(await world.page(ben, thread), "answer 1").thumb is Thumb.UP


async def test_the_same_thumb_again_takes_it_back_and_a_second_delivery_does_not(world: World) -> None:
    aki, thread, ref = await rated(world)
    assert await give_feedback(world.services, aki, ref, "up", event_key="1") is Thumb.UP
    assert await give_feedback(world.services, aki, ref, "up", event_key="1") is Thumb.UP
    assert await count(world, "feedback") == 1
    assert await give_feedback(world.services, aki, ref, "up", event_key="2") is None
    assert await give_feedback(world.services, aki, ref, "up", event_key="2") is None
    assert await count(world, "feedback") == 0
    assert answer(await world.page(aki, thread), "answer 1").thumb is None


async def test_a_comment_stays_with_its_thumb_and_goes_with_a_change_of_mind(world: World) -> None:
    aki, _, ref = await rated(world)
    await give_feedback(world.services, aki, ref, "down", event_key="1")
    await give_feedback(world.services, aki, ref, "down", comment=" It made\x00 this up. ", event_key="2")
    assert await held(world) == [(aki.person_id, "down", "It made this up.")]
    await give_feedback(world.services, aki, ref, "down", comment="", event_key="3")
    assert await held(world) == [(aki.person_id, "down", "")]
    await give_feedback(world.services, aki, ref, "down", comment="Wrong.", event_key="4")
    await give_feedback(world.services, aki, ref, "up", event_key="5")
    assert await held(world) == [(aki.person_id, "up", "")]


async def test_what_cannot_be_kept_is_refused_and_nothing_is_stored(world: World) -> None:
    aki, thread, ref = await rated(world)
    give = give_feedback
    await refused(give(world.services, aki, ref, "sideways", event_key="1"), "unknown_thumb")
    long = "x" * (COMMENT_CHARS + 1)
    await refused(give(world.services, aki, ref, "up", comment=long, event_key="1"), "comment_too_long")
    await refused(give(world.services, aki, "unknown", "up", event_key="1"), "answer_not_found")
    question = (await world.page(aki, thread)).items[0]
    asked = getattr(question, "message_id", "")
    await refused(give(world.services, aki, asked, "up", event_key="1"), "answer_not_found")
    assert await count(world, "feedback") == 0
    await give(world.services, aki, ref, "up", comment="x" * COMMENT_CHARS, event_key="1")
    assert await count(world, "feedback") == 1


async def test_whoever_cannot_see_the_channel_cannot_rate_what_is_said_in_it(world: World) -> None:
    _, _, ref = await rated(world)
    ben = await world.person("U2", "Ben")
    world.doors.closed.add(("C1", "U2"))
    await refused(give_feedback(world.services, ben, ref, "up", event_key="1"), "answer_not_found")
    assert await count(world, "feedback") == 0


async def test_an_inherited_answer_is_rated_from_its_branch(world: World) -> None:
    aki, thread, ref = await rated(world)
    new = await branch(world.services, aki, BranchRequest(thread_id=thread, position=2), event_key="b")
    inherited = answer(await world.page(aki, new.id), "answer 1")
    assert inherited.feedback_ref == f"{new.id}/{ref}"
    assert await give_feedback(world.services, aki, inherited.feedback_ref, "up", event_key="1") is Thumb.UP
    assert answer(await world.page(aki, thread), "answer 1").thumb is Thumb.UP


async def test_two_presses_at_once_leave_one_row_or_none(world: World) -> None:
    aki, _, ref = await rated(world)
    kept = await asyncio.gather(
        *(give_feedback(world.services, aki, ref, "up", event_key=str(n)) for n in range(2))
    )
    assert set(kept) == {Thumb.UP, None}
    assert await count(world, "feedback") == 0


async def test_nothing_is_rated_before_something_is_written(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    said = await world.say(aki, "Which database?", wait=False)
    view = next(
        i for i in (await world.page(aki, said.thread_id or ThreadId(""))).items if hasattr(i, "state")
    )
    assert getattr(view, "state", None) in (AnswerState.QUEUED, AnswerState.WRITING)
    assert getattr(view, "feedback_ref", None) == ""


async def test_feedback_goes_along_with_an_exported_thread(world: World) -> None:
    aki, thread, ref = await rated(world)
    plain = json.loads(await whole(await export_thread(world.services, aki, thread, form="json")))
    assert plain["feedback"] == []
    await give_feedback(world.services, aki, ref, "down", comment="Wrong.", event_key="1")
    exported = json.loads(await whole(await export_thread(world.services, aki, thread, form="json")))
    (one,) = exported["feedback"]
    assert (one["answer"], one["person"], one["thumb"], one["comment"]) == (ref, aki.name, "down", "Wrong.")
    assert exported["sha256"] == plain["sha256"]
    markdown = await whole(await export_thread(world.services, aki, thread, form="markdown"))
    assert f"`{ref}`: down, {aki.name}: Wrong." in markdown


async def test_erasing_a_person_blanks_what_they_commented_and_no_one_else_s(world: World) -> None:
    aki, _, ref = await rated(world)
    ben = await world.person("U2", "Ben")
    await give_feedback(world.services, aki, ref, "down", comment="my words", event_key="1")
    await give_feedback(world.services, ben, ref, "down", comment="Ben's words", event_key="2")
    await erase_person(world.services, aki, aki.external_id)
    assert sorted(await held(world)) == sorted(
        [(aki.person_id, "down", ""), (ben.person_id, "down", "Ben's words")]
    )
