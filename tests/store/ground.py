"""One workspace with a person and a thread, built with the store's own functions, and a watch over the statements."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import event, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.eval_run import Side
from core.domain.evaluation import Conditions, Sample
from core.domain.ids import ConversationId, MessageId, PersonId, ReceiptId, RunId, ThreadId, WorkspaceId
from core.domain.message import Author, AuthorKind, Message
from core.domain.policy import Actor
from core.domain.prompt import PromptSource
from core.domain.receipt import AiInput, Finish, InputPart, Origin, PromptRef, Receipt, Role, Usage
from core.domain.thread import MAIN_LINE, Conversation, Mode, Place, Thread, top_level_thread
from core.prompts.parse import parse_prompt
from core.store.database import Store
from core.store.eval_set import StoredEvalSet
from core.store.evaluation import EvalResult, EvalRun
from core.store.evaluation import Place as EvalPlace
from core.store.message import do_add_message, do_append, do_place_answer, entries_between, find_message
from core.store.prompt import StoredPrompt
from core.store.receipt import do_add_receipt
from core.store.run import Run, do_add_run
from core.store.tables import Row
from core.store.thread import do_add_conversation, do_add_thread
from core.store.workspace import do_add_workspace, do_see_person
from tests.product import SteppingClock

MESSAGES, ENTRIES = Row.metadata.tables["message"], Row.metadata.tables["entry"]


@dataclass
class Ground:
    """What most tests of the store stand on. Its methods write in a transaction of their own."""

    store: Store
    clock: SteppingClock
    workspace_id: WorkspaceId
    person_id: PersonId
    thread: Thread
    line: Conversation

    def id(self) -> str:
        return self.clock.new_id()

    @property
    def reader(self) -> Actor:
        """The person, looking."""
        return Actor(
            workspace_id=self.workspace_id,
            workspace="W1",
            person_id=self.person_id,
            external_id="U1",
            name="Aki",
            locale="en",
        )

    async def add_thread(self, *, lines: tuple[str, ...] = (MAIN_LINE,), channel: str = "C1") -> Thread:
        thread = a_thread(self.clock, self.workspace_id, self.person_id, channel=channel)
        async with self.store.writing() as session:
            await do_add_thread(session, thread)
            for name in lines:
                await do_add_conversation(session, self.workspace_id, a_line(self.clock, thread, name))
        return thread

    def message(
        self, words: str, *, answers: MessageId | None = None, run_id: RunId | None = None
    ) -> Message:
        """A message of the person, or of a model when it answers one."""
        kind = AuthorKind.PERSON if answers is None else AuthorKind.MODEL
        return Message(
            id=MessageId(self.id()),
            thread_id=self.thread.id,
            author=Author(
                kind=kind,
                name="Aki" if answers is None else "alpha",
                person_id=None if answers else self.person_id,
            ),
            text=words,
            created_at=self.clock.now(),
            answers_id=answers,
            run_id=run_id,
            external_id=self.id() if answers is None else "",
        )

    async def say(self, words: str) -> Message:
        """A message of the person at the end of the thread."""
        async with self.store.writing() as session:
            return await self.say_in(session, words)

    async def say_in(self, session: AsyncSession, words: str) -> Message:
        message = self.message(words)
        await do_add_message(session, self.workspace_id, message)
        await do_append(session, self.workspace_id, self.line.id, message.id)
        return message

    async def place(self, answer: Message) -> None:
        """Store an answer and put it where it belongs in the conversation."""
        async with self.store.writing() as session:
            await do_add_message(session, self.workspace_id, answer)
            row = await find_message(session, self.workspace_id, answer.id)
            assert row
            await do_place_answer(session, self.workspace_id, self.line.id, row, replaces=True)

    async def fill(self, count: int, *, line: Conversation | None = None) -> None:
        """Messages of the person from position 1 on, added in bulk to an empty conversation."""
        line = line or self.line
        first = replace(self.message("message 1"), thread_id=line.thread_id)
        async with self.store.writing() as session:
            await do_add_message(session, self.workspace_id, first)
            stored = dict(
                (await session.execute(select(MESSAGES).where(MESSAGES.c.id == first.id))).mappings().one()
            )
            more = [self.message(f"message {n}") for n in range(2, count + 1)]
            own = [{"id": m.id, "root_id": m.id, "text": m.text, "created_at": m.created_at} for m in more]
            if own:
                await session.execute(MESSAGES.insert(), [stored | each for each in own])
            await session.execute(
                ENTRIES.insert(),
                [
                    {
                        "conversation_id": line.id,
                        "position": position,
                        "message_id": message.id,
                        "workspace_id": self.workspace_id,
                    }
                    for position, message in enumerate([first, *more], start=1)
                ],
            )

    async def add_run(self, request: Message | None = None, *, status: str = "queued") -> Run:
        run = Run(
            id=RunId(self.id()),
            workspace_id=self.workspace_id,
            thread_id=self.thread.id,
            kind="chat",
            status=status,
            conversation_id=self.line.id,
            request_id=request.id if request else None,
            model="alpha",
            prompts=(),
            requested_by=self.person_id,
            failure=None,
            created_at=self.clock.now(),
        )
        async with self.store.writing() as session:
            await do_add_run(session, run)
        return run

    async def add_receipt(self, run: Run, message: Message, *, step: str = "answer") -> Receipt:
        part = InputPart(role=Role.USER, origin=Origin.REQUEST, text=message.text, message_id=message.id)
        ai_input = AiInput(parts=(part,), prompts=(), estimate_tokens=7)
        receipt = Receipt(
            id=ReceiptId(self.id()),
            thread_id=self.thread.id,
            run_id=run.id,
            step=step,
            answer_id=None,
            model="alpha",
            model_id="openai/alpha",
            reported_model_id="",
            ai_input=ai_input,
            input_sha256=ai_input.sha256,
            usage=Usage(input_tokens=1, output_tokens=2, estimated=False, cost_usd=0.5),
            finish=Finish.STOP,
            failure="",
            reasoning="",
            duration_s=0.1,
            created_at=self.clock.now(),
        )
        async with self.store.writing() as session:
            await do_add_receipt(session, self.workspace_id, receipt, self.person_id)
        return receipt

    async def words(self, line: Conversation | None = None) -> list[str]:
        """The texts of a conversation, after making sure that its positions count from 1 without gaps."""
        async with self.store.reading() as session:
            entries = await entries_between(session, (line or self.line).id, 0, 10**9)
        assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))
        return [entry.message.text for entry in entries]


def a_thread(
    clock: SteppingClock, workspace_id: WorkspaceId, person_id: PersonId, *, channel: str = "C1"
) -> Thread:
    thread_id = ThreadId(clock.new_id())
    return top_level_thread(
        thread_id=thread_id,
        workspace_id=workspace_id,
        place=Place(platform="test", channel=channel, thread=thread_id),
        mode=Mode.CHAT,
        title="Suppliers",
        owner_id=person_id,
        locale="en",
        created_at=clock.now(),
    )


def a_branch(ground: Ground, parent: Thread, *, position: int = 0) -> Thread:
    """A thread below `parent` that is not stored yet and has no place."""
    thread_id = ThreadId(ground.id())
    return replace(
        parent,
        id=thread_id,
        place=replace(parent.place, thread=""),
        parent_id=parent.id,
        depth=parent.depth + 1,
        split_position=position,
        branch_name="Variant",
        created_at=ground.clock.now(),
    )


def a_line(clock: SteppingClock, thread: Thread, name: str = MAIN_LINE) -> Conversation:
    return Conversation(id=ConversationId(clock.new_id()), thread_id=thread.id, line=name, model="alpha")


async def prepare(store: Store, *, workspace: str = "W1") -> Ground:
    """A workspace of its own with a person and an empty thread."""
    clock = SteppingClock()
    async with store.writing() as session:
        row = await do_add_workspace(
            session, platform="test", external_id=workspace, name="Testers", clock=clock
        )
        workspace_id = WorkspaceId(row.id)
        person = await do_see_person(
            session, workspace_id, external_id="U1", name="Aki", locale="en", clock=clock
        )
        person_id = PersonId(person.id)
        thread = a_thread(clock, workspace_id, person_id)
        await do_add_thread(session, thread)
        line = a_line(clock, thread)
        await do_add_conversation(session, workspace_id, line)
    return Ground(
        store=store, clock=clock, workspace_id=workspace_id, person_id=person_id, thread=thread, line=line
    )


@dataclass
class Traffic:
    """Statements that reached the database, without those that begin and end transactions, and rows that came back."""

    statements: list[str] = field(default_factory=list)
    rows: int = 0

    def matching(self, pattern: str) -> list[str]:
        return [s for s in self.statements if re.search(pattern, s, re.IGNORECASE)]


@contextmanager
def watched(store: Store) -> Iterator[Traffic]:
    """Every statement that the store sends meanwhile."""
    traffic = Traffic()

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if not re.match("BEGIN|COMMIT|ROLLBACK|PRAGMA", statement):
            traffic.statements.append(statement)

    def count(_connection: Any, cursor: Any, *_more: Any) -> None:
        # Both async drivers fetch the whole result when a statement is executed.
        traffic.rows += len(cursor._rows)

    engines = (store._reader.sync_engine, store._writer.sync_engine)
    with ExitStack() as stack:
        for engine in engines:
            event.listen(engine, "before_cursor_execute", note)
            stack.callback(event.remove, engine, "before_cursor_execute", note)
            event.listen(engine, "after_cursor_execute", count)
            stack.callback(event.remove, engine, "after_cursor_execute", count)
        yield traffic


async def dump(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, by table, in a fixed order."""
    async with store.reading() as session:
        return {
            table.name: sorted((tuple(row) for row in await session.execute(select(table))), key=repr)
            for table in Row.metadata.sorted_tables
        }


