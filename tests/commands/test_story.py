"""The story of the spec and of the README's tour, from the first question to the adopted branch."""

from core.commands.adoption import AdoptionRequest, approve, request_adoption, review_adoption
from core.commands.branch import BranchRequest, branch
from core.commands.handover import Sending, send_handover
from core.commands.pin import pin
from core.commands.review import ReviewRequest, cross_review
from core.domain.adoption import AdoptionStatus
from core.domain.handover import DeliveryState
from core.domain.ids import ThreadId
from core.domain.policy import Actor, Policy
from core.domain.view import AdoptionCardView, AnswerState, DeliveryView, HandoverHeaderView
from tests.commands.look import refused
from tests.commands.test_handover import drafted
from tests.modes.look import sent_to
from tests.product import WORKSPACE, World, eventually

PINNED = "customer names stay in-house"
SETUP = {"participants": [{"model": "alpha"}, {"model": "beta"}], "moderator": "seer"}


async def option(world: World, actor: Actor, parent: ThreadId, name: str) -> ThreadId:
    """A branch of the thread in which one contract is thought through."""
    made = await branch(
        world.services, actor, BranchRequest(thread_id=parent, name=name), event_key=world.clock.new_id()
    )
    await world.say(actor, f"What would {name} cost us?", made.id)
    return made.id


async def debated(world: World, actor: Actor, source: ThreadId) -> ThreadId:
    """The debate that a branch was handed over to, with its first answers there."""
    draft = await drafted(world, actor, source, "debate")
    assert PINNED in draft.fields["constraints"]
    sent = await send_handover(
        world.services,
        actor,
        Sending(
            handover_id=draft.id,
            fields={**draft.fields, "conclusions": ["Take the yearly contract"]},
            start="Is the yearly contract right?",
            setup=SETUP,
            estimate_seen=True,
        ),
        event_key=world.clock.new_id(),
    )

    async def over() -> bool:
        answers = await world.answers(actor, sent.id)
        return bool(answers) and answers[-1].step == "synthesis" and answers[-1].state is AnswerState.DONE

    await eventually(over)
    # The line of proof is posted after the last answer stands.
    await eventually(lambda: any(isinstance(view, DeliveryView) for view in world.poster.posts.values()))
    return sent.id


async def test_a_supplier_is_chosen_from_the_first_question_to_the_adopted_branch(world: World) -> None:
    world.policies[WORKSPACE.external_id] = Policy(four_eyes=True, approvers=("U2",))
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    parent = (await world.say(aki, "Which supplier should we take, Kita or Minami?")).thread_id
    assert parent is not None
    await pin(world.services, aki, parent, "constraint", PINNED, event_key=world.clock.new_id())

    # Two options, each in a branch of its own: neither knows the other, and the first thread knows neither.
    before = await world.texts(aki, parent)
    yearly = await option(world, aki, parent, "the yearly contract")
    await option(world, ben, parent, "the monthly contract")
    assert "monthly" not in "\n".join(await world.texts(aki, yearly))
    assert "yearly" not in world.model.sent()
    assert await world.texts(aki, parent) == before

    # One option is attacked in a debate, and the line says from the recorded input what its first speaker got.
    debate = await debated(world, aki, yearly)
    framing = sent_to(world, "problem_framing")
    assert PINNED in framing
    assert "Which supplier should we take, Kita or Minami?" in framing
    assert "Take the yearly contract" in framing
    assert "What would the yearly contract cost us?" not in framing
    views = world.poster.posts.values()
    header = next(view for view in views if isinstance(view, HandoverHeaderView))
    assert PINNED in header.constraints
    delivery = next(view for view in views if isinstance(view, DeliveryView))
    assert not delivery.failed
    arrived = {one.field.value: one.state for one in delivery.models[0].fields}
    assert arrived["constraints"] is arrived["conclusions"] is DeliveryState.FOUND

    # Its outcome is judged by a model that took no part and sees nothing else.
    outcome = (await world.answers(aki, debate))[-1]
    review = await cross_review(
        world.services,
        aki,
        ReviewRequest(answers=(str(outcome.message_id),), reviewers=1),
        event_key=world.clock.new_id(),
    )
    await world.finished(review.run_id)
    assert set(review.reviewers) <= {"fluid", "small"}, "one that took no part"
    for hidden in (PINNED, "yearly", "Aki", "alpha"):
        assert hidden not in world.model.sent()

    # The branch comes back by request and the approval of a second person, and only then.
    covered = await review_adoption(world.services, aki, yearly)
    texts = [message.text for message in covered.messages["main"]]
    asked = await request_adoption(
        world.services,
        aki,
        AdoptionRequest(branch_id=yearly, reason="It held up in the debate", texts={"about": "Cost"}),
        event_key=world.clock.new_id(),
    )
    await refused(approve(world.services, aki, asked, event_key=world.clock.new_id()), "adopt_four_eyes")
    assert await world.texts(aki, parent) == before
    await approve(world.services, ben, asked, event_key=world.clock.new_id())
    assert await world.texts(aki, parent) == [*before, *texts]
    await world.say(ben, "So which one is it?", parent)
    assert "What would the yearly contract cost us?" in world.model.sent()
    assert "monthly" not in world.model.sent()
    cards = [view for view in world.poster.posts.values() if isinstance(view, AdoptionCardView)]
    assert {card.status for card in cards} == {AdoptionStatus.APPROVED}
