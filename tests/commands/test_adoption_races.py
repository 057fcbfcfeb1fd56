"""Who wins an adoption, what a review says before it, what the parent's own changes do to it, and how it runs out."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta

import pytest

from core.commands.adoption import (
    AdoptionRequest,
    AdoptionReview,
    approve,
    begin_review,
    list_adoptions,
    reject,
    request_adoption,
    show_changes,
    show_review,
    withdraw,
)
from core.commands.artifact import edit_artifact, list_saved, save_answer, show_artifact
from core.commands.branch import BranchRequest, branch
from core.commands.care import erase_person
from core.commands.message import delete_message, edit_message
from core.commands.person import PersonSeen, WorkspaceSeen, identify
from core.commands.upkeep import close_run_out_requests
from core.domain.adoption import EXPIRES_AFTER, AdoptionStatus
from core.domain.errors import FailureKind, Refusal
from core.domain.ids import ThreadId
from core.domain.policy import Actor, Policy
from core.domain.view import AdoptionCardView
from tests.commands.look import answer, message, refused, rows
from tests.product import PLATFORM, WORKSPACE, World, eventually

pytestmark = pytest.mark.soak


async def grown(world: World, actor: Actor, first: str = "Which supplier?") -> tuple[ThreadId, ThreadId]:
    """A thread with one answer, and a branch of it with one more."""
    said = await world.say(actor, first)
    assert said.thread_id is not None
    request = BranchRequest(thread_id=said.thread_id, name="Kita")
    made = await branch(world.services, actor, request, event_key=world.clock.new_id())
    await world.say(actor, "What if Kita?", made.id)
    return said.thread_id, made.id


async def ask(world: World, actor: Actor, made: ThreadId, **more: object) -> str:
    request = AdoptionRequest(branch_id=made, reason="It is the better offer", **more)  # type: ignore[arg-type]
    return await request_adoption(world.services, actor, request, event_key=world.clock.new_id())


async def elsewhere(world: World) -> Actor:
    workspace = WorkspaceSeen(platform=PLATFORM, external_id="W2", name="Others")
    seen = PersonSeen(workspace=workspace, external_id="U1", name="Aki", locale="en", is_admin=True)
    return await identify(world.services, seen)


async def status(world: World, actor: Actor, made: ThreadId) -> list[AdoptionStatus]:
    return [one.status for one in await list_adoptions(world.services, actor, made)]


def cards(world: World) -> list[AdoptionCardView]:
    return [view for view in world.poster.posts.values() if isinstance(view, AdoptionCardView)]


# --- who wins -------------------------------------------------------------------------------------------------------


async def race(world: World, *acts: Awaitable[object]) -> list[Refusal]:
    """Do all at once; the refusals of those that lost."""
    results = await asyncio.gather(*acts, return_exceptions=True)
    assert not [each for each in results if isinstance(each, Exception) and not isinstance(each, Refusal)]
    return [each for each in results if isinstance(each, Refusal)]


async def two_approve(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    world.policies[WORKSPACE.external_id] = Policy(approvers=("U2",))
    parent, made = await grown(world, aki)
    before = await world.texts(aki, parent)
    adoption = await ask(world, aki, made)
    (lost,) = await race(
        world,
        approve(world.services, aki, adoption, event_key="a"),
        approve(world.services, ben, adoption, event_key="b"),
    )
    (held,) = await list_adoptions(world.services, aki, made)
    winner = aki if held.decided_by == aki.person_id else ben
    assert (lost.code, lost.fields) == ("adopt_closed_approved", {"who": winner.name})
    assert await world.texts(aki, parent) == [*before, "What if Kita?", "answer 2"]
    done = [row for row in await rows(world, "audit") if row["action"] == "adoption_approved"]
    assert [row["actor_id"] for row in done] == [winner.person_id]
    assert done[0]["details"]["before_sha256"] != done[0]["details"]["after_sha256"]


async def approve_meets_withdraw(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    parent, made = await grown(world, aki)
    before = await world.texts(aki, parent)
    adoption = await ask(world, ben, made)
    (lost,) = await race(
        world,
        approve(world.services, aki, adoption, event_key="a"),
        withdraw(world.services, ben, adoption, event_key="w"),
    )
    (held,) = await list_adoptions(world.services, aki, made)
    assert lost.code == f"adopt_closed_{held.status.value}"
    added = ["What if Kita?", "answer 2"] if held.status is AdoptionStatus.APPROVED else []
    assert await world.texts(aki, parent) == [*before, *added]


async def two_ask(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    request = BranchRequest(thread_id=parent, position=1, name="Minami")
    other = await branch(world.services, aki, request, event_key="b")
    await world.say(aki, "What if Minami?", other.id)
    (lost,) = await race(world, ask(world, aki, made), ask(world, aki, other.id))
    assert lost.code == "adopt_another_pending"
    assert len(await rows(world, "adoption")) == 1


RACES = (two_approve, approve_meets_withdraw, two_ask)


@pytest.mark.parametrize("meeting", RACES)
async def test_of_two_at_once_exactly_one_wins(world: World, meeting: object) -> None:
    await meeting(world)  # type: ignore[operator]


@pytest.mark.parametrize("meeting", RACES)
async def test_of_two_at_once_exactly_one_wins_on_postgres(postgres_world: World, meeting: object) -> None:
    await meeting(postgres_world)  # type: ignore[operator]


async def test_the_same_press_delivered_twice_is_one_approval_and_no_error(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    for _ in range(2):
        done = await approve(world.services, aki, adoption, event_key="press")
    assert done.status is AdoptionStatus.APPROVED
    assert (await world.texts(aki, parent)).count("What if Kita?") == 1
    assert [row["action"] for row in await rows(world, "audit")].count("adoption_approved") == 1


async def test_nobody_decides_what_is_decided(world: World) -> None:
    aki = await world.person()
    _, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    await withdraw(world.services, aki, adoption, event_key="w")
    for act in (
        approve(world.services, aki, adoption, event_key="1"),
        reject(world.services, aki, adoption, "no", event_key="2"),
        withdraw(world.services, aki, adoption, event_key="3"),
    ):
        lost = await refused(act, "adopt_closed_withdrawn")
        assert lost.fields == {"who": "Aki"}
    assert await status(world, aki, made) == [AdoptionStatus.WITHDRAWN]


async def test_only_the_requester_withdraws_and_four_eyes_hold(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    world.policies[WORKSPACE.external_id] = Policy(approvers=("U2",), four_eyes=True)
    _, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    await refused(withdraw(world.services, ben, adoption, event_key="w"), "adopt_not_requester")
    await refused(approve(world.services, aki, adoption, event_key="a"), "adopt_four_eyes")
    guest = await world.person("U2", "Ben", is_guest=True)
    await refused(approve(world.services, guest, adoption, event_key="g"), "adopt_guest")
    assert await status(world, aki, made) == [AdoptionStatus.PENDING]
    await approve(world.services, ben, adoption, event_key="b")


# --- what happened meanwhile ----------------------------------------------------------------------------------------


async def test_what_was_said_meanwhile_in_the_parent_stands_by_its_time(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    await world.say(aki, "Said in the parent", parent)
    await world.say(aki, "Said last in the branch", made)
    adoption = await ask(world, aki, made)
    await world.say(aki, "Said after the request", parent)
    first = message(await world.page(aki, parent), "Said in the parent")
    await delete_message(world.services, aki, first.message_id, event_key="d")
    await approve(world.services, aki, adoption, event_key="a")
    assert await world.texts(aki, parent) == [
        "Which supplier?",
        "answer 1",
        "What if Kita?",
        "answer 2",
        "answer 3",
        "Said last in the branch",
        "answer 4",
        "Said after the request",
        "answer 5",
    ]
    await world.say(aki, "And now?", parent)
    sent = [text.rpartition("\n")[2] for text in world.model.sent_texts()]
    assert sent[-10:-1] == (await world.texts(aki, parent))[:-2]


async def test_an_edit_in_the_branch_after_the_request_is_not_included(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    adoption = await ask(world, aki, made)
    said = message(await world.page(aki, made), "What if Kita?")
    await edit_message(world.services, aki, said.message_id, "What if Minami?", event_key="e")
    changes = await show_changes(world.services, aki, adoption)
    assert [one.text for one in changes.messages["main"]] == ["What if Kita?", "answer 2"]
    await approve(world.services, aki, adoption, event_key="a")
    assert (await world.texts(aki, parent))[2:] == ["What if Kita?", "answer 2"]


async def save(world: World, actor: Actor, thread: ThreadId, text: str, name: str) -> None:
    shown = answer(await world.page(actor, thread), text)
    prefix = f"{thread}/" if text == "answer 1" else ""
    await save_answer(
        world.services, actor, f"{prefix}{shown.message_id}", name, event_key=world.clock.new_id()
    )


async def artifact_id(world: World, thread: ThreadId) -> str:
    (held,) = [row for row in await rows(world, "artifact") if row["thread_id"] == thread]
    return str(held["id"])


async def test_a_name_that_the_parent_got_meanwhile_blocks_the_approval(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    await save(world, aki, made, "answer 2", "Plan")
    adoption = await ask(world, aki, made)
    await save(world, aki, parent, "answer 1", "ＰＬＡＮ")
    before = await world.texts(aki, parent)
    lost = await refused(approve(world.services, aki, adoption, event_key="a"), "adopt_new_conflict")
    assert lost.fields == {"name": "Plan"}
    assert await world.texts(aki, parent) == before
    assert await status(world, aki, made) == [AdoptionStatus.PENDING]
    await withdraw(world.services, aki, adoption, event_key="w")
    choices = {await artifact_id(world, made): {"choice": "take_branch"}}
    await approve(world.services, aki, await ask(world, aki, made, choices=choices), event_key="a2")
    (one,) = await list_saved(world.services, aki, parent)
    shown = await show_artifact(world.services, aki, parent, one.name)
    assert (one.name, shown.text) == ("ＰＬＡＮ", "answer 2")
    assert (await show_artifact(world.services, aki, parent, one.name, number=1)).text == "answer 1"


async def test_a_new_name_that_was_taken_meanwhile_blocks_the_approval(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    await save(world, aki, parent, "answer 1", "Plan")
    await save(world, aki, made, "answer 2", "Plan")
    choices = {await artifact_id(world, made): {"choice": "keep_both", "new_name": "Plan B"}}
    adoption = await ask(world, aki, made, choices=choices)
    await save(world, aki, parent, "answer 1", "Plan B")
    await refused(approve(world.services, aki, adoption, event_key="a"), "adopt_new_conflict")
    assert [one.name for one in await list_saved(world.services, aki, parent)] == ["Plan", "Plan B"]
    assert len((await show_artifact(world.services, aki, parent, "Plan B")).versions) == 1


async def test_the_version_of_the_request_is_adopted_and_not_a_later_one(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    await save(world, aki, made, "answer 2", "Plan")
    adoption = await ask(world, aki, made)
    await edit_artifact(
        world.services, aki, made, "Plan", "later words", base=1, reason="later", event_key="e"
    )
    await approve(world.services, aki, adoption, event_key="a")
    assert (await show_artifact(world.services, aki, parent, "Plan")).text == "answer 2"


# --- the review -----------------------------------------------------------------------------------------------------


async def reviewed(world: World, actor: Actor, made: ThreadId) -> tuple[str, AdoptionReview]:
    """A review whose draft has come."""
    review_id = await begin_review(world.services, actor, made, event_key=world.clock.new_id())

    async def there() -> bool:
        return (await show_review(world.services, actor, review_id)).draft is not None

    await eventually(there)
    return review_id, await show_review(world.services, actor, review_id)


async def test_a_model_drafts_the_review_of_what_would_be_appended(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    await world.say(aki, "said in the parent after the split", parent)
    review_id, review = await reviewed(world, aki, made)
    assert review.draft is not None
    assert review.draft.by_model
    assert review.draft.texts.about.startswith("text ")
    assert [one.text for one in review.messages["main"]] == ["What if Kita?", "answer 2"]
    sent = world.model.sent()
    assert "What if Kita?" in sent
    assert "said in the parent after the split" not in sent
    assert (review.branch.id, review.parent.id) == (made, parent)
    await world.say(aki, "One more", made)
    later = await show_review(world.services, aki, review_id)
    assert [one.text for one in later.messages["main"]][-2:][0] == "One more"


async def test_a_review_that_no_model_drafts_is_plain_and_says_so(world: World) -> None:
    aki = await world.person()
    _, made = await grown(world, aki)
    world.model.script = ["See https://kita.example/offer.", FailureKind.PROVIDER_DOWN]
    await world.say(aki, "Which source?", made)
    _, review = await reviewed(world, aki, made)
    assert review.draft is not None
    assert not review.draft.by_model
    texts = review.draft.texts
    assert texts.about == "Kita\nWhat if Kita?"
    assert texts.concluded == "See https://kita.example/offer."
    assert texts.sources == "https://kita.example/offer"
    await ask(world, aki, made, texts=texts.to_json())


async def test_a_review_is_drafted_once_however_often_it_is_asked_for(world: World) -> None:
    aki = await world.person()
    _, made = await grown(world, aki)
    ids = [await begin_review(world.services, aki, made, event_key="twice") for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(await rows(world, "adoption_review")) == 1


async def test_a_review_is_refused_where_no_request_could_be_made(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    request = BranchRequest(thread_id=parent, name="Empty")
    empty = await branch(world.services, aki, request, event_key="b")
    for thread, code in ((empty.id, "adopt_nothing_new"), (parent, "adopt_not_a_branch")):
        await refused(begin_review(world.services, aki, thread, event_key=thread), code)
    await ask(world, aki, made)
    await refused(begin_review(world.services, aki, made, event_key="late"), "adopt_pending_already")
    assert await rows(world, "adoption_review") == []


async def test_a_review_or_request_that_cannot_be_seen_looks_like_none(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    _, made = await grown(world, aki)
    review_id, _ = await reviewed(world, aki, made)
    adoption = await ask(world, aki, made)
    world.doors.closed.add(("C1", "U2"))
    # An approver of the whole workspace, too, sees nothing of a channel that is closed to them.
    world.policies[WORKSPACE.external_id] = Policy(approvers=("U2",))
    for actor in (ben, await elsewhere(world)):
        for review in (review_id, "unknown"):
            await refused(show_review(world.services, actor, review), "adopt_review_not_found")
        await refused(begin_review(world.services, actor, made, event_key="r"), "thread_not_found")
        for each in (adoption, "unknown"):
            await refused(show_changes(world.services, actor, each), "adoption_not_found")
            await refused(approve(world.services, actor, each, event_key="a"), "adoption_not_found")
            await refused(reject(world.services, actor, each, "no", event_key="n"), "adoption_not_found")
            await refused(withdraw(world.services, actor, each, event_key="w"), "adoption_not_found")
        await refused(list_adoptions(world.services, actor, made), "thread_not_found")
    assert await status(world, aki, made) == [AdoptionStatus.PENDING]


# --- the end of time ------------------------------------------------------------------------------------------------


async def test_the_schedule_closes_what_ran_out_once_and_brings_its_card_up_to_date(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    await ask(world, aki, made)
    await eventually(lambda: cards(world))
    world.clock.advance(EXPIRES_AFTER - timedelta(minutes=1))
    await close_run_out_requests(world.services)
    assert await status(world, aki, made) == [AdoptionStatus.PENDING]
    world.clock.advance(timedelta(minutes=1))
    await asyncio.gather(*(close_run_out_requests(world.services) for _ in range(3)))
    await eventually(lambda: [card.status for card in cards(world)] == [AdoptionStatus.EXPIRED])
    tables = ("adoption", "notice", "run", "audit", "thread")
    before = {table: await rows(world, table) for table in tables}
    shown = len(world.poster.shown)
    told = [row for row in before["notice"] if row["key"] == "notice.adoption_expired"]
    assert sorted(row["thread_id"] for row in told) == sorted((parent, made))
    assert [row["action"] for row in before["audit"]].count("adoption_expired") == 1
    await close_run_out_requests(world.services)
    await world.say(aki, "still here", made)
    for table in ("adoption", "notice", "audit", "thread"):
        assert await rows(world, table) == before[table], table
    assert [card.status for card in cards(world)] == [AdoptionStatus.EXPIRED]
    assert not [view for view in world.poster.shown[shown:] if isinstance(view, AdoptionCardView)]
    await ask(world, aki, made)


async def test_a_decision_that_is_too_late_meets_the_schedule_and_one_of_them_closes(world: World) -> None:
    aki = await world.person()
    parent, made = await grown(world, aki)
    before = await world.texts(aki, parent)
    adoption = await ask(world, aki, made)
    world.clock.advance(EXPIRES_AFTER)
    (lost,) = await race(
        world,
        close_run_out_requests(world.services),
        approve(world.services, aki, adoption, event_key="a"),
    )
    assert lost.code == "adopt_closed_expired"
    assert await world.texts(aki, parent) == before
    assert [row["action"] for row in await rows(world, "audit")].count("adoption_expired") == 1


# --- erasing --------------------------------------------------------------------------------------------------------


async def test_erasing_a_person_blanks_what_they_wrote_around_adoptions(world: World) -> None:
    tanaka, ben = await world.person("U1", "Sekrito"), await world.person("U2", "Ben")
    said = await world.say(tanaka, "sekrit first words of the thread")
    assert said.thread_id is not None
    request = BranchRequest(thread_id=said.thread_id, name="sekrit name")
    made = await branch(world.services, tanaka, request, event_key="b")
    await world.say(tanaka, "sekrit words that open the branch", made.id)
    world.model.script = [FailureKind.PROVIDER_DOWN] * 2
    for actor in (tanaka, ben):
        await reviewed(world, actor, made.id)
    texts = {"about": "sekrit texts", "sources": "sekrit words that open the branch"}
    mine = await ask(world, tanaka, made.id, texts=texts)
    await reject(world.services, tanaka, mine, "sekrit decision", event_key="r")
    theirs = await ask(
        world, ben, made.id, texts={"about": "Ben's words", "sources": "sekrit words that open the branch"}
    )
    await erase_person(world.services, tanaka, "U1")
    for table in ("adoption", "adoption_review", "notice", "audit", "claim", "run", "thread", "message"):
        assert "sekrit" not in repr(await rows(world, table)).casefold(), table
    (held,) = [row for row in await rows(world, "adoption") if row["id"] == theirs]
    assert (held["reason"], held["review"]["about"]) == ("It is the better offer", "Ben's words")
    for page in (await world.page(ben, said.thread_id), await world.page(ben, made.id)):
        assert "sekrit" not in repr(page).casefold()