def a_prompt(ground: Ground, name: str, seq: int, *, system: str = "Secret rules.") -> StoredPrompt:
    """A version of a prompt that the person saved, numbered `1.0.<seq>`."""
    metadata = (
        f'name: {name}\nversion: "1.0.{seq}"\ndescription: Test.\ntarget_models: [any]\n'
        'last_updated: "2026-11-30"\noutput_format: text\n'
    )
    files = {"prompt.yaml": metadata, "system.md": f"{system}\n"}
    parsed = parse_prompt(name, {file: text.encode() for file, text in files.items()})
    return StoredPrompt(
        id=ground.id(),
        workspace_id=ground.workspace_id,
        name=name,
        version=parsed.version,
        seq=seq,
        sha256=parsed.sha256,
        files=files,
        parent_id=None,
        author_id=ground.person_id,
        reason="first text",
        source=PromptSource.CONSOLE,
        created_at=ground.clock.now(),
    )


def an_eval(ground: Ground, **changes: Any) -> EvalRun:
    """An evaluation that waits, of two versions of a team's prompt under one model."""
    return replace(
        EvalRun(
            id=ground.id(),
            workspace_id=ground.workspace_id,
            prompt="team.secret",
            baseline=PromptRef(name="team.secret", version="1.0.0", sha256="a" * 64),
            candidate=PromptRef(name="team.secret", version="1.0.1", sha256="b" * 64),
            refs=(),
            models=dict.fromkeys(Side, "alpha"),
            conditions=Conditions(set_name="set", set_sha256="c" * 64, repeats=1, checks_version=1),
            cases=1,
            author_id=ground.person_id,
            started_by=ground.person_id,
            started_at=ground.clock.now(),
        ),
        **changes,
    )


def a_result(ground: Ground, **changes: Any) -> EvalResult:
    """What the first call of the baseline brought; its price is 1 USD."""
    result = EvalResult(
        place=EvalPlace(side=Side.BASELINE, case_id="S1", repeat=1),
        sample=Sample(output="secret output", checks=(), cost_usd=1.0),
        model="alpha",
        model_id="openai/alpha-2026-01-01",
        input_sha256="d" * 64,
        created_at=ground.clock.now(),
    )
    return replace(result, **changes)


def an_eval_set(ground: Ground, **changes: Any) -> StoredEvalSet:
    """The first version of an eval set of the workspace, with one case."""
    files = {
        "set.yaml": "id: team-secret\nversion: 1\nprompts: [team.secret]\n",
        "cases/all.yaml": "- {id: S1, kind: typical, origin: synthetic, human: [secret condition]}\n",
    }
    stored = StoredEvalSet(
        id=ground.id(),
        workspace_id=ground.workspace_id,
        name="team-secret",
        version=1,
        sha256="e" * 64,
        files=files,
        author_id=ground.person_id,
        reason="secret reason",
        created_at=ground.clock.now(),
    )
    return replace(stored, **changes)
