"""Stop in every phase of every mode: what exists is kept, nothing more is called, and the thread goes on."""

import asyncio
from typing import Any

import pytest

from core.commands.answer import stop
from core.commands.artifact import show_artifact
from core.commands.compare import compare_answers
from core.commands.review import ReviewRequest, cross_review
from core.domain.message import Cut
from core.domain.thread import Mode
from core.domain.view import AnswerState, AnswerView, ButtonAction
from tests.commands.look import refused, rows
from tests.modes.look import DEBATE, begun, card, started, step_of, steps
from tests.product import World, eventually

FOUR = {"models": ["alpha", "beta", "seer", "small"]}
DRAFT = {"models": ["alpha", "beta"], "passes": 1}
BRIEF = {"workflow": "research_brief", "models": ["alpha", "beta"]}
MEMO = {"workflow": "decision_memo", "models": ["alpha", "beta"]}
PHASES: list[tuple[Mode, dict[str, Any], str, int]] = [
    (Mode.COMPARE, FOUR, "answer:beta", 4),
    (Mode.DEBATE, DEBATE, "problem_framing", 1),
    (Mode.DEBATE, DEBATE, "positions:B", 3),
    (Mode.DEBATE, DEBATE, "rebuttals.1:A", 4),
    (Mode.DEBATE, DEBATE, "rebuttals.1:B", 5),
    (Mode.DEBATE, DEBATE, "synthesis", 6),
    (Mode.CODRAFT, DRAFT, "draft", 1),
    (Mode.CODRAFT, DRAFT, "critique.1", 2),
    (Mode.CODRAFT, DRAFT, "revise.1", 3),
    (Mode.WORKFLOW, BRIEF, "questions", 1),
    (Mode.WORKFLOW, BRIEF, "/answer:B", 4),
    (Mode.WORKFLOW, BRIEF, "findings/summary", 5),
    (Mode.WORKFLOW, BRIEF, "brief/draft", 6),
    (Mode.WORKFLOW, MEMO, "debate/rebuttals.1:B", 7),
    (Mode.WORKFLOW, MEMO, "memo/revise.1", 12),
    (Mode.WORKFLOW, MEMO, "review/verdict:1", 13),
]


def final(world: World) -> None:
    """No post is left in a state that is not its last."""
    open_states = (AnswerState.QUEUED, AnswerState.WRITING)
    views = [view for view in world.poster.posts.values() if isinstance(view, AnswerView)]
    assert [view.step for view in views if view.state in open_states] == []


@pytest.mark.parametrize(("mode", "setup", "held", "calls"), PHASES, ids=[f"{p[0]} {p[2]}" for p in PHASES])
async def test_stopped_within_a_call_it_keeps_what_exists_and_goes_on_with_the_next_message(
    world: World, mode: Mode, setup: dict[str, Any], held: str, calls: int
) -> None:
    aki = await world.person()
    world.model.hold, world.model.held = asyncio.Event(), held
    thread, run = await begun(world, aki, mode, "Ship on Friday?", **setup)
    await world.model.begun.wait()
    waiting = await world.say(aki, "And Monday?", thread, wait=False)
    assert await stop(world.services, aki, run_id=run) == 1
    await world.finished(run)
    world.model.hold.set()
    assert waiting.run_id
    await world.finished(waiting.run_id)
    first = [call for call in world.model.calls if call.request_id.startswith(run)]
    assert len(first) == calls
    status = {row["id"]: row["status"] for row in await rows(world, "run")}
    assert status == {run: "stopped", waiting.run_id: "done"}
    shown = [a for a in await world.answers(aki, thread) if a.run_id == run]
    assert {a.state for a in shown} <= {AnswerState.DONE, AnswerState.STOPPED}
    cut = [a for a in shown if a.state is AnswerState.STOPPED and held in a.step]
    assert len(cut) == 1
    # A free text is kept as far as it came; half a structured output is nothing to read.
    assert (cut[0].text, cut[0].cut) in {("ans", Cut.STOPPED), ("", Cut.NONE)}
    assert any(call.request_id.startswith(waiting.run_id) for call in world.model.calls)
    final(world)


ONE_OF: list[tuple[Mode, dict[str, Any], str, int]] = [
    (Mode.COMPARE, FOUR, "answer:beta", 4),
    (Mode.DEBATE, DEBATE, "positions:A", 6),
    (Mode.DEBATE, DEBATE, "rebuttals.1:B", 6),
    (Mode.CODRAFT, DRAFT, "critique.1", 3),
    (Mode.WORKFLOW, BRIEF, "/answer:B", 8),
]


def offered(view: AnswerView) -> dict[ButtonAction, str]:
    return {button.action: button.ref for button in view.buttons}


@pytest.mark.parametrize(("mode", "setup", "held", "calls"), ONE_OF, ids=[f"{p[0]} {p[2]}" for p in ONE_OF])
async def test_one_answer_is_stopped_alone_and_its_run_goes_on_to_its_end(
    world: World, mode: Mode, setup: dict[str, Any], held: str, calls: int
) -> None:
    aki = await world.person()
    world.model.hold, world.model.held = asyncio.Event(), held
    thread, run = await begun(world, aki, mode, "Ship on Friday?", **setup)
    await world.model.begun.wait()
    (writing,) = [a for a in await world.answers(aki, thread) if held in a.step]
    buttons = offered(writing)
    assert list(buttons) == [ButtonAction.STOP_ONE, ButtonAction.STOP_RUN]
    assert buttons[ButtonAction.STOP_RUN] == run
    assert await stop(world.services, aki, run_id=buttons[ButtonAction.STOP_ONE]) == 1
    await world.finished(run)
    shown = {a.step: a for a in await world.answers(aki, thread)}
    assert [s for s, a in shown.items() if a.state is AnswerState.STOPPED] == [writing.step]
    assert {a.state for a in shown.values()} == {AnswerState.DONE, AnswerState.STOPPED}
    assert len(world.model.calls) == calls
    (row,) = await rows(world, "run")
    assert row["status"] == "done"
    # A free text is kept as far as it came, also in what the next call of its model is sent.
    kept = shown[writing.step]
    assert (kept.text, kept.cut) in {("ans", Cut.STOPPED), ("", Cut.NONE)}
    final(world)


