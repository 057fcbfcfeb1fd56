"""One call of one model inside a step: read, build, check the budget, stream, store."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from sqlalchemy.ext.asyncio import AsyncSession

from core.ai_input.estimate import estimate_tokens
from core.domain.errors import FailureKind, ModelFailure, PlatformFailure, Refusal
from core.domain.ids import MessageId, ReceiptId
from core.domain.message import Author, AuthorKind, Cut, Message
from core.domain.policy import Policy
from core.domain.receipt import AiInput, Finish, Receipt, Usage
from core.domain.view import AnswerState, AnswerView, Phrase
from core.engine.bench import Bench, patiently
from core.engine.run import DurableRun
from core.engine.stopping import Stopped
from core.files.charset import clean
from core.llm.catalogue import Model
from core.modes.context import Answer, Builder
from core.ports import Done, ModelCall, PostRef, ReasoningDelta, TextDelta, Turn
from core.store.message import do_add_message, do_place_answer, file_bytes, find_message
from core.store.receipt import do_add_receipt, find_step, spent_usd
from core.store.run import Run, do_mark
from core.store.tables import ReceiptRow
from core.store.turn import load_turn

log = logging.getLogger(__name__)

CUTS = {
    Finish.STOPPED: Cut.STOPPED,
    Finish.LENGTH: Cut.LENGTH,
    Finish.CONTENT_FILTER: Cut.CONTENT_POLICY,
    Finish.FAILED: Cut.INTERRUPTED,
}
"""Why an answer is not complete, by how its call ended."""


@dataclass(slots=True)
class Heard:
    """What has come from the model so far."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    done: Done | None = None
    failure: ModelFailure | None = None
    stopped: bool = False

    @property
    def finish(self) -> Finish:
        if self.done is not None:
            return self.done.finish
        return Finish.STOPPED if self.stopped else Finish.FAILED

    @property
    def cut(self) -> Cut:
        if self.failure is not None and self.failure.kind is FailureKind.CONTENT_POLICY:
            return Cut.CONTENT_POLICY
        return CUTS.get(self.finish, Cut.NONE)


