"""Breaks of every kind: nothing is lost, nothing is done twice (spec §12)."""

import asyncio
import sqlite3
from pathlib import Path

from bot.discord.app import Discord
from bot.discord.catch_up import SOURCE
from core.commands.high_water import read_high_water
from tests.bot.discord.world import (
    HURRIED,
    MENTION,
    SEEN,
    DiscordWorld,
    open_discord_world,
    settings_of,
)
from tests.platforms.discord_api import BOB, GENERAL, Fault
from tests.platforms.discord_server import DiscordServer
from tests.product import ScriptedModel, eventually


async def test_a_dropped_socket_is_resumed_and_what_was_said_meanwhile_is_answered_once(
    there: DiscordWorld,
) -> None:
    thread = await there.ask("First.")
    await there.server.drop()
    await there.server.says(thread, "While the line was down.", user=BOB)
    await there.answered(thread, 2)
    assert (there.server.resumes, there.server.identifies) == (1, 1)
    assert len(there.model.calls) == 2


async def test_a_session_that_is_over_is_begun_anew_and_what_was_missed_is_read(there: DiscordWorld) -> None:
    thread = await there.ask("First.")
    sockets = there.server.forget_sessions()
    missed = await there.server.says(GENERAL, f"{MENTION} asked while nobody listened")
    await there.server.says(thread, "Also missed.")
    await there.server.drop_all(sockets)
    await there.answered(missed)
    await there.answered(thread, 2)
    assert there.server.identifies == 2
    assert len(there.model.calls) == 3


async def test_after_a_cold_restart_what_was_missed_is_read_in_order_and_nothing_is_doubled(
    server: DiscordServer, tmp_path: Path
) -> None:
    async with open_discord_world(tmp_path, server) as before:
        thread = await before.ask("First.")
        await eventually(lambda: _mark(before, int(thread)))
    missed = await server.says(GENERAL, f"{MENTION} asked while it was down")
    await server.says(thread, "Second, while it was down.")
    await server.says(thread, "Third, while it was down.")
    await server.says(GENERAL, "not for us")
    async with open_discord_world(tmp_path, server) as after:
        await after.answered(missed)
        await after.answered(thread, 3)
        said = [text for text in await after.conversation(thread) if not text.startswith("answer")]
        assert said == ["First.", "Second, while it was down.", "Third, while it was down."]
        assert len(after.model.calls) == 3
        assert server.texts(GENERAL) == []
    assert server.broken == []


async def _mark(there: DiscordWorld, at_least: int) -> bool:
    await there.bot.stop_intake()
    mark = await read_high_water(there.services, SEEN, SOURCE)
    return mark is not None and int(mark) >= at_least


async def test_a_run_that_was_cut_off_goes_on_with_the_same_post(
    server: DiscordServer, tmp_path: Path
) -> None:
    model = ScriptedModel(hold=asyncio.Event())
    async with open_discord_world(tmp_path, server, model=model, patient=False) as before:
        thread = await server.says(GENERAL, f"{MENTION} a long story")
        await server.until(lambda: before.busy(thread))
    async with open_discord_world(tmp_path, server) as after:
        await after.answered(thread)
        assert len(server.ours(thread)) == 1


async def test_a_lost_answer_to_a_post_makes_no_second_post(there: DiscordWorld) -> None:
    there.server.faults.append(Fault(r"POST /channels/\d+/messages$", "after", 503))
    thread = await there.ask("Once.")
    assert len(there.server.ours(thread)) == 1
    assert len(there.server.calls_of("POST", r"/messages$")) >= 1


async def test_a_thread_that_was_opened_without_our_hearing_of_it_is_used(there: DiscordWorld) -> None:
    there.server.faults.append(Fault(r"POST .*/threads$", "after", 503))
    thread = await there.ask("Once.")
    assert [c["name"] for c in there.server.channels.values() if c.get("parent_id") == GENERAL] == ["Once."]
    assert await there.conversation(thread) == ["Once.", "answer 1"]


