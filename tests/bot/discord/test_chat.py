"""Talking: a mention opens a thread, and in a thread people just write on."""

from tests.bot.discord.world import MENTION, DiscordWorld, labels
from tests.platforms.discord_api import ALICE, BOB, FORUM, GENERAL, ROLE, SECRET
from tests.product import eventually


async def test_a_mention_opens_a_public_thread_on_the_message_and_is_answered_there(
    there: DiscordWorld,
) -> None:
    thread = await there.ask("Which supplier fits us best?")
    opened = there.server.channels[thread]
    assert (opened["type"], opened["parent_id"], opened["name"]) == (
        11,
        GENERAL,
        "Which supplier fits us best?",
    )
    (answer,) = there.server.ours(thread)
    assert answer["content"].startswith("answer 1\n-# alpha · #2")
    assert {"Branch from here", "Retry", "Other model ▸", "Show AI input"} <= set(labels(answer))
    assert there.server.ours(GENERAL) == []
    assert "Which supplier fits us best?" in there.model.sent()


async def test_in_a_thread_every_message_is_a_turn_and_each_is_answered_once(there: DiscordWorld) -> None:
    there.server.twice = True
    thread = await there.ask("First.")
    await there.server.says(thread, "Second.", user=BOB)
    await there.answered(thread, 2)
    assert await there.conversation(thread) == ["First.", "answer 1", "Second.", "answer 2"]
    assert "Ben" in there.model.sent()
    assert len(there.server.ours(thread)) == 2


async def test_one_live_message_is_edited_until_the_answer_is_whole(there: DiscordWorld) -> None:
    there.model.script = ["x" * 500]
    thread = await there.ask("Go on.")
    (answer,) = there.server.ours(thread)
    edits = there.server.calls_of("PATCH", f"/channels/{thread}/messages/{answer['id']}")
    assert edits
    assert edits[-1].body["content"].startswith("x" * 500)


async def test_messages_elsewhere_and_of_bots_and_webhooks_are_none_of_ours(there: DiscordWorld) -> None:
    await there.server.says(GENERAL, "nobody asked")
    await there.server.says(GENERAL, f"{MENTION} bot to bot", user="7")
    human = await there.server.opens_thread(GENERAL, "people only")
    await there.server.says(human, "between us")
    thread = await there.ask("Something for us")
    assert list(there.server.channels)[-1] == thread
    assert len(there.model.calls) == 1
    assert await there.titles() == ["Something for us"]


async def test_a_mention_of_the_bot_s_own_role_counts(there: DiscordWorld) -> None:
    message = await there.server.says(GENERAL, f"<@&{ROLE}> by role")
    await there.answered(message)
    assert await there.conversation(message) == ["by role", "answer 1"]


async def test_who_begins_with_another_person_s_name_is_kept_and_not_answered(there: DiscordWorld) -> None:
    thread = await there.ask("First.")
    await there.server.says(thread, f"<@{BOB}> what do you think?")
    await there.server.says(thread, "And you?")
    await there.answered(thread, 2)
    assert (await there.conversation(thread))[2:] == ["@Ben what do you think?", "And you?", "answer 2"]


async def test_a_mention_in_a_human_thread_takes_it_in_once_with_the_message_it_hangs_on(
    there: DiscordWorld,
) -> None:
    root = await there.server.says(GENERAL, "Shall we move to Postgres?")
    there.server._thread(GENERAL, "Move?", ALICE, kind=11, number=root)
    await there.server.fire("THREAD_CREATE", there.server.channels[root])
    await there.server.says(root, "I would wait.", user=BOB)
    await there.server.says(root, "The build is green.", user="7")
    await there.server.says(root, f"{MENTION} what speaks for it?")
    await there.answered(root)
    said = [
        "Shall we move to Postgres?",
        "I would wait.",
        "The build is green.",
        "what speaks for it?",
        "answer 1",
    ]
    assert await there.conversation(root) == said
    await there.server.says(root, f"{MENTION} and against?")
    await there.answered(root, 2)
    assert (await there.conversation(root))[5:] == ["and against?", "answer 2"]


