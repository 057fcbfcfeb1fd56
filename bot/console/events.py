"""The event stream of an open page."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final, assert_never

from aiohttp import web

from bot.console.feed import Feed, FeedEvent, FeedFull, TextWritten, ThreadChanged, TreeChanged, WritingEnded
from bot.console.markdown import Markdown
from bot.console.poster import PLATFORM
from bot.console.render import fingerprint
from bot.console.visit import Visit
from bot.console.written import Written
from core.commands.services import Services
from core.commands.thread import list_channels, show_thread
from core.domain.errors import Refusal, StoreUnavailable

LOOK_AGAIN_S: Final = 2.0
"""How often an idle stream looks whether another process changed something; events of this one come at once."""

TEXT_EVERY_S: Final = 0.1
"""The shortest time between two updates of what is being written; each of them converts Markdown."""

WRITE_S: Final = 10.0
"""A browser that takes nothing for so long is gone; it connects again when it is not."""


class Told:
    """What one page was told, in the form of an event stream."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown
        self._written: dict[str, Written] = {}

    async def lines(self, events: Iterable[FeedEvent]) -> bytes:
        """The events for the page; empty when there is nothing to tell yet."""
        return b"".join(
            [await self._text(e) if isinstance(e, TextWritten) else self._other(e) for e in events]
        )

    async def _text(self, event: TextWritten) -> bytes:
        written = self._written.setdefault(event.card, Written(self._markdown))
        piece = await asyncio.to_thread(written.piece, event.text)
        return b"" if piece is None else _line("text", card=event.card, **asdict(piece))

    def _other(self, event: WritingEnded | ThreadChanged | TreeChanged) -> bytes:
        if isinstance(event, WritingEnded):
            self._written.pop(event.card, None)
        return line_of(event)


def line_of(event: WritingEnded | ThreadChanged | TreeChanged) -> bytes:
    match event:
        case WritingEnded():
            return _line("end", card=event.card)
        case ThreadChanged():
            return _line("thread")
        case TreeChanged():
            return _line("tree")
        case _:
            assert_never(event)


def _line(name: str, **data: str | bool) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


async def _marks(services: Services, visit: Visit, thread_id: str) -> tuple[str, str]:
    """Fingerprints of the thread and of the tree as this person sees them. Raises Refusal and StoreUnavailable."""
    thread = fingerprint(await show_thread(services, visit.actor, thread_id)) if thread_id else ""
    return thread, fingerprint(await list_channels(services, visit.actor, PLATFORM))


async def stream(
    request: web.Request, visit: Visit, *, services: Services, feed: Feed, markdown: Markdown
) -> web.StreamResponse:
    """Tell the page what changes until it goes, the feed closes, or the person may no longer see the thread."""
    thread_id = request.query.get("thread", "")
    marks = await _marks(services, visit, thread_id)
    told = Told(markdown)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    try:
        with feed.subscribe(thread_id) as subscription:
            await response.prepare(request)
            await response.write(b": open\n\n")
            while not subscription.closed and _connected(request):
                events = await subscription.next(LOOK_AGAIN_S)
                if not events:
                    events, marks = await _compare(services, visit, thread_id, marks)
                lines = await told.lines(events)
                async with asyncio.timeout(WRITE_S):
                    await response.write(lines or b": idle\n\n")
                if any(isinstance(event, TextWritten) for event in events):
                    await asyncio.sleep(TEXT_EVERY_S)
    except FeedFull:
        return web.Response(status=503)
    except (ConnectionError, TimeoutError, Refusal):
        pass  # The page is gone, or what it showed; its script finds out by connecting again.
    return response


async def _compare(
    services: Services, visit: Visit, thread_id: str, marks: tuple[str, str]
) -> tuple[tuple[FeedEvent, ...], tuple[str, str]]:
    try:
        fresh = await _marks(services, visit, thread_id)
    except StoreUnavailable:
        return (), marks
    changes: list[FeedEvent] = []
    if fresh[0] != marks[0]:
        changes.append(ThreadChanged())
    if fresh[1] != marks[1]:
        changes.append(TreeChanged())
    return tuple(changes), fresh


def _connected(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()