class LivePost:
    """Shows the newest text of an answer while it is written. What a slow platform cannot follow is skipped."""

    def __init__(
        self, bench: Bench, durable: DurableRun, run: Run, *, post: PostRef, view: AnswerView, locale: str
    ) -> None:
        self._poster = bench.posters[post.place.platform]
        self._durable = durable
        self._run = run
        self._post = post
        self._view = replace(view, state=AnswerState.WRITING)
        self._locale = locale
        self._pieces: Sequence[str] = ()
        self._news = asyncio.Event()

    def show(self, pieces: Sequence[str]) -> None:
        """Have the text shown that these pieces make; they are joined only when an update leaves."""
        self._pieces = pieces
        self._news.set()

    async def keep_showing(self) -> None:
        """Update the post until cancelled. A refused update is not worth the answer: the final one comes later."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._durable.guard()
                view = replace(self._view, text="".join(self._pieces))
                await self._poster.update(
                    self._run.workspace_id, self._post, view, final=False, locale=self._locale
                )
            except PlatformFailure as failure:
                log.info("a live update was refused (%s)", failure.code, extra={"run_id": self._run.id})
                await asyncio.sleep(failure.retry_after_s or 1.0)


class Answering:
    """The `ask` of one step."""

    def __init__(self, bench: Bench, durable: DurableRun, run: Run, *, step: str, post: PostRef) -> None:
        self._bench = bench
        self._durable = durable
        self._run = run
        self._step = step
        self._post = post

    async def answer(self, build: Builder, view: AnswerView) -> Answer:
        """The stored answer: from an earlier try of this step, or from a call made now."""
        earlier = await patiently(self._earlier)
        if earlier is not None:
            return earlier
        try:
            turn, ai_input = await patiently(lambda: self._prepare(build))
        except Refusal as refusal:
            return await self._end_without_call("failed", refusal)
        if self._durable.stopping.is_set():
            return await self._end_without_call("stopped")
        model = self._bench.models.models[turn.model]
        started = asyncio.get_running_loop().time()
        heard = await self._listen(turn, ai_input, view)
        duration_s = asyncio.get_running_loop().time() - started
        return await patiently(lambda: self._store(turn, ai_input, model, heard, duration_s))

    async def _earlier(self) -> Answer | None:
        async with self._bench.store.writing() as session:
            row = await find_step(session, self._run.workspace_id, self._run.id, self._step)
            if row is not None:
                return await self._stored(session, row)
            open_still = await do_mark(
                session, self._run.workspace_id, self._run.id, "running", now=self._bench.clock.now()
            )
        return None if open_still else self._nothing(Finish.FAILED, "")

    async def _prepare(self, build: Builder) -> tuple[Turn, AiInput]:
        """The turn as stored now and its AI input. Raises Refusal when it must not be sent."""
        # Before the session: a second connection asked for while holding one can starve many lanes at once.
        policy = await self._bench.policy(self._run.workspace_id)
        model = self._model(policy)
        async with self._bench.store.reading() as session:
            turn = await load_turn(
                session,
                self._run,
                context_tokens=model.context_tokens,
                max_output_tokens=model.max_output_tokens,
                vision=model.vision,
            )
            if turn is None:
                raise Refusal("request_gone")
            ai_input = build(turn, self._bench.prompts)
            await self._check_budget(session, policy, model, ai_input)
        return turn, ai_input

    def _model(self, policy: Policy) -> Model:
        allowed = [
            a
            for a in self._bench.models.models
            if policy.allowed_models is None or a in policy.allowed_models
        ]
        if self._run.model not in allowed:
            raise Refusal("unknown_model", model=self._run.model, allowed=", ".join(allowed))
        return self._bench.models.models[self._run.model]

    async def _check_budget(
        self, session: AsyncSession, policy: Policy, model: Model, ai_input: AiInput
    ) -> None:
        month = self._bench.clock.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        expected = model.cost_usd(ai_input.estimate_tokens, 0) or 0.0
        for code, budget, person in (
            ("budget_person", policy.budget_person_usd_month, self._run.requested_by),
            ("budget_workspace", policy.budget_workspace_usd_month, None),
        ):
            if budget is None:
                continue
            spent = await spent_usd(session, self._run.workspace_id, month, person_id=person)
            if spent + expected > budget:
                raise Refusal(
                    code, budget=round(budget, 2), spent=round(spent, 4), expected=round(expected, 4)
                )

    async def _end_without_call(self, status: str, refusal: Refusal | None = None) -> Answer:
        """The run ends and nothing was sent, so there is no receipt either."""
        failure = Phrase(key=f"refusal.{refusal.code}", fields=refusal.fields) if refusal else None

        async def write() -> None:
            async with self._bench.store.writing() as session:
                await do_mark(
                    session,
                    self._run.workspace_id,
                    self._run.id,
                    status,
                    now=self._bench.clock.now(),
                    failure=failure,
                )

        await patiently(write)
        return self._nothing(Finish.FAILED if refusal else Finish.STOPPED, refusal.code if refusal else "")

    def _nothing(self, finish: Finish, failure: str) -> Answer:
        return Answer(
            step=self._step,
            message_id=None,
            receipt_id=None,
            text="",
            finish=finish,
            cut=Cut.NONE,
            failure=failure,
        )

    async def _listen(self, turn: Turn, ai_input: AiInput, view: AnswerView) -> Heard:
        heard = Heard()
        live = LivePost(
            self._bench, self._durable, self._run, post=self._post, view=view, locale=turn.thread.locale
        )
        call = ModelCall(
            request_id=f"{self._run.id}/{self._step}",
            workspace_id=self._run.workspace_id,
            model=turn.model,
            ai_input=ai_input,
            images=await self._images(ai_input),
        )
        async with asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(live.keep_showing())
            result = await self._durable.unless_stopped(self._hear(call, heard, live))
            showing.cancel()
        heard.stopped = isinstance(result, Stopped) and heard.done is None
        return heard

    async def _hear(self, call: ModelCall, heard: Heard, live: LivePost) -> None:
        await self._durable.guard()
        try:
            async with aclosing(self._bench.gateway.stream(call)) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        heard.text.append(event.text)
                        live.show(heard.text)
                    elif isinstance(event, ReasoningDelta):
                        heard.reasoning.append(event.text)
                    elif isinstance(event, Done):
                        heard.done = event
        except ModelFailure as failure:
            heard.failure = failure

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

    async def _store(
        self, turn: Turn, ai_input: AiInput, model: Model, heard: Heard, duration_s: float
    ) -> Answer:
        """Answer, receipt, usage and the end of the run, all or nothing."""
        text = clean("".join(heard.text))
        finish, now = heard.finish, self._bench.clock.now()
        message_id = MessageId(self._bench.clock.new_id()) if text.strip() else None
        async with self._bench.store.writing() as session:
            row = await find_step(session, self._run.workspace_id, self._run.id, self._step)
            if row is not None:
                return await self._stored(session, row)
            if message_id is not None:
                message = Message(
                    id=message_id,
                    thread_id=self._run.thread_id,
                    author=Author(kind=AuthorKind.MODEL, name=turn.model),
                    text=text,
                    created_at=now,
                    run_id=self._run.id,
                    answers_id=self._run.request_id,
                    cut=heard.cut,
                )
                await do_add_message(session, self._run.workspace_id, message)
                await do_place_answer(
                    session,
                    self._run.workspace_id,
                    turn.conversation.id,
                    self._run.request_id or turn.request.id,
                    message_id,
                )
            receipt = Receipt(
                id=ReceiptId(self._bench.clock.new_id()),
                thread_id=self._run.thread_id,
                run_id=self._run.id,
                step=self._step,
                answer_id=message_id,
                model=turn.model,
                model_id=model.id,
                reported_model_id=heard.done.reported_model_id if heard.done else "",
                ai_input=ai_input,
                input_sha256=ai_input.sha256,
                usage=heard.done.usage if heard.done else _usage_so_far(model, ai_input, heard),
                finish=finish,
                failure=heard.failure.kind.value if heard.failure else "",
                reasoning=clean("".join(heard.reasoning)),
                duration_s=duration_s,
                created_at=now,
            )
            await do_add_receipt(session, self._run.workspace_id, receipt, self._run.requested_by)
            status, failure = self._ending(turn, heard)
            await do_mark(session, self._run.workspace_id, self._run.id, status, now=now, failure=failure)
        return Answer(
            step=self._step,
            message_id=message_id,
            receipt_id=receipt.id,
            text=text if message_id else "",
            finish=finish,
            cut=heard.cut if message_id else Cut.NONE,
            failure=receipt.failure,
        )

    def _ending(self, turn: Turn, heard: Heard) -> tuple[str, Phrase | None]:
        if heard.failure is not None:
            return "failed", Phrase(
                key=f"model_failure.{heard.failure.kind.value}", fields={"model": turn.model}
            )
        return ("stopped", None) if heard.stopped else ("done", None)

    async def _stored(self, session: AsyncSession, row: ReceiptRow) -> Answer:
        message = (
            await find_message(session, self._run.workspace_id, row.answer_id) if row.answer_id else None
        )
        return Answer(
            step=self._step,
            message_id=MessageId(row.answer_id) if row.answer_id else None,
            receipt_id=ReceiptId(row.id),
            text=message.text if message else "",
            finish=Finish(row.finish),
            cut=Cut(message.cut) if message else Cut.NONE,
            failure=row.failure,
        )


def _usage_so_far(model: Model, ai_input: AiInput, heard: Heard) -> Usage | None:
    """Our estimate of what a call that did not end well will be charged; None when nothing came of it."""
    written = estimate_tokens("".join(heard.text)) + estimate_tokens("".join(heard.reasoning))
    if not written:
        return None
    return Usage(
        input_tokens=ai_input.estimate_tokens,
        output_tokens=written,
        estimated=True,
        cost_usd=model.cost_usd(ai_input.estimate_tokens, written),
    )
