"""Prompts on Discord through the genuine library: read, edited, saved, looked at, made live, rolled back, reloaded."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.commands.prompt import prompt_history, show_prompt
from core.domain.policy import Policy
from core.domain.prompt import PromptEventKind, PromptPage
from core.i18n import text
from tests.bot.discord.test_carrying import file_of, form_of, names_in
from tests.bot.discord.world import MENTION, DiscordWorld, labels, open_discord_world
from tests.commands.evaluating import SUMMARY, candidate, evaluated
from tests.commands.prompting import CHAT, RULE, edited, make_live, save, withdraw
from tests.platforms.discord_api import ALICE, BOB, GENERAL, GUILD, Fault, Json, components_of
from tests.platforms.discord_server import DiscordServer

MORE = "\nAlways end with the word planted.\n"
SYSTEM = "Edit: Instructions to the model"


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


# --- editing --------------------------------------------------------------------------------------------------------


async def draft(there: DiscordWorld, *, add: str = MORE, user: str = ALICE) -> Json:
    """The card of a draft, after the system part was edited."""
    opened = await there.server.press_shown(await asked_for(there, CHAT, user=user), SYSTEM, user=user)
    words = form_of(opened)["text.0n"].rstrip("\n") + add.rstrip("\n")
    return await there.server.submit(opened, user=user, **{"text.0n": words})


def steps_of(opened: Json) -> list[str]:
    """The versions that a form lets choose from."""
    rows = opened["callback"]["data"]["components"]
    return [one["value"] for row in rows for one in row["component"].get("options", ())]


async def test_a_part_is_edited_checked_and_saved_with_the_step_it_needs_and_a_reason(
    there: DiscordWorld,
) -> None:
    server, shipped = there.server, await stored(there)
    done = await draft(there)
    assert "at least minor" in shown(done)
    assert "+ Always end with the word planted." in shown(done)
    assert "Always end with the word planted." in files_of(done)["draft.md"]
    assert "+ Always end with the word planted." in files_of(done)["changes.diff"]
    opened = await server.press_shown(done, "Save version …")
    steps = steps_of(opened)
    assert len(steps) == 2
    refused = await server.submit(opened, reason="x")
    assert "needs a reason of at least" in shown(refused)
    assert (await stored(there)).versions == shipped.versions
    opened = await server.press_shown(refused, "Give another reason")
    assert form_of(opened)["reason"] == "x"
    answers = await asyncio.gather(
        *(server.submit(opened, reason="people asked for it", version=steps[1]) for _ in range(2))
    )
    assert all(f"Version {steps[1]} is saved" in shown(one) for one in answers)
    now = await stored(there)
    assert len(now.versions) == len(shipped.versions) + 1
    saved = now.versions[0]
    assert (saved.version, saved.reason, saved.source.value) == (steps[1], "people asked for it", "chat")
    assert now.draft is None
    chosen = await show_prompt(there.services, await there.actor(), CHAT, version_id=saved.version_id)
    assert chosen.files["system.md"] == shipped.files["system.md"].rstrip("\n") + MORE
    again = await server.press_shown(done, "Save version …")
    assert "You have no draft" in shown(again)


async def test_a_version_made_live_is_what_the_model_is_sent_next(there: DiscordWorld) -> None:
    server = there.server
    saved = await server.submit(
        await server.press_shown(await draft(there), "Save version …"), reason="people asked for it"
    )
    version = await server.choose_shown(saved, (await stored(there)).versions[0].version_id)
    opened = await server.press_shown(
        version, f"Make version {(await stored(there)).versions[0].version} live"
    )
    assert "From the next answer on" in shown(version)
    done = await server.submit(opened, reason="tried by hand for a week")
    assert "is live in every process" in shown(done)
    await there.ask("Which supplier?")
    assert "Always end with the word planted." in "".join(there.model.sent_texts())


async def test_what_was_typed_is_a_draft_even_where_it_cannot_be_saved(there: DiscordWorld) -> None:
    server = there.server
    opened = await server.press_shown(await asked_for(there, CHAT), SYSTEM)
    told = await server.submit(opened, **{"text.0n": "Use {{nothing_like_it}} here"})
    assert "nothing_like_it" in shown(told)
    assert "Save version …" not in labels(told["message"])
    page = await stored(there)
    assert page.draft is not None
    assert "nothing_like_it" in page.draft.files["system.md"]
    assert (await stored(there, BOB)).draft is None
    opened = await server.press_shown(told, SYSTEM)
    assert "nothing_like_it" in form_of(opened)["text.0n"]
    again = await server.press_shown(await asked_for(there, CHAT), "Go on with it")
    dropped = await server.press_shown(again, "Discard the draft")
    assert "The draft is discarded." in shown(dropped)
    assert (await stored(there)).draft is None
    gone = await server.press_shown(again, "Discard the draft")
    assert "The draft is discarded." in shown(gone)


async def test_a_long_part_is_edited_in_several_inputs_to_the_letter_and_none_is_ever_cut(
    there: DiscordWorld,
) -> None:
    server, alice = there.server, await there.actor()
    rules = "".join(f"Rule {n}: never say more than {n} words about it.\n\n" for n in range(130))
    text = await edited(there.world, alice, f"\n{rules}")
    await save(there.world, alice, text)
    await make_live(there.world, alice, (await stored(there)).versions[0].version_id)
    opened = await server.press_shown(await asked_for(there, CHAT), SYSTEM)
    begun = form_of(opened)
    assert len(begun) > 2
    # A client of Discord's may take the blanks at the ends of an input away.
    told = await server.submit(opened, **{name: words.strip() for name, words in begun.items()})
    assert "Nothing has changed yet." in shown(told)
    last = max(begun)
    opened = await server.press_shown(await asked_for(there, CHAT), SYSTEM)
    told = await server.submit(opened, **{last: f"{begun[last].rstrip()}{MORE}"})
    assert "+ Always end with the word planted." in shown(told)
    page = await stored(there)
    assert page.draft is not None
    assert page.draft.files["system.md"].rstrip() == page.files["system.md"].rstrip() + MORE.rstrip()
    await there.server.press_shown(told, "Discard the draft")
    base = (await stored(there)).live_id
    long = replace(text, base_id=base, head_id=base, files={"system.md": rules * 3})
    await save(there.world, alice, long)
    await make_live(there.world, alice, (await stored(there)).versions[0].version_id)
    refused = await server.press_shown(await asked_for(there, CHAT), SYSTEM)
    assert "Nothing is ever cut" in shown(refused)
    assert "/prompts/chat.answer/edit" in shown(refused)
    assert rules.strip() in file_of(await asked_for(there, CHAT))


async def test_who_is_second_keeps_their_text_and_sees_what_the_other_changed(there: DiscordWorld) -> None:
    server, bob = there.server, await there.actor(BOB)
    opened = await server.press_shown(await draft(there), "Save version …")
    other = await edited(there.world, bob, "")
    theirs = {"system.md": f"A new first line of the other.\n{other.files['system.md']}"}
    await save(there.world, bob, replace(other, files=theirs))
    told = await server.submit(opened, reason="people asked for it")
    assert "saved version" in shown(told)
    assert "+ A new first line of the other." in shown(told)
    assert "+ Always end with the word planted." in shown(told)
    assert "Save version …" not in labels(told["message"])
    assert files_of(told)["typed.md"] == "people asked for it"
    joined = await server.press_shown(told, "Lay mine over theirs")
    opened = await server.press_shown(joined, "Save version …")
    assert form_of(opened)["reason"] == "people asked for it"
    assert "is saved and proposed" in shown(await server.submit(opened))
    newest = (await stored(there)).versions[0]
    both = await show_prompt(there.services, bob, CHAT, version_id=newest.version_id)
    assert both.files["system.md"].startswith("A new first line of the other.\n")
    assert both.files["system.md"].endswith(MORE)


async def test_every_step_goes_on_after_a_restart(server: DiscordServer, tmp_path: Path) -> None:
    async with open_discord_world(tmp_path, server) as there:
        page = await asked_for(there, CHAT)
        opened = await server.press_shown(page, SYSTEM)
    async with open_discord_world(tmp_path, server):
        done = await server.submit(opened, **{"text.0n": form_of(opened)["text.0n"].rstrip() + MORE})
        opened = await server.press_shown(done, "Save version …")
    async with open_discord_world(tmp_path, server) as there:
        saved = await server.submit(opened, reason="people asked for it")
        assert "is saved and proposed" in shown(saved)
        newest = (await stored(there)).versions[0]
        version = await server.choose_shown(page, newest.version_id)
        opened = await server.press_shown(version, f"Make version {newest.version} live")
        live = await server.submit(opened, reason="tried by hand for a week")
        assert f"Version {newest.version} is live" in shown(live)
    assert server.broken == []


# --- what is live ---------------------------------------------------------------------------------------------------


async def version_of(there: DiscordWorld, name: str, number: str, *, user: str = ALICE) -> Json:
    return await asked_for(there, f"{name} {number}", user=user)


async def test_a_version_is_looked_at_by_another_and_made_live_past_its_eval_set_at_the_second_press(
    there: DiscordWorld,
) -> None:
    server, name = there.server, "handover.draft"
    there.world.policies[GUILD] = Policy(prompt_four_eyes=True)
    alice, _ = await there.actor(), await there.actor(BOB)
    number = (await save(there.world, alice, await edited(there.world, alice, RULE, name))).version
    mine = await version_of(there, name, number)
    assert "I have looked at it" not in labels(mine["message"])
    opened = await server.press_shown(mine, f"Make version {number} live")
    told = await server.submit(opened, reason="tried by hand for a week")
    assert "your own version" in shown(told)
    assert labels(told["message"]) == ["Back to the prompt"]
    theirs = await version_of(there, name, number, user=BOB)
    opened = await server.press_shown(theirs, "確認しました", user=BOB)
    looked = [await server.submit(opened, user=BOB, reason="reads well to me") for _ in range(2)]
    assert all("記録しました" in shown(one) for one in looked)
    opened = await server.press_shown(theirs, f"バージョン{number}を本番にする", user=BOB)
    told = await server.submit(opened, user=BOB, reason="tried by hand for a week")
    assert (await stored(there, name=name)).item.version != number
    opened = await server.press_shown(told, "それでも行う", user=BOB)
    assert form_of(opened)["reason"] == "tried by hand for a week"
    await asyncio.gather(*(server.submit(opened, user=BOB) for _ in range(2)))
    assert (await stored(there, name=name)).item.version == number
    events = await prompt_history(there.services, alice, name)
    kinds = [one.kind for one in events]
    assert kinds.count(PromptEventKind.PROMOTE) == 1
    assert kinds.count(PromptEventKind.EVAL_OVERRIDE) == 1
    assert kinds.count(PromptEventKind.VERIFY) == 1


@pytest.mark.soak
async def test_a_version_that_its_evaluation_stands_against_is_made_live_at_the_second_press(
    there: DiscordWorld,
) -> None:
    server, alice = there.server, await there.actor()
    seen = await evaluated(there.world, alice, await candidate(there.world, alice))
    assert seen.closed
    number = seen.item.candidate.version
    opened = await server.press_shown(await version_of(there, SUMMARY, number), f"Make version {number} live")
    told = await server.submit(opened, reason="tried by hand for a week")
    assert "was evaluated, and this stands against" in shown(told)
    assert (await stored(there, name=SUMMARY)).item.version != number
    opened = await server.press_shown(told, "All the same")
    description = opened["callback"]["data"]["components"][0]["description"]
    assert description.startswith("Make it live past its eval set")
    await server.submit(opened)
    assert (await stored(there, name=SUMMARY)).item.version == number
    kinds = [one.kind for one in await prompt_history(there.services, alice, SUMMARY)]
    assert kinds.count(PromptEventKind.EVAL_OVERRIDE) == 1


async def test_a_rollback_wants_what_went_wrong_and_is_told_once_in_the_channel_set_for_it(
    there: DiscordWorld,
) -> None:
    server, alice = there.server, await there.actor()
    there.world.policies[GUILD] = Policy(prompt_channel=GENERAL)
    saved = await save(there.world, alice, await edited(there.world, alice, RULE))
    await make_live(there.world, alice, saved.version_id)
    shipped = next(one for one in (await stored(there)).versions if one.shipped)
    version = await version_of(there, CHAT, shipped.version)
    assert "live again at once" in shown(version)
    opened = await server.press_shown(version, f"Roll back to version {shipped.version}")
    first = f"v{saved.version} → v{shipped.version}: "
    assert form_of(opened)["reason"] == first
    refused = await server.submit(opened)
    assert "needs a reason" in shown(refused)
    assert (await stored(there)).item.version == saved.version
    opened = await server.press_shown(refused, "Give another reason")
    reason = f"{first}answers became too dry"
    answers = await asyncio.gather(*(server.submit(opened, reason=reason) for _ in range(2)))
    assert all("Rolled back from" in shown(one) for one in answers)
    assert (await stored(there)).item.version == shipped.version
    await server.until(lambda: any("answers became too dry" in one for one in told(there)))
    assert len([one for one in told(there) if "answers became too dry" in one]) == 1
    events = await prompt_history(there.services, alice, CHAT)
    assert [one.reason for one in events if one.kind is PromptEventKind.ROLLBACK] == [reason]


async def test_a_notice_of_a_rollback_that_discord_refuses_is_told_to_whoever_rolled_back_and_posted_again(
    there: DiscordWorld,
) -> None:
    server, alice = there.server, await there.actor()
    there.world.policies[GUILD] = Policy(prompt_channel=GENERAL)
    saved = await save(there.world, alice, await edited(there.world, alice, RULE))
    await make_live(there.world, alice, saved.version_id)
    shipped = next(one for one in (await stored(there)).versions if one.shipped)
    version = await version_of(there, CHAT, shipped.version)
    opened = await server.press_shown(version, f"Roll back to version {shipped.version}")
    server.faults.append(Fault(r"POST .*/threads$", "before", 403, code=50013))
    reason = f"v{saved.version} → v{shipped.version}: answers became too dry"
    done = await server.submit(opened, reason=reason)
    for words in ("could not be opened in its channel", "Rolled back from"):
        assert words in shown(done)
    assert (await stored(there)).item.version == shipped.version
    assert not any("too dry" in one for one in told(there))
    again = await server.press_shown(done, "Open again")
    assert shown(again) == text("en", "card.opening")
    await server.until(lambda: any("too dry" in one for one in told(there)))
    assert len([one for one in told(there) if "too dry" in one]) == 1


def told(there: DiscordWorld) -> list[str]:
    """All that the bot said for everyone to read."""
    return [words for channel in list(there.server.messages) for words in there.server.texts(channel)]


async def test_who_brings_a_withdrawn_text_back_is_told_why_and_presses_again(there: DiscordWorld) -> None:
    server, alice = there.server, await there.actor()
    saved = await save(there.world, alice, await edited(there.world, alice, RULE))
    await make_live(there.world, alice, saved.version_id)
    await withdraw(there.world, alice, reason="answers became [too dry](https://x.example)")
    count = len((await stored(there)).versions)
    done = await draft(there, add=RULE)
    assert "answers became [too dry]" in shown(done)
    refused = await server.submit(
        await server.press_shown(done, "Save version …"), reason="once more with feeling"
    )
    assert "was withdrawn on" in shown(refused)
    assert "](" not in refused["shown"]["content"]
    assert len((await stored(there)).versions) == count
    opened = await server.press_shown(refused, "All the same")
    assert form_of(opened)["reason"] == "once more with feeling"
    assert "is saved and proposed" in shown(await server.submit(opened))
    number = (await stored(there)).versions[0].version
    opened = await server.press_shown(await version_of(there, CHAT, number), f"Make version {number} live")
    refused = await server.submit(opened, reason="tried by hand for a week")
    assert "was withdrawn on" in shown(refused)
    assert (await stored(there)).item.version != number
    opened = await server.press_shown(refused, "All the same")
    assert f"Version {number} is live" in shown(await server.submit(opened))


async def test_what_is_live_was_moved_meanwhile_is_said_and_decided_anew(there: DiscordWorld) -> None:
    server, alice = there.server, await there.actor()
    one = await save(there.world, alice, await edited(there.world, alice, RULE))
    two = await save(there.world, alice, await edited(there.world, alice, MORE))
    version = await version_of(there, CHAT, two.version)
    opened = await server.press_shown(version, f"Make version {two.version} live")
    await make_live(there.world, alice, one.version_id)
    refused = await server.submit(opened, reason="tried by hand for a week")
    assert "was changed meanwhile" in shown(refused)
    assert (await stored(there)).item.version == one.version
    kept = dict(server.files)
    server.files.clear()
    assert form_of(await server.press_shown(refused, "All the same")) == {"reason": ""}
    server.files |= kept
    opened = await server.press_shown(refused, "All the same")
    assert f"Version {two.version} is live" in shown(await server.submit(opened))


# --- rights ---------------------------------------------------------------------------------------------------------


async def test_who_may_not_edit_or_decide_is_refused_at_the_click_and_keeps_what_was_typed(
    there: DiscordWorld,
) -> None:
    server, alice = there.server, await there.actor()
    saved = await save(there.world, alice, await edited(there.world, alice, RULE))
    page = await asked_for(there, CHAT)
    part = await server.press_shown(page, SYSTEM)
    version = await version_of(there, CHAT, saved.version)
    move = await server.press_shown(version, f"Make version {saved.version} live")
    there.world.policies[GUILD] = Policy(prompt_promoters=(BOB,), prompt_editors=(BOB,))
    refused = await server.submit(move, reason="tried by hand for a week")
    assert "not among the people who may make prompts live" in shown(refused)
    assert (await stored(there)).item.version != saved.version
    refused = await server.submit(part, **{"text.0n": "Something else"})
    assert "not among the people who may edit" in shown(refused)
    assert file_of(refused) == "Something else"
    assert (await stored(there)).draft is None
    opened = await server.press_shown(page, SYSTEM)
    refused = await server.submit(opened, **{"text.0n": "Something else"})
    assert "not among the people who may edit" in shown(refused)
    again = await asked_for(there, CHAT)
    assert SYSTEM not in labels(again["message"])
    again = await version_of(there, CHAT, saved.version)
    assert labels(again["message"]) == ["Back to the prompt"]


async def test_a_button_or_form_of_another_release_says_so(there: DiscordWorld) -> None:
    server, page = there.server, await asked_for(there, CHAT)
    broken = {
        SYSTEM: f"pf1:pr_edit:{CHAT}:9",
        "History": f"pf1:pr_move:{CHAT}:x:0123456789ab",
        "All prompts": f"pf1:pr_move:{CHAT}:p:000000000000",
    }
    for component in components_of(page["message"]):
        if component.get("label") in broken:
            component["custom_id"] = broken[component["label"]]
    assert "belongs to another release" in shown(await server.press_shown(page, SYSTEM))
    assert "belongs to another release" in shown(await server.press_shown(page, "History"))
    assert "has no such version" in shown(await server.press_shown(page, "All prompts"))
    opened = await server.press_shown(await asked_for(there, CHAT), SYSTEM)
    form = opened["callback"]["data"]
    for custom_id in (f"pf1:pr_text:{CHAT}:0", f"pf1:pr_do:{CHAT}"):
        form["custom_id"] = custom_id
        refused = await server.submit(opened, **{"text.0n": "typed in vain"})
        assert "belongs to another release" in shown(refused)
        assert file_of(refused) == "typed in vain"
