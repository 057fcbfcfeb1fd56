"""Show AI input: what is recorded is what was sent, for every call, and for those who may see it."""

import asyncio

from core.commands.answer import stop
from core.commands.receipt import show_ai_input
from core.commands.say import Upload
from core.domain.errors import FailureKind
from core.domain.policy import Actor
from core.domain.receipt import Origin
from core.domain.view import ReceiptView
from tests.commands.look import new_thread, refused, rows, speaks
from tests.product import World

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 32


async def receipts(world: World, actor: Actor) -> list[ReceiptView]:
    """All receipts, oldest first."""
    return [await show_ai_input(world.services, actor, row["id"]) for row in await rows(world, "receipt")]


async def test_every_call_leaves_a_receipt_that_is_the_call(world: World) -> None:
    aki = await world.person()
    world.model.script = ["well", FailureKind.AUTH, ("half", FailureKind.INTERRUPTED)]
    thread = await new_thread(world, aki, "good", "bad", "broken")
    image = Upload(name="chart.png", media_type="image/png", data=PNG)
    notes = Upload(name="notes.md", media_type="text/markdown", data=b"# notes")
    await world.say(aki, "with files", uploads=(image, notes), model="seer")
    world.model.hold, world.model.begun = asyncio.Event(), asyncio.Event()
    said = await world.say(aki, "to be stopped", thread, wait=False)
    await world.model.begun.wait()
    assert said.run_id
    await stop(world.services, aki, run_id=said.run_id)
    await world.finished(said.run_id)
    found = await receipts(world, aki)
    assert len(found) == len(world.model.calls) == 5
    for receipt, call in zip(found, world.model.calls, strict=True):
        assert receipt.parts == call.ai_input.parts
        assert receipt.prompts == call.ai_input.prompts
        assert receipt.params == call.ai_input.params
        assert (receipt.caps, receipt.omissions) == (call.ai_input.caps, call.ai_input.omissions)
        assert receipt.estimate_tokens == call.ai_input.estimate_tokens
        assert receipt.input_sha256 == call.ai_input.sha256
        assert receipt.hash_matches
        assert receipt.model == call.model
        assert receipt.model_id == f"openai/{call.model}-2026-01-01"
    assert [r.finish for r in found] == ["stop", "failed", "failed", "stop", "stopped"]
    assert [r.failure and speaks(r.failure)[:5] for r in found] == [None, "alpha", "alpha", None, None]
    assert [r.usage and r.usage.estimated for r in found] == [False, None, True, False, True]
    assert found[0].reported_model_id == "reported-1"
    assert found[0].usage
    assert (found[0].usage.input_tokens, found[0].usage.output_tokens, found[0].usage.cost_usd) == (
        100,
        10,
        0.25,
    )
    assert [part.origin for part in found[3].parts] == [
        Origin.SYSTEM_PROMPT,
        Origin.ATTACHMENT,
        Origin.REQUEST,
    ]
    assert [i.name for part in found[3].parts for i in part.images] == ["chart.png"]
    assert all(part.message_id for receipt in found for part in receipt.parts[1:])


async def test_a_receipt_says_what_was_left_out_and_cut(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "x" * 7_000, *(f"question {n}" for n in range(11)))
    last = (await receipts(world, aki))[-1]
    assert [(o.what, o.count) for o in last.omissions] == [("messages", 1)]
    assert {(c.name, c.limit, c.had, c.kept) for c in last.caps} == {
        ("window_messages", 20, 21, 20),
        ("first_message_chars", 6_000, 7_000, 6_000),
    }
    assert [part.origin for part in last.parts[:3]] == [
        Origin.SYSTEM_PROMPT,
        Origin.FIRST_MESSAGE,
        Origin.OMITTED_NOTE,
    ]
    assert (await world.answers(aki, thread))[-1].omitted == 1


async def test_only_who_can_see_the_thread_sees_its_receipts_and_others_learn_nothing(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    await new_thread(world, aki, "among us")
    (row,) = await rows(world, "receipt")
    assert (await show_ai_input(world.services, ben, row["id"])).parts
    world.doors.closed.add(("C1", "U2"))
    hidden = await refused(show_ai_input(world.services, ben, row["id"]), "receipt_not_found")
    unknown = await refused(show_ai_input(world.services, ben, "unknown"), "receipt_not_found")
    assert hidden.fields == unknown.fields
    assert (await show_ai_input(world.services, aki, row["id"])).parts
