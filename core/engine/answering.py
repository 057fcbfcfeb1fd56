"""One turn of one speaker: read, build, reserve, call, store; with structured output one repair call more.

Every call is looked up by (run, step) before it is made, so a step that is repeated after a crash calls only what was
not stored yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.ai_input.estimate import OUTPUT_GUESS_TOKENS
from core.ai_input.structured import OutputInvalid, build_repair, parse_output
from core.domain.errors import FailureKind, Refusal
from core.domain.ids import MessageId, ReceiptId
from core.domain.message import Author, AuthorKind, Cut, Message
from core.domain.policy import Policy
from core.domain.receipt import REPAIR, AiInput, Finish, Receipt
from core.domain.view import AnswerView, Phrase
from core.engine.bench import Bench, patiently
from core.engine.listening import Heard, LivePost, hear_out
from core.engine.model_change import report_change
from core.engine.run import DurableRun
from core.files.charset import clean
from core.llm.catalogue import Model
from core.modes.context import Answer, Ask
from core.ports import ModelCall, PostRef, Turn
from core.prompts.registry import PromptLibrary
from core.store.budget import do_release, do_reserve
from core.store.database import Session
from core.store.erasure import do_blank_erased_parts
from core.store.message import do_add_message, do_place_answer, file_bytes, find_message
from core.store.receipt import do_add_receipt, find_step
from core.store.reported import do_note_reported
from core.store.run import Run, do_mark
from core.store.step import Step, do_end_step, find_run_step
from core.store.tables import ReceiptRow
from core.store.turn import load_turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What one call left in the store."""

    answer: Answer
    repair: AiInput | None = None
    """What to send to have malformed output mended; None when there is nothing to mend, or no more to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call that may be made."""

    turn: Turn
    ai_input: AiInput
    model: Model
    policy: Policy
    called: bool
    """Whether an earlier try of this turn made its first call."""


