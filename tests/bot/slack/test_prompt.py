"""Prompts on Slack through the genuine library: read, edited, saved, looked at, made live, rolled back, reloaded."""

import asyncio
from typing import Any

import pytest

from core.commands.prompt import prompt_history, show_prompt
from core.domain.policy import Policy
from core.domain.prompt import PromptEventKind, PromptPage
from tests.bot.slack.test_handover import shown, written
from tests.bot.slack.test_start import refused
from tests.bot.slack.world import MENTION, SlackWorld, texts_of
from tests.commands.evaluating import SUMMARY, candidate, evaluated
from tests.commands.prompting import CHAT, RULE, edited, make_live, save, withdraw
from tests.platforms.slack_state import TEAM, Delivery
from tests.product import eventually

PAGE = "form.prompt"
MORE = "\nAlways end with the word planted.\n"


def block(view: dict[str, Any], name: str) -> dict[str, Any]:
    """A field of a form."""
    (found,) = [one for one in view["blocks"] if one.get("block_id", "").startswith(f"{name}:")]
    return dict(found)


def value(view: dict[str, Any], name: str) -> str:
    return str(block(view, name)["element"].get("initial_value", ""))


async def send(slack: SlackWorld, view: dict[str, Any], *, user: str = "UALICE", **typed: str) -> Delivery:
    """Send a form with what was typed in its fields, named without what tells forms apart."""
    values = {block(view, name)["block_id"]: words for name, words in typed.items()}
    return await slack.server.submit(view["id"], values, user=user)


def after(sent: Delivery) -> dict[str, Any]:
    """The form that stands in the place of one that was sent."""
    assert sent.response is not None
    assert sent.response["response_action"] == "update", sent.response
    view: dict[str, Any] = sent.response["view"]
    return view


async def asked_for(slack: SlackWorld, words: str, says: str, *, user: str = "UALICE") -> dict[str, Any]:
    """The form of `/prompts`, once it says something."""
    before = len(slack.server.views)
    await slack.server.slash("/prompts", words, user=user)
    await eventually(lambda: len(slack.server.views) > before and says in texts_of(slack.server.newest_view))
    return slack.server.newest_view


async def pressed(
    slack: SlackWorld, action: str, says: str, wanted: str = "", *, user: str = "UALICE"
) -> dict[str, Any]:
    """The form after a button in it, once it says something."""
    view = slack.server.newest_view
    if wanted:
        await slack.server.click_in_view(view["id"], action, wanted, user=user)
    else:
        await slack.server.press_in_view(action, user=user)
    await eventually(lambda: says in texts_of(slack.server.views[view["id"]]))
    return slack.server.views[view["id"]]


async def stored(slack: SlackWorld, user: str = "UALICE", name: str = CHAT) -> PromptPage:
    return await show_prompt(slack.services, await slack.actor(user), name)


async def drafted(slack: SlackWorld, *, add: str = MORE, user: str = "UALICE") -> dict[str, Any]:
    """The form that saves a draft, after the system part was edited."""
    await asked_for(slack, CHAT, "system.md", user=user)
    view = await pressed(slack, "prompt.edit:system.md", "kept as your draft", user=user)
    assert view["callback_id"] == "form.prompt_edit"
    sent = await send(slack, view, user=user, text=value(view, "text").rstrip("\n") + add.rstrip("\n"))
    saving = after(sent)
    assert saving["callback_id"] == "form.prompt_save"
    return slack.server.views[view["id"]]


async def test_a_part_is_edited_checked_and_saved_with_the_step_it_needs_and_a_reason(
    slack: SlackWorld,
) -> None:
    shipped = await stored(slack)
    view = await drafted(slack)
    assert "at least minor" in texts_of(view)
    assert "+ Always end with the word planted." in texts_of(view)
    steps = [one["value"] for one in block(view, "version")["element"]["options"]]
    assert len(steps) == 2
    assert "reason" in refused(await send(slack, view, reason="x"))
    assert (await stored(slack)).versions == shipped.versions
    answers = await asyncio.gather(*(send(slack, view, reason="people asked for it") for _ in range(2)))
    assert all(f"Version {steps[0]} is saved" in texts_of(after(one)) for one in answers)
    now = await stored(slack)
    assert len(now.versions) == len(shipped.versions) + 1
    saved = now.versions[0]
    assert (saved.version, saved.reason, saved.source.value) == (steps[0], "people asked for it", "chat")
    assert now.draft is None
    chosen = await show_prompt(slack.services, await slack.actor(), CHAT, version_id=saved.version_id)
    assert chosen.files["system.md"] == shipped.files["system.md"].rstrip("\n") + MORE


