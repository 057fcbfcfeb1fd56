"""How a thread of a mode begins: the estimate first, budgets, wrong input refused with nothing stored, duplicates."""

from typing import Any

import pytest

from core.commands.opening import estimate_start
from core.commands.say import Said, say
from core.domain.policy import Policy
from core.domain.thread import Mode, Place
from core.domain.view import AnswerState
from tests.commands.look import count, refused, speaks
from tests.modes.look import DEBATE, by_model, started, steps
from tests.product import PLATFORM, WORKSPACE, World

BAD: list[tuple[Mode, str, dict[str, Any], str]] = [
    (Mode.COMPARE, "Which?", {"models": ["alpha"]}, "compare_model_count"),
    (Mode.COMPARE, "Which?", {"models": ["alpha"] * 7}, "compare_model_count"),
    (Mode.COMPARE, "Which?", {"models": ["alpha", "nobody"]}, "unknown_model"),
    (Mode.COMPARE, "Which?", {"models": "alpha"}, "setting_not_list"),
    (Mode.COMPARE, "Which?", {"models": ["alpha", "beta"], "colour": "red"}, "setting_unknown"),
    (Mode.COMPARE, " ", {"models": ["alpha", "beta"]}, "empty_message"),
    (Mode.DEBATE, "\n ", DEBATE, "empty_message"),
    (Mode.DEBATE, "x" * 4_001, DEBATE, "topic_too_long"),
    (Mode.DEBATE, "Ship?", {**DEBATE, "background": "x" * 100_000}, "background_too_long"),
    (Mode.DEBATE, "Ship?", {**DEBATE, "rebuttal_rounds": 0}, "setting_out_of_range"),
    (Mode.DEBATE, "Ship?", {**DEBATE, "rebuttal_rounds": 4}, "setting_out_of_range"),
    (Mode.DEBATE, "Ship?", {**DEBATE, "rebuttal_rounds": True}, "setting_not_number"),
    (Mode.DEBATE, "Ship?", {**DEBATE, "participants": [{"model": "alpha"}]}, "debate_participant_count"),
    (
        Mode.DEBATE,
        "Ship?",
        {**DEBATE, "participants": [{"model": "alpha", "role": "king"}, {"model": "beta"}]},
        "unknown_role",
    ),
    (Mode.DEBATE, "Ship?", {**DEBATE, "moderator": "nobody"}, "unknown_model"),
    (Mode.CODRAFT, "A note", {"models": ["alpha"]}, "codraft_model_count"),
    (Mode.CODRAFT, "A note", {"models": ["alpha", "beta"], "passes": 0}, "setting_out_of_range"),
    (Mode.CODRAFT, "A note", {"models": ["alpha", "beta"], "passes": 6}, "setting_out_of_range"),
    (Mode.CODRAFT, "x" * 20_001, {"models": ["alpha", "beta"]}, "task_too_long"),
    (Mode.WORKFLOW, "Which?", {"workflow": "nothing_like_it"}, "unknown_workflow"),
    (Mode.WORKFLOW, "Which?", {}, "unknown_workflow"),
    (Mode.WORKFLOW, "Which?", {"workflow": "decision_memo", "models": []}, "workflow_model_count"),
    (Mode.WORKFLOW, "Which?", {"workflow": "decision_memo", "inputs": {"loop": "x"}}, "setting_unknown"),
]


async def test_wrong_input_is_refused_and_nothing_is_stored_or_called(world: World) -> None:
    aki = await world.person()
    for mode, text, setup, code in BAD:
        await refused(world.say(aki, text, mode=mode, setup=setup, estimate_seen=True), code)
    for table in ("thread", "message", "run", "claim", "conversation"):
        assert await count(world, table) == 0
    assert world.model.calls == []


