"""What the database itself refuses, whoever asks."""

import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError, StatementError

from core.domain.ids import ThreadId
from core.store.audit import do_audit
from core.store.claim import claim, settle
from core.store.message import do_add_message, do_append
from core.store.tables import AuditRow, MessageRow, ThreadRow
from core.store.thread import do_add_thread
from tests.store.ground import Ground, a_branch


async def refused(ground: Ground, statement: str, reason: str, **values: Any) -> None:
    """The statement fails for this reason."""
    with pytest.raises(DBAPIError) as caught:
        async with ground.store.writing() as session:
            await session.execute(text(statement), values)
    assert reason in str(caught.value)


async def test_an_audit_row_is_never_changed_nor_deleted(ground: Ground) -> None:
    async with ground.store.writing() as session:
        await do_audit(
            session, ground.workspace_id, actor_id=None, action="branch", subject_id="s", clock=ground.clock
        )
    await refused(ground, "UPDATE audit SET action = 'rename'", "audit rows are never changed")
    await refused(ground, "DELETE FROM audit", "audit rows are never changed")
    async with ground.store.reading() as session:
        assert list(await session.scalars(select(AuditRow.action))) == ["branch"]


async def test_a_message_row_is_never_changed_except_when_it_is_erased(ground: Ground) -> None:
    await ground.say("what was said")
    for forged in ("text = 'other words'", "author_name = 'Ben'", "text = 'other words', erased = true"):
        await refused(ground, f"UPDATE message SET {forged}", "message rows are never changed")  # noqa: S608
    async with ground.store.writing() as session:
        await session.execute(text("UPDATE message SET text = '', erased = true"))
    assert await ground.words() == [""]


async def test_a_receipt_part_is_never_changed_except_when_it_is_erased(ground: Ground) -> None:
    message = await ground.say("what was said")
    await ground.add_receipt(await ground.add_run(message), message)
    await refused(ground, "UPDATE receipt_part SET text = 'x'", "receipt parts are never changed")
    async with ground.store.writing() as session:
        await session.execute(text("UPDATE receipt_part SET text = ''"))


async def test_a_branch_lies_at_most_four_levels_deep(ground: Ground) -> None:
    above = ground.thread
    for _ in range(4):
        below = a_branch(ground, above)
        async with ground.store.writing() as session:
            await do_add_thread(session, below)
        above = below
    with pytest.raises(DBAPIError, match="ck_thread_depth"):
        async with ground.store.writing() as session:
            await do_add_thread(session, a_branch(ground, above))


async def test_only_a_thread_with_a_parent_has_a_depth(ground: Ground) -> None:
    with pytest.raises(DBAPIError, match="ck_thread_depth_of_parent"):
        async with ground.store.writing() as session:
            await do_add_thread(session, replace(a_branch(ground, ground.thread), parent_id=None))


async def test_a_place_holds_one_thread_and_the_second_is_told(ground: Ground) -> None:
    second = replace(ground.thread, id=ThreadId(ground.id()))
    async with ground.store.writing() as session:
        assert await do_add_thread(session, second) is False
        assert list(await session.scalars(select(ThreadRow.id))) == [ground.thread.id]


async def test_threads_without_a_place_do_not_stand_in_each_others_way(ground: Ground) -> None:
    async with ground.store.writing() as session:
        assert await do_add_thread(session, a_branch(ground, ground.thread))
        assert await do_add_thread(session, a_branch(ground, ground.thread))


async def test_a_step_of_a_run_has_one_receipt(ground: Ground) -> None:
    message = await ground.say("what was said")
    run = await ground.add_run(message)
    await ground.add_receipt(run, message)
    with pytest.raises(DBAPIError):
        await ground.add_receipt(run, message)


async def test_a_message_stands_once_in_a_conversation(ground: Ground) -> None:
    message = await ground.say("what was said")
    with pytest.raises(DBAPIError):
        async with ground.store.writing() as session:
            await do_append(session, ground.workspace_id, ground.line.id, message.id)
    assert await ground.words() == ["what was said"]


async def test_an_event_is_claimed_once_and_every_identity_leads_to_what_came_of_it(ground: Ground) -> None:
    store, workspace_id, clock = ground.store, ground.workspace_id, ground.clock
    async with store.writing() as session:
        assert await claim(session, workspace_id, ("event-1", "message-1"), clock) is None
        await settle(session, workspace_id, ("event-1", "message-1"), {"thread_id": "t"})
    for keys in (("event-1", "message-1"), ("event-2", "message-1"), ("event-2", "message-2")):
        async with store.writing() as session:
            assert await claim(session, workspace_id, keys, clock) == {"thread_id": "t"}, keys


async def test_a_claim_of_a_transaction_that_failed_is_free_again(ground: Ground) -> None:
    async def claim_and_fail() -> None:
        async with ground.store.writing() as session:
            await claim(session, ground.workspace_id, ("event-1",), ground.clock)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await claim_and_fail()
    async with ground.store.writing() as session:
        assert await claim(session, ground.workspace_id, ("event-1",), ground.clock) is None


async def test_times_come_back_in_utc_with_their_zone(ground: Ground) -> None:
    tokyo = datetime(2026, 11, 30, 9, 30, tzinfo=timezone(timedelta(hours=9)))
    message = replace(ground.message("early"), created_at=tokyo)
    async with ground.store.writing() as session:
        await do_add_message(session, ground.workspace_id, message)
    async with ground.store.reading() as session:
        stored = (await session.scalars(select(MessageRow.created_at))).one()
    assert stored == tokyo
    assert stored.tzinfo is UTC


async def test_a_time_without_a_zone_is_refused(ground: Ground) -> None:
    naive = replace(ground.message("when?"), created_at=datetime(2026, 11, 30))  # noqa: DTZ001
    with pytest.raises(StatementError, match="a stored time needs a time zone"):
        async with ground.store.writing() as session:
            await do_add_message(session, ground.workspace_id, naive)


async def test_an_error_of_the_database_does_not_repeat_what_people_wrote(ground: Ground) -> None:
    private = "the salary of Tanaka"

    async def add_message() -> None:
        async with ground.store.writing() as session:
            nowhere = replace(ground.message(private), thread_id=ThreadId("nowhere"))
            await do_add_message(session, ground.workspace_id, nowhere)

    async def add_thread() -> None:
        async with ground.store.writing() as session:
            await do_add_thread(session, replace(a_branch(ground, ground.thread), depth=9, title=private))

    for act in (add_message, add_thread):
        with pytest.raises(DBAPIError) as caught:
            await act()
        shown = "".join(traceback.format_exception(caught.value))
        assert "constraint" in shown.lower()
        assert private not in shown
