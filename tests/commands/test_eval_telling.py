"""What a thread is told of an evaluation: its card, the questions to people, and what comes of their clicks."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from core.commands.eval import show_eval, start_eval, stop_eval
from core.commands.eval_question import answer_question, give_verdict, human_queue, show_question
from core.commands.place import open_again
from core.commands.thread import show_thread
from core.commands.upkeep import pick_up_evals, pick_up_left_behind
from core.domain.errors import FailureKind, PlatformFailure
from core.domain.eval_gate import Judgement
from core.domain.eval_run import EvalRequest, Side, VerdictRequest
from core.domain.ids import ThreadId
from core.domain.policy import Actor, Policy
from core.domain.view import ButtonAction, EvalCardView, EvalQuestionView, NoticeView
from core.engine import eval_telling
from core.engine.engine import RunState
from core.engine.eval_telling import MOST_ASKED
from core.ports import ModelCall, PostRef
from core.prompts.eval_library import EvalLibrary
from tests.commands.evaluating import SUMMARY, answering, candidate, case, eval_set, library, side_of, unheard
from tests.commands.look import count, refused, rows, speaks
from tests.commands.prompting import make_live, withdraw
from tests.product import Planned, RecordingPoster, World, eventually, open_world

CHANNEL = "C-evals"
OTHER = "It is kept, in other words."
ASKED = "Is the point real?"
DECIDED = (ButtonAction.EVAL_PASS, ButtonAction.EVAL_FAIL, ButtonAction.EVAL_HOLD)


def asking(cases: int = 2) -> EvalLibrary:
    """A set whose cases all have a condition for a person."""
    return library(eval_set(cases, changes={n: case(n, human=ASKED) for n in range(1, cases + 1)}))


def in_other_words(call: ModelCall) -> Planned:
    """The candidate keeps the point and says it differently, everywhere."""
    return OTHER if side_of(call) is Side.CANDIDATE else "It is kept."


@pytest.fixture
def urls(tmp_path: Path) -> tuple[str, str]:
    return f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}"


@pytest.fixture
async def world(urls: tuple[str, str]) -> AsyncGenerator[World]:
    async with open_world(*urls, eval_library=asking()) as opened:
        opened.model.plan = in_other_words
        yield opened


async def begun(world: World, actor: Actor, **more: str) -> str:
    """An evaluation of which a channel is told; its id."""
    request = EvalRequest(
        prompt=SUMMARY,
        candidate_id=await candidate(world, actor),
        model="alpha",
        repeats=1,
        channel=more.get("channel", CHANNEL),
    )
    return await start_eval(world.services, actor, request, event_key=world.clock.new_id())


async def told(world: World, actor: Actor) -> str:
    """An evaluation that has ended, with its questions asked; its id."""
    run_id = await begun(world, actor)
    await world.finished(run_id)
    await quiet(world)
    return run_id


async def quiet(world: World) -> None:
    """Return when every run of a thread has ended."""

    async def ended() -> bool:
        return all(run["status"] == "done" for run in await rows(world, "run"))

    await eventually(ended)


def card(world: World) -> EvalCardView:
    (found,) = [view for view in world.poster.posts.values() if isinstance(view, EvalCardView)]
    return found


def asked(world: World) -> list[EvalQuestionView]:
    """The cards of questions as they stand, by case."""
    found = [view for view in world.poster.posts.values() if isinstance(view, EvalQuestionView)]
    return sorted(found, key=lambda view: view.case_id)


def ref_of(view: EvalQuestionView) -> str:
    return view.buttons[0].ref


async def said(
    world: World, actor: Actor, ref: str, judgement: Judgement, comment: str = "", key: str = ""
) -> None:
    event_key = key or world.clock.new_id()
    await answer_question(world.services, actor, ref, judgement, comment, event_key=event_key)
    await quiet(world)


# --- the card -------------------------------------------------------------------------------------------------------


async def test_a_channel_is_told_in_a_thread_of_its_own_how_an_evaluation_goes_and_what_it_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eval_telling, "PROGRESS_EVERY_S", 0.0)
    aki = await world.person()
    world.model.hold = asyncio.Event()
    run_id = await begun(world, aki)
    await eventually(lambda: world.poster.posts)
    before = card(world)
    assert (before.running, before.done, before.expected, before.who) == (True, 0, 4, "Aki")
    assert [(one.action, one.ref) for one in before.buttons] == [(ButtonAction.EVAL_STOP, run_id)]
    world.model.hold.set()
    await world.finished(run_id)
    await quiet(world)
    assert [view.done for view in world.poster.shown if isinstance(view, EvalCardView)] == [0, 4, 4]
    after = card(world)
    assert (after.running, after.status, after.done, after.waiting) == (False, "done", 4, 2)
    assert {name: number for name, number in after.counts if number} == {"different": 2}
    assert "S01, S02" in " ".join(speaks(reason) for reason in after.closed)
    assert [(one.action, one.ref) for one in after.buttons] == [(ButtonAction.EVAL_REPORT, run_id)]
    assert {place.thread for place in world.poster.places} == {"opened-0"}
    assert {place.channel for place in world.poster.places} == {CHANNEL}
    (thread,) = await rows(world, "thread")
    page = await show_thread(world.services, aki, thread["id"])
    notes = [speaks(item.phrase) for item in page.items if isinstance(item, NoticeView)]
    assert f"/evals/{run_id}" in notes[0]
    assert "different output: 2" in notes[1]


@pytest.mark.soak
async def test_people_can_talk_in_the_thread_that_tells_of_an_evaluation(world: World) -> None:
    aki = await world.person()
    await told(world, aki)
    world.model.plan = lambda call: None
    (thread,) = await rows(world, "thread")
    await world.say(aki, "what now?", ThreadId(thread["id"]))
    assert OTHER not in world.model.sent()
    assert len(await world.answers(aki, ThreadId(thread["id"]))) == 1


@pytest.mark.soak
async def test_an_evaluation_of_which_nobody_is_told_posts_nothing(world: World) -> None:
    aki = await world.person()
    run_id = await begun(world, aki, channel="")
    await world.finished(run_id)
    assert (await count(world, "thread"), world.poster.posts) == (0, {})
    (question, _) = await human_queue(world.services, aki, run_id)
    request = VerdictRequest(
        run_id=run_id,
        case_id=question.case_id,
        criterion=question.criterion,
        output_sha256=question.output_sha256,
        judgement=Judgement.PASS,
    )
    await give_verdict(world.services, aki, request, event_key="v")
    assert (await count(world, "human_verdict"), await count(world, "run")) == (1, 0)


async def test_nobody_is_told_in_a_channel_that_the_person_cannot_see(world: World) -> None:
    aki = await world.person()
    world.doors.closed.add((CHANNEL, "U1"))
    await refused(begun(world, aki), "eval_channel_unseen")
    assert (await count(world, "eval_run"), await count(world, "thread"), world.model.calls) == (0, 0, [])


@pytest.mark.soak
async def test_the_same_start_delivered_twice_is_one_evaluation_with_one_card(world: World) -> None:
    aki = await world.person()
    request = EvalRequest(
        prompt=SUMMARY, candidate_id=await candidate(world, aki), repeats=1, channel=CHANNEL
    )
    first = await start_eval(world.services, aki, request, event_key="press")
    assert await start_eval(world.services, aki, request, event_key="press") == first
    await world.finished(first)
    await quiet(world)
    assert (await count(world, "eval_run"), await count(world, "thread")) == (1, 1)
    assert card(world).eval_id == first


async def test_a_stopped_evaluation_says_so_on_its_card_and_asks_only_about_what_it_has(world: World) -> None:
    aki = await world.person()
    world.model.hold, world.model.held = asyncio.Event(), "S02"
    run_id = await begun(world, aki)
    await world.model.begun.wait()
    await stop_eval(world.services, aki, run_id)
    await world.finished(run_id)
    await quiet(world)
    seen = card(world)
    assert (seen.status, seen.running, seen.done) == ("stopped", False, 2)
    assert any("not finished" in speaks(reason) for reason in seen.closed)
    assert [view.case_id for view in asked(world)] == ["S01"]


async def test_cases_that_a_failing_model_leaves_unrun_are_errors_on_the_card_and_put_to_nobody(
    world: World,
) -> None:
    aki = await world.person()
    world.model.plan = answering({(Side.CANDIDATE, "S01"): FailureKind.PROVIDER_DOWN}, usual=OTHER)
    await told(world, aki)
    seen = card(world)
    assert dict(seen.counts)["error"] == 1
    assert any("S01" in speaks(reason) for reason in seen.closed)
    assert asked(world) == []


async def test_after_a_rollback_its_thread_is_told_what_the_evaluation_found(world: World) -> None:
    aki = await world.person()
    version_id = await candidate(world, aki)
    await make_live(world, aki, version_id, SUMMARY)
    world.policies["W1"] = Policy(prompt_channel="C-prompts")
    await withdraw(world, aki, name=SUMMARY)
    (evaluation,) = await rows(world, "eval_run")
    await world.finished(evaluation["id"])
    await quiet(world)
    first, second, *_ = world.poster.posts.values()
    assert isinstance(first, NoticeView)
    assert isinstance(second, EvalCardView)
    assert (second.status, second.baseline, second.candidate) == ("done", "1.1.0", "1.0.0")
    assert {(place.channel, place.thread) for place in world.poster.places} == {("C-prompts", "opened-0")}


@pytest.mark.soak
async def test_an_evaluation_whose_process_died_unseen_is_told_as_ended(world: World) -> None:
    aki = await world.person()
    run_id = await begun(world, aki)
    await world.finished(run_id)
    await quiet(world)
    # As a crash between the two databases leaves it: the engine is done, the row is not, and no run tells of it.
    async with world.store.writing() as session:
        await session.execute(text("UPDATE eval_run SET status = 'running', finished_at = NULL"))
    assert await world.services.engine.state(run_id) is RunState.FINISHED
    world.clock.advance(timedelta(seconds=10))
    await pick_up_evals(world.services)
    await quiet(world)
    assert card(world).status == "failed"
    assert speaks(card(world).failure)


# --- questions ------------------------------------------------------------------------------------------------------


async def test_each_changed_output_is_asked_about_once_and_what_was_said_stands_on_its_card(
    world: World,
) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    run_id = await told(world, aki)
    first, second = asked(world)
    assert (first.case_id, first.criterion, first.candidate) == ("S01", ASKED, OTHER)
    assert "lease or buy" in first.shown_input
    assert tuple(one.action for one in first.buttons) == DECIDED
    await said(world, ben, ref_of(first), Judgement.PASS)
    await said(world, ben, ref_of(second), Judgement.FAIL, "It invents a reason.")
    one, two = asked(world)
    assert [(s.who, s.judgement, s.comment) for v in (one, two) for s in v.said] == [
        ("Ben", "pass", ""),
        ("Ben", "fail", "It invents a reason."),
    ]
    assert (one.buttons, two.buttons, card(world).waiting) == ((), (), 0)
    assert [(row["case_id"], row["verdict"]) for row in await rows(world, "human_verdict")] == [
        ("S01", "pass"),
        ("S02", "fail"),
    ]
    page = await show_eval(world.services, aki, run_id)
    assert [q.case_id for q in page.review.failed] == ["S02"]
    assert any("S02" in speaks(reason) for reason in card(world).closed)


async def test_a_second_person_and_a_second_click_are_told_that_it_is_decided(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    await told(world, aki)
    ref = ref_of(asked(world)[0])
    await said(world, ben, ref, Judgement.PASS, key="click-1")
    # The same click, delivered again, is no second one.
    await said(world, ben, ref, Judgement.PASS, key="click-1")
    for actor in (aki, ben):
        refusal = await refused(
            answer_question(world.services, actor, ref, Judgement.FAIL, "no", event_key=world.clock.new_id()),
            "eval_question_decided",
        )
        assert refusal.fields == {"case": "S01", "who": "Ben", "judgement": "Passes"}
        await refused(show_question(world.services, actor, ref), "eval_question_decided")
    assert await count(world, "human_verdict") == 1


@pytest.mark.soak
async def test_not_sure_keeps_a_question_open_for_others(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    await told(world, aki)
    ref = ref_of(asked(world)[0])
    await said(world, aki, ref, Judgement.HOLD)
    held = asked(world)[0]
    assert [(one.who, one.judgement) for one in held.said] == [("Aki", "hold")]
    assert tuple(one.action for one in held.buttons) == DECIDED
    await said(world, ben, ref, Judgement.PASS)
    assert asked(world)[0].buttons == ()
    refusal = await refused(said(world, aki, ref, Judgement.PASS), "eval_question_decided")
    assert (refusal.fields["who"], refusal.fields["judgement"]) == ("Ben", "Passes")


@pytest.mark.soak
async def test_a_fail_without_a_reason_and_a_reason_that_is_too_long_are_refused(world: World) -> None:
    aki = await world.person()
    await told(world, aki)
    ref = ref_of(asked(world)[0])
    await refused(said(world, aki, ref, Judgement.FAIL, "  "), "eval_comment_missing")
    await refused(said(world, aki, ref, Judgement.FAIL, "x" * 501), "eval_comment_long")
    await refused(said(world, aki, f"{card(world).eval_id}/{'0' * 20}", Judgement.PASS), "eval_question_gone")
    await refused(said(world, aki, "no-such-run/0", Judgement.PASS), "eval_not_found")
    assert await count(world, "human_verdict") == 0


async def test_who_may_not_verify_and_the_author_where_four_eyes_are_asked_for_decide_nothing(
    world: World,
) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    guest = await world.person("U3", "Chris", is_guest=True)
    await told(world, aki)
    ref = ref_of(asked(world)[0])
    world.policies["W1"] = Policy(prompt_four_eyes=True, prompt_verifiers=("U1", "U9"))
    await refused(said(world, ben, ref, Judgement.PASS), "prompt_verify_not_allowed")
    await refused(said(world, aki, ref, Judgement.PASS), "prompt_own_version")
    await refused(said(world, guest, ref, Judgement.PASS), "prompt_not_allowed")
    await refused(show_question(world.services, ben, ref), "prompt_verify_not_allowed")
    assert (await count(world, "human_verdict"), len(asked(world)[0].buttons)) == (0, 3)


@pytest.mark.soak
async def test_so_many_questions_stand_at_a_time_and_the_next_follows_a_verdict(
    urls: tuple[str, str],
) -> None:
    async with open_world(*urls, eval_library=asking(MOST_ASKED + 2)) as world:
        world.model.plan = in_other_words
        aki = await world.person()
        await told(world, aki)
        assert (len(asked(world)), card(world).waiting) == (MOST_ASKED, MOST_ASKED + 2)
        await said(world, aki, ref_of(asked(world)[0]), Judgement.PASS)
        assert (len(asked(world)), card(world).waiting) == (MOST_ASKED + 1, MOST_ASKED + 1)
        assert asked(world)[-1].case_id == f"S{MOST_ASKED + 1:02}"


@pytest.mark.soak
async def test_a_verdict_in_the_console_is_seen_on_the_card_and_a_third_person_decides_between_two(
    world: World,
) -> None:
    people = [await world.person(f"U{number}", name) for number, name in enumerate(("Aki", "Ben", "Chris"))]
    run_id = await told(world, people[0])
    question = (await human_queue(world.services, people[0], run_id))[0]

    async def console(actor: Actor, judgement: Judgement) -> None:
        request = VerdictRequest(
            run_id=run_id,
            case_id=question.case_id,
            criterion=question.criterion,
            output_sha256=question.output_sha256,
            judgement=judgement,
            comment="no",
        )
        await give_verdict(world.services, actor, request, event_key=world.clock.new_id())
        await quiet(world)

    await console(people[0], Judgement.PASS)
    await console(people[1], Judgement.FAIL)
    disputed = next(view for view in asked(world) if view.case_id == question.case_id)
    assert (disputed.disputed, len(disputed.buttons)) == (True, 3)
    await said(world, people[2], ref_of(disputed), Judgement.PASS)
    settled = next(view for view in asked(world) if view.case_id == question.case_id)
    assert (settled.disputed, settled.buttons, len(settled.said)) == (False, (), 3)


async def test_questions_wait_through_a_restart_and_are_not_asked_again(urls: tuple[str, str]) -> None:
    poster = RecordingPoster()
    async with open_world(*urls, eval_library=asking(), poster=poster) as world:
        world.model.plan = in_other_words
        await told(world, await world.person())
        first, second = asked(world)
    async with open_world(*urls, eval_library=asking(), poster=poster) as world:
        aki = await world.person()
        await said(world, aki, ref_of(first), Judgement.PASS)
        assert [len(view.buttons) for view in asked(world)] == [0, 3]
        assert (ref_of(asked(world)[1]), len(poster.posts)) == (ref_of(second), 3)


@pytest.mark.soak
async def test_a_card_that_somebody_deleted_stands_in_the_way_of_no_verdict(world: World) -> None:
    aki = await world.person()
    await told(world, aki)
    key, view = next((k, v) for k, v in world.poster.posts.items() if isinstance(v, EvalQuestionView))
    world.poster.gone.add(key)
    await said(world, aki, ref_of(view), Judgement.PASS)
    assert (await count(world, "human_verdict"), card(world).waiting) == (1, 1)


@pytest.mark.soak
async def test_what_another_process_left_to_be_told_is_picked_up(world: World) -> None:
    aki = await world.person()
    await told(world, aki)
    ref = ref_of(asked(world)[0])
    await answer_question(unheard(world), aki, ref, Judgement.PASS, event_key="v")
    assert len(asked(world)[0].buttons) == 3
    world.clock.advance(timedelta(seconds=10))
    await pick_up_left_behind(world.services)
    await quiet(world)
    assert asked(world)[0].buttons == ()


@pytest.mark.parametrize("rolled_back", [False, True])
async def test_a_thread_that_the_platform_did_not_take_is_told_everything_once_it_is_opened_again(
    world: World, monkeypatch: pytest.MonkeyPatch, *, rolled_back: bool
) -> None:
    aki = await world.person()

    async def refuse(*args: object, **more: object) -> PostRef:
        raise PlatformFailure("not_in_channel", retryable=False)

    monkeypatch.setattr(world.poster, "open_thread", refuse)
    if rolled_back:
        await make_live(world, aki, await candidate(world, aki), SUMMARY)
        world.policies["W1"] = Policy(prompt_channel=CHANNEL)
        await withdraw(world, aki, name=SUMMARY)
    else:
        await begun(world, aki)
    (evaluation,) = await rows(world, "eval_run")
    await world.finished(evaluation["id"])
    await closed(world)
    assert world.poster.posts == {}
    monkeypatch.undo()
    (thread,) = await rows(world, "thread")
    await open_again(world.services, aki, thread["id"], event_key="again")
    await closed(world)
    assert (card(world).status, len(asked(world))) == ("done", card(world).waiting)
    first = next(iter(world.poster.posts.values()))
    assert isinstance(first, NoticeView if rolled_back else EvalCardView)
    assert {(place.channel, place.thread) for place in world.poster.places} == {(CHANNEL, "opened-0")}


async def closed(world: World) -> None:
    """Return when every run of a thread has ended, well or badly."""

    async def ended() -> bool:
        return all(run["status"] in ("done", "failed") for run in await rows(world, "run"))

    await eventually(ended)