@pytest.mark.parametrize(
    ("mode", "setup", "calls"),
    [
        (Mode.COMPARE, {"models": ["alpha", "beta", "alpha"]}, 3),
        (Mode.DEBATE, DEBATE, 6),
        (Mode.CODRAFT, {"models": ["alpha", "beta"], "passes": 2}, 5),
        (Mode.WORKFLOW, {"workflow": "document_polish", "models": ["alpha", "beta"]}, None),
        (Mode.WORKFLOW, {"workflow": "decision_memo", "models": ["alpha", "beta"]}, None),
        (Mode.WORKFLOW, {"workflow": "research_brief", "models": ["alpha", "beta"]}, None),
    ],
)
async def test_the_estimate_comes_first_and_tells_the_calls_that_are_made(
    world: World, mode: Mode, setup: dict[str, Any], calls: int | None
) -> None:
    aki = await world.person()
    refusal = await refused(world.say(aki, "Which?", mode=mode, setup=setup), "estimate_first")
    assert await count(world, "thread") == 0
    view = estimate_start(world.services, aki, mode, setup, "Which?")
    assert view.calls == refusal.fields["calls"] == (calls or view.calls)
    await started(world, aki, mode, "Which?", **setup)
    assert len(world.model.calls) == view.calls


async def test_the_same_model_twice_is_allowed_with_a_note_and_keeps_two_histories(world: World) -> None:
    aki = await world.person()
    view = estimate_start(world.services, aki, Mode.COMPARE, {"models": ["alpha", "alpha"]}, "Which?")
    assert "alpha" in speaks(view.notes[0])
    thread = await started(world, aki, Mode.COMPARE, "Which?", models=["alpha", "alpha"])
    assert [step for step, _ in await steps(world, aki, thread)] == ["answer:alpha", "answer:alpha#2"]
    await world.say(aki, "And why?", thread)
    own = [[p.text for p in c.ai_input.parts if p.role == "assistant"] for c in world.model.calls[2:]]
    assert sorted(own) == [["answer 1"], ["answer 2"]]


async def test_a_start_that_is_delivered_twice_is_one_run(world: World) -> None:
    aki = await world.person()
    said = Said(
        text="Which?",
        event_key="e",
        external_id="e",
        mentions_bot=True,
        place=Place(platform=PLATFORM, channel="C1", thread=""),
        mode=Mode.COMPARE,
        setup={"models": ["alpha", "beta"]},
        estimate_seen=True,
    )
    first = await say(world.services, aki, said)
    second = await say(world.services, aki, said)
    assert second.duplicate
    assert (second.thread_id, second.run_id) == (first.thread_id, first.run_id)
    await world.finished(str(first.run_id))
    assert len(world.model.calls) == 2
    assert await count(world, "thread") == 1


async def test_a_run_that_is_expected_to_cost_more_than_the_budget_does_not_begin(world: World) -> None:
    aki = await world.person()
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=1.0)
    setup = {"models": ["small", "alpha"]}
    refusal = await refused(
        world.say(aki, "Which?", mode=Mode.COMPARE, setup=setup, estimate_seen=True), "budget_person"
    )
    assert float(refusal.fields["expected"]) > 1.0
    assert await count(world, "thread") == 0
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=10.0)
    await started(world, aki, Mode.COMPARE, "Which?", **setup)
    assert len(world.model.calls) == 2


async def test_a_budget_that_is_used_up_in_the_middle_keeps_what_exists_and_calls_no_more(
    world: World,
) -> None:
    aki = await world.person()
    # Each call costs 0.25: framing and one position bring the sum to 0.50, and no call after them is made.
    world.policies[WORKSPACE.external_id] = Policy(budget_workspace_usd_month=0.6)
    world.model.plan = by_model({})
    thread = await started(world, aki, Mode.DEBATE, "Ship?", **DEBATE)
    shown = await steps(world, aki, thread)
    made = [step for step, state in shown if state is AnswerState.DONE]
    assert made[:3] == ["problem_framing", "positions:A", "positions:B"]
    assert len(world.model.calls) == len(made) == 3
    refusals = [a for a in await world.answers(aki, thread) if a.state is AnswerState.FAILED]
    assert {speaks(a.failure).partition(":")[0] for a in refusals} == {
        "This would go over the workspace's budget for this month"
    }
    assert len(refusals) == 3
