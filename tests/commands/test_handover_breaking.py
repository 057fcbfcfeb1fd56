"""Handovers sent twice, lost on their way, watched from outside, and erased; each is found and none does harm."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.commands.branch import BranchRequest, branch
from core.commands.care import erase_person
from core.commands.handover import (
    Sending,
    begin_handover,
    edit_handover,
    list_handovers,
    send_handover,
    show_handover,
    start_target,
)
from core.commands.person import PersonSeen, WorkspaceSeen, identify
from core.commands.pin import pin
from core.domain.drafting import HandoverDraft
from core.domain.errors import FailureKind, Refusal
from core.domain.handover import DeliveryState, Field
from core.domain.policy import Actor, Policy
from core.domain.thread import Mode
from core.domain.view import DeliveryView
from core.store import turn
from core.store.handover import Handover
from tests.commands.look import answer, new_thread, refused, rows
from tests.commands.test_handover import FIELDS, SETUPS, drafted
from tests.product import PLATFORM, WORKSPACE, World, eventually

pytestmark = pytest.mark.soak


async def ready(world: World, actor: Actor, mode: Mode = Mode.CHAT) -> tuple[Any, Handover]:
    """A thread and a drafted handover from it."""
    thread = await new_thread(world, actor, "Which supplier?")
    return thread, await drafted(world, actor, thread, mode.value)


def sending(handover: Handover, **more: Any) -> Sending:
    given = Sending(handover_id=handover.id, fields=FIELDS, setup=SETUPS[handover.target_mode])
    return replace(given, estimate_seen=True, **more)


def deliveries(world: World) -> list[DeliveryView]:
    return [view for view in world.poster.posts.values() if isinstance(view, DeliveryView)]


# --- proof of delivery ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(SETUPS))
async def test_a_field_that_does_not_arrive_is_loud(
    world: World, mode: Mode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As if an input builder forgot the constraints: the line is read off the receipt, not off the plan."""
    found = turn._handover

    async def forgetful(*given: Any) -> Handover | None:
        handover = await found(*given)
        return handover and replace(handover, fields={**handover.fields, "constraints": []})

    def context(*_: Any) -> Mapping[str, object]:
        return {"summary": "plantedsummary"}

    aki = await world.person()
    _, handover = await ready(world, aki, mode)
    monkeypatch.setattr(turn, "_handover", forgetful)
    monkeypatch.setattr("core.commands.handover.prior_context", context)
    with caplog.at_level(logging.ERROR):
        target = await send_handover(world.services, aki, sending(handover, start="Go on"), event_key="s")
        await eventually(lambda: deliveries(world))
    (line,) = deliveries(world)
    assert line.failed
    assert len(line.models) == (2 if mode is Mode.COMPARE else len(line.models))
    for model in line.models:
        assert Field.CONSTRAINTS in model.missing
        states = {one.field: one.state for one in model.fields}
        if mode is not Mode.CODRAFT:
            assert states[Field.SUMMARY] is DeliveryState.FOUND
    said = [record for record in caplog.records if "did not reach" in record.message]
    assert len(said) == len(line.models)
    assert all("constraints is missing" in each.message or "constraints" in each.message for each in said)
    (kept,) = await list_handovers(world.services, aki, target.id)
    assert kept.delivery is not None
    counted = world.registry.get_sample_value("promptflow_handover_fields_total", {"state": "missing"})
    assert counted == sum(len(model.missing) for model in line.models)


async def test_the_line_is_written_for_the_first_calls_only(world: World) -> None:
    aki = await world.person()
    _, handover = await ready(world, aki)
    target = await send_handover(world.services, aki, sending(handover, start="Go on"), event_key="s")
    await eventually(lambda: deliveries(world))
    await world.say(aki, "And more", target.id)
    assert len(deliveries(world)) == 1
    assert "plantedconstraint" in world.model.sent()


async def test_what_was_handed_over_is_sent_and_shown_after_sixty_further_messages(world: World) -> None:
    aki = await world.person()
    _, handover = await ready(world, aki)
    target = await send_handover(world.services, aki, sending(handover, start="Go on"), event_key="s")
    await eventually(lambda: deliveries(world))
    await world.quiet(aki, target.id)
    first = world.model.calls[-1].ai_input.parts[1]
    for number in range(60):
        await world.say(aki, f"Aside {number}", target.id, mentions_other=True)
    await world.say(aki, "Still there?", target.id)
    parts = world.model.calls[-1].ai_input.parts
    assert (parts[1].origin, parts[1].text) == (first.origin, first.text)
    assert "plantedconstraint" in parts[1].text
    assert "Aside 59" in parts[-2].text
    assert not [part for part in parts if "Aside 39" in part.text]
    (kept,) = await list_handovers(world.services, aki, target.id)
    assert kept.fields == FIELDS
    assert len(deliveries(world)) == 1