async def test_what_was_typed_is_a_draft_even_where_it_cannot_be_saved(slack: SlackWorld) -> None:
    await asked_for(slack, CHAT, "system.md")
    view = await pressed(slack, "prompt.edit:system.md", "kept as your draft")
    told = after(await send(slack, view, text="Use {{nothing_like_it}} here"))
    assert "nothing_like_it" in texts_of(told)
    assert told["callback_id"] == PAGE
    page = await stored(slack)
    assert page.draft is not None
    assert "nothing_like_it" in page.draft.files["system.md"]
    assert (await stored(slack, "UBEN")).draft is None
    again = await pressed(slack, "prompt.edit:system.md", "kept as your draft")
    assert "nothing_like_it" in value(again, "text")
    await asked_for(slack, CHAT, "Go on with it")
    await pressed(slack, "prompt.draft", "Discard the draft")
    await pressed(slack, "prompt.drop", "The draft is discarded")
    assert (await stored(slack)).draft is None


async def test_who_is_second_keeps_their_text_and_sees_what_the_other_changed(slack: SlackWorld) -> None:
    view = await drafted(slack)
    ben = await slack.actor("UBEN")
    other = await edited(slack.world, ben, "")
    theirs = {"system.md": f"A new first line of the other.\n{other.files['system.md']}"}
    await save(
        slack.world, ben, type(other)(name=CHAT, base_id=other.base_id, head_id=other.head_id, files=theirs)
    )
    told = after(await send(slack, view, reason="people asked for it"))
    assert "saved version" in texts_of(told)
    assert "+ A new first line of the other." in texts_of(told)
    assert "+ Always end with the word planted." in texts_of(told)
    assert told["callback_id"] == PAGE
    joined = await pressed(slack, "prompt.join", "at least")
    assert joined["callback_id"] == "form.prompt_save"
    saved = after(await send(slack, joined, reason="people asked for it"))
    assert "is saved and proposed" in texts_of(saved)
    newest = (await stored(slack)).versions[0]
    both = await show_prompt(slack.services, ben, CHAT, version_id=newest.version_id)
    assert both.files["system.md"].startswith("A new first line of the other.\n")
    assert both.files["system.md"].endswith(MORE)


async def test_a_part_longer_than_a_form_is_never_cut(slack: SlackWorld) -> None:
    await asked_for(slack, "review.verdict", "output.schema.json")
    view = await pressed(slack, "prompt.edit:output.schema.json", "Nothing is ever cut")
    assert "/prompts/review.verdict/edit" in texts_of(view)
    before = len(slack.server.calls_of("files.completeUploadExternal"))
    await pressed(slack, "prompt.text_file", "direct message")
    assert len(slack.server.calls_of("files.completeUploadExternal")) == before + 1


async def test_a_version_is_looked_at_by_another_and_made_live_past_its_eval_set_at_the_second_press(
    slack: SlackWorld,
) -> None:
    slack.world.policies[TEAM] = Policy(prompt_four_eyes=True)
    alice = await slack.actor()
    saved = await save(slack.world, alice, await edited(slack.world, alice, RULE, "handover.draft"))
    number = saved.version
    await slack.actor("UBEN")
    view = await asked_for(slack, f"handover.draft {number}", "Make version")
    assert "prompt.verify" not in str(view)
    told = await pressed(slack, "prompt.promote", "From the next answer on")
    assert "your own version" in refused(await send(slack, told, reason="tried by hand for a week"))
    view = await asked_for(slack, f"handover.draft {number}", number, user="UBEN")
    told = await pressed(slack, "prompt.verify", "履歴", user="UBEN")
    done = after(await send(slack, told, user="UBEN", reason="reads well to me"))
    assert done["callback_id"] == PAGE
    await asked_for(slack, f"handover.draft {number}", number, user="UBEN")
    told = await pressed(slack, "prompt.promote", number, user="UBEN")
    again = after(await send(slack, told, user="UBEN", reason="tried by hand for a week"))
    assert again["callback_id"] == "form.prompt_move"
    assert value(again, "reason") == "tried by hand for a week"
    assert (await stored(slack, name="handover.draft")).item.version != number
    again = slack.server.views[told["id"]]
    await asyncio.gather(
        *(send(slack, again, user="UBEN", reason="tried by hand for a week") for _ in range(2))
    )
    assert (await stored(slack, name="handover.draft")).item.version == number
    kinds = [e.kind for e in await prompt_history(slack.services, alice, "handover.draft")]
    assert kinds.count(PromptEventKind.PROMOTE) == 1
    assert kinds.count(PromptEventKind.EVAL_OVERRIDE) == 1
    assert kinds.count(PromptEventKind.VERIFY) == 1


