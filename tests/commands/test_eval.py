"""Evaluations from start to promotion: what is sent, stored and told, and what they allow."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.commands.eval import (
    estimate_eval,
    list_evals,
    show_eval,
    start_eval,
    stop_eval,
)
from core.commands.eval_question import give_verdict, human_queue
from core.commands.model import show_usage
from core.commands.prompt import prompt_history
from core.commands.upkeep import pick_up_evals
from core.domain.errors import FailureKind
from core.domain.eval_gate import Judgement
from core.domain.eval_run import EvalQuestion, EvalRequest, EvalStatus, Side, VerdictRequest
from core.domain.evaluation import CONFIRM_REPEATS, Outcome
from core.domain.policy import Actor, Policy
from core.domain.prompt import PromptEventKind
from core.store.evaluation import do_mark_eval
from tests.commands.evaluating import (
    CASES,
    KEPT,
    LOST,
    SUMMARY,
    answering,
    candidate,
    case,
    case_of,
    eval_set,
    evaluated,
    found,
    library,
    side_of,
    text_of,
    unheard,
)
from tests.commands.look import count, refused, rows, speaks
from tests.commands.prompting import make_live, page, withdraw
from tests.product import ScriptedModel, World, eventually, open_world


@pytest.fixture
def urls(tmp_path: Path) -> tuple[str, str]:
    return f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}"


@pytest.fixture
async def world(urls: tuple[str, str]) -> AsyncGenerator[World]:
    async with open_world(*urls, eval_library=library(eval_set())) as opened:
        opened.model.plan = answering({})
        yield opened


async def pair(world: World) -> tuple[Actor, Actor]:
    return await world.person("U1", "Aki"), await world.person("U2", "Ben")


# --- what is found --------------------------------------------------------------------------------------------------


async def test_a_candidate_that_changes_nothing_is_unchanged_and_may_go_live(world: World) -> None:
    aki, _ = await pair(world)
    version_id = await candidate(world, aki)
    seen = await evaluated(world, aki, version_id, repeats=2)
    assert (seen.item.status, seen.item.done, seen.item.expected) == (EvalStatus.DONE, 80, 80)
    assert {k: v for k, v in seen.item.counts.items() if v} == {Outcome.UNCHANGED: CASES}
    assert (seen.closed, seen.review.open) == ((), ())
    assert seen.reported == {Side.BASELINE: ("reported-1",), Side.CANDIDATE: ("reported-1",)}
    await make_live(world, aki, version_id, SUMMARY, override=False)
    (record,) = [
        event
        for event in await prompt_history(world.services, aki, SUMMARY)
        if event.kind is PromptEventKind.PROMOTE
    ]
    assert record.eval_run_id == seen.item.run_id


async def test_both_sides_are_called_by_turns_and_what_was_sent_is_kept(world: World) -> None:
    aki, _ = await pair(world)
    seen = await evaluated(world, aki, await candidate(world, aki), repeats=2)
    calls = world.model.calls
    assert len(calls) == 80
    # Four calls leave together: a case's two repeats on both sides.
    for wave in range(0, len(calls), 4):
        four = calls[wave : wave + 4]
        assert {case_of(call) for call in four} == {f"S{wave // 4 + 1:02}"}
        assert sorted(side_of(call) for call in four) == ["baseline", "baseline", "candidate", "candidate"]
    by_id = {call.request_id: call for call in calls}
    stored = await rows(world, "eval_result")
    assert len(stored) == 80
    for row in stored:
        call = by_id[f"{seen.item.run_id}/{row['side']}/{row['case_id']}/{row['repeat']}"]
        assert [part["text"] for part in row["request"]] == [part.text for part in call.ai_input.parts]
        assert row["input_sha256"] == call.ai_input.sha256
        assert (row["model_id"], row["reported_model_id"]) == ("openai/alpha-2026-01-01", "reported-1")


async def test_a_planted_regression_is_confirmed_found_and_keeps_the_version_from_going_live(
    world: World,
) -> None:
    aki, _ = await pair(world)
    world.model.plan = answering({(Side.CANDIDATE, "S03"): LOST})
    version_id = await candidate(world, aki)
    seen = await evaluated(world, aki, version_id)
    broken = found(seen, "S03")
    assert broken.outcome is Outcome.BROKEN
    assert (str(broken.baseline), str(broken.candidate)) == ("6/6", "0/6")
    assert seen.item.counts[Outcome.UNCHANGED] == CASES - 1
    assert len(world.model.calls) == 2 * (CASES + CONFIRM_REPEATS)
    refusal = await refused(make_live(world, aki, version_id, SUMMARY, override=False), "prompt_gate_shut")
    assert "S03" in str(refusal.fields["reasons"])
    assert (await page(world, aki, SUMMARY)).live_id != version_id
    await make_live(world, aki, version_id, SUMMARY)
    kinds = {e.kind: e.eval_run_id for e in await prompt_history(world.services, aki, SUMMARY)}
    assert kinds[PromptEventKind.EVAL_OVERRIDE] == seen.item.run_id


async def test_a_planted_improvement_is_shown_as_fixed(world: World) -> None:
    aki, _ = await pair(world)
    world.model.plan = answering({(Side.BASELINE, "S04"): LOST})
    seen = await evaluated(world, aki, await candidate(world, aki))
    assert found(seen, "S04").outcome is Outcome.FIXED
    assert len(world.model.calls) == 2 * CASES


async def test_a_case_that_fails_at_times_is_flaky_and_not_broken(world: World) -> None:
    aki, _ = await pair(world)
    world.model.plan = answering({(Side.CANDIDATE, "S05"): lambda n: KEPT if n % 2 else LOST})
    seen = await evaluated(world, aki, await candidate(world, aki), repeats=2)
    flaky = found(seen, "S05")
    assert flaky.outcome is Outcome.FLAKY
    assert (str(flaky.baseline), str(flaky.candidate)) == ("7/7", "4/7")


async def test_a_call_that_failed_is_an_error_and_no_failure(world: World) -> None:
    aki, _ = await pair(world)
    world.model.plan = answering({(Side.BASELINE, "S06"): FailureKind.PROVIDER_DOWN})
    seen = await evaluated(world, aki, await candidate(world, aki))
    case_with_error = found(seen, "S06")
    assert case_with_error.outcome is Outcome.ERROR
    assert case_with_error.runs.baseline[0].checks == ()
    assert "alpha" in speaks(case_with_error.runs.baseline[0].failure)
    assert [reason.key for reason in seen.closed] == ["eval_gate.errors"]


async def test_two_models_are_compared_under_one_version(world: World) -> None:
    aki, _ = await pair(world)
    seen = await evaluated(
        world, aki, (await page(world, aki, SUMMARY)).live_id, model="alpha", candidate_model="beta"
    )
    assert seen.item.compares_models
    assert {call.model for call in world.model.calls} == {"alpha", "beta"}
    assert {text_of(call) for call in world.model.calls if call.model == "alpha"} == {
        text_of(call) for call in world.model.calls if call.model == "beta"
    }
    assert seen.closed == ()


async def test_the_answers_of_people_data_are_stored_without_them(world: World) -> None:
    aki, _ = await pair(world)
    mail = "mika" + "@example.org"
    world.model.plan = answering({(Side.CANDIDATE, "S07"): f"kept by {mail}"})
    await evaluated(world, aki, await candidate(world, aki))
    outputs = [row["output"] for row in await rows(world, "eval_result")]
    assert not any(mail in output for output in outputs)
    assert sum("[MAIL_" in output for output in outputs) == 1


# --- a gate -----------------------------------------------------------------------------------------------------------


async def test_an_evaluation_counts_for_exactly_these_texts_and_a_week(world: World) -> None:
    aki, _ = await pair(world)
    version_id = await candidate(world, aki)
    await refused(make_live(world, aki, version_id, SUMMARY, override=False), "prompt_needs_eval")
    await evaluated(world, aki, version_id)
    world.clock.advance(timedelta(days=8))
    refusal = await refused(make_live(world, aki, version_id, SUMMARY, override=False), "prompt_gate_shut")
    assert "7" in str(refusal.fields["reasons"])
    await evaluated(world, aki, version_id)
    await make_live(world, aki, version_id, SUMMARY, override=False)


async def test_a_changed_eval_set_closes_the_gate(urls: tuple[str, str]) -> None:
    async with open_world(*urls, eval_library=library(eval_set())) as world:
        world.model.plan = answering({})
        aki, _ = await pair(world)
        version_id = await candidate(world, aki)
        run_id = (await evaluated(world, aki, version_id)).item.run_id
    async with open_world(*urls, eval_library=library(eval_set(version=2))) as world:
        aki = await world.person()
        seen = await show_eval(world.services, aki, run_id)
        assert [reason.key for reason in seen.closed] == ["eval_gate.conditions"]
        await refused(make_live(world, aki, version_id, SUMMARY, override=False), "prompt_gate_shut")


async def test_a_set_that_is_too_small_and_a_hard_case_that_fails_on_both_sides_close_it(
    urls: tuple[str, str],
) -> None:
    few = eval_set(3, changes={2: case(2, tags="hard")})
    async with open_world(*urls, eval_library=library(few)) as world:
        aki, _ = await pair(world)
        world.model.plan = answering({(side, "S02"): LOST for side in Side})
        seen = await evaluated(world, aki, await candidate(world, aki))
        assert [reason.key for reason in seen.closed] == ["eval_gate.too_few_cases", "eval_gate.hard"]


async def test_after_a_rollback_an_evaluation_begins_by_itself(world: World) -> None:
    aki, _ = await pair(world)
    version_id = await candidate(world, aki)
    await make_live(world, aki, version_id, SUMMARY)
    assert await list_evals(world.services, aki, SUMMARY) == ()
    await withdraw(world, aki, name=SUMMARY, key="once")
    (begun,) = await list_evals(world.services, aki, SUMMARY)
    shipped = await page(world, aki, SUMMARY)
    assert shipped.shown
    assert begun.candidate.sha256 == shipped.shown.sha256
    assert begun.baseline.sha256 != shipped.shown.sha256
    await world.finished(begun.run_id)
    assert side_of(world.model.calls[0]) is not side_of(world.model.calls[1])


# --- people -----------------------------------------------------------------------------------------------------------


async def say(
    world: World, actor: Actor, question: EvalQuestion, judgement: Judgement, comment: str = ""
) -> None:
    request = VerdictRequest(
        run_id=question.run_id,
        case_id=question.case_id,
        criterion=question.criterion,
        output_sha256=question.output_sha256,
        judgement=judgement,
        comment=comment,
    )
    await give_verdict(world.services, actor, request, event_key=world.clock.new_id())


async def test_an_output_is_asked_about_once_whatever_run_it_comes_in(world: World) -> None:
    aki, ben = await pair(world)
    world.policies["W1"] = Policy(prompt_four_eyes=True)
    world.model.plan = answering({(Side.BASELINE, "S04"): LOST})
    version_id = await candidate(world, aki)
    first = await evaluated(world, aki, version_id)
    assert [reason.key for reason in first.closed] == ["eval_gate.open_questions", "eval_gate.own_change"]
    (question,) = await human_queue(world.services, ben, first.item.run_id)
    assert (question.case_id, question.baseline.output, question.candidate.output) == ("S04", LOST, KEPT)
    assert "Question S04" in question.shown_input
    await say(world, ben, question, Judgement.PASS)
    assert await human_queue(world.services, ben) == ()
    second = await evaluated(world, ben, version_id)
    assert await human_queue(world.services, ben, second.item.run_id) == ()
    assert second.closed == ()


async def test_who_wrote_it_does_not_judge_it_where_four_eyes_are_asked_for(world: World) -> None:
    aki, ben = await pair(world)
    world.model.plan = answering({(Side.BASELINE, "S04"): LOST})
    seen = await evaluated(world, aki, await candidate(world, aki))
    (question,) = await human_queue(world.services, aki, seen.item.run_id)
    world.policies["W1"] = Policy(prompt_four_eyes=True)
    await refused(say(world, aki, question, Judgement.PASS), "prompt_own_version")
    assert await count(world, "human_verdict") == 0
    assert not (await show_eval(world.services, aki, seen.item.run_id)).can_judge
    assert (await show_eval(world.services, ben, seen.item.run_id)).can_judge
    world.policies["W1"] = Policy()
    await say(world, aki, question, Judgement.PASS)
    assert await human_queue(world.services, aki) == ()


async def test_two_people_who_disagree_leave_it_to_a_third(world: World) -> None:
    aki, ben = await pair(world)
    cho, dan = await world.person("U3", "Cho"), await world.person("U4", "Dan")
    world.model.plan = answering({(Side.BASELINE, "S04"): LOST})
    seen = await evaluated(world, aki, await candidate(world, aki))
    (question,) = await human_queue(world.services, ben)
    for nothing in ("", "\x00 \u200b"):
        await refused(say(world, ben, question, Judgement.FAIL, nothing), "eval_comment_missing")
    await refused(say(world, ben, question, Judgement.FAIL, "x" * 501), "eval_comment_long")
    await say(world, ben, question, Judgement.FAIL, "not what was asked")
    assert await human_queue(world.services, cho) == ()
    failed = (await show_eval(world.services, aki, seen.item.run_id)).closed
    assert [reason.key for reason in failed] == ["eval_gate.failed_by_person"]
    await say(world, cho, question, Judgement.PASS)
    (disputed,) = await human_queue(world.services, dan)
    assert disputed.disputed
    await say(world, dan, disputed, Judgement.PASS)
    assert (await show_eval(world.services, aki, seen.item.run_id)).closed == ()
    stored = await rows(world, "human_verdict")
    assert sorted((row["verdict"], row["comment"]) for row in stored) == [
        ("fail", "not what was asked"),
        ("pass", ""),
        ("pass", ""),
    ]


async def test_only_what_is_asked_can_be_answered(world: World) -> None:
    aki, ben = await pair(world)
    world.model.plan = answering({(Side.BASELINE, "S04"): LOST})
    await evaluated(world, aki, await candidate(world, aki))
    (question,) = await human_queue(world.services, ben)
    await refused(say(world, ben, replace(question, case_id="S05"), Judgement.PASS), "eval_question_unknown")
    await refused(say(world, ben, replace(question, run_id="no"), Judgement.PASS), "eval_not_found")
    assert await count(world, "human_verdict") == 0


async def test_a_condition_for_a_person_is_asked_of_changed_outputs_only(urls: tuple[str, str]) -> None:
    human = {n: case(n, human="The points are real") for n in (1, 2)}
    async with open_world(*urls, eval_library=library(eval_set(changes=human))) as world:
        aki, ben = await pair(world)
        world.model.plan = answering({(Side.CANDIDATE, "S02"): "It is kept, too."})
        seen = await evaluated(world, aki, await candidate(world, aki))
        assert found(seen, "S02").outcome is Outcome.DIFFERENT
        (question,) = await human_queue(world.services, ben)
        assert (question.case_id, question.criterion) == ("S02", "The points are real")


# --- crash and stop ---------------------------------------------------------------------------------------------------


async def cut(world: World, actor: Actor, hold: asyncio.Event, held: str) -> str:
    """An evaluation under way that stands still at a case; its id."""
    world.model.hold, world.model.held = hold, held
    world.model.plan = answering({})
    request = EvalRequest(
        prompt=SUMMARY, candidate_id=await candidate(world, actor), model="alpha", repeats=1
    )
    run_id = await start_eval(world.services, actor, request, event_key="start")
    await world.model.begun.wait()
    return run_id


async def stored(world: World, results: int) -> None:
    """Return when so many results are stored: the calls that left beside the one that stands still have ended."""

    async def so_many() -> bool:
        return await count(world, "eval_result") == results

    await eventually(so_many)


async def test_an_evaluation_cut_off_goes_on_and_pays_for_no_result_twice(urls: tuple[str, str]) -> None:
    sets = library(eval_set())
    async with open_world(*urls, patient=False, eval_library=sets) as world:
        aki = await world.person()
        run_id = await cut(world, aki, asyncio.Event(), "S09")
        await stored(world, 18)
        paid = {f"{row['side']}/{row['case_id']}" for row in await rows(world, "eval_result")}
    again = ScriptedModel(plan=answering({}))
    async with open_world(*urls, model=again, eval_library=sets) as world:
        aki = await world.person()
        await world.finished(run_id)
        called = ["/".join(call.request_id.split("/")[1:3]) for call in again.calls]
        assert paid.isdisjoint(called)
        assert len(called) == len(set(called)) == 2 * CASES - 18
        seen = await show_eval(world.services, aki, run_id)
        assert (seen.item.status, seen.item.done) == (EvalStatus.DONE, 2 * CASES)
        assert {k: v for k, v in seen.item.counts.items() if v} == {Outcome.UNCHANGED: CASES}


async def test_one_whose_confirming_was_cut_off_confirms_to_the_end(urls: tuple[str, str]) -> None:
    sets = library(eval_set())
    plan = answering({(Side.CANDIDATE, "S03"): LOST})
    model = ScriptedModel(plan=plan, hold=asyncio.Event(), held="S03/4")
    async with open_world(*urls, model=model, patient=False, eval_library=sets) as world:
        aki = await world.person()
        request = EvalRequest(
            prompt=SUMMARY, candidate_id=await candidate(world, aki), model="alpha", repeats=1
        )
        run_id = await start_eval(world.services, aki, request, event_key="start")
        await model.begun.wait()
    again = ScriptedModel(plan=plan)
    async with open_world(*urls, model=again, eval_library=sets) as world:
        aki = await world.person()
        await world.finished(run_id)
        assert {call.request_id.split("/")[2] for call in again.calls} == {"S03"}
        assert str(found(await show_eval(world.services, aki, run_id), "S03").candidate) == "0/6"
        assert await count(world, "eval_result") == 2 * (CASES + CONFIRM_REPEATS)


async def test_it_does_not_go_on_under_other_conditions(urls: tuple[str, str]) -> None:
    async with open_world(*urls, patient=False, eval_library=library(eval_set())) as world:
        run_id = await cut(world, await world.person(), asyncio.Event(), "S09")
    again = ScriptedModel()
    async with open_world(*urls, model=again, eval_library=library(eval_set(version=2))) as world:
        aki = await world.person()
        await world.finished(run_id)
        seen = await show_eval(world.services, aki, run_id)
        assert again.calls == []
        assert seen.item.status is EvalStatus.FAILED
        assert "changed" in speaks(seen.item.failure)
        assert "eval_gate.unfinished" in [reason.key for reason in seen.closed]


async def test_a_stopped_evaluation_keeps_what_it_has_and_opens_no_gate(world: World) -> None:
    aki, _ = await pair(world)
    run_id = await cut(world, aki, asyncio.Event(), "S03")
    await stored(world, 6)
    await stop_eval(world.services, aki, run_id)
    await world.finished(run_id)
    seen = await show_eval(world.services, aki, run_id)
    assert (seen.item.status, seen.item.done) == (EvalStatus.STOPPED, 6)
    assert [reason.key for reason in seen.closed] == ["eval_gate.unfinished"]


async def test_one_that_the_engine_never_heard_of_is_picked_up(world: World) -> None:
    aki, _ = await pair(world)
    request = EvalRequest(prompt=SUMMARY, candidate_id=await candidate(world, aki), model="alpha", repeats=1)
    run_id = await start_eval(unheard(world), aki, request, event_key="start")
    world.clock.advance(timedelta(minutes=1))
    await pick_up_evals(world.services)
    await world.finished(run_id)
    assert (await show_eval(world.services, aki, run_id)).item.status is EvalStatus.DONE


async def test_one_that_ended_stays_as_it_ended(world: World) -> None:
    aki, _ = await pair(world)
    seen = await evaluated(world, aki, await candidate(world, aki))
    async with world.store.writing() as session:
        moved = await do_mark_eval(
            session, aki.workspace_id, seen.item.run_id, EvalStatus.FAILED, now=world.clock.now()
        )
    assert not moved
    assert (await show_eval(world.services, aki, seen.item.run_id)).item.status is EvalStatus.DONE


# --- before it starts -------------------------------------------------------------------------------------------------


async def test_the_estimate_says_what_it_costs_and_where_cases_go(world: World) -> None:
    aki, _ = await pair(world)
    version_id = await candidate(world, aki)
    request = EvalRequest(prompt=SUMMARY, candidate_id=version_id, model="small", repeats=3)
    told = await estimate_eval(world.services, aki, request)
    assert (told.eval_set, told.cases, told.calls, told.most_calls) == ("compare-v1", 20, 120, 320)
    assert told.cost_usd is not None
    assert told.cost_usd > 50
    (model,) = told.models
    assert (model.alias, model.pinned, model.trains_on_data) == ("small", True, "unknown")
    assert not told.needs_acknowledgement
    assert await count(world, "eval_run") == 0
    assert world.model.calls == []


async def test_cases_from_real_threads_leave_masked_and_only_once_the_training_is_accepted(
    urls: tuple[str, str],
) -> None:
    log = "{type: masked_log, masked_by: U1, masked_at: 2026-11-30}"
    sets = library(eval_set(changes={1: case(1, origin=log)}))
    async with open_world(*urls, eval_library=sets) as world:
        world.model.plan = answering({})
        aki = await world.person("U1", "Aki")
        await world.person("U2", "Mika")
        version_id = await candidate(world, aki)
        request = EvalRequest(prompt=SUMMARY, candidate_id=version_id, model="alpha", repeats=1)
        told = await estimate_eval(world.services, aki, request)
        assert told.needs_acknowledgement
        assert (told.from_logs, told.masked) == (1, {"personal.name": 1})
        await refused(start_eval(world.services, aki, request, event_key="1"), "eval_training")
        assert await count(world, "eval_run") == 0
        await evaluated(world, aki, version_id, acknowledged=True)
        sent = {case_of(call): text_of(call) for call in world.model.calls}
        assert "Mika" not in sent["S01"]
        assert "[NAME_" in sent["S01"]
        # Nobody real is in a made-up case.
        assert "Mika" in sent["S02"]


async def test_started_twice_by_one_click_it_is_one_evaluation(world: World) -> None:
    aki, _ = await pair(world)
    request = EvalRequest(prompt=SUMMARY, candidate_id=await candidate(world, aki), model="alpha", repeats=1)
    ids = {await start_eval(world.services, aki, request, event_key="click") for _ in range(2)}
    assert len(ids) == await count(world, "eval_run") == 1
    await world.finished(ids.pop())


UNUSABLE: list[tuple[dict[str, object], str]] = [
    ({"repeats": 0}, "eval_repeats"),
    ({"repeats": 11}, "eval_repeats"),
    ({"model": "nobody"}, "unknown_model"),
    ({"candidate_model": "beta"}, "eval_two_changes"),
    ({"candidate_id": "no"}, "prompt_version_unknown"),
    ({"prompt": "no.such"}, "prompt_not_found"),
    ({"prompt": "chat.answer", "candidate_id": ""}, "eval_no_set"),
    ({"prompt": "review.verdict", "candidate_id": ""}, "eval_set_unknown"),
]


async def test_what_cannot_be_evaluated_is_refused_and_nothing_is_stored(world: World) -> None:
    aki, _ = await pair(world)
    request = EvalRequest(prompt=SUMMARY, candidate_id=await candidate(world, aki), model="alpha")
    for changes, code in UNUSABLE:
        wanted = replace(request, **changes)  # type: ignore[arg-type]
        await refused(start_eval(world.services, aki, wanted, event_key="1"), code)
        await refused(estimate_eval(world.services, aki, wanted), code)
    assert await count(world, "eval_run") == 0


async def test_rights_are_those_of_the_workspace(world: World) -> None:
    aki, ben = await pair(world)
    guest = await world.person("U9", "Guest", is_guest=True)
    request = EvalRequest(prompt=SUMMARY, candidate_id=await candidate(world, aki), model="alpha", repeats=1)
    seen = await evaluated(world, aki, request.candidate_id)
    for act in (
        start_eval(world.services, guest, request, event_key="1"),
        estimate_eval(world.services, guest, request),
        list_evals(world.services, guest),
        show_eval(world.services, guest, seen.item.run_id),
        stop_eval(world.services, guest, seen.item.run_id),
        human_queue(world.services, guest),
    ):
        await refused(act, "prompt_not_allowed")
    world.policies["W1"] = Policy(prompt_editors=(), prompt_verifiers=(), prompt_promoters=("U1",))
    await refused(start_eval(world.services, ben, request, event_key="2"), "prompt_eval_not_allowed")
    await refused(stop_eval(world.services, ben, seen.item.run_id), "prompt_eval_not_allowed")
    assert len(await list_evals(world.services, ben)) == 1
    await refused(show_eval(world.services, aki, "no"), "eval_not_found")
    assert await count(world, "eval_run") == 1


async def test_a_budget_holds_for_evaluations_and_their_cost_is_counted(world: World) -> None:
    aki, _ = await pair(world)
    version_id = await candidate(world, aki)
    world.policies["W1"] = Policy(budget_workspace_usd_month=10.5)
    seen = await evaluated(world, aki, version_id)
    assert seen.item.cost_usd == 2 * CASES * 0.25
    request = EvalRequest(prompt=SUMMARY, candidate_id=version_id, model="small", repeats=1)
    await refused(start_eval(world.services, aki, request, event_key="2"), "budget_workspace")
    assert [row["held_usd"] for row in await rows(world, "eval_run")] == [0.0]
    (line,) = await show_usage(world.services, aki, by="model")
    assert (line.label, line.calls, line.cost_usd) == ("alpha", 2 * CASES, 10.0)
    # Money that runs out under way ends it, and what was paid for is kept.
    world.policies["W1"] = Policy(budget_workspace_usd_month=10.5)
    ended = await evaluated(world, aki, version_id)
    assert (ended.item.status, ended.item.done) == (EvalStatus.FAILED, 4)
    assert "10.5" in speaks(ended.item.failure)