async def test_a_first_call_that_fails_is_looked_into_all_the_same(world: World) -> None:
    aki = await world.person()
    _, handover = await ready(world, aki)
    world.model.script = [FailureKind.PROVIDER_DOWN]
    await send_handover(world.services, aki, sending(handover, start="Go on"), event_key="s")
    await eventually(lambda: deliveries(world))
    assert not deliveries(world)[0].failed


async def test_a_branch_of_a_target_is_sent_what_its_top_came_by(world: World) -> None:
    aki = await world.person()
    _, handover = await ready(world, aki)
    target = await send_handover(world.services, aki, sending(handover, start="Go on"), event_key="s")
    await eventually(lambda: deliveries(world))
    await world.quiet(aki, target.id)
    made = await branch(world.services, aki, BranchRequest(thread_id=target.id), event_key="b")
    await world.say(aki, "in the branch", made.id)
    assert "plantedconstraint" in world.model.sent()


async def test_a_receipt_names_the_handover_that_its_part_was_made_of(world: World) -> None:
    aki = await world.person()
    _, handover = await ready(world, aki)
    await send_handover(world.services, aki, sending(handover, start="Go on"), event_key="s")
    await eventually(lambda: deliveries(world))
    (part,) = [row for row in await rows(world, "receipt_part") if row["origin"] == "handover"]
    assert part["message_id"] == handover.id


# --- sent once ------------------------------------------------------------------------------------------------------


async def test_the_same_form_delivered_twice_makes_one_thread_with_one_start(world: World) -> None:
    aki = await world.person()
    source, handover = await ready(world, aki)
    targets = await asyncio.gather(
        *(
            send_handover(world.services, aki, sending(handover, start="Go on"), event_key="twice")
            for _ in range(3)
        )
    )
    assert len({target.id for target in targets}) == 1
    await world.quiet(aki, targets[0].id)
    assert (await world.texts(aki, targets[0].id))[0] == "Go on"
    assert (await world.texts(aki, targets[0].id)).count("Go on") == 1
    assert len(await list_handovers(world.services, aki, source)) == 1


async def two_send(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    _, handover = await ready(world, aki)
    results = await asyncio.gather(
        send_handover(world.services, aki, sending(handover), event_key="a"),
        send_handover(world.services, ben, sending(handover), event_key="b"),
        return_exceptions=True,
    )
    lost = [each for each in results if isinstance(each, BaseException)]
    assert [each.code for each in lost if isinstance(each, Refusal)] == ["handover_sent_already"]
    assert len(lost) == 1
    assert len([row for row in await rows(world, "thread") if row["source_thread_id"]]) == 1
    assert len([row for row in await rows(world, "message") if row["step"] == "handover"]) == 1
    await refused(edit_handover(world.services, aki, handover.id, FIELDS), "handover_sent_already")


async def test_two_people_who_send_one_draft_make_one_thread(world: World) -> None:
    await two_send(world)


async def test_two_people_who_send_one_draft_make_one_thread_on_postgres(postgres_world: World) -> None:
    await two_send(postgres_world)


async def test_a_start_that_was_lost_is_made_up_for_when_the_form_comes_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object, **__: object) -> None:
        raise ConnectionError

    aki = await world.person()
    _, handover = await ready(world, aki)
    act = sending(handover, start="Go on")
    with monkeypatch.context() as patch:
        patch.setattr("core.commands.handover.say", gone)
        with pytest.raises(ConnectionError):
            await send_handover(world.services, aki, act, event_key="s")
    target = await send_handover(world.services, aki, act, event_key="s")
    await eventually(lambda: deliveries(world))
    assert (await world.texts(aki, target.id))[0] == "Go on"


async def test_a_draft_that_is_not_there_yet_is_not_sent(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "Which supplier?")
    world.model.hold = asyncio.Event()
    ids = [await begin_handover(world.services, aki, thread, "chat", event_key="twice") for _ in range(2)]
    assert ids[0] == ids[1]
    early = Sending(handover_id=ids[0], fields=FIELDS)
    await refused(send_handover(world.services, aki, early, event_key="s"), "handover_drafting")
    await refused(edit_handover(world.services, aki, ids[0], FIELDS), "handover_drafting")
    world.model.hold.set()
    assert len(await rows(world, "handover")) == 1
    assert not [row for row in await rows(world, "thread") if row["source_thread_id"]]


# --- who sees it ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outside", ["closed", "another workspace"])
async def test_a_handover_that_cannot_be_seen_looks_like_none(world: World, outside: str) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    source, handover = await ready(world, aki)
    target = await send_handover(world.services, aki, sending(handover), event_key="s")
    another = await drafted(world, aki, source, "chat")
    if outside == "closed":
        world.doors.closed.add(("C1", "U2"))
    else:
        elsewhere = WorkspaceSeen(platform=PLATFORM, external_id="W2", name="Others")
        seen = PersonSeen(workspace=elsewhere, external_id="U1", name="Aki", locale="en", is_admin=True)
        ben = await identify(world.services, seen)
    services = world.services
    assert target.place.channel == "C1"
    for each in (another, replace(another, id="unknown")):
        await refused(show_handover(services, ben, each.id), "handover_not_found")
        await refused(edit_handover(services, ben, each.id, FIELDS), "handover_not_found")
        await refused(send_handover(services, ben, sending(each), event_key="x"), "handover_not_found")
    for thread in (source, target.id):
        await refused(list_handovers(services, ben, thread), "thread_not_found")
    await refused(begin_handover(services, ben, source, "chat", event_key="y"), "thread_not_found")
    await refused(start_target(services, ben, target.id, event_key="z"), "thread_not_found")
    assert len(await rows(world, "handover")) == 2


