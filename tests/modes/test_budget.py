"""A budget holds for every call: those side by side, the one that mends, and those of a run that died (spec §14)."""

import asyncio
import json
from pathlib import Path

import pytest

from core.commands.review import ReviewRequest, cross_review
from core.domain.errors import FailureKind
from core.domain.policy import Policy
from core.domain.thread import Mode
from core.domain.view import AnswerState
from tests.commands.look import count, refused, rows, speaks
from tests.modes.look import DEBATE, begun, by_step, card, started, step_of, steps
from tests.product import WORKSPACE, RecordingPoster, ScriptedModel, World, eventually, open_world

# A call to `small` is expected to cost about 1.2 USD; the scripted model charges 0.25 for it.


async def test_a_call_under_way_holds_its_estimate_and_gives_the_rest_back(world: World) -> None:
    aki = await world.person()
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=1.6)
    world.model.hold = asyncio.Event()
    first = await world.say(aki, "one", model="small", wait=False)
    await eventually(lambda: world.model.begun.is_set())
    (held,) = await rows(world, "reservation")
    assert 1.0 < held["usd"] < 1.4
    second = await world.say(aki, "two", model="small")
    assert second.thread_id
    (failed,) = await world.answers(aki, second.thread_id)
    told = speaks(failed.failure)
    assert f"{held['usd']:.4f}".rstrip("0") in told
    assert "of 1.6 USD are spent or reserved by calls under way" in told
    assert len(world.model.calls) == 1
    world.model.hold.set()
    await world.finished(str(first.run_id))
    assert await count(world, "reservation") == 0
    await world.say(aki, "two again", second.thread_id, wait=True)
    assert len(world.model.calls) == 2
    assert await world.texts(aki, second.thread_id) == ["two", "two again", "answer 2"]


async def test_without_a_budget_nothing_is_reserved(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    said = await world.say(aki, "one", model="small", wait=False)
    await eventually(lambda: world.model.begun.is_set())
    assert await count(world, "reservation") == 0
    world.model.hold.set()
    await world.finished(str(said.run_id))


@pytest.mark.parametrize("planned", [FailureKind.PROVIDER_DOWN, ("half an ans", FailureKind.INTERRUPTED)])
async def test_a_call_that_fails_holds_no_money(world: World, planned: FailureKind) -> None:
    aki = await world.person()
    world.policies[WORKSPACE.external_id] = Policy(budget_workspace_usd_month=5.0)
    world.model.script = [planned]
    await world.say(aki, "one", model="small")
    assert await count(world, "reservation") == 0


@pytest.mark.parametrize(
    "policy",
    [Policy(budget_person_usd_month=0.7), Policy(budget_workspace_usd_month=0.7)],
    ids=["person", "workspace"],
)
async def test_what_there_is_no_money_to_have_mended_is_told_and_the_rest_stands(
    world: World, policy: Policy
) -> None:
    aki = await world.person()
    # Framing and both positions cost 0.25 each.
    world.policies[WORKSPACE.external_id] = policy
    world.model.plan = by_step({"positions:A": '{"stance": "planted-nonsense"}'})
    world.model.hold, world.model.held = asyncio.Event(), "positions:A"
    thread, run = await begun(world, aki, Mode.DEBATE, "Ship?", **DEBATE)

    async def other_is_done() -> bool:
        return ("positions:B", AnswerState.DONE) in await steps(world, aki, thread)

    await eventually(other_is_done)
    world.model.hold.set()
    await world.finished(run)
    assert not any(step_of(call).endswith(".repair") for call in world.model.calls)
    failed = await card(world, aki, thread, "positions:A")
    assert (failed.state, failed.text) == (AnswerState.FAILED, "")
    told = speaks(failed.failure)
    assert told.startswith("alpha answered in a form that cannot be read, and having it mended would go over")
    assert "of 0.7 USD are spent or reserved" in told
    shown = dict(await steps(world, aki, thread))
    assert shown["positions:B"] is AnswerState.DONE
    (kept,) = [row for row in await rows(world, "receipt") if row["step"] == "positions:A"]
    assert (kept["failure"], kept["cost_usd"]) == ("malformed", 0.25)
    # With money again the thread goes on.
    world.policies[WORKSPACE.external_id] = Policy()
    world.model.calls.clear()
    await world.say(aki, "go on", thread)
    assert (await steps(world, aki, thread))[-1][1] is AnswerState.DONE
    assert len(world.model.calls) == 3
    assert not any(
        "planted-nonsense" in part.text for call in world.model.calls for part in call.ai_input.parts
    )


async def test_a_call_that_mends_is_paid_from_the_budget_too(world: World) -> None:
    aki = await world.person()
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=50.0)
    bad, good = "{", json.dumps({"stance": "s", "text": "t"})
    world.model.plan = by_step({"positions:A": bad, "positions:A.repair": good})
    setup = {"participants": [{"model": "small"}, {"model": "beta"}], "moderator": "seer"}
    world.model.hold, world.model.held = asyncio.Event(), "positions:A.repair"
    said = await world.say(aki, "Ship?", wait=False, mode=Mode.DEBATE, setup=setup, estimate_seen=True)
    await eventually(lambda: world.model.begun.is_set())
    reserved = [row["usd"] for row in await rows(world, "reservation") if row["step"].endswith(".repair")]
    world.model.hold.set()
    await world.finished(str(said.run_id))
    assert len(reserved) == 1
    assert reserved[0] > 0.7
    assert await count(world, "reservation") == 0


async def test_a_review_that_is_expected_to_cost_more_than_the_budget_does_not_begin(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.COMPARE, "Which?", models=["alpha", "beta"])
    answers = tuple(str(a.message_id) for a in await world.answers(aki, thread) if a.message_id)
    request = ReviewRequest(answers=answers[:1], reviewers=2)
    for budget, code in ((0.9, "budget_person"), (9.0, "")):
        world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=budget)
        world.model.calls.clear()
        act = cross_review(world.services, aki, request, event_key=f"r{budget}")
        if code:
            refusal = await refused(act, code)
            assert float(refusal.fields["spent"]) == 0.5
            assert float(refusal.fields["expected"]) > 0.7
            assert await count(world, "run") == 1
        else:
            await world.finished((await act).run_id)
        assert len(world.model.calls) == (0 if code else 2)


async def test_a_run_cut_during_its_call_goes_on_with_the_money_it_had_reserved(tmp_path: Path) -> None:
    urls = f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}"
    poster, model = RecordingPoster(), ScriptedModel(hold=asyncio.Event())
    budget = {WORKSPACE.external_id: Policy(budget_person_usd_month=1.6)}
    async with open_world(*urls, model=model, poster=poster, patient=False) as world:
        world.policies.update(budget)
        aki = await world.person()
        said = await world.say(aki, "one", model="small", wait=False)
        await model.begun.wait()
        assert await count(world, "reservation") == 1
    let = asyncio.Event()
    again = ScriptedModel(hold=let)
    async with open_world(*urls, model=again, poster=poster) as world:
        world.policies.update(budget)
        aki = await world.person()
        await again.begun.wait()
        (held,) = await rows(world, "reservation")
        assert held["run_id"] == said.run_id
        let.set()
        await world.finished(str(said.run_id))
        assert said.thread_id
        assert await world.texts(aki, said.thread_id) == ["one", "answer 1"]
        assert await count(world, "reservation") == 0