async def test_a_version_that_its_evaluation_stands_against_is_made_live_at_the_second_press(
    slack: SlackWorld,
) -> None:
    alice = await slack.actor()
    version_id = await candidate(slack.world, alice)
    # The scripted model answers with the same few words, which is not what the cases ask for.
    seen = await evaluated(slack.world, alice, version_id)
    assert seen.closed
    number = seen.item.candidate.version
    await asked_for(slack, f"{SUMMARY} {number}", "Make version")
    told = await pressed(slack, "prompt.promote", "From the next answer on")
    again = after(await send(slack, told, reason="tried by hand for a week"))
    assert "was evaluated, and this stands against" in texts_of(again)
    assert (await stored(slack, name=SUMMARY)).item.version != number
    await send(slack, slack.server.views[told["id"]], reason="tried by hand for a week")
    assert (await stored(slack, name=SUMMARY)).item.version == number
    kinds = [e.kind for e in await prompt_history(slack.services, alice, SUMMARY)]
    assert kinds.count(PromptEventKind.EVAL_OVERRIDE) == 1


@pytest.mark.soak
async def test_a_rollback_wants_what_went_wrong_and_is_told_once_in_the_channel_set_for_it(
    slack: SlackWorld,
) -> None:
    slack.world.policies[TEAM] = Policy(prompt_channel="C1")
    alice = await slack.actor()
    saved = await save(slack.world, alice, await edited(slack.world, alice, RULE))
    await make_live(slack.world, alice, saved.version_id)
    shipped = next(one for one in (await stored(slack)).versions if one.shipped)
    await asked_for(slack, f"{CHAT} {shipped.version}", "Roll back to version")
    view = await pressed(slack, "prompt.rollback", "live again at once")
    first = f"v{saved.version} → v{shipped.version}: "
    assert value(view, "reason") == first
    assert "needs a reason" in refused(await send(slack, view, reason=first))
    assert (await stored(slack)).item.version == saved.version
    reason = f"{first}answers became too dry"
    answers = await asyncio.gather(*(send(slack, view, reason=reason) for _ in range(2)))
    assert all("Rolled back from" in texts_of(after(one)) for one in answers)
    assert (await stored(slack)).item.version == shipped.version

    def told() -> list[dict[str, Any]]:
        return [m for m in slack.server.posts("C1") if "answers became too dry" in texts_of(m)]

    await eventually(told)
    (post,) = told()
    assert shipped.version in texts_of(post)
    records = [
        e for e in await prompt_history(slack.services, alice, CHAT) if e.kind is PromptEventKind.ROLLBACK
    ]
    assert [one.reason for one in records] == [reason]


async def test_a_notice_of_a_rollback_that_slack_refuses_is_told_to_whoever_rolled_back_and_posted_again(
    slack: SlackWorld,
) -> None:
    slack.world.policies[TEAM] = Policy(prompt_channel="C1")
    alice = await slack.actor()
    saved = await save(slack.world, alice, await edited(slack.world, alice, RULE))
    await make_live(slack.world, alice, saved.version_id)
    shipped = next(one for one in (await stored(slack)).versions if one.shipped)
    await asked_for(slack, f"{CHAT} {shipped.version}", "Roll back to version")
    view = await pressed(slack, "prompt.rollback", "live again at once")
    slack.server.fault("chat.postMessage", "error", code="not_in_channel")
    await send(slack, view, reason=f"v{saved.version} → v{shipped.version}: answers became too dry")
    await eventually(lambda: written(slack))
    assert (await stored(slack)).item.version == shipped.version, "it is live all the same"
    (told,) = written(slack)
    assert [m for m in slack.server.posts("C1") if "too dry" in texts_of(m)] == []
    await slack.server.click(told["channel"], told["ts"], "do.open_again", times=2)
    await eventually(lambda: any("too dry" in texts_of(m) for m in slack.server.posts("C1")))
    assert len([m for m in slack.server.posts("C1") if "too dry" in texts_of(m)]) == 1


