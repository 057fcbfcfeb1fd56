"""What an adoption brings into the parent and what it refuses to bring: lines, levels, artifacts, and who decides."""

import pytest

from core.commands.adoption import (
    AdoptionRequest,
    approve,
    reject,
    request_adoption,
    show_changes,
    withdraw,
)
from core.commands.artifact import list_saved, save_answer, show_artifact
from core.commands.branch import BranchRequest, branch
from core.commands.compare import join
from core.commands.sending import SendRequest, send_artifact
from core.domain.adoption import AdoptionStatus
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.domain.view import AdoptionCardView
from tests.commands.look import answer, refused, rows
from tests.product import World, eventually


async def made(world: World, actor: Actor, parent: ThreadId, name: str, said: str = "") -> ThreadId:
    """A branch at the end of a thread, with something said in it."""
    request = BranchRequest(thread_id=parent, name=name)
    new = await branch(world.services, actor, request, event_key=world.clock.new_id())
    if said:
        await world.say(actor, said, new.id)
    return new.id


async def ask(world: World, actor: Actor, made: ThreadId, **more: object) -> str:
    request = AdoptionRequest(branch_id=made, reason="It is better", **more)  # type: ignore[arg-type]
    return await request_adoption(world.services, actor, request, event_key=world.clock.new_id())


async def start(world: World, actor: Actor, text: str = "Which supplier?", **more: object) -> ThreadId:
    thread = (await world.say(actor, text, **more)).thread_id  # type: ignore[arg-type]
    assert thread is not None
    return thread


async def save(world: World, actor: Actor, thread: ThreadId, text: str, name: str) -> None:
    ref = answer(await world.page(actor, thread), text).message_id
    assert ref is not None
    await save_answer(world.services, actor, ref, name, event_key=world.clock.new_id())


async def lines(world: World, thread: ThreadId) -> dict[str, list[str]]:
    """Texts of each conversation of a thread, in order."""
    texts = {row["id"]: row["text"] for row in await rows(world, "message")}
    entries = sorted(await rows(world, "entry"), key=lambda row: row["position"])
    return {
        line["line"]: [
            texts[entry["message_id"]] for entry in entries if entry["conversation_id"] == line["id"]
        ]
        for line in await rows(world, "conversation")
        if line["thread_id"] == thread
    }


async def test_a_conversation_that_only_the_branch_has_comes_in_whole_beside_the_others(world: World) -> None:
    aki = await world.person()
    setup = {"models": ["alpha", "beta"]}
    parent = await start(world, aki, mode=Mode.COMPARE, setup=setup, estimate_seen=True)
    before = await lines(world, parent)
    branched = await made(world, aki, parent, "Three of them")
    await join(world.services, aki, branched, "seer", event_key="join")
    await world.say(aki, "And who of them lasts?", branched)
    theirs = await lines(world, branched)
    assert await lines(world, parent) == before
    await approve(world.services, aki, await ask(world, aki, branched), event_key="approve")
    after = await lines(world, parent)
    assert after == theirs
    assert set(after) - set(before) == {"seer"}
    assert all(after[line][: len(kept)] == kept for line, kept in before.items())
    calls = len(world.model.calls)
    await world.say(aki, "So which one?", parent)
    asked = {call.model: "\n".join(p.text for p in call.ai_input.parts) for call in world.model.calls[calls:]}
    assert set(asked) == {"alpha", "beta", "seer"}
    for model, sent in asked.items():
        assert sent.count("And who of them lasts?") == 1, model
        assert theirs[model][-1] in sent, "each goes on from its own answer"
        assert not any(theirs[other][-1] in sent for other in theirs if other != model)


async def test_a_branch_of_a_branch_goes_into_its_direct_parent_and_nowhere_else(world: World) -> None:
    aki = await world.person()
    top = await start(world, aki)
    upper = await made(world, aki, top, "upper", "said above")
    lower = await made(world, aki, upper, "lower", "said below")
    await save(world, aki, lower, "answer 3", "Plan below")
    beside = await made(world, aki, top, "beside", "said beside")
    stored = await rows(world, "adoption")
    other = await start(world, aki, "Another matter")
    for into in (top, beside):
        await refused(ask(world, aki, lower, into=into), "adopt_not_direct_parent")
    await refused(ask(world, aki, lower, into=other), "adopt_unrelated")
    await refused(ask(world, aki, upper, into=beside), "adopt_siblings")
    assert await rows(world, "adoption") == stored
    untouched = await world.texts(aki, top)
    await approve(world.services, aki, await ask(world, aki, lower), event_key="lower")
    assert "said below" in await world.texts(aki, upper)
    assert await world.texts(aki, top) == untouched
    await approve(world.services, aki, await ask(world, aki, upper), event_key="upper")
    assert (await world.texts(aki, top))[len(untouched) :: 2] == ["said above", "said below"]
    assert "said beside" not in await world.texts(aki, top)
    assert [one.name for one in await list_saved(world.services, aki, top)] == ["Plan below"]
    assert (await show_artifact(world.services, aki, top, "Plan below")).text == "answer 3"


