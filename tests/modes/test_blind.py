"""A blind Compare gives no model away until somebody reveals or votes (spec §3)."""

import asyncio

import pytest

from core.commands.answer import answer_again
from core.commands.artifact import list_saved, save_answer, show_artifact
from core.commands.branch import BranchRequest, branch
from core.commands.compare import compare_answers, join, reveal, vote
from core.commands.export import export_thread
from core.commands.model import show_usage
from core.commands.review import ReviewRequest, cross_review
from core.domain.errors import FailureKind
from core.domain.ids import ThreadId
from core.domain.policy import Actor, Policy
from core.domain.thread import Mode
from core.domain.view import AnswerState, ButtonAction
from tests.commands.look import refused, rows, speaks, whole
from tests.modes.look import by_model, receipt, started
from tests.product import World

NAMES = ("alpha", "beta")


async def blind(world: World, actor: Actor) -> ThreadId:
    """A blind Compare of two models of which one failed."""
    world.model.plan = by_model({"beta": FailureKind.QUOTA})
    return await started(world, actor, Mode.COMPARE, "Which?", models=list(NAMES), blind=True)


def hides(shown: object) -> None:
    """No model's name and no provider's id is in what is shown."""
    found = [word for word in (*NAMES, "openai/", "reported-1") if word in repr(shown)]
    assert found == []


async def test_no_name_is_in_page_posts_receipts_and_usage(world: World) -> None:
    aki = await world.person()
    thread = await blind(world, aki)
    page = await world.page(aki, thread)
    hides(page)
    hides(world.poster.shown)
    hides(list(world.poster.posts))
    answers = await world.answers(aki, thread)
    assert [answer.model for answer in answers] == ["Model A", "Model B"]
    assert all(answer.usage is None for answer in answers)
    (failed,) = [answer for answer in answers if answer.state is AnswerState.FAILED]
    assert "Model" in speaks(failed.failure)
    for answer in answers:
        view = await receipt(world, aki, answer)
        hides(view)
        assert view.usage is None
    usage = await show_usage(world.services, aki, by="model")
    hides(usage)
    assert [line.label for line in usage] == ["Models of a blind Compare"]


async def test_no_name_is_in_comparison_review_artifact_export_and_branch(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.COMPARE, "Which?", models=list(NAMES), blind=True)
    answers = await world.answers(aki, thread)
    await world.finished(await compare_answers(world.services, aki, answers[0].run_id, event_key="c"))
    asked = ReviewRequest(answers=tuple(str(answer.message_id) for answer in answers))
    review = await cross_review(world.services, aki, asked, event_key="r")
    await world.finished(review.run_id)
    summary, *verdicts = (await world.answers(aki, thread))[2:]
    hides([view.text for view in (summary, *verdicts)])
    assert "Model A" in verdicts[0].text
    await save_answer(world.services, aki, str(answers[0].message_id), "kept", event_key="s")
    hides(await list_saved(world.services, aki, thread))
    hides(await show_artifact(world.services, aki, thread, "kept"))
    for form in ("markdown", "json"):
        hides(await whole(await export_thread(world.services, aki, thread, form=form)))
    new = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    await world.quiet(aki, new.id)
    hides([view for view in world.poster.posts.values() if not hasattr(view, "model")])
    hides([answer for answer in await world.answers(aki, new.id) if answer.step != "summary"])


async def test_refusals_of_a_blind_compare_name_nobody(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.COMPARE, "Which?", models=list(NAMES), blind=True)
    answers = await world.answers(aki, thread)
    await refused(join(world.services, aki, thread, "seer", event_key="j"), "join_while_blind")
    world.policies["W1"] = Policy(allowed_models=NAMES)
    asked = ReviewRequest(answers=(str(answers[0].message_id),))
    hides((await refused(cross_review(world.services, aki, asked, event_key="r"), "no_reviewer")).fields)
    world.model.hold = asyncio.Event()
    ref = next(b.ref for b in answers[0].buttons if b.action is ButtonAction.RETRY)
    run = await answer_again(world.services, aki, thread, ref, model=None, event_key="a1")
    hides(
        (
            await refused(
                answer_again(world.services, aki, thread, ref, model=None, event_key="a2"),
                "already_answering",
            )
        ).fields
    )
    world.model.hold.set()
    await world.finished(run)


async def test_whoever_named_the_models_cannot_tell_them_by_their_places(world: World) -> None:
    aki = await world.person()
    orders = set()
    for _ in range(12):
        said = await world.say(
            aki,
            "Which?",
            mode=Mode.COMPARE,
            setup={"models": ["alpha", "beta", "seer"], "blind": True},
            estimate_seen=True,
            mentions_other=True,
        )
        (row,) = [row for row in await rows(world, "thread") if row["id"] == said.thread_id]
        orders.add(tuple(row["setup"]["models"]))
    assert len(orders) > 1


@pytest.mark.parametrize("by", ["reveal", "vote"])
async def test_names_are_shown_once_somebody_reveals_or_votes(world: World, by: str) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await started(world, aki, Mode.COMPARE, "Which?", models=list(NAMES), blind=True)
    first = (await world.answers(aki, thread))[0]
    assert {ButtonAction.VOTE, ButtonAction.REVEAL} <= {button.action for button in first.buttons}
    if by == "reveal":
        for event in ("e", "e", "other"):
            await reveal(world.services, aki, thread, event_key=event)
    else:
        for event in ("e", "e"):
            await vote(world.services, aki, str(first.message_id), event_key=event)
        await refused(vote(world.services, aki, str(first.message_id), event_key="again"), "voted_already")
        await vote(world.services, ben, str(first.message_id), event_key="ben")
    answers = await world.answers(aki, thread)
    assert sorted(answer.model for answer in answers) == ["alpha", "beta"]
    assert all(answer.usage is not None for answer in answers)
    assert [answer.step for answer in answers] == ["answer:A", "answer:B"]
    keys = [row["key"] for row in await rows(world, "notice")]
    assert keys.count("notice.revealed") == 1
    assert keys.count("notice.voted") == (0 if by == "reveal" else 2)
    assert not {ButtonAction.VOTE, ButtonAction.REVEAL} & {b.action for b in answers[0].buttons}
    await world.say(aki, "And why?", thread)
    assert [a.model for a in (await world.answers(aki, thread))[2:]] == [a.model for a in answers]
    await world.finished(await compare_answers(world.services, aki, answers[0].run_id, event_key="c"))
