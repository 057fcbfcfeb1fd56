"""Commands, buttons, menus and forms; also after a restart, twice, too late, and where they do not belong."""

import asyncio
from pathlib import Path

from bot.discord.card import custom_id
from core.domain.policy import Policy
from tests.bot.discord.world import MENTION, DiscordWorld, labels, open_discord_world
from tests.platforms.discord_api import ALICE, BOB, GENERAL, GUILD, Fault, Json
from tests.platforms.discord_server import DiscordServer

PNG = b"\x89PNG\r\n\x1a\n"


def shown(done: Json) -> str:
    return str(done["shown"]["content"])


async def test_chat_posts_the_question_opens_a_thread_and_is_answered_there(there: DiscordWorld) -> None:
    file = there.server.attach("load.csv", b"minute,jobs\n0,200\n")
    done = await there.server.command("chat", GENERAL, message="Which one?\nSay why.", model="beta")
    (question,) = there.server.ours(GENERAL)
    assert question["content"] == "**Alice**\n> Which one?\n> Say why."
    thread = question["id"]
    assert shown(done) == f"Your thread: <#{thread}>"
    await there.answered(thread)
    assert there.model.calls[-1].model == "beta"
    assert await there.conversation(thread) == ["Which one?\nSay why.", "answer 1"]
    assert file["id"] in there.server.files


async def test_chat_in_a_thread_is_a_turn_of_it(there: DiscordWorld) -> None:
    thread = await there.ask("First.")
    await there.server.command("chat", thread, message="Second.", user=BOB)
    await there.answered(thread, 2)
    assert (await there.conversation(thread))[2:] == ["Second.", "answer 2"]


async def test_an_answer_is_retried_given_by_another_model_and_one_is_kept(there: DiscordWorld) -> None:
    thread = await there.ask("Which one?")
    await there.server.press(thread, *there.server.button(thread, "Retry"))
    await there.answered(thread, 2)
    offered = await there.server.press(thread, *there.server.button(thread, "Other model ▸"))
    (menu,) = offered["shown"]["components"][0]["components"]
    assert [o["value"] for o in menu["options"]][:2] == ["alpha", "beta"]
    card = there.server._message(thread, "1000000000000000001", offered["shown"])
    there.server.messages[thread][card["id"]] = {**card, "flags": 64, "type": 21}
    await there.server.press(thread, card["id"], menu["custom_id"], values=["beta"])
    await there.answered(thread, 3)
    assert there.model.calls[-1].model == "beta"
    assert await there.conversation(thread) == ["Which one?", "answer 3"]
    first = there.server.ours(thread)[0]
    assert "keeps this answer" in shown(await there.server.menu("Keep this answer", thread, first["id"]))
    assert await there.conversation(thread) == ["Which one?", "answer 1"]


async def test_stop_keeps_what_was_written(there: DiscordWorld) -> None:
    there.model.hold = asyncio.Event()
    thread = await there.server.says(GENERAL, f"{MENTION} a long story")
    await there.server.until(lambda: there.busy(thread) and "ans" in there.server.texts(thread)[0])
    await there.server.press(thread, *there.server.button(thread, "Stop"), user=BOB)
    await there.answered(thread)
    assert "Stopped by a person" in there.server.texts(thread)[0]
    refused = await there.server.command("stop", thread)
    assert shown(refused) == "Nothing is being written in this thread right now."


async def test_show_ai_input_gives_every_part_that_was_sent(there: DiscordWorld) -> None:
    thread = await there.ask("Which supplier fits us best?")
    (answer,) = there.server.ours(thread)
    for done in (
        await there.server.press(thread, *there.server.button(thread, "Show AI input")),
        await there.server.menu("Show AI input", thread, answer["id"], user=BOB),
        await there.server.command("input", thread),
        await there.server.command("input", thread, position="2"),
    ):
        (file,) = done["files"]
        document = file[1].decode()
        assert all(part in document for part in there.model.sent_texts())
    missing = await there.server.command("input", thread, position="1")
    assert "There is no answer at position 1" in shown(missing)


async def test_lists_and_help_are_for_whoever_asks(there: DiscordWorld) -> None:
    await there.ask("Which one?")
    assert "Which one?" in shown(await there.server.command("threads", GENERAL))
    assert "**alpha**" in shown(await there.server.command("models", GENERAL))
    assert "1 calls" in shown(await there.server.command("usage", GENERAL, by="model"))
    assert "`/branch`" in shown(await there.server.command("help", GENERAL))
    assert "メンション" in shown(await there.server.command("help", GENERAL, user=BOB))
    assert await there.server.suggestions("chat", GENERAL, "model", "be") == ["beta"]


async def test_usage_comes_with_a_picture_that_only_the_one_who_asked_sees(there: DiscordWorld) -> None:
    await there.ask("Which one?")
    for person, keys in (
        (ALICE, ["Models: 1 alpha", "People: A "]),
        (BOB, ["モデル: 1 alpha", "メンバー: A "]),
    ):
        done = await there.server.command("usage", GENERAL, user=person)
        ((name, data),) = done["files"]
        assert (name, data[:8]) == ("usage.png", PNG)
        (described,) = done["shown"]["attachments"]
        assert "1" in described["description"]
        assert [key for key in keys if key not in shown(done).replace("\\", "")] == []
    assert there.server.broken == []


