"""One answer as it comes from the worker, within its deadlines."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from core.domain.errors import FailureKind, ModelFailure
from core.domain.receipt import Finish
from core.llm.link import Delta, Ended, Exchange, Failed, WorkerEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Only deltas count as signs of life; what a server sends to keep a connection open does not."""

    first_s: float
    idle_s: float
    total_s: float


class Answer:
    """Reads one exchange to its end and keeps what came. All times are the loop's, in seconds."""

    def __init__(self, exchange: Exchange, deadlines: Deadlines, *, sent_at: float, end_at: float) -> None:
        self._exchange = exchange
        self._deadlines = deadlines
        self._sent_at = sent_at
        self._heard_at = sent_at
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._ended: Ended | None = None
        self.end_at = end_at
        """When the whole call has to be over."""
        self.first_delta_s = 0.0
        self.total_s = 0.0
        self.error = ""
        """Class of the worker's error, for the log."""

    @property
    def begun(self) -> bool:
        """Whether any delta came; from then on there is no second try."""
        return bool(self._text or self._reasoning)

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    @property
    def ended(self) -> Ended:
        """How the provider ended it; only after `deltas` came to its end."""
        if self._ended is None:
            raise RuntimeError("the answer has not ended")
        return self._ended

    async def deltas(self) -> AsyncIterator[Delta]:
        """The deltas in order. Raises ModelFailure with the partial text unless a whole answer comes."""
        while True:
            arrived_at, event = await self._next()
            match event:
                case Delta():
                    self._keep(event, arrived_at)
                    yield event
                case Failed():
                    self.error = event.error
                    raise self._failure(event.kind, retryable=event.retryable, wait_s=event.retry_after_s)
                case Ended():
                    self._end(event, arrived_at)
                    return

    async def _next(self) -> tuple[float, WorkerEvent]:
        silence_s = self._deadlines.idle_s if self.begun else self._deadlines.first_s
        deadline = min(self._heard_at + silence_s, self.end_at)
        try:
            # What has arrived counts as arrived, however long the reader was busy elsewhere.
            return self._exchange.events.get_nowait()
        except asyncio.QueueEmpty:
            pass
        try:
            async with asyncio.timeout_at(deadline):
                return await self._exchange.events.get()
        except TimeoutError:
            raise self._timeout(total=deadline == self.end_at) from None

    def _keep(self, delta: Delta, arrived_at: float) -> None:
        if not self.begun:
            self.first_delta_s = arrived_at - self._sent_at
        self._heard_at = arrived_at
        (self._reasoning if delta.reasoning else self._text).append(delta.text)

    def _end(self, event: Ended, arrived_at: float) -> None:
        """Accept the end, or raise when it is the end of nothing."""
        self._ended = event
        self.total_s = arrived_at - self._sent_at
        if self.text.strip():
            return
        if event.finish is Finish.CONTENT_FILTER:
            raise self._failure(FailureKind.CONTENT_POLICY, retryable=False)
        raise self._failure(FailureKind.EMPTY, retryable=True)

    def _timeout(self, *, total: bool) -> ModelFailure:
        if total:
            return self._failure(FailureKind.TIMEOUT_TOTAL, retryable=False)
        kind = FailureKind.TIMEOUT_IDLE if self.begun else FailureKind.TIMEOUT_FIRST
        return self._failure(kind, retryable=True)

    def _failure(self, kind: FailureKind, *, retryable: bool, wait_s: float | None = None) -> ModelFailure:
        return ModelFailure(kind, retryable=retryable, partial_text=self.text, retry_after_s=wait_s)
