"""Threads: branching as a copy of references, and lists."""

from dataclasses import replace

import pytest

from core.domain.thread import Conversation, Place, Thread
from core.store.message import do_add_message, do_append, entries_between
from core.store.page import load_branch_header, read_stretch
from core.store.run import do_mark
from core.store.thread import (
    chain,
    conversations,
    do_branch,
    do_open_at,
    find_thread,
    find_thread_at,
    list_threads,
)
from tests.store.ground import Ground, a_branch, dump, watched


async def branch(
    ground: Ground, upto: int, *, parent: Thread | None = None
) -> tuple[Thread, list[Conversation]]:
    """A branch of the thread at a position of its first conversation."""
    parent = parent or ground.thread
    new = a_branch(ground, parent, position=upto)
    async with ground.store.writing() as session:
        chosen = (await conversations(session, ground.workspace_id, parent.id))[0]
        await do_branch(session, parent, new, chosen=chosen, upto=upto, clock=ground.clock)
        return new, await conversations(session, ground.workspace_id, new.id)


async def test_a_branch_copies_all_its_references_in_one_statement(ground: Ground) -> None:
    costs = []
    for count in (30, 2_000):
        thread = await ground.add_thread()
        async with ground.store.reading() as session:
            line = (await conversations(session, ground.workspace_id, thread.id))[0]
        await ground.fill(count, line=line)
        with watched(ground.store) as traffic:
            _, lines = await branch(ground, count - 1, parent=thread)
        assert lines[0].inherited == count - 1
        assert len(traffic.matching(r"INSERT INTO entry .*SELECT")) == 1
        assert len(traffic.matching(r"INSERT INTO (entry|message)")) == 1
        costs.append((len(traffic.statements), traffic.rows))
    assert costs[0] == costs[1]


async def test_branching_leaves_every_row_that_was_there_as_it_was(ground: Ground) -> None:
    await ground.fill(12)
    before = await dump(ground.store)
    new, _ = await branch(ground, 7)
    after = await dump(ground.store)
    added = {name: [row for row in rows if row not in before[name]] for name, rows in after.items()}
    gone = {name: [row for row in rows if row not in after[name]] for name, rows in before.items()}
    assert not any(gone.values())
    assert {name for name, rows in added.items() if rows} == {"thread", "conversation", "entry"}
    assert len(added["entry"]) == 7
    assert [row[0] for row in added["thread"]] == [new.id]


async def test_a_branch_of_nothing_is_an_empty_conversation(ground: Ground) -> None:
    _, lines = await branch(ground, 0)
    assert [line.inherited for line in lines] == [0]
    assert await ground.words(lines[0]) == []


async def test_other_conversations_give_what_is_not_later_than_the_chosen_message(ground: Ground) -> None:
    """Two lines get the same questions; in the slow one the first answer came after the second question."""
    thread = await ground.add_thread(lines=("quick", "slow"))
    here = replace(ground, thread=thread)
    async with ground.store.reading() as session:
        quick, slow = await conversations(session, ground.workspace_id, thread.id)
    told = {
        "first question": (quick, slow),
        "quick answer": (quick,),
        "second question": (quick, slow),
        "third question": (quick, slow),
    }
    stored = {}
    async with ground.store.writing() as session:
        for words, lines in told.items():
            stored[words] = here.message(words)
            await do_add_message(session, ground.workspace_id, stored[words])
            for line in lines:
                await do_append(session, ground.workspace_id, line.id, stored[words].id)
    late = replace(here, line=slow)
    await late.place(late.message("late answer", answers=stored["first question"].id))
    assert await here.words(slow) == ["first question", "late answer", "second question", "third question"]
    _, (quick_copy, slow_copy) = await branch(here, 3, parent=thread)
    assert await here.words(quick_copy) == ["first question", "quick answer", "second question"]
    assert await here.words(slow_copy) == ["first question", "second question"]
    assert slow_copy.inherited == 2


async def test_a_shorter_conversation_is_copied_whole(ground: Ground) -> None:
    thread = await ground.add_thread(lines=("long", "short"))
    here = replace(ground, thread=thread)
    async with ground.store.reading() as session:
        long, short = await conversations(session, ground.workspace_id, thread.id)
    await here.fill(5, line=long)
    async with ground.store.writing() as session:
        early = (await entries_between(session, long.id, 2, 2))[0].message
        await do_append(session, ground.workspace_id, short.id, early.id)
    _, lines = await branch(here, 4, parent=thread)
    assert [line.inherited for line in lines] == [4, 1]


