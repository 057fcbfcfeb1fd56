"""Applying an adoption: all of it or nothing, wherever the process dies, and whoever saves or asks at that moment."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from core.commands import adoption as adopting
from core.commands.adoption import AdoptionRequest, approve, list_adoptions, request_adoption
from core.commands.artifact import list_saved, save_answer, show_artifact
from core.commands.branch import BranchRequest, branch
from core.commands.upkeep import pick_up_left_behind
from core.domain.adoption import EXPIRES_AFTER, AdoptionStatus
from core.domain.errors import Refusal, StoreUnavailable
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.view import AdoptionCardView
from core.store import artifact as store
from tests.commands.look import answer, refused, rows
from tests.product import World, eventually

pytestmark = pytest.mark.soak

TABLES = (
    "adoption", "artifact", "artifact_version", "audit", "claim", "conversation", "entry", "message", "notice",
    "run", "thread",
)  # fmt: skip


class Killed(BaseException):
    """Stands in for the end of the process."""


@contextmanager
def dying(world: World, before: int) -> Iterator[list[str]]:
    """Writers die before their statement of that number; yields the statements that were begun."""
    begun: list[str] = []

    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        begun.append(statement)
        if len(begun) == before:
            raise Killed

    engine = world.store._writer.sync_engine
    event.listen(engine, "before_cursor_execute", count)
    try:
        yield begun
    finally:
        event.remove(engine, "before_cursor_execute", count)


async def stored(world: World) -> dict[str, list[dict[str, Any]]]:
    return {table: await rows(world, table) for table in TABLES}


async def asked(world: World, actor: Actor) -> tuple[ThreadId, ThreadId, str]:
    """A thread, a branch of it that says and saves more, and the request to adopt it; nothing is going on."""
    parent = (await world.say(actor, "Which supplier?")).thread_id
    assert parent is not None
    request = BranchRequest(thread_id=parent, name="Kita")
    made = await branch(world.services, actor, request, event_key=world.clock.new_id())
    await world.say(actor, "What if Kita?", made.id)
    kept = answer(await world.page(actor, made.id), "answer 2")
    await save_answer(world.services, actor, str(kept.message_id), "Plan", event_key=world.clock.new_id())
    adoption = await ask(world, actor, made.id)
    await eventually(lambda: [v for v in world.poster.posts.values() if isinstance(v, AdoptionCardView)])
    await eventually(lambda: settled(world))
    return parent, made.id, adoption


async def ask(world: World, actor: Actor, made: ThreadId) -> str:
    request = AdoptionRequest(branch_id=made, reason="It is the better offer")
    return await request_adoption(world.services, actor, request, event_key=world.clock.new_id())


async def settled(world: World) -> bool:
    return all(row["status"] == "done" for row in await rows(world, "run"))


async def test_killed_before_any_statement_of_an_approval_nothing_of_it_is_there(world: World) -> None:
    aki = await world.person()
    parent, made, adoption = await asked(world, aki)
    before = await stored(world)
    texts = await world.texts(aki, parent)
    number = 0
    while True:
        number += 1
        with dying(world, number) as begun:
            try:
                await approve(world.services, aki, adoption, event_key="press")
            except Killed:
                assert await stored(world) == before, begun[-1]
                continue
        break
    assert number > 20
    assert await world.texts(aki, parent) == [*texts, "What if Kita?", "answer 2"]
    assert [one.name for one in await list_saved(world.services, aki, parent)] == ["Plan"]
    assert [row["action"] for row in await rows(world, "audit")].count("adoption_approved") == 1
    (held,) = await list_adoptions(world.services, aki, made)
    assert held.status is AdoptionStatus.APPROVED


async def test_killed_after_an_approval_its_card_is_brought_up_to_date_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    aki = await world.person()
    parent, _, adoption = await asked(world, aki)

    async def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(adopting, "enqueue", die)
        with pytest.raises(Killed):
            await approve(world.services, aki, adoption, event_key="press")
    assert (await world.texts(aki, parent))[2:] == ["What if Kita?", "answer 2"]

    def shown() -> list[AdoptionStatus]:
        return [view.status for view in world.poster.posts.values() if isinstance(view, AdoptionCardView)]

    assert shown() == [AdoptionStatus.PENDING]
    world.clock.advance(timedelta(minutes=5))
    await pick_up_left_behind(world.services)
    await eventually(lambda: shown() == [AdoptionStatus.APPROVED] * 2)
    await approve(world.services, aki, adoption, event_key="press")
    assert (await world.texts(aki, parent))[2:] == ["What if Kita?", "answer 2"]


# --- somebody saves the same name at that moment ----------------------------------------------------------------------


async def save_first_answer(world: World, actor: Actor, thread: ThreadId) -> None:
    shown = answer(await world.page(actor, thread), "answer 1")
    await save_answer(
        world.services, actor, f"{thread}/{shown.message_id}", "plan", event_key=world.clock.new_id()
    )


async def check_one_won(world: World, actor: Actor, parent: ThreadId, adoption: str, lost: str) -> None:
    (one,) = await list_saved(world.services, actor, parent)
    shown = await show_artifact(world.services, actor, parent, one.name)
    assert len(shown.versions) == 1
    taken_in = lost == "artifact_name_taken"
    assert shown.text == ("answer 2" if taken_in else "answer 1")
    assert await world.texts(actor, parent) == [
        "Which supplier?",
        "answer 1",
        *(["What if Kita?", "answer 2"] if taken_in else []),
    ]
    held = [row["status"] for row in await rows(world, "adoption") if row["id"] == adoption]
    assert held == ["approved" if taken_in else "pending"]


async def approve_meets_save(world: World) -> None:
    aki = await world.person()
    parent, _, adoption = await asked(world, aki)
    results = await asyncio.gather(
        approve(world.services, aki, adoption, event_key="press"),
        save_first_answer(world, aki, parent),
        return_exceptions=True,
    )
    (lost,) = [each for each in results if isinstance(each, BaseException)]
    assert isinstance(lost, Refusal)
    assert lost.code in {"artifact_name_taken", "adopt_new_conflict"}
    await check_one_won(world, aki, parent, adoption, lost.code)


async def test_an_approval_and_a_save_of_one_name_at_once_are_never_both_done(world: World) -> None:
    await approve_meets_save(world)


async def test_an_approval_and_a_save_of_one_name_at_once_are_never_both_done_on_postgres(
    postgres_world: World,
) -> None:
    await approve_meets_save(postgres_world)


async def test_a_name_that_is_saved_between_look_and_write_blocks_the_approval(
    postgres_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = postgres_world
    aki = await world.person()
    parent, _, adoption = await asked(world, aki)
    add = store.do_add_artifact

    async def late(*given: Any, **more: Any) -> Any:
        await save_first_answer(world, aki, parent)
        return await add(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(adopting, "do_add_artifact", late)
        lost = await refused(approve(world.services, aki, adoption, event_key="press"), "adopt_new_conflict")
    assert lost.fields == {"name": "Plan"}
    await check_one_won(world, aki, parent, adoption, lost.code)


# --- fifty at once, and the last second -------------------------------------------------------------------------------


def code_for(number: int, won: int) -> str:
    return "adopt_pending_already" if number % 5 == won % 5 else "adopt_another_pending"


async def fifty_ask(world: World) -> None:
    aki = await world.person()
    parent = (await world.say(aki, "Which supplier?")).thread_id
    assert parent is not None
    made = []
    for number in range(5):
        request = BranchRequest(thread_id=parent, name=f"Offer {number}")
        made.append(await branch(world.services, aki, request, event_key=world.clock.new_id()))
        await world.say(aki, f"What if {number}?", made[-1].id, mentions_other=True)
    results = await asyncio.gather(
        *(ask(world, aki, made[number % 5].id) for number in range(50)), return_exceptions=True
    )
    won = [number for number, each in enumerate(results) if isinstance(each, str)]
    assert len(won) == 1
    for number, each in enumerate(results):
        if isinstance(each, StoreUnavailable):
            # Whoever does not get a turn within the deadline is told so, and asks again.
            each = await refused(ask(world, aki, made[number % 5].id), code_for(number, won[0]))
        assert number in won or (isinstance(each, Refusal) and each.code == code_for(number, won[0]))
    assert [row["status"] for row in await rows(world, "adoption")] == ["pending"]
    assert [row["status"] for row in await rows(world, "thread")].count("adopt_pending") == 1


async def test_of_fifty_requests_at_once_under_one_thread_one_waits(world: World) -> None:
    await fifty_ask(world)


async def test_of_fifty_requests_at_once_under_one_thread_one_waits_on_postgres(
    postgres_world: World,
) -> None:
    await fifty_ask(postgres_world)


async def test_in_its_last_second_a_request_still_holds_its_place_and_can_be_approved(world: World) -> None:
    aki = await world.person()
    parent, made, adoption = await asked(world, aki)
    request = BranchRequest(thread_id=parent, position=1, name="Minami")
    other = await branch(world.services, aki, request, event_key=world.clock.new_id())
    await world.say(aki, "What if Minami?", other.id, mentions_other=True)
    (row,) = await rows(world, "adoption")
    assert row["expires_at"] - row["created_at"] == EXPIRES_AFTER
    # The clock of the tests goes on by itself, so the last second is reached from what is stored.
    world.clock.advance(row["expires_at"] - world.clock.now() - timedelta(milliseconds=900))
    await refused(ask(world, aki, other.id), "adopt_another_pending")
    await approve(world.services, aki, adoption, event_key="press")
    (held,) = await list_adoptions(world.services, aki, made)
    assert held.status is AdoptionStatus.APPROVED
