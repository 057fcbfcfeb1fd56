"""What the open pages are told while they stand: which thread changed, and the text of answers being written.

Nothing is kept but the newest text of each running answer. A page that reads slowly gets the newest state, never a
queue of old ones, so a subscription cannot grow.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

MAX_CARDS: Final = 200
"""Answers of a thread being written, and threads with some, whose text is kept for pages that open in between."""

MAX_SUBSCRIPTIONS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWritten:
    """The newest text of an answer being written. `card` is the id of the answer's entry on the page."""

    card: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingEnded:
    card: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadChanged:
    """Something in the page's own thread is new or different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChanged:
    """Some thread, anywhere, is new or different."""


FeedEvent = TextWritten | WritingEnded | ThreadChanged | TreeChanged


class FeedFull(Exception):
    """More pages are open than the feed serves."""


class Subscription:
    """One open page. Read it with `next`; it coalesces what happened in between."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.closed = False
        self._wake = asyncio.Event()
        self._texts: dict[str, str] = {}
        self._ended: dict[str, None] = {}
        self._thread = False
        self._tree = False

    async def next(self, timeout_s: float) -> tuple[FeedEvent, ...]:
        """What happened since the last call, waiting up to `timeout_s`; empty when nothing did or the feed closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        self._wake.clear()
        return tuple(self._take())

    def _take(self) -> Iterator[FeedEvent]:
        texts, self._texts = self._texts, {}
        for card, text in texts.items():
            yield TextWritten(card=card, text=text)
        ended, self._ended = self._ended, {}
        for card in ended:
            yield WritingEnded(card=card)
        if self._thread:
            self._thread = False
            yield ThreadChanged()
        if self._tree:
            self._tree = False
            yield TreeChanged()

    def written(self, card: str, text: str) -> None:
        if len(self._texts) < MAX_CARDS or card in self._texts:
            self._texts[card] = text
        self._wake.set()

    def ended(self, card: str) -> None:
        self._texts.pop(card, None)
        if len(self._ended) < MAX_CARDS:
            self._ended[card] = None
        self._wake.set()

    def changed(self, *, own_thread: bool) -> None:
        self._thread |= own_thread
        self._tree = True
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()


class Feed:
    """Tells every open page of this process. Belongs to one event loop."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._writing: dict[str, dict[str, str]] = {}
        self._closed = False

    @property
    def open_pages(self) -> int:
        return len(self._subscriptions)

    @contextmanager
    def subscribe(self, thread_id: str) -> Iterator[Subscription]:
        """A page on `thread_id` (empty: a page without a thread) until the context ends; raises FeedFull."""
        if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            raise FeedFull
        subscription = Subscription(thread_id)
        for card, text in self._writing.get(thread_id, {}).items():
            subscription.written(card, text)
        if self._closed:
            subscription.close()
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def tell_text(self, thread_id: str, card: str, text: str) -> None:
        """An answer of the thread is written as far as `text`."""
        self._writing.setdefault(thread_id, {})[card] = text
        # An answer that another process takes over never ends here.
        for held in (self._writing[thread_id], self._writing):
            if len(held) > MAX_CARDS:
                del held[next(iter(held))]
        for subscription in self._of(thread_id):
            subscription.written(card, text)

    def tell_end(self, thread_id: str, card: str) -> None:
        """An answer is complete, and its final form is in the store."""
        writing = self._writing.get(thread_id, {})
        writing.pop(card, None)
        if not writing:
            self._writing.pop(thread_id, None)
        for subscription in self._of(thread_id):
            subscription.ended(card)
        self.tell_change(thread_id)

    def tell_change(self, thread_id: str) -> None:
        """Something in the thread changed; its pages and every tree draw it again."""
        for subscription in self._subscriptions:
            subscription.changed(own_thread=subscription.thread_id == thread_id)

    def close(self) -> None:
        """End every subscription, for shutting down."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()

    def _of(self, thread_id: str) -> list[Subscription]:
        return [one for one in self._subscriptions if one.thread_id == thread_id]