async def test_when_discord_says_slow_down_the_final_text_still_lands(there: DiscordWorld) -> None:
    there.server.faults += [
        Fault(r"POST .*/threads$", "limit", pause_s=0.05),
        Fault(r"POST /channels/\d+/messages$", "limit", pause_s=0.05),
        Fault(r"PATCH /channels/\d+/messages", "limit", pause_s=0.05, times=3),
    ]
    thread = await there.ask("Slowly.")
    assert there.server.texts(thread)[0].startswith("answer 1\n")
    assert len(there.server.ours(thread)) == 1


async def test_a_final_edit_that_fails_is_sent_again(there: DiscordWorld) -> None:
    there.model.script = ["abc"]
    there.server.faults.append(Fault(r"PATCH /channels/\d+/messages", "before", 503, times=2))
    thread = await there.ask("Again.")
    assert there.server.texts(thread)[0].startswith("abc\n")


async def test_a_database_that_is_away_is_told_of_and_the_message_is_answered_on_its_return(
    there: DiscordWorld, tmp_path: Path
) -> None:
    blocker = await asyncio.to_thread(sqlite3.connect, tmp_path / "app.db", check_same_thread=False)
    await asyncio.to_thread(blocker.execute, "BEGIN IMMEDIATE")
    thread = await there.server.says(GENERAL, f"{MENTION} is anybody there?", user=BOB)
    await there.server.until(lambda: there.server.texts(GENERAL), within_s=20)
    assert "Your message is kept" in there.server.texts(GENERAL)[0]
    await asyncio.to_thread(blocker.rollback)
    await asyncio.to_thread(blocker.close)
    await there.answered(thread)
    assert len(there.model.calls) == 1


async def test_a_first_connect_that_fails_is_tried_again(server: DiscordServer, tmp_path: Path) -> None:
    server.faults.append(Fault("GET /gateway/bot", "before", 503))
    async with open_discord_world(tmp_path, server) as there:
        await there.ask("Still here?")


async def test_a_token_that_is_refused_ends_the_trying_and_not_the_product(
    server: DiscordServer, tmp_path: Path
) -> None:
    async with open_discord_world(tmp_path, server) as set_up:
        assert set_up.bot.ready
    server.faults.append(Fault("GET /users/@me", "before", 401, times=100))
    async with open_discord_world(tmp_path, server, wait=False) as there:
        await eventually(lambda: there.bot.connection.refused)
        assert there.bot.connection.refused == "the token in DISCORD_TOKEN is not valid"
        assert not there.bot.ready
    assert len(server.calls_of("GET", "/users/@me")) == 3


async def test_without_the_content_intent_mentions_work_and_people_are_told_what_is_missing(
    server: DiscordServer, tmp_path: Path
) -> None:
    server.content_approved = False
    async with open_discord_world(tmp_path, server) as there:
        assert not there.bot.connection.reads_everything
        thread = await there.ask("First.")
        await server.says(thread, "no mention")
        await server.says(thread, "no mention again")
        await server.until(lambda: len(server.ours(thread)) == 2)
        assert "only messages that mention me" in server.texts(thread)[1]
        await server.says(thread, f"{MENTION} and now?")
        await there.answered(thread, 2)
        assert await there.conversation(thread) == ["First.", "answer 1", "and now?", "answer 2"]
        done = await server.command("help", GENERAL)
        assert "Message Content intent is switched off" in done["shown"]["content"]
    assert server.identifies == 1


async def test_a_gateway_that_refuses_the_intent_is_taken_at_its_word(
    server: DiscordServer, tmp_path: Path
) -> None:
    server.flags_lie = True
    server.content_approved = False
    async with open_discord_world(tmp_path, server) as there:
        await there.ask("First.")
    assert server.identifies == 2


async def test_a_call_waits_for_the_first_login(server: DiscordServer) -> None:
    bot = Discord(settings_of(server), HURRIED)
    looking = asyncio.create_task(bot.poster._find(GENERAL))
    await asyncio.sleep(0)
    assert not looking.done()
    async with bot.opened():
        assert (await looking).id == int(GENERAL)
