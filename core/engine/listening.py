"""Hearing one call out: deltas into the live post, until the model is done, fails, or a person stops it."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from core.ai_input.estimate import estimate_tokens
from core.domain.errors import FailureKind, ModelFailure, PlatformFailure
from core.domain.message import Cut
from core.domain.receipt import AiInput, Finish, Usage
from core.domain.view import AnswerState, AnswerView
from core.engine.bench import Bench
from core.engine.run import DurableRun
from core.engine.stopping import Stopped
from core.llm.catalogue import Model
from core.ports import Done, ModelCall, PostRef, ReasoningDelta, TextDelta
from core.store.run import Run

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
    """What came from the model."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    done: Done | None = None
    failure: ModelFailure | None = None
    stopped: bool = False
    duration_s: float = 0.0

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

    def usage(self, model: Model, ai_input: AiInput) -> Usage | None:
        """As reported; for a call that did not end well our estimate of what is charged, None when nothing came."""
        if self.done is not None:
            return self.done.usage
        written = estimate_tokens("".join(self.text)) + estimate_tokens("".join(self.reasoning))
        if not written:
            return None
        return Usage(
            input_tokens=ai_input.estimate_tokens,
            output_tokens=written,
            estimated=True,
            cost_usd=model.cost_usd(ai_input.estimate_tokens, written),
        )


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


async def hear_out(
    bench: Bench, durable: DurableRun, call: ModelCall, live: LivePost | None, *, turn: str = ""
) -> Heard:
    """Everything one call of a turn brings, shown live where there is a post; structured output is no reading matter.

    It ends early when a person stops the turn or its run.
    """
    heard = Heard()
    shown = live if call.ai_input.output_schema is None else None

    async def hear() -> None:
        await durable.guard()
        try:
            async with aclosing(bench.gateway.stream(call)) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        heard.text.append(event.text)
                        if shown is not None:
                            shown.show(heard.text)
                    elif isinstance(event, ReasoningDelta):
                        heard.reasoning.append(event.text)
                    elif isinstance(event, Done):
                        heard.done = event
        except ModelFailure as failure:
            heard.failure = failure

    begun = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as tasks:
        showing = tasks.create_task(shown.keep_showing()) if shown is not None else None
        result = await durable.unless_stopped(hear(), turn=turn)
        if showing is not None:
            showing.cancel()
    heard.stopped = isinstance(result, Stopped) and heard.done is None
    heard.duration_s = asyncio.get_running_loop().time() - begun
    return heard
