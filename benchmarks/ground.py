"""Threads of any length in a database of their own, for what is measured of the store."""

import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert, text

from bot.wiring import SystemClock
from core.domain.ids import ConversationId, MessageId, PersonId, RunId, ThreadId, WorkspaceId
from core.domain.thread import MAIN_LINE, Conversation, Mode, Place, Thread, top_level_thread
from core.store.database import Store
from core.store.migrations import migrate
from core.store.run import Run
from core.store.tables import EntryRow, MessageRow
from core.store.thread import do_add_conversation, do_add_thread
from core.store.workspace import do_add_workspace, do_see_person
from tests.postgres import fresh_database, running_postgres

BATCH = 5_000
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
SENTENCE = "The launch moves to Thursday unless the review finds something that we have to repair first. "
MODEL = "alpha"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversed:
    """A thread with its one conversation and its messages' ids in order."""

    thread: Thread
    conversation: Conversation
    message_ids: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A migrated database with one workspace and one person."""

    store: Store
    clock: SystemClock
    workspace_id: WorkspaceId
    person_id: PersonId

    @property
    def database(self) -> str:
        return "SQLite" if self.store.is_sqlite else "Postgres"

    async def converse(self, count: int, *, mode: Mode = Mode.CHAT) -> Conversed:
        """A thread of `count` messages, question and answer in turn, the last one a question."""
        thread = replace(self.new_thread(), mode=mode)
        line = Conversation(
            id=ConversationId(self.clock.new_id()), thread_id=thread.id, line=MAIN_LINE, model=MODEL
        )
        ids = tuple(MessageId(self.clock.new_id()) for _ in range(count))
        async with self.store.writing() as session:
            await do_add_thread(session, thread)
            await do_add_conversation(session, self.workspace_id, line)
            for start in range(0, count, BATCH):
                numbers = range(start, min(start + BATCH, count))
                rows = [self._message(thread, ids, number, last=count - 1) for number in numbers]
                entries = [
                    {
                        "conversation_id": line.id,
                        "position": number + 1,
                        "message_id": ids[number],
                        "workspace_id": self.workspace_id,
                    }
                    for number in numbers
                ]
                # Without it rows with and without a value are inserted apart, that is one by one.
                await session.execute(insert(MessageRow).execution_options(render_nulls=True), rows)
                await session.execute(insert(EntryRow), entries)
        if not self.store.is_sqlite:
            # What the server does by itself within a minute.
            async with self.store.writing() as session:
                await session.execute(text("ANALYZE"))
        return Conversed(thread=thread, conversation=line, message_ids=ids)

    def new_thread(self) -> Thread:
        thread_id = ThreadId(self.clock.new_id())
        return top_level_thread(
            thread_id=thread_id,
            workspace_id=self.workspace_id,
            place=Place(platform="benchmark", channel="C1", thread=thread_id),
            mode=Mode.CHAT,
            title="Launch",
            owner_id=self.person_id,
            locale="en",
            created_at=self.clock.now(),
        )

    def new_branch(self, parent: Conversed) -> Thread:
        """The thread of a branch at the last message, not stored."""
        new, above = self.new_thread(), parent.thread
        return replace(
            new,
            parent_id=above.id,
            top_id=above.top_id,
            depth=above.depth + 1,
            split_message_id=parent.message_ids[-1],
            split_position=len(parent.message_ids),
            branch_name="Friday",
        )

    def new_run(self, conversed: Conversed) -> Run:
        """The run that answers the last message, not stored."""
        return Run(
            id=RunId(self.clock.new_id()),
            workspace_id=self.workspace_id,
            thread_id=conversed.thread.id,
            kind=Mode.CHAT.value,
            status="queued",
            conversation_id=conversed.conversation.id,
            request_id=conversed.message_ids[-1],
            model=MODEL,
            prompts=(),
            requested_by=self.person_id,
            failure=None,
            created_at=self.clock.now(),
        )

    def _message(
        self, thread: Thread, ids: tuple[MessageId, ...], number: int, *, last: int
    ) -> dict[str, Any]:
        answer = (last - number) % 2 == 1
        return {
            "id": ids[number],
            "workspace_id": self.workspace_id,
            "thread_id": thread.id,
            "root_id": ids[number],
            "author_kind": "model" if answer else "person",
            "author_id": None if answer else self.person_id,
            "author_name": MODEL if answer else "Aki",
            "text": f"{number + 1}. {SENTENCE * 3}",
            "external_id": "" if answer else f"external-{ids[number]}",
            "run_id": None,
            "answers_id": ids[number - 1] if answer and number else None,
            "step": "answer" if answer else "",
            "cut": "none",
            "has_attachments": False,
            "erased": False,
            "created_at": BEGINNING + timedelta(seconds=number),
        }


@asynccontextmanager
async def open_ground(url: str) -> AsyncGenerator[Ground]:
    store, clock = Store(url), SystemClock()
    await migrate(store)
    async with store.writing() as session:
        workspace = await do_add_workspace(
            session, platform="benchmark", external_id="W1", name="Benchmark", clock=clock
        )
        workspace_id = WorkspaceId(workspace.id)
        person = await do_see_person(
            session, workspace_id, external_id="U1", name="Aki", locale="en", clock=clock
        )
    try:
        yield Ground(store=store, clock=clock, workspace_id=workspace_id, person_id=PersonId(person.id))
    finally:
        await store.close()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="promptflow-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@asynccontextmanager
async def sqlite_ground() -> AsyncGenerator[Ground]:
    with temporary_folder() as folder:
        async with open_ground(f"sqlite:///{folder / 'promptflow.db'}") as ground:
            yield ground


@asynccontextmanager
async def postgres_ground() -> AsyncGenerator[Ground]:
    """On a throw-away server that flushes nothing to disk, as the tests have it."""
    with running_postgres() as server, fresh_database(server) as url:
        async with open_ground(url) as ground:
            yield ground


GROUNDS = (sqlite_ground, postgres_ground)
