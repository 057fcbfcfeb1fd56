"""Every route of the product with a planted word in each field: stored, sent to all target models, told in the line."""

import pytest

from core.commands.handover import Sending, list_handovers, send_handover
from core.domain.handover import DeliveryState
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.domain.view import DeliveryView, HandoverHeaderView
from core.ports import ModelCall
from tests.commands.test_handover import FIELDS, SETUPS, drafted
from tests.product import World, eventually

pytestmark = pytest.mark.soak

BLOCK = {"summary", "open_questions", "constraints"}
EVERY = {"summary", "background", "open_questions", "constraints", "first_request", "conclusions"}
CARRIED: dict[Mode, set[str]] = {
    Mode.CHAT: BLOCK,
    Mode.COMPARE: BLOCK,
    Mode.DEBATE: EVERY,
    Mode.CODRAFT: {"open_questions", "constraints", "conclusions"},
    Mode.WORKFLOW: EVERY,
}
"""What each mode is sent by spec §4 and §9; conclusions go to Debate and Workflow in the summary."""

ROUTES = {
    Mode.CHAT: tuple(Mode),
    Mode.COMPARE: tuple(Mode),
    Mode.DEBATE: tuple(Mode),
    Mode.WORKFLOW: (Mode.DEBATE, Mode.CHAT),
}
WORDS = {
    "summary": "plantedsummary",
    "background": "plantedbackground",
    "open_questions": "plantedquestion",
    "constraints": "plantedconstraint",
    "first_request": "plantedrequest",
    "conclusions": "plantedconclusion",
}


async def source_of(world: World, actor: Actor, mode: Mode) -> ThreadId:
    setup = SETUPS[mode]
    said = await world.say(
        actor, "Which supplier? onlyinthesource", mode=mode, setup=setup, estimate_seen=True
    )
    assert said.thread_id is not None
    await world.quiet(actor, said.thread_id)
    return said.thread_id


def text_of(call: ModelCall) -> str:
    return "\n".join(part.text for part in call.ai_input.parts)


@pytest.mark.parametrize(
    ("source", "target"), [(source, target) for source, targets in ROUTES.items() for target in targets]
)
async def test_what_a_mode_receives_is_in_the_first_request_of_every_model_and_nothing_else_is(
    world: World, source: Mode, target: Mode
) -> None:
    aki = await world.person()
    thread = await source_of(world, aki, source)
    handover = await drafted(world, aki, thread, target.value)
    fields = {**FIELDS, "sourceMode": source.value}
    calls = len(world.model.calls)
    sending = Sending(
        handover_id=handover.id, fields=fields, start="Go on", setup=SETUPS[target], estimate_seen=True
    )
    made = await send_handover(world.services, aki, sending, event_key="send")
    (kept,) = await list_handovers(world.services, aki, made.id)
    assert dict(kept.fields) == fields, "stored as the person left it"

    def line() -> DeliveryView | None:
        found = [one for one in world.poster.posts.values() if isinstance(one, DeliveryView)]
        return next((one for one in found if one.thread_id == made.id), None)

    await eventually(line)
    shown = line()
    assert shown is not None
    assert not shown.failed
    await world.quiet(aki, made.id)
    sent = world.model.calls[calls:]
    assert all("onlyinthesource" not in text_of(call) for call in sent), "nothing from before the handover"
    first = {call.model: text_of(call) for call in reversed(sent)}
    assert {one.model for one in shown.models} <= set(first)
    for one in shown.models:
        for field in one.fields:
            expected = field.field.value in CARRIED[target]
            assert (WORDS[field.field.value] in first[one.model]) is expected, (one.model, field.field)
            assert (field.state is DeliveryState.FOUND) is expected, (one.model, field.field)
            assert (field.state is DeliveryState.NOT_CARRIED) is not expected, (one.model, field.field)
    if target is Mode.COMPARE:
        assert len({text_of(call) for call in sent[: len(shown.models)]}) == 1, "byte for byte the same"
        assert {one.model for one in shown.models} == {"alpha", "beta"}
    (header,) = [one for one in world.poster.posts.values() if isinstance(one, HandoverHeaderView)]
    assert header.source_mode is source
    assert (header.summary, header.constraints) == ("plantedsummary", ("plantedconstraint",))
