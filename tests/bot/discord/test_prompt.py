"""Prompts on Discord through the genuine library: read, edited, saved, looked at, made live, rolled back, reloaded."""

from core.commands.prompt import show_prompt
from core.domain.policy import Policy
from core.domain.prompt import PromptPage
from tests.bot.discord.test_carrying import file_of, names_in
from tests.bot.discord.world import MENTION, DiscordWorld, labels
from tests.commands.prompting import CHAT, RULE, edited, save
from tests.platforms.discord_api import ALICE, BOB, GENERAL, GUILD, Json


def shown(done: Json) -> str:
    """What a card says as people read it: marks of people's words stand in it as typed."""
    return str(done["shown"]["content"]).replace("\\", "")


def files_of(done: Json) -> dict[str, str]:
    return {name: data.decode() for name, data in done["files"]}


async def asked_for(there: DiscordWorld, words: str = "", *, user: str = ALICE) -> Json:
    """What `/prompts` shows."""
    options = {"prompt": words} if words else {}
    return await there.server.command("prompts", GENERAL, user=user, **options)


async def stored(there: DiscordWorld, user: str = ALICE, name: str = CHAT) -> PromptPage:
    return await show_prompt(there.services, await there.actor(user), name)


# --- looking --------------------------------------------------------------------------------------------------------


async def test_the_list_leads_to_a_prompt_its_versions_and_its_history(there: DiscordWorld) -> None:
    alice = await there.actor()
    saved = await save(there.world, alice, await edited(there.world, alice, RULE))
    listed = await asked_for(there)
    assert "**handover.draft** · Live: " in shown(listed)
    assert CHAT in names_in(listed)
    page = await there.server.choose_shown(listed, CHAT)
    assert shown(page).startswith(f"**{CHAT}** · ")
    assert f"Version {saved.version} is proposed, not live" in shown(page)
    for part in (await stored(there)).files.values():
        assert part.strip() in file_of(page)
    version = await there.server.choose_shown(page, saved.version_id)
    assert "people asked for it" in shown(version)
    assert "Nobody but its author has looked at it yet." in shown(version)
    assert f"+ {RULE.strip()}" in shown(version)
    files = files_of(version)
    assert RULE.strip() in files[f"{CHAT}.md"]
    assert f"+ {RULE.strip()}" in files["changes.diff"]
    page = await there.server.press_shown(version, "Back to the prompt")
    told = await there.server.press_shown(page, "History")
    assert "Saved" in shown(told)
    assert "people asked for it" in shown(told)
    assert RULE.strip() in file_of(told)
    untouched = await there.server.choose_shown(
        await there.server.press_shown(page, "All prompts"), "review.verdict"
    )
    empty = await there.server.press_shown(untouched, "History")
    assert "Nobody has changed this prompt yet." in shown(empty)


async def test_a_prompt_and_a_version_are_named_after_the_command_and_suggested_on_the_way(
    there: DiscordWorld,
) -> None:
    alice = await there.actor()
    saved = await save(there.world, alice, await edited(there.world, alice, RULE))
    before = (await stored(there)).item.version
    assert await there.server.suggestions("prompts", GENERAL, "prompt", "chat.") == [CHAT]
    assert await there.server.suggestions("prompts", GENERAL, "prompt", "st")
    assert "status" in await there.server.suggestions("prompts", GENERAL, "prompt", "stat")
    numbers = await there.server.suggestions("prompts", GENERAL, "prompt", f"{CHAT} ")
    assert numbers == [f"{CHAT} {saved.version}", f"{CHAT} {before}"]
    one = await there.server.suggestions("prompts", GENERAL, "prompt", f"{CHAT} v{before}")
    assert one == [f"{CHAT} {before}"]
    assert await there.server.suggestions("prompts", GENERAL, "prompt", "no.such ") == []
    assert f"{saved.version} · Proposed" in shown(await asked_for(there, f"{CHAT} {saved.version}"))
    assert shown(await asked_for(there, CHAT)).startswith(f"**{CHAT}** · {before}")
    assert "After `prompts` comes nothing" in shown(await asked_for(there, "are great"))
    assert "There is no prompt" in shown(await asked_for(there, "no.such.prompt"))
    assert "no such version" in shown(await asked_for(there, f"{CHAT} 9.9.9"))


async def test_the_processes_are_shown_and_read_their_files_again(there: DiscordWorld) -> None:
    told = await asked_for(there, "status")
    assert "Up to date" in shown(told)
    again = await there.server.press_shown(told, "Reload")
    assert shown(again).startswith("**Every process reads its prompts again.**")
    generation = shown(again).partition("Newest state: ")[2].partition(".")[0]
    twice = await there.server.press_shown(told, "Reload")
    assert f"Newest state: {generation}." in shown(twice)
    listed = await there.server.press_shown(twice, "All prompts")
    assert f"Newest state: {generation}." in shown(await there.server.press_shown(listed, "Processes"))
    once_more = await asked_for(there, "reload")
    assert f"Newest state: {int(generation) + 1}." in shown(once_more)


async def test_in_a_thread_everybody_presses_for_themselves(there: DiscordWorld) -> None:
    thread = await there.ask("Which supplier?")
    await there.server.says(thread, f"{MENTION} prompts")
    await there.server.says(thread, f"{MENTION} prompts {CHAT}")
    await there.server.until(lambda: len(there.server.ours(thread)) == 3)
    assert [labels(post) for post in there.server.ours(thread)[1:]] == [["Open"], ["Open"]]
    assert "handover" not in "".join(there.server.texts(thread)[1:])
    page = await there.server.press(thread, *there.server.button(thread, "Open"), user=BOB)
    assert shown(page).startswith(f"**{CHAT}** · ")
    assert "本番" in shown(page)
    listed = await there.server.press(thread, *there.server.button(thread, "Open", 0))
    assert "handover.draft" in shown(listed)
    await there.server.says(thread, f"{MENTION} prompts {'a.b' * 100}")
    await there.server.until(lambda: len(there.server.ours(thread)) == 4)
    assert "There is no prompt" in there.server.texts(thread)[3]
    calls = len(there.model.calls)
    await there.server.says(thread, f"{MENTION} prompts are what I want to learn about")
    await there.answered(thread, 2)
    assert len(there.model.calls) == calls + 1


async def test_who_may_not_reload_is_refused_at_the_press(there: DiscordWorld) -> None:
    listed = await asked_for(there)
    there.world.policies[GUILD] = Policy(prompt_promoters=(BOB,))
    refused = await there.server.press_shown(listed, "Reload")
    assert "not among the people who may make prompts live" in shown(refused)
    assert labels(refused["message"]) == ["All prompts"]
    told = await there.server.press_shown(refused, "All prompts")
    assert "handover.draft" in shown(told)
