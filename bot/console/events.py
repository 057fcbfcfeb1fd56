"""The event stream of an open page."""

import asyncio
import json
from typing import Final, assert_never

from aiohttp import web

from bot.console.feed import Feed, FeedEvent, FeedFull, TextWritten, ThreadChanged, TreeChanged, WritingEnded
from bot.console.poster import PLATFORM
from bot.console.render import fingerprint
from bot.console.visit import Visit
from core.commands.services import Services
from core.commands.thread import list_channels, show_thread
from core.domain.errors import Refusal, StoreUnavailable

LOOK_AGAIN_S: Final = 2.0
"""How often an idle stream looks whether another process changed something; events of this one come at once."""

WRITE_S: Final = 10.0
"""A browser that takes nothing for so long is gone; it connects again when it is not."""


def line_of(event: FeedEvent) -> bytes:
    """An event in the form of an event stream."""
    match event:
        case TextWritten():
            return _line("text", card=event.card, fresh=event.fresh, text=event.text)
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


async def stream(request: web.Request, visit: Visit, *, services: Services, feed: Feed) -> web.StreamResponse:
    """Tell the page what changes until it goes, the feed closes, or the person may no longer see the thread."""
    thread_id = request.query.get("thread", "")
    marks = await _marks(services, visit, thread_id)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    try:
        with feed.subscribe(thread_id) as subscription:
            await response.prepare(request)
            await response.write(b": open\n\n")
            while not subscription.closed and _connected(request):
                events = await subscription.next(LOOK_AGAIN_S)
                if not events:
                    events, marks = await _compare(services, visit, thread_id, marks)
                async with asyncio.timeout(WRITE_S):
                    await response.write(b"".join(map(line_of, events)) or b": idle\n\n")
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