async def test_usage_before_the_first_call_is_a_sentence_without_a_picture(there: DiscordWorld) -> None:
    done = await there.server.command("usage", GENERAL)
    assert shown(done) == "No model has been called in the last 30 days."
    assert not done.get("files")


async def test_a_policy_narrows_what_is_suggested_and_what_is_taken(there: DiscordWorld) -> None:
    there.world.policies[GUILD] = Policy(allowed_models=("beta",))
    assert await there.server.suggestions("chat", GENERAL, "model", "") == ["beta"]
    refused = await there.server.command("chat", GENERAL, message="hi", model="alpha")
    assert "There is no model “alpha”" in shown(refused)


async def test_a_thread_is_renamed_here_and_on_discord(there: DiscordWorld) -> None:
    thread = await there.ask("Which one?")
    await there.server.command("rename", thread, title="Suppliers")
    assert there.server.channels[thread]["name"] == "Suppliers"
    assert await there.titles() == ["Suppliers"]
    there.server.faults.append(Fault(f"PATCH /channels/{thread}$", "before", 403, 50013))
    done = await there.server.command("rename", thread, title="Vendors")
    assert "Discord's own name of it stays" in shown(done)


async def test_a_thread_command_outside_a_thread_says_where_it_works(there: DiscordWorld) -> None:
    assert (
        shown(await there.server.command("stop", GENERAL)) == "/stop works inside a thread. Open one first."
    )
    human = await there.server.opens_thread(GENERAL, "people only")
    assert "works inside a thread" in shown(await there.server.command("retry", human))


async def test_missing_rights_are_named_with_the_link_that_grants_them(there: DiscordWorld) -> None:
    there.server.lost_rights.add(GENERAL)
    done = await there.server.command("chat", GENERAL, message="hi", user=BOB)
    assert "スレッドでメッセージを送信" in shown(done)
    assert f"guild_id={GUILD}" in shown(done)
    assert "Send Messages in Threads" in shown(await there.server.command("help", GENERAL))


async def test_buttons_and_forms_work_after_a_restart(server: DiscordServer, tmp_path: Path) -> None:
    async with open_discord_world(tmp_path, server) as before:
        thread = await before.ask("Which one?")
        form = await server.press(thread, *server.button(thread, "Branch from here"))
    async with open_discord_world(tmp_path, server) as after:
        await server.submit(form, name="After the restart")
        await server.press(thread, *server.button(thread, "Retry"))
        await after.answered(thread, 2)
        assert "After the restart" in await after.titles()
    assert server.broken == []


async def test_what_another_release_made_says_so(there: DiscordWorld) -> None:
    thread = await there.ask("Which one?")
    (answer,) = there.server.ours(thread)
    for old in (custom_id("vanished", "1"), "something_else"):
        answer["components"] = [{"type": 1, "components": [{"type": 2, "label": "Old", "custom_id": old}]}]
        done = await there.server.press(thread, answer["id"], old)
        assert "belongs to another release" in shown(done)
    there.server.commands["global"].append({"id": "9", "name": "ancient", "type": 1})
    assert "belongs to another release" in shown(await there.server.command("ancient", thread))


async def test_an_interaction_that_is_delivered_twice_acts_once(there: DiscordWorld) -> None:
    thread = await there.ask("Which one?")
    there.server.twice = True
    await there.server.press(thread, *there.server.button(thread, "Retry"))
    await there.answered(thread, 2)
    assert len(there.server.calls_of("POST", "/callback")) == 1
    assert len(there.model.calls) == 2


async def test_whoever_cannot_see_a_thread_can_press_nothing_in_it(there: DiscordWorld) -> None:
    private = await there.server.opens_thread(GENERAL, "closed", private=True)
    await there.server.says(private, f"{MENTION} between us")
    await there.answered(private)
    for label in ("Retry", "Show AI input", "Other model ▸"):
        done = await there.server.press(private, *there.server.button(private, label), user=BOB)
        assert "スレッド" in shown(done) or "記録" in shown(done)
        assert done.get("files", []) == []
    assert len(there.model.calls) == 1
    assert await there.titles(ALICE) == ["between us"]


async def test_typed_commands_answer_in_the_thread_and_a_sentence_stays_a_sentence(
    there: DiscordWorld,
) -> None:
    thread = await there.ask("Which one?")
    await there.server.says(thread, f"{MENTION} help me to decide")
    await there.answered(thread, 2)
    await there.server.says(thread, f"{MENTION} threads")
    await there.server.says(thread, f"{MENTION} usage")
    await there.server.until(lambda: len(there.server.ours(thread)) == 4)
    assert "Which one?" in there.server.texts(thread)[2]
    assert there.server.texts(thread)[3] == "Use `/usage`: then only you see it."
    assert (await there.conversation(thread))[2] == "help me to decide"
    assert all(labels(m) == [] for m in there.server.ours(thread)[2:])