async def test_an_answer_of_another_thread_is_no_centre(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "q", mode=Mode.COMPARE, setup=SETUPS[Mode.COMPARE], estimate_seen=True)
    assert said.thread_id
    hidden = await new_thread(world, aki, "classified")
    for thread in (said.thread_id, hidden):
        await world.quiet(aki, thread)
    foreign = answer(await world.page(aki, hidden), (await world.answers(aki, hidden))[0].text)
    act = begin_handover(
        world.services, aki, said.thread_id, "chat", centre=foreign.message_id, event_key="c"
    )
    await refused(act, "answer_not_found")
    own = (await world.answers(aki, said.thread_id))[0]
    await begin_handover(world.services, aki, said.thread_id, "chat", centre=own.message_id, event_key="d")


async def test_over_the_budget_nothing_is_sent_and_nothing_that_waits_is_started(world: World) -> None:
    aki = await world.person()
    source, handover = await ready(world, aki, Mode.DEBATE)
    other = await drafted(world, aki, source, "debate")
    waiting = await send_handover(world.services, aki, sending(other), event_key="w")
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=0.0)
    act = sending(handover, start="Go on")
    await refused(send_handover(world.services, aki, act, event_key="s"), "budget_person")
    await refused(start_target(world.services, aki, waiting.id, event_key="t"), "budget_person")
    made = [row["id"] for row in await rows(world, "thread") if row["source_thread_id"]]
    assert made == [waiting.id]
    assert await world.texts(aki, waiting.id) == []
    world.policies.clear()
    await send_handover(world.services, aki, act, event_key="s")


# --- erasing --------------------------------------------------------------------------------------------------------

TABLES = ("handover", "message", "thread", "receipt_part", "notice", "pin", "claim", "run", "audit")


@pytest.mark.parametrize("mode", list(SETUPS))
@pytest.mark.parametrize("start", ["", "Go on"])
async def test_erasing_whoever_sent_a_handover_reaches_all_that_was_made_of_it(
    world: World, mode: Mode, start: str
) -> None:
    tanaka, ben = await world.person("U1", "Sekrito"), await world.person("U2", "Ben")
    thread = await new_thread(world, ben, "Which supplier?")
    handover = await drafted(world, tanaka, thread, mode.value)
    fields = {
        name: value if name == "sourceMode" else "sekrit text" if isinstance(value, str) else ["sekrit item"]
        for name, value in FIELDS.items()
    }
    act = replace(sending(handover, start=start), fields=fields)
    target = await send_handover(world.services, tanaka, act, event_key="s")
    if start:
        await eventually(lambda: deliveries(world))
        await world.quiet(tanaka, target.id)
    await erase_person(world.services, tanaka, "U1")
    for table in TABLES:
        assert "sekrit" not in repr(await rows(world, table)).casefold(), table
    assert "Which supplier?" in repr(await rows(world, "message"))
    kept = await show_handover(world.services, ben, handover.id)
    assert HandoverDraft.from_json(kept.draft).fields.source_mode is Mode.CHAT
    assert "sekrit" not in repr(await world.page(ben, target.id)).casefold()
    world.model.calls.clear()
    await world.say(ben, "What now?", target.id)
    assert world.model.calls
    assert "sekrit" not in repr(world.model.calls).casefold()


async def test_erasing_a_person_reaches_their_words_in_what_others_handed_over(world: World) -> None:
    tanaka, ben = await world.person("U1", "Sekrito"), await world.person("U2", "Ben")
    thread = await new_thread(world, tanaka, "sekrit question about suppliers")
    await pin(world.services, tanaka, thread, "constraint", "sekrit constraint of the buyer", event_key="p")
    world.model.script = [FailureKind.PROVIDER_DOWN]
    handover = await drafted(world, ben, thread, "debate")
    fields = {**handover.fields, "background": "Ben's own background"}
    act = replace(sending(handover, start="Go on"), fields=fields)
    target = await send_handover(world.services, ben, act, event_key="s")
    await eventually(lambda: deliveries(world))
    await world.quiet(ben, target.id)
    assert "sekrit" in repr(await rows(world, "receipt_part"))
    await erase_person(world.services, tanaka, "U1")
    for table in TABLES:
        assert "sekrit" not in repr(await rows(world, table)).casefold(), table
    kept = await show_handover(world.services, ben, handover.id)
    assert kept.fields["background"] == "Ben's own background"
