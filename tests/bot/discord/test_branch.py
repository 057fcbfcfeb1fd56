"""Branching on Discord, by every route, and where the branch is opened."""

from tests.bot.discord.world import MENTION, DiscordWorld
from tests.platforms.discord_api import ALICE, BOB, BOT, FORUM, GENERAL, Json, components_of


def branches(there: DiscordWorld, parent: str = GENERAL) -> dict[str, Json]:
    """Threads that the bot opened and that no person's message carries, by name."""
    messages = there.server.messages[parent]
    return {
        c["name"]: c
        for c in there.server.channels.values()
        if c.get("parent_id") == parent
        and c["owner_id"] == BOT
        and messages.get(c["id"], {"author": {"id": BOT}})["author"]["id"] == BOT
    }


async def opened(there: DiscordWorld, name: str, parent: str = GENERAL) -> Json:
    """The branch of this name, once its parent tells of it."""
    await there.server.until(lambda: name in branches(there, parent))
    branch = branches(there, parent)[name]

    def told() -> bool:
        posts = [m for c in there.server.channels for m in there.server.ours(c)]
        links = [
            c.get("url", "") for m in posts for c in components_of(m) if c.get("label") == "Open the thread"
        ]
        return any(link.endswith(f"/{branch['id']}") for link in links)

    await there.server.until(told)
    return branch


async def test_the_button_opens_a_form_and_the_form_a_branch(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    form = await there.server.press(thread, *there.server.button(thread, "Branch from here"))
    done = await there.server.submit(form, name="Try SQLite", reason="no operations team")
    assert "Try SQLite" in done["shown"]["content"]
    branch = await opened(there, "Try SQLite")
    assert (branch["type"], branch["parent_id"]) == (11, GENERAL)
    header = there.server.messages[GENERAL][branch["id"]]
    assert "Comes from “Which database?”" in header["content"]
    assert "no operations team" in header["content"]
    assert [f["filename"] for f in header["attachments"]] == ["transcript.md"]
    await there.server.until(lambda: "Branched at #2: Try SQLite" in there.server.texts(thread))
    await there.server.says(branch["id"], "Go on here.")
    await there.answered(branch["id"])
    assert await there.conversation(branch["id"]) == [
        "Which database?",
        "answer 1",
        "Go on here.",
        "answer 2",
    ]
    assert await there.conversation(thread) == ["Which database?", "answer 1"]


async def test_a_form_that_is_sent_twice_makes_one_branch(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    form = await there.server.press(thread, *there.server.button(thread, "Branch from here"))
    await there.server.submit(form, name="Once")
    await there.server.submit(form, name="Once")
    await opened(there, "Once")
    assert (await there.titles()).count("Once") == 1


async def test_the_menu_of_any_message_of_a_thread_branches_there(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    form = await there.server.menu("Branch from here", GENERAL, thread)
    await there.server.submit(form, name="From the question")
    await opened(there, "From the question")
    answer = there.server.ours(thread)[0]
    form = await there.server.menu("Branch from here", thread, answer["id"])
    await there.server.submit(form, name="From the answer")
    branch = await opened(there, "From the answer")
    assert await there.conversation(branch["id"]) == ["Which database?", "answer 1"]


async def test_the_command_takes_a_position_a_name_and_a_reason(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    done = await there.server.command("branch", thread, position="#1", name="From one", reason="because")
    assert "#1" in done["shown"]["content"]
    branch = await opened(there, "From one")
    assert await there.conversation(branch["id"]) == ["Which database?"]


async def test_a_typed_command_branches_too_and_says_nothing_of_its_own(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    await there.server.says(thread, f"{MENTION} branch 2 Typed")
    await opened(there, "Typed")
    await there.server.until(lambda: len(there.server.texts(thread)) == 2)
    assert there.server.texts(thread)[1] == "Branched at #2: Typed"
    assert await there.conversation(thread) == ["Which database?", "answer 1"]


async def test_positions_are_suggested_to_those_who_may_see_the_thread(there: DiscordWorld) -> None:
    there.server.admins.add(ALICE)
    thread = await there.ask("Which database?")
    assert await there.server.suggestions("branch", thread, "position", "") == ["2", "1"]
    assert await there.server.suggestions("branch", thread, "position", "databa") == ["1"]
    private = await there.server.opens_thread(GENERAL, "closed", private=True)
    await there.server.says(private, f"{MENTION} between us")
    await there.answered(private)
    assert await there.server.suggestions("branch", private, "position", "") == ["2", "1"]
    assert await there.server.suggestions("branch", private, "position", "", user=BOB) == []


async def test_a_branch_of_a_private_thread_is_private_and_holds_the_same_people(there: DiscordWorld) -> None:
    private = await there.server.opens_thread(GENERAL, "closed", private=True)
    await there.server.says(private, f"{MENTION} between us")
    await there.answered(private)
    await there.server.command("branch", private, name="Also closed")
    branch = await opened(there, "Also closed")
    await there.server.until(lambda: ALICE in there.server.members_of[branch["id"]])
    assert branch["type"] == 12
    assert there.server.members_of[branch["id"]] == {ALICE, BOT}
    await there.server.says(branch["id"], "Go on here.")
    await there.answered(branch["id"])
    assert await there.titles(BOB) == []
    assert sorted(await there.titles(ALICE)) == ["Also closed", "between us"]
    refused = await there.server.command("threads", GENERAL, user=BOB)
    assert "between us" not in refused["shown"]["content"]


async def test_a_branch_of_a_forum_post_is_a_post_of_the_forum(there: DiscordWorld) -> None:
    post = await there.server.opens_thread(FORUM, "An idea")
    await there.server.says(post, f"{MENTION} is it any good?")
    await there.answered(post)
    await there.server.command("branch", post, name="Another idea")
    branch = await opened(there, "Another idea", FORUM)
    assert "Comes from" in there.server.messages[branch["id"]][branch["id"]]["content"]
    await there.server.says(branch["id"], "Go on.")
    await there.answered(branch["id"])


async def test_a_position_that_is_not_there_is_refused_in_one_private_sentence(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    done = await there.server.command("branch", thread, position="11", user=BOB)
    assert (
        done["shown"]["content"]
        == "「11」はこのスレッドの位置ではありません。1から2までの整数を指定してください。"
    )
    assert branches(there) == {}


async def test_a_message_of_nobody_s_thread_cannot_be_branched_from(there: DiscordWorld) -> None:
    message = await there.server.says(GENERAL, "small talk")
    done = await there.server.menu("Branch from here", GENERAL, message)
    assert done["callback"]["type"] == 4
    assert "none of the product's threads" in done["shown"]["content"]
