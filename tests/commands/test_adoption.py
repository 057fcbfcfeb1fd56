"""Adoption: stored, sent and shown, from the request to the parent that holds the branch's own messages."""

import pytest

from core.commands.adoption import (
    AdoptionRequest,
    approve,
    list_adoptions,
    reject,
    request_adoption,
    review_adoption,
)
from core.commands.branch import BranchRequest, branch
from core.domain.adoption import EXPIRES_AFTER, AdoptionStatus
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.view import AdoptionCardView
from tests.product import World


async def grown(world: World, actor: Actor) -> tuple[ThreadId, ThreadId]:
    """A thread with one answer, and a branch of it with one more."""
    said = await world.say(actor, "Which supplier?")
    assert said.thread_id is not None
    made = await branch(
        world.services,
        actor,
        BranchRequest(thread_id=said.thread_id, name="Kita"),
        event_key=world.clock.new_id(),
    )
    await world.say(actor, "What if Kita?", made.id)
    return said.thread_id, made.id


async def ask(world: World, actor: Actor, made: ThreadId) -> str:
    return await request_adoption(
        world.services,
        actor,
        AdoptionRequest(branch_id=made, reason="It is the better offer", texts={"about": "Kita"}),
        event_key=world.clock.new_id(),
    )


async def test_an_approved_branch_brings_its_own_messages_and_no_others(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    parent, made = await grown(world, aki)
    before = await world.texts(aki, parent)
    review = await review_adoption(world.services, ben, made)
    assert [m.text for m in review.messages["main"]] == ["What if Kita?", "answer 2"]
    adoption = await ask(world, ben, made)
    assert await world.texts(aki, parent) == before
    await world.say(ben, "Said after the request", made)
    await approve(world.services, aki, adoption, event_key=world.clock.new_id())
    assert await world.texts(aki, parent) == [*before, "What if Kita?", "answer 2"]
    await world.say(aki, "And now?", parent)
    assert "What if Kita?" in world.model.sent()
    assert "Said after the request" not in world.model.sent()
    with pytest.raises(Refusal, match="adopt_closed_approved"):
        await approve(world.services, aki, adoption, event_key=world.clock.new_id())


async def test_the_card_stands_in_the_parent_and_says_how_it_ended(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    await world.quiet(aki, parent)
    await approve(world.services, aki, adoption, event_key=world.clock.new_id())
    await world.say(aki, "Wait for the lane", parent)
    cards = [view for view in world.poster.posts.values() if isinstance(view, AdoptionCardView)]
    assert [card.status for card in cards] == [AdoptionStatus.APPROVED, AdoptionStatus.APPROVED]
    assert any("What if Kita?" in card.transcript for card in cards)


async def test_only_one_request_waits_under_a_first_thread(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    other = await branch(
        world.services,
        aki,
        BranchRequest(thread_id=parent, position=1, name="Minami"),
        event_key=world.clock.new_id(),
    )
    await world.say(aki, "What if Minami?", other.id)
    await ask(world, aki, made)
    with pytest.raises(Refusal, match="adopt_another_pending") as refused:
        await ask(world, aki, other.id)
    assert refused.value.fields == {"branch": "Kita"}


async def test_a_rejected_branch_is_active_again_and_may_ask_once_more(world: World) -> None:
    aki = await world.person()
    _, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    with pytest.raises(Refusal, match="adopt_reject_reason_missing"):
        await reject(world.services, aki, adoption, " ", event_key=world.clock.new_id())
    await reject(world.services, aki, adoption, "Too dear", event_key=world.clock.new_id())
    assert await ask(world, aki, made) != adoption
    held = await list_adoptions(world.services, aki, made)
    assert [one.status for one in held] == [AdoptionStatus.PENDING, AdoptionStatus.REJECTED]


async def test_a_stranger_changes_nothing(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    parent, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    before = await world.texts(aki, parent)
    with pytest.raises(Refusal, match="adopt_not_approver"):
        await approve(world.services, ben, adoption, event_key=world.clock.new_id())
    assert await world.texts(aki, parent) == before


async def test_a_request_runs_out_to_the_second_without_any_sweep(world: World) -> None:
    aki = await world.person()
    _, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    world.clock.advance(EXPIRES_AFTER)
    with pytest.raises(Refusal, match="adopt_closed_expired"):
        await approve(world.services, aki, adoption, event_key=world.clock.new_id())
    held = await list_adoptions(world.services, aki, made)
    assert [one.status for one in held] == [AdoptionStatus.EXPIRED]
    await ask(world, aki, made)
