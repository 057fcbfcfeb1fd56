"""Posts of a run: sent once, remembered by the platform's ids, and shown in their final state for certain."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from core.domain.errors import PlatformFailure
from core.domain.thread import Place, Thread
from core.domain.view import PostView
from core.engine.bench import Bench, patiently
from core.engine.run import DurableRun
from core.engine.serialiser import JsonValue
from core.ports import PostRef
from core.store.post import do_remember_post
from core.store.run import Run

UPDATE_TRIES = 6
"""Attempts to show the final state of a post, with pauses of 1, 2, 4, 8 and 16 s or as long as the platform asks."""

MakeView = Callable[[], Awaitable[PostView]]


class Posting:
    """What one run posts. `step` names a post within the run; together with the run's id it is the post's key."""

    def __init__(self, bench: Bench, durable: DurableRun, run: Run) -> None:
        self._bench = bench
        self._durable = durable
        self._run = run

    async def post(self, step: str, thread: Thread, view: MakeView) -> PostRef:
        """Post into a thread, exactly once. Raises PlatformFailure, also for a thread that has no place yet."""
        if not thread.place.thread:
            raise PlatformFailure("thread_not_open", retryable=False)
        poster = self._bench.posters[thread.place.platform]

        async def send() -> JsonValue:
            return _to_json(
                await poster.post(
                    thread.workspace_id, thread.place, await view(), key=self._key(step), locale=thread.locale
                )
            )

        return await self._sent(step, thread, send)

    async def open_thread(self, step: str, thread: Thread, view: MakeView) -> PostRef:
        """Open the platform's thread of a thread that has no place yet, exactly once. Raises PlatformFailure."""
        poster = self._bench.posters[thread.place.platform]

        async def send() -> JsonValue:
            return _to_json(
                await poster.open_thread(
                    thread.workspace_id,
                    thread.place.channel,
                    await view(),
                    key=self._key(step),
                    locale=thread.locale,
                )
            )

        return await self._sent(step, thread, send)

    async def show(self, step: str, thread: Thread, ref: PostRef, view: PostView) -> None:
        """Show the final state of a post, asking again when the platform stumbles. Raises PlatformFailure."""
        poster = self._bench.posters[ref.place.platform]
        pause_s = 1.0
        for left in reversed(range(UPDATE_TRIES)):
            try:
                await self._durable.guard()
                shown = await poster.update(thread.workspace_id, ref, view, final=True, locale=thread.locale)
            except PlatformFailure as failure:
                if not failure.retryable or not left:
                    raise
                await asyncio.sleep(max(pause_s, failure.retry_after_s or 0.0))
                pause_s *= 2
            else:
                if shown.ids != ref.ids:
                    await self._remember(step, thread, shown)
                return

    async def _sent(self, step: str, thread: Thread, send: Callable[[], Awaitable[JsonValue]]) -> PostRef:
        poster = self._bench.posters[thread.place.platform]

        async def find() -> JsonValue:
            ref = await poster.find(thread.workspace_id, thread.place, key=self._key(step))
            return _to_json(ref) if ref else None

        ref = _to_ref(await self._durable.send_once(step, send=send, find=find))
        await self._remember(step, thread, ref)
        return ref

    async def _remember(self, step: str, thread: Thread, ref: PostRef) -> None:
        async def write() -> None:
            async with self._bench.store.writing() as session:
                await do_remember_post(
                    session, thread.workspace_id, ref, thread_id=thread.id, run_id=self._run.id, step=step
                )

        await patiently(write)

    def _key(self, step: str) -> str:
        return f"{self._run.id}/{step}"


def _to_json(ref: PostRef) -> JsonValue:
    place = ref.place
    return {
        "platform": place.platform,
        "channel": place.channel,
        "thread": place.thread,
        "ids": list(ref.ids),
    }


def _to_ref(value: JsonValue) -> PostRef:
    if not isinstance(value, dict):
        raise TypeError("a post reference is an object")
    fields: Any = value
    place = Place(platform=fields["platform"], channel=fields["channel"], thread=fields["thread"])
    return PostRef(place=place, ids=tuple(fields["ids"]))
