"""Going on with one answer: picked in a Compare, or put first by a Cross Review (spec §8, §9)."""

from typing import Any

from core.commands.branch import BranchRequest, branch
from core.commands.handover import (
    Sending,
    begin_handover,
    centre_model,
    list_drafts,
    send_handover,
    show_handover,
)
from core.commands.review import ReviewRequest, cross_review
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.domain.view import AnswerView, ButtonAction
from tests.commands.look import new_thread
from tests.commands.test_handover import SETUPS, drafted
from tests.product import World, eventually


async def asked(world: World, actor: Actor, mode: Mode, **more: Any) -> ThreadId:
    """A finished thread of a mode."""
    setup = {**SETUPS[mode], **more}
    said = await world.say(actor, "Which supplier?", mode=mode, setup=setup, estimate_seen=True)
    assert said.thread_id
    await world.quiet(actor, said.thread_id)
    return said.thread_id


def ref_of(view: AnswerView, action: ButtonAction) -> str:
    return next((one.ref for one in view.buttons if one.action is action), "")


async def best_of(world: World, actor: Actor, thread: ThreadId, answers: list[AnswerView]) -> str:
    """What a Cross Review of these answers offers to go on with."""
    request = ReviewRequest(answers=tuple(str(one.message_id) for one in answers), reviewers=1)
    review = await cross_review(world.services, actor, request, event_key=world.clock.new_id())
    await world.finished(review.run_id)
    found = [ref_of(one, ButtonAction.CONTINUE_BEST) for one in await world.answers(actor, thread)]
    (best,) = [ref for ref in found if ref]
    return best


async def drafted_with(world: World, actor: Actor, thread: ThreadId, centre: str) -> str:
    """The id of a handover to Chat with an answer in the centre, once its draft has come."""
    handover_id = await begin_handover(
        world.services, actor, thread, "chat", centre=centre, event_key=world.clock.new_id()
    )

    async def there() -> bool:
        return (await show_handover(world.services, actor, handover_id)).status == "draft"

    await eventually(there)
    return handover_id


async def test_every_answer_of_a_compare_can_be_gone_on_with_on_the_model_that_wrote_it(world: World) -> None:
    aki = await world.person()
    thread = await asked(world, aki, Mode.COMPARE)
    answers = await world.answers(aki, thread)
    picks = [ref_of(one, ButtonAction.CONTINUE) for one in answers]
    assert picks == [one.message_id for one in answers]
    handover = await drafted_with(world, aki, thread, picks[1])
    assert await centre_model(world.services, aki, handover) == answers[1].model
    assert answers[1].text in world.model.sent()
    assert answers[0].text not in world.model.sent()


async def test_a_draft_is_listed_to_whoever_began_it_until_it_is_sent(world: World) -> None:
    aki, ben = await world.person(), await world.person("Ben")
    thread = await new_thread(world, aki, "Which supplier?")
    handover = await drafted(world, aki, thread, "chat")
    assert [one.id for one in await list_drafts(world.services, aki, thread)] == [handover.id]
    assert await list_drafts(world.services, ben, thread) == ()
    sending = Sending(handover_id=handover.id, fields=handover.fields)
    await send_handover(world.services, aki, sending, event_key="s")
    assert await list_drafts(world.services, aki, thread) == ()


async def test_while_names_are_hidden_the_model_is_not_told(world: World) -> None:
    aki = await world.person()
    thread = await asked(world, aki, Mode.COMPARE, blind=True)
    (first, *_) = await world.answers(aki, thread)
    handover = await drafted_with(world, aki, thread, ref_of(first, ButtonAction.CONTINUE))
    assert await centre_model(world.services, aki, handover) == ""


async def test_a_cross_review_offers_the_answer_that_it_puts_first(world: World) -> None:
    aki = await world.person()
    thread = await asked(world, aki, Mode.COMPARE)
    answers = await world.answers(aki, thread)
    best = await best_of(world, aki, thread, answers)
    assert best in [one.message_id for one in answers]


async def test_the_better_answer_of_a_debate_is_the_centre_of_the_draft(world: World) -> None:
    aki = await world.person()
    thread = await asked(world, aki, Mode.DEBATE)
    positions = [one for one in await world.answers(aki, thread) if ref_of(one, ButtonAction.REVIEW)][1:3]
    best = await best_of(world, aki, thread, positions)
    winner = next(one for one in positions if one.message_id == best)
    handover = await drafted_with(world, aki, thread, best)
    number = winner.text.strip().rpartition(" ")[2]
    assert f"text {number}" in world.model.sent_texts()[-2]
    assert await centre_model(world.services, aki, handover) == winner.model


async def test_only_a_branch_s_own_answers_offer_its_adoption(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "Which supplier?")
    one = await branch(world.services, aki, BranchRequest(thread_id=thread, name="Kita"), event_key="b")
    await world.say(aki, "What if Kita?", one.id)
    await world.quiet(aki, one.id)
    inherited, own = await world.answers(aki, one.id)
    assert not ref_of(inherited, ButtonAction.ADOPT)
    assert ref_of(own, ButtonAction.ADOPT) == one.id
    (above,) = await world.answers(aki, thread)
    assert not ref_of(above, ButtonAction.ADOPT)


async def test_an_answer_of_a_chat_is_no_choice_between_several(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "Which supplier?")
    (only,) = await world.answers(aki, thread)
    assert not ref_of(only, ButtonAction.CONTINUE)
    assert ref_of(only, ButtonAction.HAND_OVER)
