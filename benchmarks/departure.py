"""From "message accepted" to "request leaves for the model", against a direct call of the gateway."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from benchmarks.figure import Figure, median, milliseconds, percentile
from benchmarks.gateway import catalogue, running_gateway, small_call
from benchmarks.ground import temporary_folder
from benchmarks.product import PLATFORM, Running, running_product
from benchmarks.provider import running_provider
from core.commands.say import Said, say
from core.domain.errors import StoreUnavailable
from core.domain.thread import Place

AT_ONCE = 64
THINK_S = 0.5
"""From the end of an answer to the person's next message."""
ANSWER_S = 60.0
"""Longest wait for an answer."""
CHUNK_S = 0.1


async def measure(
    *,
    threads: Sequence[int] = (1, 50),
    rounds: Sequence[int] = (30, 3),
    answers_s: Sequence[float] = (0.2, 10.0),
) -> list[Figure]:
    """For each number of busy threads the time, and how many messages the store was too busy to take at once.

    In every thread messages follow answers of `answers_s` seconds.
    """
    figures: list[Figure] = []
    for count, each, answer_s in zip(threads, rounds, answers_s, strict=True):
        figures += await _with(count, rounds=each, answer_s=answer_s)
    return figures


async def _with(threads: int, *, rounds: int, answer_s: float) -> list[Figure]:
    chunks = max(2, round(answer_s / CHUNK_S))
    async with running_provider(chunks=chunks, pause_s=answer_s / chunks) as provider:
        models = catalogue(provider.base_url, at_once=AT_ONCE)
        with temporary_folder() as folder:
            async with (
                running_gateway(models, at_once=AT_ONCE) as gateway,
                running_product(folder, models, gateway) as product,
            ):
                # The first of everything is slower; it belongs to the figures of the start.
                await _talk(product, 0.0, 1)
                await _call(product, 0.0, 1)
                waits_s = [number * answer_s / threads for number in range(threads)]
                talked = await asyncio.gather(*(_talk(product, wait_s, rounds) for wait_s in waits_s))
                called = await asyncio.gather(*(_call(product, wait_s, rounds) for wait_s in waits_s))
    said_s = [time_s for talk in talked for time_s in talk.times_s]
    called_s = [time_s for times_s in called for time_s in times_s]
    busy = f"{threads} busy {'thread' if threads == 1 else 'threads'}"
    return [_added(busy, said_s, called_s), _refused(busy, len(said_s), sum(talk.refused for talk in talked))]


def _added(busy: str, said_s: list[float], called_s: list[float]) -> Figure:
    said, called = [(median(each), percentile(each, 95)) for each in (said_s, called_s)]
    return Figure(
        what=f"Added between message accepted and request on its way, {busy}",
        measured=f"p50 {milliseconds(said[0] - called[0])}, p95 {milliseconds(said[1] - called[1])}",
        compared=f"p50 {milliseconds(called[0])}, p95 {milliseconds(called[1])} of a direct call of the gateway",
    )


def _refused(busy: str, accepted: int, refused: int) -> Figure:
    return Figure(
        what=f"Messages that the store was too busy to take at once, {busy}",
        measured=f"{refused} of {accepted}",
        bound="0",
        kept=refused == 0,
    )


@dataclass(slots=True)
class Talk:
    """What one person saw."""

    times_s: list[float] = field(default_factory=list)
    """From accepted to on its way, message by message."""
    refused: int = 0


async def _talk(product: Running, wait_s: float, rounds: int) -> Talk:
    """A person says something in a thread of their own, reads the answer, and goes on."""
    await asyncio.sleep(wait_s)
    loop, clock = asyncio.get_running_loop(), product.services.clock
    place = Place(platform=PLATFORM, channel="C1", thread=clock.new_id())
    talk = Talk()
    while len(talk.times_s) < rounds:
        event = clock.new_id()
        said = Said(
            text="When is the launch?", event_key=event, external_id=event, mentions_bot=True, place=place
        )
        try:
            run_id = (await say(product.services, product.actor, said)).run_id
        except StoreUnavailable:
            talk.refused += 1
            continue
        accepted_at = loop.time()
        if run_id is None:
            raise AssertionError("nobody answers")
        async with asyncio.timeout(ANSWER_S):
            await product.audience.ended[run_id].wait()
        talk.times_s.append(product.departures.left[run_id] - accepted_at)
        await asyncio.sleep(THINK_S)
    return talk


async def _call(product: Running, wait_s: float, rounds: int) -> list[float]:
    """The same without the product: calls of the gateway, one after the other."""
    await asyncio.sleep(wait_s)
    loop = asyncio.get_running_loop()
    times = []
    for _ in range(rounds):
        call = small_call(product.services.clock.new_id)
        asked_at = loop.time()
        async with aclosing(product.departures.stream(call)) as events:
            async for _event in events:
                pass
        times.append(product.departures.left[call.request_id] - asked_at)
        await asyncio.sleep(THINK_S)
    return times
