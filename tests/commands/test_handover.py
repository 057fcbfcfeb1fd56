"""Handover: what is stored, what every target model is sent, and the delivery line that looks it up."""

import json

import pytest

from core.commands.handover import (
    Sending,
    begin_handover,
    list_handovers,
    send_handover,
    show_handover,
    start_target,
)
from core.commands.pin import pin
from core.domain.errors import FailureKind, Refusal
from core.domain.handover import DeliveryState
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.domain.view import DeliveryView, HandoverHeaderView
from core.store.handover import Handover
from tests.product import World, eventually

PLANTED = {
    "open_questions": "question",
    "constraints": "constraint",
    "first_request": "request",
    "conclusions": "conclusion",
}
FIELDS = {
    "sourceMode": "chat",
    "summary": "plantedsummary",
    "background": "plantedbackground",
    "openQuestions": ["plantedquestion"],
    "constraints": ["plantedconstraint"],
    "firstRequest": "plantedrequest",
    "conclusions": ["plantedconclusion"],
}
SETUPS: dict[Mode, dict[str, object]] = {
    Mode.CHAT: {},
    Mode.COMPARE: {"models": ["alpha", "beta"]},
    Mode.DEBATE: {"participants": [{"model": "alpha"}, {"model": "beta"}], "moderator": "seer"},
    Mode.CODRAFT: {"models": ["alpha", "beta"], "passes": 1},
    Mode.WORKFLOW: {"workflow": "decision_memo", "models": ["alpha", "beta"]},
}


async def drafted(world: World, actor: Actor, source: ThreadId, target: str) -> Handover:
    """A handover whose draft has come."""
    handover_id = await begin_handover(world.services, actor, source, target, event_key=world.clock.new_id())

    async def there() -> bool:
        return (await show_handover(world.services, actor, handover_id)).status == "draft"

    await eventually(there)
    return await show_handover(world.services, actor, handover_id)


@pytest.mark.parametrize("mode", list(SETUPS))
async def test_the_target_is_sent_its_fields_and_says_which(world: World, mode: Mode) -> None:
    aki = await world.person()
    said = await world.say(aki, "Which supplier? onlyinthesource")
    assert said.thread_id is not None
    handover = await drafted(world, aki, said.thread_id, mode.value)
    calls = len(world.model.calls)
    target = await send_handover(
        world.services,
        aki,
        Sending(
            handover_id=handover.id, fields=FIELDS, start="Go on", setup=SETUPS[mode], estimate_seen=True
        ),
        event_key=world.clock.new_id(),
    )
    assert target.source_thread_id == said.thread_id
    assert target.depth == 0

    async def proved() -> bool:
        return any(isinstance(view, DeliveryView) for view in world.poster.posts.values())

    await eventually(proved)
    line = next(view for view in world.poster.posts.values() if isinstance(view, DeliveryView))
    assert not line.failed
    sent = "\n".join(part.text for part in world.model.calls[calls].ai_input.parts)
    assert "onlyinthesource" not in sent
    for one in line.models[0].fields:
        planted = f"planted{PLANTED.get(one.field.value, one.field.value)}"
        assert (planted in sent) == (one.state is not DeliveryState.NOT_CARRIED)
    header = next(view for view in world.poster.posts.values() if isinstance(view, HandoverHeaderView))
    assert header.constraints == ("plantedconstraint",)
    assert [h.target_thread_id for h in await list_handovers(world.services, aki, said.thread_id)] == [
        target.id
    ]


async def test_pins_are_in_the_draft_to_the_letter(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "Which supplier?")
    assert said.thread_id is not None
    await pin(
        world.services,
        aki,
        said.thread_id,
        "constraint",
        "customer names stay in-house",
        event_key=world.clock.new_id(),
    )
    handover = await drafted(world, aki, said.thread_id, "debate")
    assert "customer names stay in-house" in handover.fields["constraints"]
    assert handover.fields["firstRequest"] == "Which supplier?"


async def test_a_failing_draft_leaves_an_extract(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "Which supplier?")
    assert said.thread_id is not None
    world.model.script = [FailureKind.PROVIDER_DOWN]
    handover = await drafted(world, aki, said.thread_id, "chat")
    assert handover.draft["origin"] == "extract"
    assert "Which supplier?" in json.dumps(handover.fields, ensure_ascii=False)


async def test_a_target_without_a_start_waits_for_one(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "Which supplier?")
    assert said.thread_id is not None
    handover = await drafted(world, aki, said.thread_id, "debate")
    target = await send_handover(
        world.services,
        aki,
        Sending(handover_id=handover.id, fields=FIELDS, setup=SETUPS[Mode.DEBATE]),
        event_key=world.clock.new_id(),
    )
    assert await world.answers(aki, target.id) == []
    await start_target(world.services, aki, target.id, event_key=world.clock.new_id())
    await world.quiet(aki, target.id)
    answers = await world.answers(aki, target.id)
    assert answers[0].step == "problem_framing"
    with pytest.raises(Refusal, match="handover_started_already"):
        await start_target(world.services, aki, target.id, event_key=world.clock.new_id())


async def test_a_route_that_is_not_allowed_names_those_that_are(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "Task", mode=Mode.CODRAFT, setup=SETUPS[Mode.CODRAFT], estimate_seen=True)
    assert said.thread_id is not None
    with pytest.raises(Refusal, match="handover_no_route"):
        await begin_handover(world.services, aki, said.thread_id, "chat", event_key=world.clock.new_id())
