"""Evaluations on Slack through the genuine library: begun in a form, told of in a thread, judged by buttons there."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from core.commands.eval import show_eval
from core.domain.errors import FailureKind
from core.domain.eval_run import Side
from core.domain.policy import Policy
from core.engine import eval_telling
from tests.bot.slack.test_handover import written
from tests.bot.slack.test_prompt import after, asked_for, pressed
from tests.bot.slack.test_start import refused
from tests.bot.slack.world import MENTION, SlackWorld, actions_of, open_slack_world, texts_of
from tests.commands.evaluating import SUMMARY, answering, candidate, case, eval_set, library
from tests.commands.look import count, rows
from tests.commands.prompting import CHAT, make_live, withdraw
from tests.commands.test_eval_telling import OTHER, asking, in_other_words
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import TEAM
from tests.product import ScriptedModel, eventually

VERDICTS = ["do.eval_pass", "do.eval_fail", "do.eval_hold"]


@pytest.fixture
async def slack(server: SlackServer, tmp_path: Path) -> AsyncGenerator[SlackWorld]:
    model = ScriptedModel(plan=in_other_words)
    async with open_slack_world(tmp_path, server, model=model, eval_library=asking()) as world:
        yield world
    assert server.anomalies == []


async def chosen(slack: SlackWorld, *, repeats: str = "1", **more: str) -> dict[str, Any]:
    """The form that says what an evaluation would cost."""
    await candidate(slack.world, await slack.actor())
    view = await asked_for(slack, f"eval {SUMMARY}", "same conditions")
    assert view["callback_id"] == "form.eval_choose"
    estimate = after(await slack.server.submit(view["id"], {"repeats": repeats, **more}))
    assert estimate["callback_id"] == "form.eval_confirm"
    return slack.server.views[view["id"]]


async def begun(slack: SlackWorld) -> str:
    """An evaluation that was begun in its form; its id."""
    view = await chosen(slack)
    assert "has begun" in texts_of(after(await slack.server.submit(view["id"], {})))
    (run,) = await rows(slack.world, "eval_run")
    return str(run["id"])


async def told(slack: SlackWorld) -> str:
    """One that has ended, with its questions in the thread."""
    run_id = await begun(slack)
    await slack.world.finished(run_id)
    await eventually(lambda: len(questions(slack)) == 2)
    await quiet(slack)
    return run_id


async def quiet(slack: SlackWorld) -> None:
    async def ended() -> bool:
        return all(run["status"] == "done" for run in await rows(slack.world, "run"))

    await eventually(ended)


def posts(slack: SlackWorld, says: str) -> list[dict[str, Any]]:
    return [m for m in slack.server.posts("C1") if says in texts_of(m)]


def card(slack: SlackWorld) -> dict[str, Any]:
    (found,) = posts(slack, f"Evaluation of {SUMMARY}")
    return found


def questions(slack: SlackWorld) -> list[dict[str, Any]]:
    return posts(slack, "Is the point real?")


def private(slack: SlackWorld) -> str:
    return texts_of(slack.server.ephemerals[-1])


async def click(
    slack: SlackWorld, post: dict[str, Any], action: str, *, user: str = "UALICE", **more: Any
) -> None:
    """Press a button under a card, and wait until whoever pressed it was told something."""
    before = len(slack.server.ephemerals)
    await slack.server.click("C1", post["ts"], action, user=user, **more)
    await eventually(lambda: len(slack.server.ephemerals) > before)
    await quiet(slack)


async def test_an_evaluation_is_begun_once_its_cost_and_where_the_cases_go_were_seen(
    slack: SlackWorld,
) -> None:
    view = await chosen(slack)
    seen = texts_of(view)
    assert "2 cases" in seen
    assert "4 calls, at most 24" in seen
    assert "alpha (openai/alpha-2026-01-01): not known whether it trains" in seen
    assert (await count(slack.world, "eval_run"), slack.model.calls) == (0, [])
    answers = await asyncio.gather(*(slack.server.submit(view["id"], {}) for _ in range(2)))
    assert all("has begun" in texts_of(after(one)) for one in answers)
    (run,) = await rows(slack.world, "eval_run")
    await slack.world.finished(run["id"])
    await quiet(slack)
    assert len(slack.model.calls) == 4
    shown = texts_of(card(slack))
    assert "4 of 4 calls are done" in shown
    assert "different output 2" in shown
    assert f"/evals/{run['id']}" in shown
    assert "cannot be made live by this evaluation yet" in shown
    assert actions_of(card(slack)) == ["do.eval_report"]


@pytest.mark.soak
async def test_what_cannot_be_compared_is_said_in_the_form_and_nothing_is_begun(slack: SlackWorld) -> None:
    await candidate(slack.world, await slack.actor())
    view = await asked_for(slack, f"eval {SUMMARY}", "same conditions")
    assert block_value(view, "channel") == "C1"
    for typed in ("0", "11", "three", "1.5"):
        assert "1 to 10" in refused(await slack.server.submit(view["id"], {"repeats": typed}))
    for wrong, says in (
        ({"other_model": "beta"}, "cannot both change"),
        ({"channel": "CPRIVATE-UNKNOWN"}, "nvite"),
    ):
        assert says in refused(await slack.server.submit(view["id"], {"repeats": "1", **wrong}))
    slack.world.policies[TEAM] = Policy(prompt_editors=("UBEN",), prompt_verifiers=(), prompt_promoters=())
    assert "not among the people" in refused(await slack.server.submit(view["id"], {"repeats": "1"}))
    assert (await count(slack.world, "eval_run"), slack.model.calls) == (0, [])


def block_value(view: dict[str, Any], name: str) -> str:
    (found,) = [one for one in view["blocks"] if one.get("block_id") == name]
    return str(found["element"].get("initial_conversation"))


@pytest.mark.soak
async def test_cases_from_real_threads_leave_only_with_a_tick(server: SlackServer, tmp_path: Path) -> None:
    logged = "{type: masked_log, masked_by: UALICE, masked_at: 2026-11-01}"
    sets = library(eval_set(2, changes={1: case(1, origin=logged)}))
    async with open_slack_world(tmp_path, server, eval_library=sets) as slack:
        view = await chosen(slack)
        assert "Cases from real threads: 1." in texts_of(view)
        assert "may be trained on" in refused(await slack.server.submit(view["id"], {"acknowledged": ""}))
        assert (await count(slack.world, "eval_run"), slack.model.calls) == (0, [])
        assert "has begun" in texts_of(
            after(await slack.server.submit(view["id"], {"acknowledged": "acknowledged"}))
        )
        (run,) = await rows(slack.world, "eval_run")
        await slack.world.finished(run["id"])
        await quiet(slack)


async def test_the_card_shows_how_far_it_is_and_its_button_stops_it(
    slack: SlackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eval_telling, "PROGRESS_EVERY_S", 0.0)
    slack.model.hold, slack.model.held = asyncio.Event(), "S02"
    run_id = await begun(slack)
    await slack.model.begun.wait()
    await eventually(lambda: posts(slack, "calls are done"))
    assert "waiting" in texts_of(card(slack)) or "running" in texts_of(card(slack))
    await click(slack, card(slack), "do.eval_stop")
    assert "is stopping" in private(slack)
    await slack.world.finished(run_id)
    await quiet(slack)
    shown = texts_of(card(slack))
    assert "stopped; 2 of 4 calls are done" in shown
    assert actions_of(card(slack)) == ["do.eval_report"]
    (run,) = await rows(slack.world, "eval_run")
    assert run["status"] == "stopped"


@pytest.mark.soak
async def test_who_may_not_stop_is_told_so(slack: SlackWorld) -> None:
    slack.model.hold, slack.model.held = asyncio.Event(), "S02"
    run_id = await begun(slack)
    await slack.model.begun.wait()
    await eventually(lambda: posts(slack, "calls are done"))
    slack.world.policies[TEAM] = Policy(prompt_editors=(), prompt_verifiers=(), prompt_promoters=())
    await slack.server.click("C1", card(slack)["ts"], "do.eval_stop", user="UBEN")
    await eventually(lambda: slack.server.ephemerals)
    assert "編集者・確認者・反映担当者だけ" in private(slack)
    assert (await rows(slack.world, "eval_run"))[0]["status"] == "running"
    slack.model.hold.set()
    await slack.world.finished(run_id)
    await quiet(slack)


@pytest.mark.soak
async def test_a_failing_model_is_seen_on_the_card_as_errors(slack: SlackWorld) -> None:
    slack.model.plan = answering({(Side.CANDIDATE, "S01"): FailureKind.PROVIDER_DOWN}, usual=OTHER)
    await slack.world.finished(await begun(slack))
    await quiet(slack)
    assert "error 1" in texts_of(card(slack))
    assert "could not be run to the end: S01" in texts_of(card(slack))
    assert questions(slack) == []


@pytest.mark.soak
async def test_an_output_is_judged_by_a_button_once_and_what_was_said_stands_on_its_card(
    slack: SlackWorld,
) -> None:
    await told(slack)
    first, second = questions(slack)
    assert OTHER in texts_of(first)
    assert "lease or buy" in texts_of(first)
    assert actions_of(first) == VERDICTS
    buttons = first["blocks"]
    await click(slack, first, "do.eval_pass", user="UBEN", times=2)
    assert "判定を記録しました: 合格" in private(slack)
    assert actions_of(questions(slack)[0]) == []
    assert "Passes" in texts_of(questions(slack)[0])
    # Somebody whose screen still shows the buttons.
    slack.server.channels["C1"].messages[first["ts"]]["blocks"] = buttons
    await click(slack, first, "do.eval_pass")
    assert "decided already: Passes" in private(slack)
    assert await count(slack.world, "human_verdict") == 1
    await click(slack, second, "do.eval_hold")
    assert "Not sure" in texts_of(questions(slack)[1])
    assert actions_of(questions(slack)[1]) == VERDICTS
    assert slack.server.ephemerals[-1]["user"] == "UALICE"


async def test_a_fail_asks_what_is_wrong(slack: SlackWorld) -> None:
    run_id = await told(slack)
    post = questions(slack)[0]
    await slack.server.click("C1", post["ts"], "do.eval_fail")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.eval_fail")
    view = slack.server.newest_view
    assert "Is the point real?" in texts_of(view)
    assert "what is wrong" in refused(await slack.server.submit(view["id"], {"comment": "  "}))
    assert await count(slack.world, "human_verdict") == 0
    done = after(await slack.server.submit(view["id"], {"comment": "It <invents> a reason."}))
    assert "Your verdict is kept: Fails" in texts_of(done)
    await quiet(slack)
    assert "It &lt;invents&gt; a reason." in texts_of(questions(slack)[0])
    page = await show_eval(slack.services, await slack.actor(), run_id)
    assert [one.case_id for one in page.review.failed] == ["S01"]
    assert "judged as failed by a person: S01" in texts_of(card(slack))


async def test_who_may_not_verify_gets_a_private_notice_and_no_form(slack: SlackWorld) -> None:
    await told(slack)
    slack.world.policies[TEAM] = Policy(prompt_verifiers=("UALICE",))
    post = questions(slack)[0]
    await click(slack, post, "do.eval_pass", user="UBEN")
    assert slack.server.ephemerals[-1]["user"] == "UBEN"
    assert "確認できる人に含まれていません" in private(slack)
    await slack.server.click("C1", post["ts"], "do.eval_fail", user="UBEN")
    await eventually(lambda: "確認できる人に含まれていません" in texts_of(slack.server.newest_view))
    assert await count(slack.world, "human_verdict") == 0


@pytest.mark.soak
async def test_questions_are_answered_after_a_restart(server: SlackServer, tmp_path: Path) -> None:
    model = ScriptedModel(plan=in_other_words)
    async with open_slack_world(tmp_path, server, model=model, eval_library=asking()) as slack:
        await told(slack)
    async with open_slack_world(tmp_path, server, eval_library=asking()) as slack:
        await click(slack, questions(slack)[0], "do.eval_pass")
        assert [actions_of(one) for one in questions(slack)] == [[], VERDICTS]
        assert "For a person" in texts_of(card(slack))
    assert server.anomalies == []


@pytest.mark.soak
async def test_the_report_is_sent_as_a_file_to_whoever_asks(slack: SlackWorld) -> None:
    await told(slack)
    await click(slack, card(slack), "do.eval_report")
    assert "in your conversation with the bot" in private(slack)
    (file,) = [one for one in slack.server.files.values() if one["name"].endswith(".html")]
    assert file["name"].startswith(SUMMARY)


@pytest.mark.soak
async def test_after_a_rollback_the_channel_set_for_it_is_told_what_its_evaluation_found(
    slack: SlackWorld,
) -> None:
    alice = await slack.actor()
    await make_live(slack.world, alice, await candidate(slack.world, alice), SUMMARY)
    slack.world.policies[TEAM] = Policy(prompt_channel="C1")
    await withdraw(slack.world, alice, name=SUMMARY)
    (run,) = await rows(slack.world, "eval_run")
    await slack.world.finished(run["id"])
    await quiet(slack)
    (rollback,) = posts(slack, "answers became too dry")
    assert card(slack)["thread_ts"] == rollback["ts"]
    assert "12 of 12 calls are done" in texts_of(card(slack))


@pytest.mark.soak
async def test_evaluations_are_listed_looked_at_and_asked_for_from_a_prompt_s_page_and_in_words(
    slack: SlackWorld,
) -> None:
    assert "No evaluation yet" in texts_of(await asked_for(slack, "eval", "Evaluations"))
    await told(slack)
    await asked_for(slack, "eval", SUMMARY)
    await pressed(slack, "eval.report", "in your conversation with the bot")
    await asked_for(slack, SUMMARY, "system.md")
    await pressed(slack, "eval.list", f"Evaluations of {SUMMARY}")
    view = await pressed(slack, "eval.choose", "same conditions")
    assert block_value(view, "channel") == "None"
    before = len(slack.server.ephemerals)
    await slack.server.say(f"{MENTION} prompts eval {SUMMARY}")
    await eventually(lambda: len(slack.server.ephemerals) > before)
    await slack.server.click_private("eval.choose")
    await eventually(lambda: "same conditions" in texts_of(slack.server.newest_view))
    assert block_value(slack.server.newest_view, "channel") == "C1"
    await asked_for(slack, f"eval {CHAT}", "same conditions")


@pytest.mark.soak
async def test_a_card_that_slack_refuses_is_told_to_whoever_began_and_posted_when_they_press(
    slack: SlackWorld,
) -> None:
    view = await chosen(slack)
    slack.server.fault("chat.postMessage", "error", code="not_in_channel")
    assert "has begun" in texts_of(after(await slack.server.submit(view["id"], {})))
    (run,) = await rows(slack.world, "eval_run")
    await slack.world.finished(run["id"])
    await eventually(lambda: written(slack))
    (told_of,) = written(slack)
    assert posts(slack, "calls are done") == []
    await slack.server.click(told_of["channel"], told_of["ts"], "do.open_again", times=2)
    await eventually(lambda: len(questions(slack)) == 2)
    assert "4 of 4 calls are done" in texts_of(card(slack))
