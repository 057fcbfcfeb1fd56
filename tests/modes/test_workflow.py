"""Workflow (Beta): results flow on, a run that was cut short goes on at its step, and branches go on as well."""

import asyncio
from dataclasses import replace

import pytest

from core.commands.answer import stop
from core.commands.artifact import list_saved
from core.commands.branch import BranchRequest, branch
from core.commands.thread import show_thread
from core.domain.errors import FailureKind
from core.domain.policy import Policy
from core.domain.thread import Mode
from core.domain.view import AnswerState, AnswerView, Phrase
from core.i18n import phrase
from tests.modes.look import begun, by_step, sent_to, started, step_of, steps
from tests.product import WORKSPACE, World

POLISH = {"workflow": "document_polish", "models": ["alpha", "beta"]}
DECIDE = {"workflow": "decision_memo", "models": ["alpha", "beta"]}


def first_steps(shown: list[tuple[str, AnswerState]]) -> list[str]:
    return list(dict.fromkeys(step.partition("/")[0] for step, _ in shown))


async def test_every_card_says_beta(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.WORKFLOW, "Polish this", **POLISH)
    for answer in await world.answers(aki, thread):
        assert isinstance(answer.label, Phrase)
        assert "Beta" in phrase("en", answer.label)
        assert "β" in phrase("ja", answer.label)


@pytest.mark.parametrize(
    ("locale", "labels", "artifact"),
    [
        (
            "en",
            [
                "Workflow (Beta), Options",
                "Workflow (Beta), Debate · Round 1 of 4: problem framing",
                "Workflow (Beta), Debate · Round 2 of 4: position of A",
                "Workflow (Beta), Memo · Pass 1: revision",
                "Workflow (Beta), Check · Cross Review, reviewer 1",
                "Workflow (Beta), question to the result",
            ],
            "Memo",
        ),
        (
            "ja",
            [
                "ワークフロー(β)、選択肢",
                "ワークフロー(β)、会議・ラウンド 1/4: 論点整理",
                "ワークフロー(β)、会議・ラウンド 2/4: A の立場",
                "ワークフロー(β)、メモ・1回目: 改稿",
                "ワークフロー(β)、点検・クロスレビュー、レビュアー1",
                "ワークフロー(β)、結果への質問",
            ],
            "メモ",
        ),
    ],
)
async def test_steps_are_called_by_their_titles_in_the_language_of_the_thread(
    world: World, locale: str, labels: list[str], artifact: str
) -> None:
    aki = await world.person(locale=locale)
    thread = await started(world, aki, Mode.WORKFLOW, "Which supplier?", **DECIDE)
    await world.say(aki, "And the risks?", thread)
    on_page = [phrase(locale, a.label) for a in await world.answers(aki, thread) if a.label]
    posted = [
        phrase(locale, view.label)
        for view in world.poster.posts.values()
        if isinstance(view, AnswerView) and view.label
    ]
    assert [label for label in on_page if label in labels] == labels
    assert set(posted) == set(on_page)
    assert [item.name for item in await list_saved(world.services, aki, thread)] == [artifact]


async def test_a_step_that_its_file_lost_is_called_by_its_id(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.WORKFLOW, "Polish this", **POLISH)
    services = replace(world.services, workflows={})
    page = await show_thread(services, aki, thread)
    labels = [phrase("en", i.label) for i in page.items if isinstance(i, AnswerView) and i.label]
    assert labels[0] == "Workflow (Beta), diagnosis"


