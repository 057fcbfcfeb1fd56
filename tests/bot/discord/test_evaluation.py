"""Evaluations on Discord through the genuine library: begun in a form, told of in a thread, judged by buttons there."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from core.commands.eval import show_eval
from core.domain.policy import Policy
from core.engine import eval_telling
from tests.bot.discord.test_carrying import form_of
from tests.bot.discord.test_prompt import asked_for, files_of, shown
from tests.bot.discord.world import MENTION, DiscordWorld, labels, open_discord_world
from tests.commands.evaluating import SUMMARY, candidate, case, eval_set, library
from tests.commands.look import count, rows
from tests.commands.prompting import make_live, withdraw
from tests.commands.test_eval_telling import OTHER, asking, in_other_words
from tests.platforms.discord_api import ALICE, BOB, GENERAL, GUILD, Fault, Json
from tests.platforms.discord_server import DiscordServer
from tests.product import ScriptedModel, eventually

VERDICTS = ["Passes", "Fails", "Not sure"]


@pytest.fixture
async def there(server: DiscordServer, tmp_path: Path) -> AsyncGenerator[DiscordWorld]:
    model = ScriptedModel(plan=in_other_words)
    async with open_discord_world(tmp_path, server, model=model, eval_library=asking()) as world:
        yield world
    assert server.broken == []


async def chosen(there: DiscordWorld, *, repeats: str = "1", **more: str) -> Json:
    """The card that says what an evaluation would cost."""
    await candidate(there.world, await there.actor())
    return await there.server.submit(await opened_form(there), repeats=repeats, **more)


async def opened_form(there: DiscordWorld) -> Json:
    """The form that asks what to compare."""
    opened = await there.server.press_shown(await asked_for(there, f"eval {SUMMARY}"), "Evaluate")
    assert form_of(opened)["repeats"] == "3"
    return opened


async def begun(there: DiscordWorld) -> str:
    """An evaluation that was begun by its card; its id."""
    assert "has begun" in shown(await there.server.press_shown(await chosen(there), "Start"))
    (run,) = await rows(there.world, "eval_run")
    return str(run["id"])


async def told(there: DiscordWorld) -> tuple[str, str]:
    """One that has ended, with its questions in the thread: its id, and the thread's."""
    run_id = await begun(there)
    await there.world.finished(run_id)
    await eventually(there.idle)
    (thread,) = [row["place"] for row in await rows(there.world, "thread")]
    await there.server.until(lambda: len(questions(there, thread)) == 2)
    return run_id, thread


def card(there: DiscordWorld, thread: str) -> Json:
    """The card of an evaluation, on which its thread hangs."""
    (found,) = [m for m in there.server.ours(GENERAL) if str(m["id"]) == thread]
    return found


def questions(there: DiscordWorld, thread: str) -> list[Json]:
    return [m for m in there.server.ours(thread) if "Is the point real?" in m["content"]]


async def press(there: DiscordWorld, thread: str, post: Json, label: str, *, user: str = ALICE) -> Json:
    at = GENERAL if str(post["id"]) == thread else thread
    found = next(c for row in post["components"] for c in row["components"] if c.get("label") == label)
    return await there.server.press(at, str(post["id"]), found["custom_id"], user=user)


async def test_an_evaluation_is_begun_once_its_cost_was_seen_and_told_in_a_thread(
    there: DiscordWorld,
) -> None:
    estimate = await chosen(there)
    assert "2 cases" in shown(estimate)
    assert "4 calls, at most 24" in shown(estimate)
    assert "not known whether it trains" in shown(estimate)
    assert (await count(there.world, "eval_run"), there.model.calls) == (0, [])
    twice = await asyncio.gather(*(there.server.press_shown(estimate, "Start") for _ in range(2)))
    assert all("has begun" in shown(one) for one in twice)
    (run,) = await rows(there.world, "eval_run")
    await there.world.finished(run["id"])
    await eventually(there.idle)
    (row,) = await rows(there.world, "thread")
    post = card(there, row["place"])
    assert "4 of 4 calls are done" in post["content"]
    assert "different output 2" in post["content"]
    assert f"/evals/{run['id']}" in post["content"].replace("\\", "")
    sent = await press(there, row["place"], post, "Report as a file", user=BOB)
    (file,) = files_of(sent)
    assert file.endswith(".html")
    assert "Is the point real?" in files_of(sent)[file]


@pytest.mark.soak
async def test_what_cannot_be_compared_is_refused_and_nothing_is_begun(there: DiscordWorld) -> None:
    await candidate(there.world, await there.actor())
    opened = await opened_form(there)
    for typed in ("0", "two"):
        assert "1 to 10" in shown(await there.server.submit(opened, repeats=typed))
    assert "cannot both change" in shown(await there.server.submit(opened, other_model="beta"))
    there.world.policies[GUILD] = Policy(prompt_editors=(BOB,), prompt_verifiers=(), prompt_promoters=())
    assert "not among the people" in shown(await there.server.submit(opened, repeats="1"))
    assert (await count(there.world, "eval_run"), there.model.calls) == (0, [])


@pytest.mark.soak
async def test_cases_from_real_threads_leave_only_by_the_button_that_says_so(
    server: DiscordServer, tmp_path: Path
) -> None:
    logged = "{type: masked_log, masked_by: U1, masked_at: 2026-11-01}"
    sets = library(eval_set(2, changes={1: case(1, origin=logged)}))
    async with open_discord_world(tmp_path, server, eval_library=sets) as there:
        estimate = await chosen(there)
        assert "Cases from real threads: 1." in shown(estimate)
        assert "Start" not in labels(estimate["message"])
        assert "has begun" in shown(await server.press_shown(estimate, "I know: start"))
        (run,) = await rows(there.world, "eval_run")
        await there.world.finished(run["id"])
        await eventually(there.idle)