async def test_a_post_in_a_forum_is_a_thread_like_any_other(there: DiscordWorld) -> None:
    post = await there.server.opens_thread(FORUM, "An idea")
    await there.server.says(post, f"{MENTION} is it any good?")
    await there.answered(post)
    assert await there.conversation(post, channel=FORUM) == ["is it any good?", "answer 1"]


async def test_an_edit_and_a_deletion_change_what_the_model_is_sent_next(there: DiscordWorld) -> None:
    thread = await there.ask("Tell me about lyons.")
    await there.server.edits(GENERAL, thread, f"{MENTION} Tell me about lions.")
    second = await there.server.says(thread, "A remark to be deleted.")
    await there.answered(thread, 2)
    await there.server.deletes(thread, second)

    async def gone() -> bool:
        return "A remark to be deleted." not in await there.conversation(thread)

    await eventually(gone)
    await there.server.says(thread, "Go on.")
    await there.answered(thread, 3)
    assert "lions" in there.model.sent()
    assert "lyons" not in there.model.sent()
    assert "deleted" not in there.model.sent()


async def test_files_reach_the_model_and_one_that_does_not_is_named(there: DiscordWorld) -> None:
    good = there.server.attach("load.csv", b"minute,jobs\n0,200\n")
    lost = there.server.attach("lost.txt", b"x")
    elsewhere = {**there.server.attach("trap.txt", b"x"), "url": "http://127.0.0.1:9/trap.txt"}
    large = {**there.server.attach("large.txt", b"x"), "size": 11 * 1024 * 1024}
    del there.server.files[lost["id"]]
    thread = await there.ask("Read these.", attachments_sent=[good, lost, elsewhere, large])
    assert "0,200" in there.model.sent()
    (answer,) = there.server.ours(thread)
    assert [name in answer["content"] for name in ("lost.txt", "trap.txt", "large.txt", "load.csv")] == [
        True,
        True,
        True,
        False,
    ]


async def test_a_long_answer_comes_in_parts_with_its_fences_closed_and_opened(there: DiscordWorld) -> None:
    there.model.script = ["Before.\n```python\n" + "print('line')\n" * 250 + "```\nAfter."]
    thread = await there.ask("Write a program.")
    parts = there.server.ours(thread)
    assert len(parts) == 2
    assert all(part["content"].count("```") % 2 == 0 for part in parts)
    assert parts[1]["content"].startswith("```python\n")
    assert [bool(labels(part)) for part in parts] == [False, True]


async def test_a_very_long_answer_comes_as_a_file_with_its_beginning(there: DiscordWorld) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(40))
    there.model.script = [long]
    thread = await there.ask("Tell me everything.")
    (answer,) = there.server.ours(thread)
    assert answer["content"].startswith("Paragraph 0.")
    (file,) = answer["attachments"]
    assert there.server.files[file["id"]].decode() == long
    await there.server.says(thread, "Go on.")
    await there.answered(thread, 2)
    assert "Paragraph 39." in there.model.sent()


async def test_a_channel_that_hides_itself_is_answered_only_to_those_inside(there: DiscordWorld) -> None:
    there.server.admins.add(ALICE)
    thread = await there.ask("Between managers", channel=SECRET)
    assert await there.titles(ALICE) == ["Between managers"]
    assert await there.titles(BOB) == []
    assert thread in there.server.channels


async def test_a_direct_message_is_told_where_the_bot_works(there: DiscordWorld) -> None:
    direct = await there.server.says_directly("hello")
    await there.server.until(lambda: there.server.texts(direct))
    assert there.server.texts(direct) == ["I work in servers only. Mention me in a channel there."]
    assert there.model.calls == []
