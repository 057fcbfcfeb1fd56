"""Structured output as models really give it: fenced, with words around, wrong, huge; mended once or told."""

import json

from core.domain.thread import Mode
from core.domain.view import AnswerState
from tests.commands.look import rows
from tests.modes.look import DEBATE, by_step, card, sent_to, started, step_of, steps
from tests.product import World

GOOD = json.dumps({"stance": "planted-stance", "text": "planted-text"})
BAD = [  # words around, wrong schema, no object, cut, a key twice, not a number
    f"Here it is:\n{GOOD}\nI hope this helps.",
    '{"stance": "planted-stance"}',
    '["planted-stance"]',
    GOOD[:20],
    '{"stance": "a", "stance": "b", "text": "c"}',
    '{"stance": "a", "text": NaN}',
]


async def test_a_fence_around_all_of_it_is_taken_off_without_another_call(world: World) -> None:
    aki = await world.person()
    world.model.plan = by_step({"positions:A": f"```json\n{GOOD}\n```"})
    thread = await started(world, aki, Mode.DEBATE, "Ship?", **DEBATE)
    assert (
        await card(world, aki, thread, "positions:A")
    ).text == "**Stance: planted-stance**\n\nplanted-text"
    assert len(world.model.calls) == 6


async def test_anything_else_is_mended_once_by_the_model(world: World) -> None:
    aki = await world.person()
    for bad in BAD:
        world.model.calls.clear()
        world.model.plan = by_step({"positions:A": bad, "positions:A.repair": GOOD})
        thread = await started(world, aki, Mode.DEBATE, "Ship?", **DEBATE)
        view = await card(world, aki, thread, "positions:A")
        assert (view.text, view.state) == ("**Stance: planted-stance**\n\nplanted-text", AnswerState.DONE)
        assert len(world.model.calls) == 7
        first, second = [c for c in world.model.calls if step_of(c).startswith("positions:A")]
        assert second.ai_input.parts[: len(first.ai_input.parts)] == first.ai_input.parts
        assert second.ai_input.output_schema == first.ai_input.output_schema
        assert "planted-text" in sent_to(world, "rebuttals.1:B")
        assert bad not in sent_to(world, "rebuttals.1:B")


async def test_what_stays_wrong_is_told_and_joins_no_conversation(world: World) -> None:
    aki = await world.person()
    world.model.plan = by_step(dict.fromkeys(("positions:A", "positions:A.repair"), "planted-nonsense"))
    thread = await started(world, aki, Mode.DEBATE, "Ship?", **DEBATE)
    failed = await card(world, aki, thread, "positions:A")
    assert (failed.state, failed.text, failed.message_id) == (AnswerState.FAILED, "", None)
    assert failed.failure is not None
    assert failed.failure.key == "model_failure.malformed"
    assert "planted-nonsense" not in sent_to(world, "synthesis")
    assert "planted-nonsense" not in repr(await world.page(aki, thread))
    assert (
        "alpha (proponent) is missing from: Positions." in (await card(world, aki, thread, "synthesis")).text
    )


async def test_what_is_too_large_to_be_mended_is_not_sent_again(world: World) -> None:
    aki = await world.person()
    world.model.plan = by_step({"positions:A": "planted " * 100_000})
    thread = await started(world, aki, Mode.DEBATE, "Ship?", **DEBATE)
    assert (await card(world, aki, thread, "positions:A")).state is AnswerState.FAILED
    assert not any(call.request_id.endswith(".repair") for call in world.model.calls)
    assert [state for _, state in await steps(world, aki, thread)].count(AnswerState.DONE) == 5
    (kept,) = [row for row in await rows(world, "receipt") if row["step"] == "positions:A"]
    assert (kept["failure"], kept["cost_usd"]) == ("malformed", 0.25)