async def test_a_thread_knows_those_above_it(ground: Ground) -> None:
    first, _ = await branch(ground, 0)
    second, _ = await branch(ground, 0, parent=first)
    async with ground.store.reading() as session:
        assert [t.id for t in await chain(session, second)] == [ground.thread.id, first.id, second.id]


async def test_a_thread_is_busy_while_a_run_is_open_in_it(ground: Ground) -> None:
    other = await ground.add_thread()
    run = await ground.add_run(await ground.say("well?"))
    async with ground.store.reading() as session:
        assert [(t.id, busy) for t, busy in await list_threads(session, ground.workspace_id, ["C1"])] == [
            (other.id, False),
            (ground.thread.id, True),
        ]
    async with ground.store.writing() as session:
        assert await do_mark(session, ground.workspace_id, run.id, "done", now=ground.clock.now())
        assert not await do_mark(session, ground.workspace_id, run.id, "failed", now=ground.clock.now())
    async with ground.store.reading() as session:
        assert not any(busy for _, busy in await list_threads(session, ground.workspace_id, ["C1"]))


async def test_a_list_costs_the_same_whatever_its_threads_hold(ground: Ground) -> None:
    costs = []
    for count in (30, 5_000):
        here = replace(ground, thread=await ground.add_thread(channel=f"C{count}"))
        async with ground.store.reading() as session:
            line = (await conversations(session, ground.workspace_id, here.thread.id))[0]
        await here.fill(count, line=line)
        with watched(ground.store) as traffic:
            async with ground.store.reading() as session:
                assert len(await list_threads(session, ground.workspace_id, [f"C{count}"])) == 1
        costs.append((len(traffic.statements), traffic.rows))
    assert costs[0] == costs[1]


async def test_a_page_costs_the_same_in_a_thread_of_any_length(ground: Ground) -> None:
    costs = []
    for count in (60, 5_000):
        thread = await ground.add_thread()
        async with ground.store.reading() as session:
            line = (await conversations(session, ground.workspace_id, thread.id))[0]
        await ground.fill(count, line=line)
        new, _ = await branch(ground, count, parent=thread)
        with watched(ground.store) as traffic:
            async with ground.store.reading() as session:
                stretch = await read_stretch(
                    session, thread, [line], ground.reader, before=None, limit=50, workflows={}
                )
                header = await load_branch_header(session, new)
        assert len(stretch.items) == 50
        assert stretch.earlier == count - 50
        assert header
        assert header.inherited == count
        costs.append((len(traffic.statements), traffic.rows))
    assert costs[0] == costs[1]


@pytest.mark.parametrize("before", [1, 0, -5])
async def test_there_is_nothing_before_the_first_message(sqlite_ground: Ground, before: int) -> None:
    stretch = await stretch_before(sqlite_ground, before)
    assert stretch == ([], 0)


@pytest.mark.parametrize(
    ("before", "texts", "earlier"), [(4, ["message 2", "message 3"], 1), (99, ["message 4", "message 5"], 3)]
)
async def test_an_earlier_page_ends_before_its_position(
    sqlite_ground: Ground, before: int, texts: list[str], earlier: int
) -> None:
    assert await stretch_before(sqlite_ground, before) == (texts, earlier)


async def stretch_before(ground: Ground, before: int) -> tuple[list[str], int]:
    await ground.fill(5)
    async with ground.store.reading() as session:
        found = await read_stretch(
            session, ground.thread, [ground.line], ground.reader, before=before, limit=2, workflows={}
        )
    return [item.text for item in found.items], found.earlier


async def test_a_branch_is_found_at_the_place_that_the_platform_gave_it(ground: Ground) -> None:
    new, _ = await branch(ground, 0)
    place = Place(platform="test", channel="C1", thread="1234.5")
    async with ground.store.writing() as session:
        await do_open_at(session, ground.workspace_id, new.id, place)
    async with ground.store.reading() as session:
        found = await find_thread_at(session, ground.workspace_id, place)
        assert found == await find_thread(session, ground.workspace_id, new.id)
        assert found
        assert found.place == place
