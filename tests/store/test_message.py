"""Conversations as ordered references: positions, the window, and what they cost."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.ids import AttachmentId, MessageId
from core.domain.message import Attachment
from core.store.message import (
    do_add_message,
    do_append,
    do_remove,
    do_replace,
    entries_between,
    entry_at,
    length,
    position_of,
    read_window,
)
from core.store.thread import conversations, do_branch
from tests.store.ground import Ground, a_branch, watched

SHARED = settings(
    max_examples=25,
    deadline=None,
    # Every example works in a thread of its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@dataclass
class Said:
    """What the simple model knows of a message: its first version, and what it answers."""

    root: int
    words: str
    answers: int | None = None


@dataclass
class Model:
    """A conversation as a plain list."""

    said: list[Said] = field(default_factory=list)
    ever: int = 0

    def append(self, words: str) -> Said:
        self.ever += 1
        self.said.append(Said(self.ever, words))
        return self.said[-1]

    def place_answer(self, asked: int, words: str) -> None:
        self.ever += 1
        answer = Said(self.ever, words, answers=asked)
        at = next((n for n, each in enumerate(self.said) if each.root == asked), None)
        if at is None:
            later = [n for n, each in enumerate(self.said) if each.answers is None and each.root > asked]
            self.said.insert(later[0] if later else len(self.said), answer)
        elif self.said[at + 1 : at + 2] and self.said[at + 1].answers == asked:
            self.said[at + 1] = answer
        else:
            self.said.insert(at + 1, answer)


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "answer", "answer", "edit", "remove", "branch"]),
        st.integers(0, 30),
    ),
    min_size=4,
    max_size=14,
)


@SHARED
@given(operations=OPERATIONS)
async def test_positions_count_from_one_without_gaps_whatever_happens(
    ground: Ground, operations: list[tuple[str, int]]
) -> None:
    here, model, asked = await in_a_new_thread(ground), Model(), []
    roots: dict[int, MessageId] = {}
    for number, (operation, choice) in enumerate(operations):
        words = f"{operation} {number}"
        if operation == "append":
            message = await here.say(words)
            said = model.append(words)
            roots[said.root] = message.id
            asked.append(said.root)
        elif operation == "answer" and asked:
            root = asked[choice % len(asked)]
            message = here.message(words, answers=roots[root])
            await here.place(message)
            model.place_answer(root, words)
            roots[model.ever] = message.id
        elif operation == "edit" and model.said:
            said = model.said[choice % len(model.said)]
            await edit(here, roots[said.root], words)
            said.words = words
        elif operation == "remove" and model.said:
            said = model.said.pop(choice % len(model.said))
            await remove(here, roots[said.root])
        elif operation == "branch":
            upto = choice % (len(model.said) + 1)
            assert await branch_words(here, upto) == [each.words for each in model.said[:upto]]
        assert await here.words() == [each.words for each in model.said]


async def in_a_new_thread(ground: Ground) -> Ground:
    thread = await ground.add_thread()
    async with ground.store.reading() as session:
        line = (await conversations(session, ground.workspace_id, thread.id))[0]
    return replace(ground, thread=thread, line=line)


async def edit(here: Ground, root_id: MessageId, words: str) -> None:
    async with here.store.writing() as session:
        position = await position_of(session, here.line.id, root_id)
        assert position
        entry = await entry_at(session, here.line.id, position)
        assert entry
        new = replace(entry.message, id=MessageId(here.id()), text=words)
        await do_add_message(session, here.workspace_id, new, root_id=root_id)
        assert await do_replace(session, here.workspace_id, here.line.id, entry.message.id, new.id)


async def remove(here: Ground, root_id: MessageId) -> None:
    async with here.store.writing() as session:
        position = await position_of(session, here.line.id, root_id)
        assert position
        entry = await entry_at(session, here.line.id, position)
        assert entry
        assert await do_remove(session, here.workspace_id, here.line.id, entry.message.id)


async def branch_words(here: Ground, upto: int) -> list[str]:
    branch = a_branch(here, here.thread, position=upto)
    async with here.store.writing() as session:
        copied = await do_branch(session, here.thread, branch, chosen=here.line, upto=upto, clock=here.clock)
        line = (await conversations(session, here.workspace_id, branch.id))[0]
    assert copied == line.inherited == upto
    return await here.words(line)


async def test_removing_or_replacing_what_does_not_stand_here_changes_nothing(ground: Ground) -> None:
    await ground.say("one")
    elsewhere = await (await in_a_new_thread(ground)).say("two")
    async with ground.store.writing() as session:
        assert not await do_remove(session, ground.workspace_id, ground.line.id, elsewhere.id)
        assert not await do_replace(
            session, ground.workspace_id, ground.line.id, elsewhere.id, MessageId(ground.id())
        )
    assert await ground.words() == ["one"]


@pytest.mark.parametrize(
    ("before", "recent", "first"),
    [
        (0, [], None),
        (1, ["message 1"], None),
        (20, [f"message {n}" for n in range(1, 21)], None),
        (21, [f"message {n}" for n in range(2, 22)], "message 1"),
        (45, [f"message {n}" for n in range(26, 46)], "message 1"),
    ],
)
async def test_the_window_is_the_last_twenty_and_the_first_besides(
    sqlite_ground: Ground, before: int, recent: list[str], first: str | None
) -> None:
    ground = sqlite_ground
    await ground.fill(before + 1)
    async with ground.store.reading() as session:
        window = await read_window(session, ground.line.id, before + 1)
    assert [entry.message.text for entry in window.recent] == recent
    assert (window.first.message.text if window.first else None) == first
    assert window.total_before_request == before


async def test_the_window_holds_what_is_attached_in_its_order(ground: Ground) -> None:
    files = tuple(
        Attachment(
            id=AttachmentId(ground.id()),
            name=f"{name}.txt",
            media_type="text/plain",
            size_bytes=3,
            sha256="0" * 64,
            text=name,
            problem="",
        )
        for name in ("zebra", "ant", "moose")
    )
    message = replace(ground.message("see these"), attachments=files)
    async with ground.store.writing() as session:
        await do_add_message(session, ground.workspace_id, message)
        await do_append(session, ground.workspace_id, ground.line.id, message.id)
        await ground.say_in(session, "well?")
        window = await read_window(session, ground.line.id, 2)
    assert window.recent[0].message.attachments == files


async def test_reading_a_window_costs_the_same_in_a_thread_of_any_length(ground: Ground) -> None:
    costs = []
    for count in (30, 5_000):
        here = await in_a_new_thread(ground)
        await here.fill(count)
        with watched(here.store) as traffic:
            async with here.store.reading() as session:
                window = await read_window(session, here.line.id, count)
                assert await length(session, here.line.id) == count
        assert len(window.recent) == 20
        costs.append((len(traffic.statements), traffic.rows))
    assert costs[0] == costs[1]
    assert costs[0][1] >= 20


async def test_a_session_for_reading_sees_one_state_to_its_end(ground: Ground) -> None:
    """Otherwise a position that one statement finds could hold another message for the next."""
    await ground.say("one")
    async with ground.store.reading() as session:
        assert await length(session, ground.line.id) == 1
        await ground.say("two")
        assert await length(session, ground.line.id) == 1
        assert len(await entries_between(session, ground.line.id, 1, 9)) == 1
    assert await ground.words() == ["one", "two"]
