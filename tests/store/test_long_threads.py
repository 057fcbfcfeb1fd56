"""What one answer costs the database does not grow with its thread (spec §15).

Counted are SQLite's own machine instructions, not time.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import event

from benchmarks.ground import Conversed, Ground, open_ground
from core.domain.ids import MessageId
from core.domain.message import Author, AuthorKind, Message
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.store.database import Session
from core.store.message import do_add_message, do_append, do_place_answer
from core.store.page import TRANSCRIPT_PIECE, load_branch_header, read_stretch
from core.store.thread import do_branch
from core.store.turn import load_turn

SHORT, LONG = 60, 3_000
AT_MOST = 1.5
"""A deeper tree costs a little more; a scan costs fifty times as much."""

Act = Callable[[Session, Ground, Conversed], Awaitable[object]]


@pytest_asyncio.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    async with open_ground(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def message_of(ground: Ground, conversed: Conversed, kind: AuthorKind) -> Message:
    return Message(
        id=MessageId(ground.clock.new_id()),
        thread_id=conversed.thread.id,
        author=Author(kind=kind, name="Aki"),
        text="new",
        created_at=ground.clock.now(),
    )


async def append(session: Session, ground: Ground, conversed: Conversed) -> None:
    message = message_of(ground, conversed, AuthorKind.PERSON)
    await do_add_message(session, ground.workspace_id, message)
    await do_append(session, ground.workspace_id, conversed.conversation.id, message.id)


async def answer(session: Session, ground: Ground, conversed: Conversed) -> None:
    message = replace(message_of(ground, conversed, AuthorKind.MODEL), answers_id=conversed.message_ids[-1])
    added = await do_add_message(session, ground.workspace_id, message)
    await do_place_answer(session, ground.workspace_id, conversed.conversation.id, added, replaces=True)


async def read_for_the_model(session: Session, ground: Ground, conversed: Conversed) -> None:
    run = ground.new_run(conversed)
    turn = await load_turn(
        session, run, line=None, model="alpha", context_tokens=9_000, max_output_tokens=900, vision=False
    )
    assert turn is not None
    assert turn.window.total_before_request == len(conversed.message_ids) - 1


async def show(session: Session, ground: Ground, conversed: Conversed) -> None:
    reader = Actor(
        workspace_id=ground.workspace_id,
        workspace="W1",
        person_id=ground.person_id,
        external_id="U1",
        name="Aki",
        locale="en",
    )
    stretch = await read_stretch(
        session, conversed.thread, [conversed.conversation], reader, before=None, limit=20, workflows={}
    )
    assert stretch.earlier == len(conversed.message_ids) - 20


async def instructions(ground: Ground, conversed: Conversed, act: Act) -> int:
    """Instructions of SQLite's machine, in tens, that `act` takes; nothing of it stays."""
    count = 0

    def counted() -> int:
        nonlocal count
        count += 1
        return 0

    async with ground.store.reading() as session:
        raw = await (await session.connection()).get_raw_connection()
        driver = raw.driver_connection
        assert driver is not None
        await driver.set_progress_handler(counted, 10)
        await act(session, ground, conversed)
        await driver.set_progress_handler(None, 0)
        await session.rollback()
    return count


@pytest.mark.parametrize("mode", [Mode.CHAT, Mode.COMPARE])
@pytest.mark.parametrize("act", [append, answer, read_for_the_model, show])
async def test_the_work_for_one_message_does_not_grow_with_the_thread(
    ground: Ground, act: Act, mode: Mode
) -> None:
    short, long = await ground.converse(SHORT, mode=mode), await ground.converse(LONG, mode=mode)
    cheap, dear = [await instructions(ground, each, act) for each in (short, long)]
    assert cheap > 0
    assert dear <= cheap * AT_MOST


async def test_the_transcript_of_a_branch_is_read_in_pieces_and_is_whole(ground: Ground) -> None:
    parent = await ground.converse(2 * TRANSCRIPT_PIECE + 1)
    branch = ground.new_branch(parent)
    async with ground.store.writing() as session:
        upto = len(parent.message_ids)
        await do_branch(
            session, parent.thread, branch, chosen=parent.conversation, upto=upto, clock=ground.clock
        )
    async with ground.store.reading() as session:
        asked: list[str] = []
        event.listen(session.sync_session, "do_orm_execute", lambda state: asked.append(str(state.statement)))
        header = await load_branch_header(session, branch, with_transcript=True)
    assert header is not None
    numbers = [int(line.partition(".")[0]) for line in header.transcript.splitlines() if line[:1].isdigit()]
    assert numbers == list(range(1, upto + 1))
    assert header.transcript.count("\n\n### alpha (AI), 2026-01-01 ") == upto // 2
    # The quotes, two whole pieces, and the rest.
    assert sum("BETWEEN" in statement for statement in asked) == 4
