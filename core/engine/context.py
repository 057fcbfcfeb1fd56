"""What a mode's steps do: the RunContext of `core.modes` over a durable run.

Every step is safe to repeat. A model call is looked up by (run, step) before it is made, and its answer, receipt and
usage are stored in one transaction, so only a crash between the model's last word and that commit repeats a call.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from core.ai_input.compare import Forced, ForcedDifference, forced_differences
from core.domain.ids import MessageId, ReceiptId, ThreadId
from core.domain.message import PRODUCT, Author, AuthorKind, Cut, Message
from core.domain.receipt import Finish
from core.domain.setup import models_in
from core.domain.thread import Thread
from core.domain.view import AnswerView, Button, ButtonAction, NoticeView, Phrase, PostView
from core.domain.workflow import Workflow
from core.engine.answering import Answering
from core.engine.bench import Bench, patiently
from core.engine.posting import MakeView, Posting
from core.engine.run import DurableRun
from core.engine.serialiser import JsonValue
from core.modes.context import Answer, Ask, Draft
from core.prompts.registry import PromptLibrary
from core.store.artifact import NewVersion, do_save, find_version, newest
from core.store.audit import notices
from core.store.database import Session
from core.store.message import do_add_message, find_message, models_of_thread
from core.store.page import load_answer_view, load_branch_header, to_notice_view
from core.store.receipt import load_receipt
from core.store.run import Run, do_mark
from core.store.step import Step, do_begin_step, do_end_step, find_run_step, steps_of, steps_said
from core.store.thread import do_open_at, find_thread

log = logging.getLogger(__name__)


class Context:
    """One run, as its mode sees it."""

    def __init__(self, bench: Bench, durable: DurableRun, run: Run, thread: Thread) -> None:
        self._bench = bench
        self._durable = durable
        self._run = run
        self._thread = thread
        self._posting = Posting(bench, durable, run)
        self._prompts = PromptLibrary({})
        self._turns = 0
        self._stopped = False

    async def take_up_prompts(self) -> None:
        """Resolve exactly the versions that the run began with. Raises ConfigurationError when one is not to be had."""
        resolve = partial(self._bench.prompts.resolve, self._run.workspace_id, self._run.prompts)
        self._prompts = await patiently(resolve)

    @property
    def model(self) -> str:
        return self._run.model

    @property
    def locale(self) -> str:
        return self._thread.locale

    @property
    def thread(self) -> Thread:
        return self._thread

    @property
    def setup(self) -> Mapping[str, Any]:
        return self._thread.setup

    @property
    def args(self) -> Mapping[str, Any]:
        return self._run.args

    @property
    def workflows(self) -> Mapping[str, Workflow]:
        return self._bench.workflows

    async def stopped(self) -> bool:
        self._stopped = await self._durable.stopped()
        return self._stopped

    async def answer(self, ask: Ask) -> Answer:
        return await self._told(await self._durable.step(f"ask:{ask.step}", await self._begun(ask)))

    async def answer_all(self, asks: Sequence[Ask]) -> tuple[Answer, ...]:
        # Cards first, one after another: two steps side by side must be single steps, and people see a stable order.
        acts = {f"ask:{ask.step}": await self._begun(ask) for ask in asks}
        answers = await self._durable.steps(acts)
        return tuple([await self._told(answers[name]) for name in acts])

    def _recorded(self, answer: Answer) -> JsonValue:
        return _answer_json(answer)

    async def _told(self, recorded: JsonValue) -> Answer:
        """An answer as its step recorded it, with its text from the store: the engine's database holds no content."""

        async def read() -> Answer:
            fields = _table(recorded)
            row = None
            if fields["message_id"]:
                async with self._bench.store.reading() as session:
                    row = await find_message(session, self._run.workspace_id, fields["message_id"])
            return Answer(
                step=fields["step"],
                message_id=MessageId(fields["message_id"]) if fields["message_id"] else None,
                receipt_id=ReceiptId(fields["receipt_id"]) if fields["receipt_id"] else None,
                text=row.text if row else "",
                finish=Finish(fields["finish"]),
                cut=Cut(fields["cut"]),
                failure=fields["failure"],
                data=row.data if row else None,
            )

        return await patiently(read)

    async def steps_before(self) -> tuple[str, ...]:
        async def act() -> JsonValue:
            async def read() -> list[str]:
                async with self._bench.store.reading() as session:
                    return await steps_said(
                        session, self._run.workspace_id, self._thread.id, before=self._run.id
                    )

            return await patiently(read)

        return tuple(str(step) for step in _list(await self._durable.step("steps-before", act)))

    def least_output_tokens(self, models: Sequence[str]) -> int:
        known = self._bench.models.models
        return min(known[alias].max_output_tokens for alias in models if alias in known)

    async def newest_version(self, name: str) -> Draft | None:
        async def act() -> JsonValue:
            async def read() -> JsonValue:
                async with self._bench.store.reading() as session:
                    found = await newest(session, self._run.workspace_id, self._thread.id, name)
                return found.id if found else None

            return await patiently(read)

        kept = await self._durable.step(f"newest:{name}", act)
        return await self._version(str(kept)) if kept is not None else None

    async def _version(self, version_id: str) -> Draft:
        async def read() -> Draft:
            async with self._bench.store.reading() as session:
                row = await find_version(session, self._run.workspace_id, version_id)
            if row is None:
                raise LookupError(f"version {version_id} is not in the store")
            message_id = MessageId(row.message_id) if row.message_id else None
            return Draft(number=row.number, text=row.text, message_id=message_id)

        return await patiently(read)

    async def save_version(self, step: str, name: str, body: str, *, answer: Answer, reason: str) -> Draft:
        async def act() -> JsonValue:
            async def write() -> JsonValue:
                async with self._bench.store.writing() as session:
                    turn = await find_run_step(session, self._run.workspace_id, self._run.id, answer.step)
                    new = NewVersion(
                        text=body,
                        author=Author(kind=AuthorKind.MODEL, name=turn.model if turn else self._run.model),
                        reason=reason,
                        message_id=answer.message_id,
                        receipt_id=answer.receipt_id,
                    )
                    saved = await do_save(
                        session,
                        self._run.workspace_id,
                        self._thread.id,
                        name=name,
                        new=new,
                        clock=self._bench.clock,
                    )
                    return saved.id

            return await patiently(write)

        return await self._version(str(await self._durable.step(f"save:{step}", act)))

    async def reviewers(self, count: int) -> tuple[str, ...]:
        async def act() -> JsonValue:
            async def read() -> list[str]:
                async with self._bench.store.reading() as session:
                    took_part = await models_of_thread(session, self._run.workspace_id, self._thread.id)
                policy = await self._bench.policy(self._run.workspace_id)
                usable = [
                    alias
                    for alias in (*self._bench.models.defaults.reviewers, *self._bench.models.models)
                    if policy.allowed_models is None or alias in policy.allowed_models
                ]
                busy = {*took_part, *models_in(self.setup)}
                return [alias for alias in dict.fromkeys(usable) if alias not in busy][:count]

            return await patiently(read)

        return tuple(str(alias) for alias in _list(await self._durable.step(f"reviewers:{self._turns}", act)))

    async def differences(self, answers: Sequence[Answer]) -> tuple[ForcedDifference, ...]:
        async def act() -> JsonValue:
            async def read() -> list[dict[str, JsonValue]]:
                async with self._bench.store.reading() as session:
                    found = {
                        a.step: await load_receipt(session, self._run.workspace_id, a.receipt_id)
                        for a in answers
                        if a.receipt_id
                    }
                inputs = {step: receipt.ai_input for step, receipt in found.items() if receipt}
                return [
                    {"what": one.what.value, "name": one.name, "values": dict(one.values)}
                    for one in forced_differences(inputs)
                ]

            return await patiently(read)

        kept: Any = await self._durable.step(f"differences:{self._turns}", act)
        return tuple(
            ForcedDifference(what=Forced(one["what"]), name=one["name"], values=one["values"]) for one in kept
        )

    async def publish(self, step: str, body: str, data: Mapping[str, Any]) -> None:
        self._turns += 1
        turn = Step(
            run_id=self._run.id, step=step, ordinal=self._turns, model=PRODUCT, line=None, status="done"
        )

        async def write() -> None:
            async with self._bench.store.writing() as session:
                if await find_run_step(session, self._run.workspace_id, self._run.id, step) is not None:
                    return
                message = Message(
                    id=MessageId(self._bench.clock.new_id()),
                    thread_id=self._thread.id,
                    author=Author(kind=AuthorKind.MODEL, name=PRODUCT),
                    text=body,
                    created_at=self._bench.clock.now(),
                    run_id=self._run.id,
                    answers_id=self._run.request_id,
                    step=step,
                    data=data,
                )
                await do_add_message(session, self._run.workspace_id, message)
                await do_begin_step(session, self._run.workspace_id, turn)
                await do_end_step(session, self._run.workspace_id, replace(turn, message_id=message.id))

        await patiently(write)
        await self._posting.post(f"post:{step}", self._thread, lambda: self._answer_view(step))

    async def _begun(self, ask: Ask) -> Callable[[], Awaitable[JsonValue]]:
        """Post the card of a turn; what is left to do for it, as one step that is harmless to repeat."""
        self._turns += 1
        ordinal = self._turns
        step = Step(
            run_id=self._run.id,
            step=ask.step,
            ordinal=ordinal,
            model=ask.model,
            line=ask.line,
            status="running",
        )

        async def write() -> None:
            async with self._bench.store.writing() as session:
                await do_begin_step(session, self._run.workspace_id, step)

        await patiently(write)

        posted: list[AnswerView] = []

        async def card() -> AnswerView:
            return await self._answer_view(ask.step)

        async def first() -> AnswerView:
            posted.append(await card())
            return posted[0]

        post = await self._posting.post(f"post:{ask.step}", self._thread, first)
        answering = Answering(
            self._bench, self._durable, self._run, self._prompts, ask=ask, ordinal=ordinal, post=post
        )

        async def act() -> JsonValue:
            # Nothing of it changed since it was posted; a run that goes on after a crash has posted it before.
            answer = await answering.answer(posted[0] if posted else await card())
            await self._posting.show(f"post:{ask.step}", self._thread, post, await card())
            return self._recorded(answer)

        return act

    async def open_thread(self, step: str) -> None:
        await self._open(step, self._header)

    async def _open(self, step: str, first: MakeView) -> None:
        """Open the run's thread with a post, and remember where it is."""
        opened = await self._posting.open_thread(step, self._thread, first)

        async def record() -> None:
            async with self._bench.store.writing() as session:
                await do_open_at(session, self._run.workspace_id, self._thread.id, opened.place)

        await patiently(record)
        self._thread = replace(self._thread, place=opened.place)

    async def _header(self) -> PostView:
        """The first post of the run's thread."""

        async def read() -> PostView:
            async with self._bench.store.reading() as session:
                view = await load_branch_header(session, self._thread, with_transcript=True)
                rows = [] if view else await notices(session, self._run.workspace_id, self._thread.id)
            if view is None and not rows:
                raise LookupError(f"thread {self._thread.id} has neither a parent nor a notice")
            return view or replace(to_notice_view(rows[0]), link=self._thread.id)

        return await patiently(read)

    async def note_origin(self, step: str, told: Phrase, *, again: bool = False) -> None:
        thread = self._thread

        async def read() -> Thread:
            async with self._bench.store.reading() as session:
                origin = await find_thread(
                    session, thread.workspace_id, thread.parent_id or thread.source_thread_id or ""
                )
            if origin is None:
                raise LookupError(f"thread {thread.id} came from no other")
            return origin

        async def view() -> NoticeView:
            buttons = (Button(action=ButtonAction.OPEN_AGAIN, ref=thread.id),) if again else ()
            return NoticeView(phrase=told, link=thread.id, link_place=thread.place, buttons=buttons)

        await self._posting.post(step, await patiently(read), view)

    async def tell(self, step: str, phrase: Phrase, *, link: ThreadId) -> None:
        async def read() -> Thread | None:
            async with self._bench.store.reading() as session:
                return await find_thread(session, self._run.workspace_id, link)

        async def view() -> NoticeView:
            linked = await patiently(read)
            return NoticeView(phrase=phrase, link=link, link_place=linked.place if linked else None)

        await self._posting.post(step, self._thread, view)

    async def end(self) -> None:
        """Record that the run has ended, as its turns did."""

        async def write() -> None:
            async with self._bench.store.writing() as session:
                turns = await steps_of(session, self._run.workspace_id, [self._run.id])
                stopped = self._stopped or self._durable.stopping.is_set()
                status, failure = _outcome(turns, stopped=stopped)
                await self._mark(session, status, failure)

        await patiently(write)

    async def fail(self, failure: Phrase) -> None:
        """Record that the run ended before its turns were done."""

        async def write() -> None:
            async with self._bench.store.writing() as session:
                await self._mark(session, "failed", failure)

        await patiently(write)

    async def _mark(self, session: Session, status: str, failure: Phrase | None) -> None:
        now = self._bench.clock.now()
        await do_mark(session, self._run.workspace_id, self._run.id, status, now=now, failure=failure)

    async def _answer_view(self, step: str) -> AnswerView:
        async def read() -> AnswerView:
            async with self._bench.store.reading() as session:
                view = await load_answer_view(
                    session, self._run.workspace_id, self._run.id, step, workflows=self._bench.workflows
                )
            if view is None:
                raise LookupError(f"run {self._run.id} is not in the store")
            return view

        return await patiently(read)


def _outcome(turns: Sequence[Step], *, stopped: bool) -> tuple[str, Phrase | None]:
    """How a run ended: stopped within a turn or between two, failed when all turns did, done otherwise.

    A turn that was stopped alone is no end of its run, unless no other turn was done.
    """
    states = {turn.status for turn in turns}
    if stopped or ("stopped" in states and "done" not in states):
        return "stopped", None
    if states == {"failed"}:
        return "failed", turns[-1].failure
    return "done", None


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError("a list was recorded")
    return value


def _table(value: JsonValue) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError("an answer is recorded as an object")
    return value


def _answer_json(answer: Answer) -> JsonValue:
    return {
        "step": answer.step,
        "message_id": answer.message_id,
        "receipt_id": answer.receipt_id,
        "finish": answer.finish.value,
        "cut": answer.cut.value,
        "failure": answer.failure,
    }