async def test_a_stop_of_one_answer_is_refused_when_it_has_ended_or_was_never_there(world: World) -> None:
    aki = await world.person()
    world.model.hold, world.model.held = asyncio.Event(), "answer:beta"
    thread, run = await begun(world, aki, Mode.COMPARE, "Which?", models=["alpha", "beta"])
    await world.model.begun.wait()

    async def first_ended() -> bool:
        return (await card(world, aki, thread, "answer:alpha")).state is AnswerState.DONE

    await eventually(first_ended)
    for number in ("1", "3", "0", "x", "1/2"):
        await refused(stop(world.services, aki, run_id=f"{run}/{number}"), "answer_ended")
    await refused(stop(world.services, aki, run_id="nothing/1"), "answer_not_found")
    stranger = await world.person("U9", "Eve")
    world.doors.closed.add(("C1", "U9"))
    await refused(stop(world.services, stranger, run_id=f"{run}/2"), "answer_not_found")
    world.model.hold.set()
    await world.finished(run)
    assert {state for _, state in await steps(world, aki, thread)} == {AnswerState.DONE}
    await refused(stop(world.services, aki, run_id=f"{run}/2"), "nothing_to_stop")


async def test_a_run_whose_every_answer_was_stopped_alone_is_a_stopped_run(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    _, run = await begun(world, aki, Mode.COMPARE, "Which?", models=["alpha", "beta"])
    await eventually(lambda: len(world.model.calls) == 2)
    for number in (1, 2):
        assert await stop(world.services, aki, run_id=f"{run}/{number}") == 1
    await world.finished(run)
    (row,) = await rows(world, "run")
    assert row["status"] == "stopped"
    final(world)


@pytest.mark.parametrize(
    ("mode", "setup", "last"),
    [
        (Mode.DEBATE, DEBATE, "problem_framing"),
        (Mode.DEBATE, DEBATE, "rebuttals.1:A"),
        (Mode.CODRAFT, DRAFT, "draft"),
    ],
)
async def test_stopped_between_two_calls_no_other_begins(
    world: World, mode: Mode, setup: dict[str, Any], last: str
) -> None:
    aki = await world.person()
    # Held until the stop is asked for, the call then ends by itself: the flag is looked at only afterwards.
    world.model.hold, world.model.held = asyncio.Event(), last
    _, run = await begun(world, aki, mode, "Ship on Friday?", **setup)
    await world.model.begun.wait()
    world.model.hold.set()
    await world.services.engine.request_stop(run)
    await world.finished(run)
    made = [step_of(call) for call in world.model.calls]
    assert last in made
    assert len(made) <= made.index(last) + 3
    (row,) = await rows(world, "run")
    if "synthesis" not in made and "revise.1" not in made:
        assert row["status"] == "stopped"
    final(world)


async def test_a_stop_while_a_run_waits_its_turn_calls_nothing(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    thread, run = await begun(world, aki, Mode.COMPARE, "one", models=["alpha", "beta"])
    await world.model.begun.wait()
    waiting = await world.say(aki, "two", thread, wait=False)
    assert await stop(world.services, aki, run_id=str(waiting.run_id)) == 1
    world.model.hold.set()
    await world.finished(run)
    await world.finished(str(waiting.run_id))
    assert len(world.model.calls) == 2
    assert [state for _, state in (await steps(world, aki, thread))[2:]] == [AnswerState.STOPPED] * 2
    await refused(stop(world.services, aki, thread_id=thread), "nothing_to_stop")


async def test_a_comparison_and_a_review_can_be_stopped(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.COMPARE, "Which?", models=["alpha", "beta"])
    answers = await world.answers(aki, thread)
    world.model.hold = asyncio.Event()
    comparison = await compare_answers(world.services, aki, answers[0].run_id, event_key="c")
    await world.model.begun.wait()
    await stop(world.services, aki, run_id=comparison)
    await world.finished(comparison)
    world.model.begun.clear()
    asked = ReviewRequest(answers=tuple(str(a.message_id) for a in answers))
    review = await cross_review(world.services, aki, asked, event_key="r")
    await world.model.begun.wait()
    await stop(world.services, aki, thread_id=thread)
    await world.finished(review.run_id)
    assert {state for _, state in (await steps(world, aki, thread))[2:]} == {AnswerState.STOPPED}
    final(world)


async def test_a_stopped_draft_is_a_version_as_far_as_it_came(world: World) -> None:
    aki = await world.person()
    world.model.hold, world.model.held = asyncio.Event(), "draft"
    thread, run = await begun(world, aki, Mode.CODRAFT, "A note", **DRAFT)
    await world.model.begun.wait()
    await stop(world.services, aki, run_id=run)
    await world.finished(run)
    shown = await show_artifact(world.services, aki, thread, "draft")
    assert (shown.text, shown.version.author) == ("ans", "alpha")
    assert (await card(world, aki, thread, "draft")).cut is Cut.STOPPED
