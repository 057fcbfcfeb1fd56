"""Branching a long thread, against the bare SQL insert of the same rows."""

import asyncio
import gc
import hashlib
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, closing

import psycopg
from sqlalchemy import delete, func, select, text

from benchmarks.figure import Figure, bounded, median
from benchmarks.ground import GROUNDS, Conversed, Ground
from core.domain.ids import ConversationId
from core.domain.thread import MAIN_LINE, Conversation
from core.store.database import Session
from core.store.tables import ConversationRow, EntryRow, MessageRow, ThreadRow
from core.store.thread import conversations, do_add_conversation, do_add_thread, do_branch

MESSAGES = 100_000
REPEATS = 7
AT_MOST = 2.0

BARE = text(
    "INSERT INTO entry (conversation_id, position, message_id, workspace_id) "
    "SELECT :copy, position, message_id, workspace_id FROM entry WHERE conversation_id = :parent"
)


async def measure(
    *,
    messages: int = MESSAGES,
    repeats: int = REPEATS,
    grounds: Sequence[Callable[[], AbstractAsyncContextManager[Ground]]] = GROUNDS,
) -> list[Figure]:
    """Two figures a database: the time, and whether the parent's rows are the same bytes afterwards."""
    figures: list[Figure] = []
    for opened in grounds:
        async with opened() as ground:
            figures += await _on(ground, messages=messages, repeats=repeats)
    return figures


async def _on(ground: Ground, *, messages: int, repeats: int) -> list[Figure]:
    parent = await ground.converse(messages)
    before = await parent_hash(ground, parent)
    bare_s: list[float] = []
    branch_s: list[float] = []
    # The first pair warms both up. Who goes first changes, so that neither always meets the other's leftovers.
    for number in range(repeats + 1):
        pair = [(_bare, bare_s), (_branch, branch_s)]
        for copy, times in pair if number % 2 else reversed(pair):
            taken_s = await copy(ground, parent)
            if number:
                times.append(taken_s)
    after = await parent_hash(ground, parent)
    what = f"Branch of {messages:,} messages, {ground.database}"
    return [
        bounded(what, median(branch_s), median(bare_s), against="for the bare insert", at_most=AT_MOST),
        Figure(
            what=f"{what}: rows of the parent",
            measured=f"sha256 {after[:12]}",
            compared=f"sha256 {before[:12]} before",
            bound="same bytes",
            kept=after == before,
        ),
    ]


async def _bare(ground: Ground, parent: Conversed) -> float:
    """Seconds of the insert alone: thread and conversation are there before."""
    branch = ground.new_branch(parent)
    line = Conversation(
        id=ConversationId(ground.clock.new_id()), thread_id=branch.id, line=MAIN_LINE, model="alpha"
    )
    async with ground.store.writing() as session:
        await do_add_thread(session, branch)
        await do_add_conversation(session, ground.workspace_id, line)

    async def insert(session: Session) -> None:
        await session.execute(BARE, {"copy": line.id, "parent": parent.conversation.id})

    return await _timed(ground, parent, line.id, insert)


async def _branch(ground: Ground, parent: Conversed) -> float:
    branch = ground.new_branch(parent)

    async def copy(session: Session) -> None:
        await do_branch(
            session,
            parent.thread,
            branch,
            chosen=parent.conversation,
            upto=len(parent.message_ids),
            clock=ground.clock,
        )

    return await _timed(ground, parent, branch.id, copy)


async def _timed(
    ground: Ground, parent: Conversed, made: str, act: Callable[[Session], Awaitable[None]]
) -> float:
    """Seconds from opening the transaction to its end. Then everything is copied back to how it was before.

    `made` is the id of the new conversation or of the new thread.
    """
    gc.collect()
    begun = time.perf_counter()
    async with ground.store.writing() as session:
        await act(session)
    taken_s = time.perf_counter() - begun
    async with ground.store.writing() as session:
        lines = await conversations(session, ground.workspace_id, parent.thread.id)
        copied = select(ConversationRow.id).where(
            (ConversationRow.id == made) | (ConversationRow.thread_id == made)
        )
        count = await session.scalar(
            select(func.count()).select_from(EntryRow).where(EntryRow.conversation_id.in_(copied))
        )
        if count != len(parent.message_ids) or len(lines) != 1:
            raise AssertionError(f"{count} of {len(parent.message_ids)} entries were copied")
        await session.execute(delete(EntryRow).where(EntryRow.conversation_id.in_(copied)))
    await asyncio.to_thread(_tidy, ground.store.url)
    return taken_s


def _tidy(url: str) -> None:
    """Have the next repeat meet the database as this one did. Blocks."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.partition(":///")[2])) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    else:
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as server:
            server.execute("VACUUM entry")


async def parent_hash(ground: Ground, parent: Conversed) -> str:
    """Hash of all rows that make up the parent: thread, conversation, entries, messages."""
    queries = (
        select(ThreadRow.__table__).where(ThreadRow.id == parent.thread.id),
        select(ConversationRow.__table__).where(ConversationRow.thread_id == parent.thread.id),
        select(EntryRow.__table__)
        .where(EntryRow.conversation_id == parent.conversation.id)
        .order_by(EntryRow.position),
        select(MessageRow.__table__).where(MessageRow.thread_id == parent.thread.id).order_by(MessageRow.id),
    )
    digest = hashlib.sha256()
    async with ground.store.reading() as session:
        for query in queries:
            async for row in await session.stream(query):
                digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()
