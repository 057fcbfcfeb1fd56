"""Send once: an effect outside, such as a post, that no crash doubles and no crash loses."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import sqlalchemy as sa

from core.domain.errors import UpstreamFailure
from core.engine.database import Database, post
from core.engine.serialiser import JsonValue
from core.engine.stopping import upsert


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is known of an effect before it is tried."""

    fresh: bool
    """No earlier try can have got through."""
    result: JsonValue
    """What an earlier try brought back, None when none came back."""


class PostLedger:
    """One row per effect, written before it is tried and completed after it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def intend(self, key: str, *, run_id: str) -> Intent:
        def act(connection: sa.Connection) -> Intent:
            row = upsert(self._database, post).values(key=key, run_id=run_id).on_conflict_do_nothing()
            # Counting affected rows would not do: on Postgres the count of such an insert is unknown.
            if connection.execute(row.returning(post.c.key)).first() is not None:
                return Intent(fresh=True, result=None)
            kept = connection.execute(sa.select(post.c.result).where(post.c.key == key)).scalar_one()
            return Intent(fresh=False, result=None if kept is None else json.loads(kept))

        return await self._database.insist(act)

    async def complete(self, key: str, result: JsonValue) -> None:
        row = sa.update(post).where(post.c.key == key).values(result=json.dumps(result, ensure_ascii=False))
        await self._database.insist(lambda connection: connection.execute(row))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Sends with the ledger's memory. `tries` counts attempts; the pause between them starts at `backoff_s`."""

    ledger: PostLedger
    guard: Callable[[], Awaitable[None]]
    tries: int
    backoff_s: float

    async def send_once(
        self,
        key: str,
        *,
        run_id: str,
        send: Callable[[], Awaitable[JsonValue]],
        find: Callable[[], Awaitable[JsonValue]],
    ) -> JsonValue:
        """What `send` brought back, now or in an earlier try. `send` must not bring back None.

        Whenever an earlier try may have got through, `find` is asked first; it gives None when nothing is there.
        Failures worth a retry are retried here, with a look-up each time. Raises the last UpstreamFailure.
        """
        intent = await self.ledger.intend(key, run_id=run_id)
        if intent.result is not None:
            return intent.result
        may_be_there = not intent.fresh
        pause_s = self.backoff_s
        for left in reversed(range(self.tries)):
            try:
                result = await find() if may_be_there else None
                if result is None:
                    await self.guard()
                    result = await send()
            except UpstreamFailure as failure:
                if not failure.retryable or not left:
                    raise
                await asyncio.sleep(max(pause_s, failure.retry_after_s or 0.0))
                pause_s *= 2
                may_be_there = True
            else:
                await self.ledger.complete(key, result)
                return result
        raise AssertionError("unreachable: the last try returns or raises")
