"""What the modes add to the time of their calls: Compare against its slowest model, a debate against their sum."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

from benchmarks.figure import Figure, bounded, median
from benchmarks.ground import temporary_folder
from benchmarks.product import PLATFORM, Running, running_product
from core.commands.say import Said, say
from core.domain.receipt import Finish, Usage
from core.domain.thread import Mode, Place
from core.llm.catalogue import Catalogue, load_catalogue
from core.ports import Done, ModelCall, ModelEvent, Started, TextDelta
from tests.product import fitting

DELAYS_S = {"a": 4.0, "b": 2.8, "c": 2.0, "d": 3.2}
"""How long each model takes for an answer; real ones rarely take less."""
COMPARE_AT_MOST, DEBATE_AT_MOST = 1.15, 1.05
PIECES = 20
RUN_S = 120.0
LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class FixedDelays:
    """Models that take their time and write evenly: all that comes besides is what the product adds."""

    delays_s: dict[str, float]
    took_s: list[tuple[str, float]] = field(default_factory=list)
    """Step and time of every call since it was last emptied."""

    async def stream(self, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        yield Started(queued_s=0.0)
        schema = call.ai_input.output_schema
        text = "word " * 100 if schema is None else json.dumps(fitting(schema, 1))
        size = max(1, len(text) // PIECES)
        for number, place in enumerate(range(0, len(text), size), start=1):
            await asyncio.sleep(begun + min(1.0, number / PIECES) * self.delays_s[call.model] - loop.time())
            yield TextDelta(text=text[place : place + size])
        self.took_s.append((call.request_id.partition("/")[2], loop.time() - begun))
        yield Done(
            finish=Finish.STOP,
            usage=Usage(input_tokens=10, output_tokens=10, estimated=False, cost_usd=None),
            reported_model_id="",
            first_delta_s=0.0,
            total_s=loop.time() - begun,
        )


def _catalogue() -> Catalogue:
    models = {
        alias: {
            "id": f"openai/{alias}-2026-01-01",
            "api_base": "http://127.0.0.1:9/v1",
            "context_tokens": 64_000,
        }
        for alias in DELAYS_S
    }
    return load_catalogue(
        models, {"chat": "a"}, file="benchmarks", line_of=lambda path: 0, env={}, local=False
    )


async def measure(*, repeats: int = 3, scale: float = 1.0) -> list[Figure]:
    """Medians of `repeats` runs with delays of `scale` times `DELAYS_S`."""
    gateway = FixedDelays({alias: delay_s * scale for alias, delay_s in DELAYS_S.items()})
    with temporary_folder() as folder:
        async with running_product(folder, _catalogue(), gateway) as product:
            # The first of everything is slower; it belongs to the figures of the start.
            await _run(product, gateway, Mode.COMPARE, {"models": ["a", "b"]})
            compared = [await _compare(product, gateway) for _ in range(repeats)]
            debated = [await _debate(product, gateway) for _ in range(repeats)]
    return [
        bounded(
            "Compare with 4 models, from accepted to the last answer shown",
            median(taken for taken, _ in compared),
            median(slowest for _, slowest in compared),
            against="of the slowest model alone",
            at_most=COMPARE_AT_MOST,
        ),
        bounded(
            "Debate of 3 participants, from accepted to the synthesis shown",
            median(taken for taken, _ in debated),
            median(calls for _, calls in debated),
            against="of its calls (positions count as the slowest of them)",
            at_most=DEBATE_AT_MOST,
        ),
    ]


async def _compare(product: Running, gateway: FixedDelays) -> tuple[float, float]:
    taken_s = await _run(product, gateway, Mode.COMPARE, {"models": list(DELAYS_S)})
    return taken_s, max(took_s for _, took_s in gateway.took_s)


async def _debate(product: Running, gateway: FixedDelays) -> tuple[float, float]:
    setup = {"participants": [{"model": alias} for alias in ("b", "c", "d")], "moderator": "a"}
    taken_s = await _run(product, gateway, Mode.DEBATE, setup)
    positions = [took_s for step, took_s in gateway.took_s if step.startswith("positions")]
    in_turn = [took_s for step, took_s in gateway.took_s if not step.startswith("positions")]
    return taken_s, max(positions) + sum(in_turn)


async def _run(product: Running, gateway: FixedDelays, mode: Mode, setup: Mapping[str, object]) -> float:
    """Seconds from the moment the command came back to the moment the last answer was shown in its final state."""
    gateway.took_s.clear()
    loop, event = asyncio.get_running_loop(), product.services.clock.new_id()
    said = Said(
        text="When is the launch?",
        event_key=event,
        external_id=event,
        mentions_bot=True,
        place=Place(platform=PLATFORM, channel="C1", thread=event),
        mode=mode,
        setup=setup,
        estimate_seen=True,
    )
    result = await say(product.services, product.actor, said)
    if result.run_id is None:
        raise AssertionError("nobody answers")
    accepted_at = loop.time()
    async with asyncio.timeout(RUN_S):
        # Seldom: each look costs a statement, and many of them would be measured along.
        while not await product.services.engine.is_finished(result.run_id):  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(LOOK_S)
    return product.audience.shown_at[result.run_id] - accepted_at
