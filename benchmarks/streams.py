"""Many answers streamed at once: how free the main loop stays, and whether anything is lost or left open."""

import asyncio
from contextlib import aclosing, suppress

from benchmarks.figure import Figure, median, milliseconds, percentile
from benchmarks.gateway import catalogue, running_gateway, small_call
from benchmarks.lag import idle_neighbour, watched_loop
from benchmarks.provider import PacedProvider, running_provider, whole
from bot.wiring import SystemClock
from core.llm.gateway import Gateway
from core.ports import TextDelta

STREAMS = 200
CHUNKS = 60
PAUSE_S = 0.05
LAG_AT_MOST_S = 0.020
CLOSED_WITHIN_S = 5.0
WARM_UP = 8
APART_S = 0.002
"""From the start of one stream to that of the next: all are under way long before the first ends."""


async def measure(*, streams: int = STREAMS, chunks: int = CHUNKS, pause_s: float = PAUSE_S) -> list[Figure]:
    """All streams to their end under a watch over the loop, then once more with half of them cancelled midway."""
    async with (
        running_provider(chunks=chunks, pause_s=pause_s) as provider,
        running_gateway(catalogue(provider.base_url, at_once=streams), at_once=streams) as gateway,
    ):
        await asyncio.gather(*(_listen(gateway) for _ in range(WARM_UP)))
        return [
            *await _complete(gateway, streams=streams, chunks=chunks, pause_s=pause_s),
            *await _half_cancelled(gateway, provider, streams=streams, chunks=chunks, pause_s=pause_s),
        ]


async def _complete(gateway: Gateway, *, streams: int, chunks: int, pause_s: float) -> list[Figure]:
    begun = asyncio.get_running_loop().time()
    async with idle_neighbour() as neighbour, watched_loop() as lag:
        texts = await _all_heard(gateway, streams)
    taken_s, ideal_s = asyncio.get_running_loop().time() - begun, chunks * pause_s
    what = f"{streams} streams at once ({chunks} chunks, {pause_s * 1000:g} ms apart)"
    return [
        Figure(
            what=f"{what}: lag of the main loop, p99",
            measured=f"{milliseconds(lag.p99_s)} (p50 {milliseconds(median(lag.late_s))})",
            compared=f"{milliseconds(neighbour.p99_s)} of an idle process beside it",
            bound=f"≤ {milliseconds(LAG_AT_MOST_S)} more",
            kept=lag.p99_s - neighbour.p99_s <= LAG_AT_MOST_S,
        ),
        Figure(
            what=f"{what}: CPU time of the main loop at a stretch, p99",
            measured=f"{milliseconds(percentile(lag.busy_s, 99))} (most {milliseconds(max(lag.busy_s))})",
            bound=f"≤ {milliseconds(LAG_AT_MOST_S)}",
            kept=percentile(lag.busy_s, 99) <= LAG_AT_MOST_S,
        ),
        Figure(
            what=f"{what}: until all have ended",
            measured=f"{taken_s:.1f} s",
            compared=f"{ideal_s:.1f} s at the provider's pace",
            ratio=taken_s / ideal_s,
        ),
        _texts(f"{what}: complete texts", texts, chunks),
    ]


async def _all_heard(gateway: Gateway, streams: int) -> list[str]:
    """Texts of streams that begin one after the other, as messages of people do, and then all run at once."""
    tasks = []
    for _ in range(streams):
        tasks.append(asyncio.create_task(_listen(gateway)))
        await asyncio.sleep(APART_S)
    return await asyncio.gather(*tasks)


async def _half_cancelled(
    gateway: Gateway, provider: PacedProvider, *, streams: int, chunks: int, pause_s: float
) -> list[Figure]:
    tasks = [asyncio.create_task(_listen(gateway)) for _ in range(streams)]
    dropped, kept = tasks[::2], tasks[1::2]
    await asyncio.sleep(chunks * pause_s / 3)
    for task in dropped:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*dropped)
    during = await provider.fallen_to(len(kept), within_s=chunks * pause_s / 3)
    texts = await asyncio.gather(*kept)
    left = await provider.fallen_to(0, within_s=CLOSED_WITHIN_S)
    what = f"{len(dropped)} of {streams} streams cancelled midway"
    return [
        Figure(
            what=f"{what}: connections of theirs left open",
            measured=str(max(0, during - len(kept))),
            compared=f"{left} at the end",
            bound="0",
            kept=during <= len(kept) and left == 0,
        ),
        _texts(f"{what}: complete texts of the others", texts, chunks),
    ]


def _texts(what: str, texts: list[str], chunks: int) -> Figure:
    complete = sum(text == whole(chunks) for text in texts)
    return Figure(what=what, measured=str(complete), bound=f"all {len(texts)}", kept=complete == len(texts))


async def _listen(gateway: Gateway) -> str:
    """The text of one answer."""
    async with aclosing(gateway.stream(small_call(SystemClock().new_id))) as events:
        return "".join([event.text async for event in events if isinstance(event, TextDelta)])