@pytest.mark.soak
async def test_the_card_shows_progress_and_its_button_stops_the_evaluation(
    there: DiscordWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eval_telling, "PROGRESS_EVERY_S", 0.0)
    there.model.hold, there.model.held = asyncio.Event(), "S02"
    run_id = await begun(there)
    await there.model.begun.wait()
    await there.server.until(
        lambda: any("calls are done" in m["content"] for m in there.server.ours(GENERAL))
    )
    (row,) = await rows(there.world, "thread")
    there.world.policies[GUILD] = Policy(prompt_editors=(), prompt_verifiers=(), prompt_promoters=())
    await eventually(there.idle)
    (row,) = await rows(there.world, "thread")
    refused = await press(there, row["place"], card(there, row["place"]), "Stop", user=BOB)
    assert "編集者・確認者・反映担当者だけ" in shown(refused)
    there.world.policies.clear()
    stopped = await press(there, row["place"], card(there, row["place"]), "Stop")
    assert "is stopping" in shown(stopped)
    await there.world.finished(run_id)
    await eventually(there.idle)
    assert "stopped; 2 of 4 calls are done" in card(there, row["place"])["content"]


async def test_an_output_is_judged_once_by_whoever_may_and_after_a_restart_too(
    server: DiscordServer, tmp_path: Path
) -> None:
    model = ScriptedModel(plan=in_other_words)
    async with open_discord_world(tmp_path, server, model=model, eval_library=asking()) as there:
        run_id, thread = await told(there)
    async with open_discord_world(tmp_path, server, eval_library=asking()) as there:
        first, second = questions(there, thread)
        assert OTHER in first["content"]
        assert labels(first) == VERDICTS
        there.world.policies[GUILD] = Policy(prompt_verifiers=(ALICE,))
        refused = await press(there, thread, first, "Passes", user=BOB)
        assert "確認できる人に含まれていません" in shown(refused)
        there.world.policies.clear()
        assert "判定を記録しました" in shown(await press(there, thread, first, "Passes", user=BOB))
        assert "decided already: Passes" in shown(await press(there, thread, first, "Not sure"))
        await eventually(there.idle)
        assert [labels(one) for one in questions(there, thread)] == [[], VERDICTS]
        opened = await press(there, thread, second, "Fails")
        kept = await there.server.submit(opened, comment="It invents a reason.")
        assert "Your verdict is kept: Fails" in shown(kept)
        again = await there.server.submit(opened, comment="Once more.")
        assert "decided already: Fails" in shown(again)
        await eventually(there.idle)
        page = await show_eval(there.services, await there.actor(), run_id)
        assert [one.case_id for one in page.review.failed] == ["S02"]
        assert "It invents a reason." in questions(there, thread)[1]["content"]
        assert await count(there.world, "human_verdict") == 2
    assert server.broken == []


@pytest.mark.soak
async def test_after_a_rollback_the_channel_set_for_it_is_told_what_its_evaluation_found(
    there: DiscordWorld,
) -> None:
    alice = await there.actor()
    await make_live(there.world, alice, await candidate(there.world, alice), SUMMARY)
    there.world.policies[GUILD] = Policy(prompt_channel=GENERAL)
    await withdraw(there.world, alice, name=SUMMARY)
    (run,) = await rows(there.world, "eval_run")
    await there.world.finished(run["id"])
    await eventually(there.idle)
    (row,) = await rows(there.world, "thread")
    assert any("12 of 12 calls are done" in m["content"] for m in there.server.ours(row["place"]))


@pytest.mark.soak
async def test_evaluations_are_listed_and_asked_for_in_words(there: DiscordWorld) -> None:
    assert "No evaluation yet" in shown(await asked_for(there, "eval"))
    await told(there)
    listed = await asked_for(there, "eval")
    assert SUMMARY in shown(listed)
    sent = await there.server.press_shown(listed, "1. Report as a file")
    assert SUMMARY in next(iter(files_of(sent)))
    page = await there.server.press_shown(await asked_for(there, SUMMARY), "Evaluations")
    assert "Evaluate" in labels(page["message"])
    assert f"eval {SUMMARY}" in await there.server.suggestions("prompts", GENERAL, "prompt", "eval comp")
    before = len(there.server.ours(GENERAL))
    await there.server.says(GENERAL, f"{MENTION} prompts eval {SUMMARY}")
    await there.server.until(lambda: len(there.server.ours(GENERAL)) > before)
    opened = await there.server.press(GENERAL, *there.server.button(GENERAL, "Open"))
    assert f"Evaluations of {SUMMARY}" in shown(opened)


@pytest.mark.soak
async def test_a_card_that_discord_refuses_is_told_to_whoever_began_and_posted_when_they_press(
    there: DiscordWorld,
) -> None:
    estimate = await chosen(there)
    there.server.faults.append(Fault(r"POST .*/threads$", "before", 403, code=50013))
    done = await there.server.press_shown(estimate, "Start")
    for words in ("could not be opened in its channel", "has begun"):
        assert words in shown(done)
    (run,) = await rows(there.world, "eval_run")
    await there.world.finished(run["id"])
    await eventually(there.idle)
    await there.server.press_shown(done, "Open again")
    await eventually(there.idle)
    (row,) = await rows(there.world, "thread")
    assert "4 of 4 calls are done" in card(there, row["place"])["content"]
    assert len(questions(there, row["place"])) == 2