CHOICES = [
    ({"choice": "take_branch"}, {"Plan": ["answer 1", "answer 2"]}),
    ({"choice": "keep_parent"}, {"Plan": ["answer 1"]}),
    ({"choice": "keep_both", "new_name": "Plan B"}, {"Plan": ["answer 1"], "Plan B": ["answer 2"]}),
]


@pytest.mark.parametrize(("choice", "held"), CHOICES)
async def test_an_artifact_of_the_same_name_comes_in_as_it_was_chosen_and_knows_where_from(
    world: World, choice: dict[str, str], held: dict[str, list[str]]
) -> None:
    aki = await world.person()
    parent = await start(world, aki)
    branched = await made(world, aki, parent, "Kita", "What if Kita?")
    await save(world, aki, parent, "answer 1", "Plan")
    await save(world, aki, branched, "answer 2", "Plan")
    (row,) = [one for one in await rows(world, "artifact") if one["thread_id"] == branched]
    adoption = await ask(world, aki, branched, choices={row["id"]: choice})
    assert [one.name for one in await list_saved(world.services, aki, parent)] == ["Plan"]
    await approve(world.services, aki, adoption, event_key="approve")
    found = {
        one.name: [
            (await show_artifact(world.services, aki, parent, one.name, number=number)).text
            for number in range(1, one.newest.number + 1)
        ]
        for one in await list_saved(world.services, aki, parent)
    }
    assert found == held
    (original,) = [one for one in await rows(world, "artifact_version") if one["artifact_id"] == row["id"]]
    copies = [one for one in await rows(world, "artifact_version") if one["source_version_id"]]
    assert [(one["source_thread_id"], one["source_version_id"], one["text"]) for one in copies] == (
        [] if choice["choice"] == "keep_parent" else [(branched, original["id"], "answer 2")]
    )


async def test_an_artifact_that_came_already_is_not_copied_again(world: World) -> None:
    aki = await world.person()
    parent = await start(world, aki)
    branched = await made(world, aki, parent, "Kita", "What if Kita?")
    await save(world, aki, branched, "answer 2", "Plan")
    request = SendRequest(thread_id=branched, name="Plan", to_thread_id=parent, new_name="Plan of Kita")
    await send_artifact(world.services, aki, request, event_key="send")
    await approve(world.services, aki, await ask(world, aki, branched), event_key="approve")
    assert [one.name for one in await list_saved(world.services, aki, parent)] == ["Plan of Kita"]
    assert len([one for one in await rows(world, "artifact_version") if one["text"] == "answer 2"]) == 2


async def test_what_is_posted_after_the_request_stays_out_and_the_card_says_so(world: World) -> None:
    aki = await world.person()
    parent = await start(world, aki)
    branched = await made(world, aki, parent, "Kita", "What if Kita?")
    adoption = await ask(world, aki, branched)
    await world.say(aki, "Too late for this", branched)
    (waiting,) = [
        item for item in (await world.page(aki, parent)).items if isinstance(item, AdoptionCardView)
    ]
    assert (waiting.messages, waiting.newer) == (2, 2)
    await approve(world.services, aki, adoption, event_key="approve")
    assert "Too late for this" not in await world.texts(aki, parent)
    covered = await show_changes(world.services, aki, adoption)
    assert [one.text for one in covered.messages["main"]] == ["What if Kita?", "answer 2"]

    def card() -> AdoptionCardView | None:
        cards = [one for one in world.poster.shown if isinstance(one, AdoptionCardView)]
        return next((one for one in reversed(cards) if one.status is AdoptionStatus.APPROVED), None)

    await eventually(card)
    shown = card()
    assert shown is not None
    assert shown.messages == 2


@pytest.mark.parametrize("kind", [{"is_guest": True}, {"is_external": True}])
async def test_guests_and_people_from_outside_decide_nothing(world: World, kind: dict[str, bool]) -> None:
    aki = await world.person()
    gast = await world.person("U9", "Gast", **kind)
    parent = await start(world, aki)
    branched = await made(world, aki, parent, "Kita", "What if Kita?")
    adoption = await ask(world, aki, branched)
    decided = [(row["status"], row["decided_by"]) for row in await rows(world, "adoption")]
    for act in (
        approve(world.services, gast, adoption, event_key="a"),
        reject(world.services, gast, adoption, "no", event_key="b"),
    ):
        await refused(act, "adopt_guest")
    await refused(withdraw(world.services, gast, adoption, event_key="c"), "adopt_not_requester")
    assert [(row["status"], row["decided_by"]) for row in await rows(world, "adoption")] == decided
    assert "What if Kita?" not in await world.texts(aki, parent)