class Answering:
    """The turn of one speaker of a run."""

    def __init__(
        self,
        bench: Bench,
        durable: DurableRun,
        run: Run,
        prompts: PromptLibrary,
        *,
        ask: Ask,
        ordinal: int,
        post: PostRef | None,
    ) -> None:
        self._bench = bench
        self._durable = durable
        self._run = run
        self._prompts = prompts
        self._ask = ask
        self._ordinal = ordinal
        self._post = post

    async def answer(self, view: AnswerView | None) -> Answer:
        """The stored answer, from an earlier try of this step or from calls made now; live where it has a post."""
        earlier = await patiently(self._earlier)
        if earlier is not None:
            return earlier
        try:
            prepared = await patiently(self._prepare)
            if self._durable.stopping.is_set(self._ask.step):
                return await self._end_without_call("stopped")
            called = await self._call(self._ask.step, prepared, prepared.ai_input, view)
        except Refusal as refusal:
            return await self._end_without_call("failed", refusal)
        if called.repair is None:
            return called.answer
        try:
            return (await self._call(self._ask.step + REPAIR, prepared, called.repair, view)).answer
        except Refusal as refusal:
            return await self._end_unmended(called.answer, refusal)

    async def _earlier(self) -> Answer | None:
        """How this turn ended in an earlier try; None when it is still to be done."""
        async with self._bench.store.writing() as session:
            step = await find_run_step(session, self._run.workspace_id, self._run.id, self._ask.step)
            if step is not None and step.status != "running":
                return await self._ended(session, step)
            open_still = await do_mark(
                session, self._run.workspace_id, self._run.id, "running", now=self._bench.clock.now()
            )
        return None if open_still else self._nothing(Finish.FAILED, "")

    async def _ended(self, session: Session, step: Step) -> Answer:
        row = (
            await find_message(session, self._run.workspace_id, step.message_id) if step.message_id else None
        )
        return Answer(
            step=self._ask.step,
            message_id=step.message_id,
            receipt_id=step.receipt_id,
            text=row.text if row else "",
            finish=Finish.STOPPED if step.status == "stopped" else Finish.STOP,
            cut=Cut(row.cut) if row else Cut.NONE,
            failure=step.failure.key if step.failure else "",
            data=row.data if row else None,
        )

    async def _prepare(self) -> Prepared:
        """The turn as stored now and its AI input. Raises Refusal when it must not be sent."""
        # Before the session: a second connection asked for while holding one can starve many lanes at once.
        policy = await self._bench.policy(self._run.workspace_id)
        model = self._model(policy)
        async with self._bench.store.reading() as session:
            turn = await load_turn(
                session,
                self._run,
                line=self._ask.line,
                model=self._ask.model,
                context_tokens=model.context_tokens,
                max_output_tokens=model.max_output_tokens,
                vision=model.vision,
            )
            if turn is None:
                raise Refusal("request_gone")
            ai_input = self._ask.build(turn, self._prompts)
            called = await find_step(session, self._run.workspace_id, self._run.id, self._ask.step)
        return Prepared(turn=turn, ai_input=ai_input, model=model, policy=policy, called=called is not None)

    def _model(self, policy: Policy) -> Model:
        allowed = [
            a
            for a in self._bench.models.models
            if policy.allowed_models is None or a in policy.allowed_models
        ]
        if self._ask.model not in allowed:
            raise Refusal("unknown_model", model=self._ask.model, allowed=", ".join(allowed))
        return self._bench.models.models[self._ask.model]

    async def _end_without_call(self, status: str, refusal: Refusal | None = None) -> Answer:
        """The turn ends and nothing was sent, so there is no receipt either."""
        failure = Phrase(key=f"refusal.{refusal.code}", fields=refusal.fields) if refusal else None

        async def write() -> None:
            async with self._bench.store.writing() as session:
                await do_end_step(session, self._run.workspace_id, self._step(status, failure=failure))

        await patiently(write)
        return self._nothing(Finish.FAILED if refusal else Finish.STOPPED, refusal.code if refusal else "")

    async def _end_unmended(self, answer: Answer, refusal: Refusal) -> Answer:
        """The turn ends with malformed output, which there is no money to have mended."""
        failure = Phrase(
            key=f"model_failure.malformed_{refusal.code}",
            fields={**refusal.fields, "model": self._ask.model},
        )
        step = self._step("failed", failure=failure, receipt_id=answer.receipt_id)

        async def write() -> None:
            async with self._bench.store.writing() as session:
                await do_end_step(session, self._run.workspace_id, step)

        await patiently(write)
        return answer

    def _nothing(self, finish: Finish, failure: str) -> Answer:
        return Answer(
            step=self._ask.step,
            message_id=None,
            receipt_id=None,
            text="",
            finish=finish,
            cut=Cut.NONE,
            failure=failure,
        )

    def _step(
        self,
        status: str,
        *,
        failure: Phrase | None = None,
        message_id: MessageId | None = None,
        receipt_id: ReceiptId | None = None,
    ) -> Step:
        return Step(
            run_id=self._run.id,
            step=self._ask.step,
            ordinal=self._ordinal,
            model=self._ask.model,
            line=self._ask.line,
            status=status,
            failure=failure,
            message_id=message_id,
            receipt_id=receipt_id,
        )

    # --- one call ---------------------------------------------------------------------------------------------------

    async def _call(
        self, name: str, prepared: Prepared, ai_input: AiInput, view: AnswerView | None
    ) -> Called:
        """What one call brought, made now or in an earlier try. Raises Refusal when it would go over a budget."""
        if prepared.called:
            earlier = await patiently(lambda: self._called_before(name, prepared, ai_input))
            if earlier is not None:
                return earlier
        live = None
        if self._post is not None and view is not None:
            locale = prepared.turn.thread.locale
            live = LivePost(self._bench, self._durable, self._run, post=self._post, view=view, locale=locale)
        call = ModelCall(
            request_id=f"{self._run.id}/{name}",
            workspace_id=self._run.workspace_id,
            model=self._ask.model,
            ai_input=ai_input,
            images=await patiently(lambda: self._images(ai_input)),
        )
        if prepared.policy.has_budget:
            await patiently(lambda: self._reserve(name, prepared, ai_input))
        heard = await hear_out(self._bench, self._durable, call, live, turn=self._ask.step)
        return await patiently(lambda: self._store(name, prepared, ai_input, heard))

    async def _called_before(self, name: str, prepared: Prepared, ai_input: AiInput) -> Called | None:
        async with self._bench.store.reading() as session:
            row = await find_step(session, self._run.workspace_id, self._run.id, name)
            return await self._stored(session, row, prepared, ai_input) if row is not None else None

    async def _reserve(self, name: str, prepared: Prepared, ai_input: AiInput) -> None:
        expected = prepared.model.cost_usd(ai_input.estimate_tokens, OUTPUT_GUESS_TOKENS) or 0.0
        async with self._bench.store.writing() as session:
            await do_reserve(
                session,
                self._run.workspace_id,
                self._run.id,
                name,
                self._run.requested_by,
                prepared.policy,
                expected_usd=expected,
                now=self._bench.clock.now(),
            )

    async def _images(self, ai_input: AiInput) -> dict[str, bytes]:
        wanted = {image.sha256 for part in ai_input.parts for image in part.images}
        found: dict[str, bytes] = {}
        if wanted:
            async with self._bench.store.reading() as session:
                for sha256 in wanted:
                    data = await file_bytes(session, self._run.workspace_id, sha256)
                    if data is not None:
                        found[sha256] = data
        return found

    async def _store(self, name: str, prepared: Prepared, ai_input: AiInput, heard: Heard) -> Called:
        """Answer, receipt, usage and the end of the turn, all or nothing."""
        text = clean("".join(heard.text))
        data, problem = _read(text, ai_input, heard)
        # Half a structured output is nothing to read: it is kept with its receipt and joins no conversation.
        whole = ai_input.output_schema is None or data is not None
        repair = self._repair(name, prepared, ai_input, text, problem)
        now = self._bench.clock.now()
        async with self._bench.store.writing() as session:
            row = await find_step(session, self._run.workspace_id, self._run.id, name)
            if row is not None:
                return await self._stored(session, row, prepared, ai_input)
            message = self._message(text, data, heard, prepared.turn) if text.strip() else None
            if message is not None:
                added = await do_add_message(session, self._run.workspace_id, message)
                if self._ask.line is not None and whole:
                    await do_place_answer(
                        session,
                        self._run.workspace_id,
                        prepared.turn.conversation.id,
                        added,
                        replaces=self._ask.replaces,
                    )
            receipt = Receipt(
                id=ReceiptId(self._bench.clock.new_id()),
                thread_id=self._run.thread_id,
                run_id=self._run.id,
                step=name,
                answer_id=message.id if message else None,
                model=self._ask.model,
                model_id=prepared.model.id,
                reported_model_id=heard.done.reported_model_id if heard.done else "",
                ai_input=ai_input,
                input_sha256=ai_input.sha256,
                usage=heard.usage(prepared.model, ai_input),
                finish=heard.finish,
                failure=_failure(heard, problem),
                reasoning=clean("".join(heard.reasoning)),
                duration_s=heard.duration_s,
                created_at=now,
            )
            await do_add_receipt(session, self._run.workspace_id, receipt, self._run.requested_by)
            change = await do_note_reported(
                session, receipt.model, receipt.model_id, receipt.reported_model_id, now=now
            )
            await do_blank_erased_parts(session, self._run.workspace_id, receipt.id)
            if prepared.policy.has_budget:
                await do_release(session, self._run.workspace_id, self._run.id, step=name)
            shown = message if whole else None
            if repair is None:
                await do_end_step(
                    session, self._run.workspace_id, self._ending(heard, problem, shown, receipt)
                )
        report_change(self._bench, change)
        return Called(answer=self._answer(receipt, shown), repair=repair)

    def _repair(
        self, name: str, prepared: Prepared, ai_input: AiInput, text: str, problem: str
    ) -> AiInput | None:
        """The one request to mend `text`; None where nothing is wrong, after a repair, and when it would not fit."""
        if not problem or name.endswith(REPAIR):
            return None
        repair = build_repair(ai_input, text, problem, self._prompts)
        room = prepared.model.context_tokens - prepared.model.max_output_tokens
        return repair if repair.estimate_tokens <= room else None

    def _message(self, text: str, data: Mapping[str, Any] | None, heard: Heard, turn: Turn) -> Message:
        shown = self._ask.present(data, turn) if data is not None and self._ask.present else text
        return Message(
            id=MessageId(self._bench.clock.new_id()),
            thread_id=self._run.thread_id,
            author=Author(kind=AuthorKind.MODEL, name=self._ask.model),
            text=shown,
            created_at=self._bench.clock.now(),
            run_id=self._run.id,
            answers_id=self._run.request_id,
            step=self._ask.step,
            data=data,
            cut=heard.cut,
        )

    def _ending(self, heard: Heard, problem: str, message: Message | None, receipt: Receipt) -> Step:
        kind = _failure(heard, problem)
        failure = Phrase(key=f"model_failure.{kind}", fields={"model": self._ask.model}) if kind else None
        status = "failed" if kind else "stopped" if heard.stopped else "done"
        return self._step(
            status,
            failure=failure,
            message_id=message.id if message else None,
            receipt_id=receipt.id,
        )

    def _answer(self, receipt: Receipt, message: Message | None) -> Answer:
        return Answer(
            step=self._ask.step,
            message_id=message.id if message else None,
            receipt_id=receipt.id,
            text=message.text if message else "",
            finish=receipt.finish,
            cut=message.cut if message else Cut.NONE,
            failure=receipt.failure,
            data=message.data if message else None,
        )

    async def _stored(
        self, session: Session, row: ReceiptRow, prepared: Prepared, ai_input: AiInput
    ) -> Called:
        """What an earlier try of the same call left; its text is read again where it may need mending."""
        message = (
            await find_message(session, self._run.workspace_id, row.answer_id) if row.answer_id else None
        )
        repair = None
        if row.failure == FailureKind.MALFORMED.value and message is not None and ai_input.output_schema:
            problem = _problem(message.text, ai_input.output_schema)
            repair = self._repair(row.step, prepared, ai_input, message.text, problem)
        shown = message if ai_input.output_schema is None or (message and message.data) else None
        answer = Answer(
            step=self._ask.step,
            message_id=MessageId(shown.id) if shown else None,
            receipt_id=ReceiptId(row.id),
            text=shown.text if shown else "",
            finish=Finish(row.finish),
            cut=Cut(shown.cut) if shown else Cut.NONE,
            failure=row.failure,
            data=shown.data if shown else None,
        )
        return Called(answer=answer, repair=repair)


def _problem(text: str, schema: Mapping[str, Any]) -> str:
    try:
        parse_output(text, schema)
    except OutputInvalid as malformed:
        return str(malformed)
    return ""


def _read(text: str, ai_input: AiInput, heard: Heard) -> tuple[Mapping[str, Any] | None, str]:
    """Structured output and what is wrong with it; neither for free text and for calls that did not end well."""
    if ai_input.output_schema is None or heard.failure is not None or heard.stopped:
        return None, ""
    try:
        return parse_output(text, ai_input.output_schema), ""
    except OutputInvalid as malformed:
        return None, str(malformed)


def _failure(heard: Heard, problem: str) -> str:
    if heard.failure is not None:
        return heard.failure.kind.value
    return FailureKind.MALFORMED.value if problem else ""
