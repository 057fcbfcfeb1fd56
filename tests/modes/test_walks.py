"""Each mode from its first message to its end: what is stored, what each model is sent, what people are shown."""

import pytest

from core.commands.artifact import list_saved, show_artifact
from core.commands.compare import compare_answers
from core.commands.review import ReviewRequest, cross_review
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.domain.view import AnswerState, AnswerView
from tests.product import World


async def started(world: World, actor: Actor, mode: Mode, text: str, **setup: object) -> str:
    said = await world.say(actor, text, mode=mode, setup=setup, estimate_seen=True)
    assert said.thread_id is not None
    return said.thread_id


async def cards(world: World, actor: Actor, thread: str) -> list[tuple[str, str, AnswerState]]:
    """Step, model and state of every answer, in the order in which they are shown."""
    answers: list[AnswerView] = await world.answers(actor, thread)  # type: ignore[arg-type]
    return [(answer.step, answer.model, answer.state) for answer in answers]


async def test_a_compare_asks_every_model_and_keeps_their_histories_apart(world: World) -> None:
    aki = await world.person()
    world.model.script = ["pomegranate from alpha", "quince from beta"]
    thread = await started(world, aki, Mode.COMPARE, "Which fruit?", models=["alpha", "beta"])
    assert await cards(world, aki, thread) == [
        ("answer:alpha", "alpha", AnswerState.DONE),
        ("answer:beta", "beta", AnswerState.DONE),
    ]
    await world.say(aki, "And why?", thread)  # type: ignore[arg-type]
    second = {call.model: "\n".join(p.text for p in call.ai_input.parts) for call in world.model.calls[2:]}
    by_first = {call.model: n for n, call in enumerate(world.model.calls[:2])}
    own = (
        {"alpha": "pomegranate", "beta": "quince"}
        if by_first["alpha"] == 0
        else {"alpha": "quince", "beta": "pomegranate"}
    )
    for model, word in own.items():
        other = "quince" if word == "pomegranate" else "pomegranate"
        assert word in second[model]
        assert other not in second[model]


async def test_the_answers_of_a_compare_are_compared_without_names(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.COMPARE, "Which fruit?", models=["alpha", "beta"])
    run = (await world.answers(aki, thread))[0].run_id  # type: ignore[arg-type]
    comparison = await compare_answers(world.services, aki, run, event_key=world.clock.new_id())
    await world.finished(comparison)
    assert (await cards(world, aki, thread))[-1][0] == "summary"
    sent = world.model.sent()
    assert "alpha" not in sent
    assert "beta" not in sent


async def test_a_debate_goes_through_its_rounds(world: World) -> None:
    aki = await world.person()
    participants = [{"model": "alpha"}, {"model": "beta"}]
    thread = await started(
        world, aki, Mode.DEBATE, "Ship on Friday?", participants=participants, moderator="seer"
    )
    assert [(step, model) for step, model, _ in await cards(world, aki, thread)] == [
        ("problem_framing", "seer"),
        ("positions:A", "alpha"),
        ("positions:B", "beta"),
        ("rebuttals.1:A", "alpha"),
        ("rebuttals.1:B", "beta"),
        ("synthesis", "seer"),
    ]
    await world.say(aki, "What about Monday?", thread)  # type: ignore[arg-type]
    assert [step for step, _, _ in (await cards(world, aki, thread))[6:]] == [
        "rebuttals.2:A",
        "rebuttals.2:B",
        "synthesis",
    ]


async def test_a_codraft_keeps_every_version(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.CODRAFT, "A note to all", models=["alpha", "beta"], passes=1)
    assert [step for step, _, _ in await cards(world, aki, thread)] == ["draft", "critique.1", "revise.1"]
    saved = await list_saved(world.services, aki, thread)
    assert [(item.name, item.newest.number) for item in saved] == [("draft", 2)]
    await world.say(aki, "Make it shorter", thread)  # type: ignore[arg-type]
    shown = await show_artifact(world.services, aki, thread, "draft")
    assert shown.version.number == 3
    assert shown.changes


async def test_a_cross_review_sends_the_answers_and_nothing_else(world: World) -> None:
    aki = await world.person()
    world.model.script = ["first answer text", "second answer text"]
    thread = await started(world, aki, Mode.COMPARE, "What about pomegranates?", models=["alpha", "beta"])
    answers = tuple(str(a.message_id) for a in await world.answers(aki, thread))  # type: ignore[arg-type]
    review = await cross_review(
        world.services, aki, ReviewRequest(answers=answers, reviewers=2), event_key=world.clock.new_id()
    )
    assert len(set(review.reviewers) - {"alpha", "beta"}) == 2
    await world.finished(review.run_id)
    for number in range(2, len(world.model.calls)):
        sent = world.model.sent(number)
        assert "first answer text" in sent
        assert "pomegranates" not in sent
        assert "Aki" not in sent
        assert "alpha" not in sent
    assert [step for step, _, _ in await cards(world, aki, thread)][2:] == [
        "verdict:1",
        "verdict:2",
        "result",
    ]


@pytest.mark.parametrize("name", ["decision_memo", "research_brief", "document_polish"])
async def test_a_workflow_takes_its_steps_in_order(world: World, name: str) -> None:
    aki = await world.person()
    thread = await started(
        world, aki, Mode.WORKFLOW, "Which supplier?", workflow=name, models=["alpha", "beta"]
    )
    shown = await cards(world, aki, thread)
    assert {state for _, _, state in shown} == {AnswerState.DONE}
    taken = list(dict.fromkeys(step.partition("/")[0] for step, _, _ in shown))
    assert taken == [step.id for step in world.services.workflows[name].steps]
    await world.say(aki, "And the risks?", thread)  # type: ignore[arg-type]
    assert [step for step, _, _ in await cards(world, aki, thread)][-1] == "follow_up"