async def test_who_brings_a_withdrawn_text_back_is_told_why_and_presses_again(slack: SlackWorld) -> None:
    alice = await slack.actor()
    saved = await save(slack.world, alice, await edited(slack.world, alice, RULE))
    await make_live(slack.world, alice, saved.version_id)
    await withdraw(slack.world, alice)
    count = len((await stored(slack)).versions)
    view = await drafted(slack, add=RULE)
    assert "answers became too dry" in texts_of(view)
    told = after(await send(slack, view, reason="once more with feeling"))
    assert "was withdrawn on" in texts_of(told)
    assert value(told, "reason") == "once more with feeling"
    assert len((await stored(slack)).versions) == count
    done = after(await send(slack, slack.server.views[view["id"]], reason="once more with feeling"))
    assert "is saved and proposed" in texts_of(done)
    number = (await stored(slack)).versions[0].version
    await asked_for(slack, f"{CHAT} {number}", "Make version")
    form = await pressed(slack, "prompt.promote", "From the next answer on")
    told = after(await send(slack, form, reason="tried by hand for a week"))
    assert "was withdrawn on" in texts_of(told)
    assert (await stored(slack)).item.version != number
    done = after(await send(slack, slack.server.views[form["id"]], reason="tried by hand for a week"))
    assert f"Version {number} is live" in texts_of(done)


async def test_what_is_live_was_moved_meanwhile_is_said_and_decided_anew(slack: SlackWorld) -> None:
    alice = await slack.actor()
    one = await save(slack.world, alice, await edited(slack.world, alice, RULE))
    two = await save(slack.world, alice, await edited(slack.world, alice, MORE))
    await asked_for(slack, f"{CHAT} {two.version}", "Make version")
    form = await pressed(slack, "prompt.promote", "From the next answer on")
    await make_live(slack.world, alice, one.version_id)
    told = after(await send(slack, form, reason="tried by hand for a week"))
    assert "was changed meanwhile" in texts_of(told)
    assert (await stored(slack)).item.version == one.version
    done = after(await send(slack, slack.server.views[form["id"]], reason="tried by hand for a week"))
    assert f"Version {two.version} is live" in texts_of(done)


async def test_the_list_the_history_the_processes_and_a_reload_are_seen_by_whoever_asks(
    slack: SlackWorld,
) -> None:
    alice = await slack.actor()
    await save(slack.world, alice, await edited(slack.world, alice, RULE))
    root = await slack.ask("Which supplier?")
    before = len(slack.server.ephemerals)
    await slack.server.say(f"{MENTION} prompts", thread=root)
    await eventually(lambda: len(slack.server.ephemerals) > before)
    card = slack.server.ephemerals[-1]
    assert card["user"] == "UALICE"
    assert "handover.draft" in texts_of(card)
    await slack.server.click_private("prompt.open")
    await shown(slack, PAGE)
    await pressed(slack, "prompt.open", "chat.answer", CHAT)
    told = await pressed(slack, "prompt.history", "people asked for it")
    assert "History of chat.answer" in texts_of(told)
    await pressed(slack, "prompt.history_file", "direct message")
    await asked_for(slack, "status", "Up to date")
    await asked_for(slack, "", "handover.draft")
    await slack.server.press_in_view("prompt.reload")
    await eventually(lambda: "reads its prompts again" in texts_of(slack.server.newest_view))


async def test_guests_see_no_prompts_and_who_may_not_decide_is_refused_at_the_press(
    slack: SlackWorld,
) -> None:
    await asked_for(slack, "", "Guests and people from outside cannot see", user="UGUEST")
    await asked_for(slack, CHAT, "Guests and people from outside cannot see", user="UGUEST")
    alice = await slack.actor()
    saved = await save(slack.world, alice, await edited(slack.world, alice, RULE))
    await asked_for(slack, f"{CHAT} {saved.version}", "Make version")
    form = await pressed(slack, "prompt.promote", "From the next answer on")
    slack.world.policies[TEAM] = Policy(prompt_promoters=("UBEN",), prompt_editors=("UBEN",))
    told = await send(slack, form, reason="tried by hand for a week")
    assert "not among the people who may make prompts live" in refused(told)
    assert (await stored(slack)).item.version != saved.version
    view = await asked_for(slack, CHAT, "system.md")
    assert "prompt.edit" not in str(view)
    await slack.server.click_in_view(view["id"], "prompt.edit:system.md", "system.md")
    await eventually(lambda: "kept as your draft" in texts_of(slack.server.views[view["id"]]))
    told = await send(slack, slack.server.views[view["id"]], text="Something else")
    assert "not among the people who may edit" in refused(told)
    assert (await stored(slack)).draft is None


async def test_a_sentence_that_begins_with_the_word_is_said_and_bad_words_after_the_command_are_explained(
    slack: SlackWorld,
) -> None:
    await asked_for(slack, "are great", "After `prompts` comes nothing")
    await asked_for(slack, "no.such.prompt", "There is no prompt")
    await asked_for(slack, f"{CHAT} 9.9.9", "no such version")
    calls = len(slack.model.calls)
    await slack.ask("prompts are what I want to learn about")
    assert len(slack.model.calls) == calls + 1
