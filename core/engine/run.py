"""What the body of a run works with."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.engine import host
from core.engine.posts import Sender
from core.engine.serialiser import JsonObject, JsonValue
from core.engine.stopping import Stopped, Stopping, unless

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableRun:
    """One execution of a run.

    The body must call its steps in the same order whenever it is executed with the same arguments and step results:
    clocks, random numbers, settings and databases belong inside steps. Two steps of one run side by side are only
    allowed through `steps`.
    """

    id: str
    args: JsonObject
    stopping: Stopping = field(default_factory=Stopping)
    """Set once a person asked the run to stop; never cleared. A body that branches on it asks `stopped` instead."""
    sender: Sender
    guard: Callable[[], Awaitable[None]]
    """Returns only while this process still owns the run; to be awaited right before every effect outside."""

    async def step(self, name: str, act: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """The result of `act` as JSON gives it back; recorded, so that a resumed run does not do it again.

        An exception of `act` is recorded too and raised again on resuming. The product's own errors come back with
        their type, others as RecordedFailure.
        """
        return await host.step(name, self._guarded(act))()

    async def steps(self, acts: Mapping[str, Callable[[], Awaitable[JsonValue]]]) -> dict[str, JsonValue]:
        """One step for each entry, side by side; the results under the same names.

        All are carried through even when one fails; then the failure of the first in order is raised. Each is one
        step: what takes two steps, such as a call and a post, is two calls of `steps`.
        """
        prepared = {name: host.step(name, self._guarded(act)) for name, act in acts.items()}
        tasks = {name: asyncio.create_task(run()) for name, run in prepared.items()}
        try:
            if tasks:
                await asyncio.wait(tasks.values())
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        return {name: task.result() for name, task in tasks.items()}

    async def send_once(
        self, key: str, *, send: Callable[[], Awaitable[JsonValue]], find: Callable[[], Awaitable[JsonValue]]
    ) -> JsonValue:
        """What `send` brought back; done exactly once for this run and key, whatever crashes.

        `send` must not bring back None. `find` looks for what an earlier try left outside and gives None when there
        is nothing. Failures worth a retry are retried. Raises UpstreamFailure.
        """

        async def act() -> JsonValue:
            return await self.sender.send_once(f"{self.id}/{key}", run_id=self.id, send=send, find=find)

        return await host.step(f"send:{key}", act)()

    async def stopped(self) -> bool:
        """Whether a person asked this run to stop; a step, so that a resumed run decides as before."""

        async def act() -> JsonValue:
            return self.stopping.is_set()

        return bool(await host.step("stopped", act)())

    async def unless_stopped(self, work: Coroutine[Any, Any, T], *, turn: str = "") -> T | Stopped:
        """Inside a step: the result of `work`, or STOPPED as soon as a person stops the run, or this turn of it.

        `work` has then ended.
        """
        return await unless(self.stopping.event(turn), work)

    def _guarded(self, act: Callable[[], Awaitable[JsonValue]]) -> Callable[[], Awaitable[JsonValue]]:
        async def guarded() -> JsonValue:
            await self.guard()
            return await act()

        return guarded