async def test_a_failing_step_ends_the_run_and_the_next_message_goes_on_there(world: World) -> None:
    aki = await world.person()
    names = [step.id for step in world.services.workflows["decision_memo"].steps]
    world.model.plan = by_step({names[0]: "planted-first", f"{names[1]}/synthesis": FailureKind.OVERLOADED})
    thread = await started(world, aki, Mode.WORKFLOW, "Which supplier?", **DECIDE)
    # The debate lacks its synthesis only, so that the steps after it can do without.
    assert first_steps(await steps(world, aki, thread)) == names
    world.model.plan = by_step({names[0]: FailureKind.OVERLOADED})
    other = await started(world, aki, Mode.WORKFLOW, "Which supplier?", **DECIDE)
    assert await steps(world, aki, other) == [(names[0], AnswerState.FAILED)]
    world.model.plan = by_step({names[0]: "planted-first"})
    await world.say(aki, "planted-again", other)
    assert first_steps(await steps(world, aki, other)) == names
    assert sent_to(world, names[0]).count("planted-again") == 1
    assert "planted-first" in sent_to(world, f"{names[2]}/draft")
    await world.say(aki, "And the risks?", other)
    assert (await steps(world, aki, other))[-1] == ("follow_up", AnswerState.DONE)


async def test_a_stopped_workflow_goes_on_at_the_step_without_a_result(world: World) -> None:
    aki = await world.person()
    names = [step.id for step in world.services.workflows["decision_memo"].steps]
    world.model.hold, world.model.held = asyncio.Event(), "rebuttals.1:A"
    world.model.plan = by_step({names[0]: "planted-first"})
    thread, run = await begun(world, aki, Mode.WORKFLOW, "Which supplier?", **DECIDE)
    await world.model.begun.wait()
    await stop(world.services, aki, thread_id=thread)
    await world.finished(run)
    world.model.hold = None
    calls = len(world.model.calls)
    await world.say(aki, "Go on", thread)
    made = [step_of(call) for call in world.model.calls[calls:]]
    assert made[0] == f"{names[1]}/problem_framing"
    assert names[0] not in made
    assert first_steps([(step, AnswerState.DONE) for step in made]) == names[1:]
    assert "planted-first" in sent_to(world, f"{names[1]}/problem_framing")


async def test_a_workflow_without_free_reviewers_says_so_and_answers_questions_after(world: World) -> None:
    aki = await world.person()
    world.policies[WORKSPACE.external_id] = Policy(allowed_models=("alpha", "beta"))
    thread = await started(world, aki, Mode.WORKFLOW, "Polish this", **POLISH)
    last = (await world.answers(aki, thread))[-1]
    assert last.text == "No model is left that took no part, so nothing was reviewed."
    assert last.state is AnswerState.DONE
    await world.say(aki, "What changed?", thread)
    assert (await steps(world, aki, thread))[-1] == ("follow_up", AnswerState.DONE)


async def test_reviewers_in_a_workflow_see_results_only(world: World) -> None:
    aki = await world.person()
    names = [step.id for step in world.services.workflows["document_polish"].steps]
    await started(world, aki, Mode.WORKFLOW, "planted-document of Aki", **POLISH)
    reviews = [call for call in world.model.calls if step_of(call).startswith(f"{names[-1]}/verdict")]
    assert reviews
    for call in reviews:
        sent = "\n".join(part.text for part in call.ai_input.parts)
        assert call.model not in POLISH["models"]
        assert not any(word in sent for word in ("planted-document", "Aki", "alpha", "beta"))


async def test_a_branch_of_a_workflow_goes_on_with_what_it_inherited(world: World) -> None:
    aki = await world.person()
    names = [step.id for step in world.services.workflows["document_polish"].steps]
    world.model.plan = by_step({names[0]: "planted-first"})
    thread = await started(world, aki, Mode.WORKFLOW, "Polish this", **POLISH)
    whole = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b1")
    early = await branch(world.services, aki, BranchRequest(thread_id=thread, position=2), event_key="b2")
    for new in (whole, early):
        await world.quiet(aki, new.id)
    await world.say(aki, "What changed?", whole.id)
    assert (await steps(world, aki, whole.id))[-1] == ("follow_up", AnswerState.DONE)
    world.model.plan = by_step({})
    calls = len(world.model.calls)
    await world.say(aki, "planted-otherwise", early.id)
    made = [step_of(call) for call in world.model.calls[calls:]]
    assert first_steps([(step, AnswerState.DONE) for step in made]) == names[1:]
    assert "planted-first" in sent_to(world, f"{names[1]}/draft")
    assert "planted-otherwise" in sent_to(world, f"{names[1]}/draft")
