"""Handover, adoption and pins on Discord as people do them: private drafts, forms, cards, each step once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.domain.errors import FailureKind
from core.domain.policy import Policy
from core.i18n import text
from tests.bot.discord.test_carried import grown
from tests.bot.discord.world import MENTION, DiscordWorld, labels, open_discord_world
from tests.platforms.discord_api import ALICE, BOB, GENERAL, GUILD, Fault, Json, components_of
from tests.platforms.discord_server import DiscordServer
from tests.product import eventually


def shown(done: Json) -> str:
    return str(done["shown"]["content"])


def file_of(done: Json) -> str:
    ((_, data),) = done["files"]
    return str(data.decode())


async def seen(there: DiscordWorld, done: Json, words: str) -> Json:
    """The same once the private card says so."""
    await there.server.until(lambda: words in shown(done))
    return done


async def handed(there: DiscordWorld, thread: str, target: str, **more: Any) -> Json:
    """The private draft of a handover."""
    done = await there.server.command("handover", thread, target=target, **more)
    return await seen(there, done, "Only you see this draft")


def form_of(opened: Json) -> dict[str, str]:
    """Names and contents of the inputs of a form that was opened."""
    rows = opened["callback"]["data"]["components"]
    return {row["component"]["custom_id"]: row["component"].get("value") or "" for row in rows}


def thread_in(done: Json) -> str:
    return shown(done).partition("<#")[2].partition(">")[0]


@pytest.mark.soak
async def test_a_pinned_constraint_is_handed_over_to_a_debate_with_an_edited_field(
    there: DiscordWorld,
) -> None:
    server = there.server
    thread = await there.ask("Which supplier?")
    pinned = await server.command("pin", thread, kind="constraint", text="customer names stay in-house")
    assert shown(pinned) == "Pinned."
    targets = await server.press(thread, *server.button(thread, "Hand over"))
    (menu,) = components_of(targets["message"])
    assert [one["value"] for one in menu["options"]] == ["chat", "compare", "debate", "codraft", "workflow"]
    draft = await seen(there, await server.choose_shown(targets, "debate"), "Only you see this draft")
    assert "customer names stay in-house" in shown(draft)
    assert "- customer names stay in-house" in file_of(draft)
    assert "Which supplier?" in file_of(draft)
    opened = await server.press_shown(draft, "Open questions")
    edited = await server.submit(opened, **{"open_questions.0n": "- who signs?\n- until when?"})
    assert "who signs?; until when?" in shown(edited)
    opened = await server.press_shown(edited, "How it begins")
    begins = await server.submit(
        opened, **{"start.0n": "Do we take Kita?", "background.0n": "Lease until May"}
    )
    opened = await server.press_shown(begins, "Models")
    assert "alpha" in form_of(opened)["participants"]
    seats = "alpha: proponent\nbeta：skeptic"
    ready = await server.submit(opened, participants=seats, moderator="seer", rebuttal_rounds="1")
    assert "Do we take Kita?" in shown(ready)
    asked = await server.press_shown(ready, "Send")
    assert "Nothing has been sent yet" in shown(asked)
    calls = len(there.model.calls)
    sent = await seen(there, await server.press_shown(asked, "Send"), "<#")
    again = await server.press_shown(asked, "Send")
    target = thread_in(sent)
    assert thread_in(again) == target
    await server.until(lambda: any("What the models received" in post for post in server.texts(target)))
    await eventually(there.idle)
    first = "\n".join(there.model.sent_texts(calls))
    for words in ("customer names stay in-house", "who signs?", "until when?", "Do we take Kita?"):
        assert words in first
    assert there.model.calls[calls].model == "seer"
    header = str(server.messages[GENERAL][target]["content"])
    assert "Handed over from “Which supplier?”" in header
    assert "customer names stay in" in header
    assert "MISSING" not in "".join(server.texts(target))
    assert (await there.titles()).count("Do we take Kita?") == 1


async def told(there: DiscordWorld, thread: str, words: str) -> Json:
    """What the bot replies to a word in a thread, and where it stands, as something that can be pressed."""
    before = len(there.server.ours(thread))
    await there.server.says(thread, f"{MENTION} {words}")
    await there.server.until(lambda: len(there.server.ours(thread)) > before)
    message = there.server.ours(thread)[-1]
    return {"message": dict(message), "channel": thread, "shown": message}


async def test_a_typed_word_leads_to_the_same_private_draft_which_waits_for_its_writer(
    there: DiscordWorld,
) -> None:
    server = there.server
    thread = await there.ask("Which supplier?")
    begun = await told(there, thread, "handover debate")
    assert shown(begun) == text("en", "discord.handover_begun")
    await eventually(there.idle)
    opened = await server.press_shown(begun, "Open the draft")
    draft = await seen(there, opened, "Only you see this draft")
    assert "Which supplier?" in file_of(draft)
    assert shown({"shown": server.messages[thread][begun["message"]["id"]]}) == shown(begun)
    kept = await server.submit(
        await server.press_shown(draft, "Open questions"), **{"open_questions.0n": "who?"}
    )
    assert "who?" in shown(kept)
    asked = await told(there, thread, "handover")
    targets = await server.press_shown(asked, "Hand over")
    again = await server.press_shown(targets, "Draft for Debate")
    assert "who?" in shown(await seen(there, again, "Only you see this draft"))
    assert await there.titles() == ["Which supplier?"], "nothing was sent"
    wrong = await told(there, thread, "handover chess")
    assert "chess" in shown(wrong)
    assert await there.conversation(thread) == ["Which supplier?", "answer 1"]
    calls = len(there.model.calls)
    await server.says(thread, f"{MENTION} handover to our night shift is at eight")
    await there.answered(thread, 2)
    assert len(there.model.calls) == calls + 1


async def test_routes_that_are_not_allowed_name_those_that_are(there: DiscordWorld) -> None:
    thread = await there.ask("Which supplier?")
    there.world.policies[GUILD] = Policy(handover_routes=("chat > debate",))
    refused = await there.server.command("handover", thread, target="compare")
    assert shown(refused).endswith("From chat it can go to: debate.")
    there.world.policies[GUILD] = Policy(handover_routes=())
    nowhere = await there.server.command("handover", thread)
    assert "cannot be handed over from chat here" in shown(nowhere)
    outside = await there.server.command("handover", GENERAL, target="chat")
    assert shown(outside) == "/handover works inside a thread. Open one first."


async def test_what_is_over_a_cap_is_kept_and_said_above_the_draft(there: DiscordWorld) -> None:
    server = there.server
    draft = await handed(there, await there.ask("Which supplier?"), "chat")
    long = "ü" * 301
    kept = await server.submit(await server.press_shown(draft, "Constraints"), **{"constraints.0n": long})
    refused = await server.press_shown(kept, "Send")
    assert shown(refused).startswith("⚠️ Constraint 1 has 301 characters; at most 300 are allowed.")
    opened = await server.press_shown(refused, "Constraints")
    assert form_of(opened) == {"constraints.0n": f"- {long}"}
    eleven = "\n".join(f"- number {n}" for n in range(11))
    kept = await server.submit(opened, **{"constraints.0n": eleven})
    refused = await server.press_shown(kept, "Send")
    assert "There are 11 constraints; at most 10" in shown(refused)
    fine = await server.submit(
        await server.press_shown(refused, "Constraints"), **{"constraints.0n": "in May"}
    )
    sent = await seen(there, await server.press_shown(fine, "Send"), "<#")
    late = await server.submit(opened, **{"constraints.0n": "too late"})
    assert shown(late) == text("en", "refusal.handover_sent_already")
    assert file_of(late) == "too late"
    assert "in May" in str(server.messages[GENERAL][thread_in(sent)]["content"])


async def test_pins_of_any_size_can_be_shortened_in_the_form(there: DiscordWorld) -> None:
    server = there.server
    thread = await there.ask("Which supplier?")
    long = "価格の条件。" * 600
    for n in range(7):
        await server.command("pin", thread, kind="constraint", text=f"{n} {long}")
    draft = await handed(there, thread, "chat")
    opened = await server.press_shown(draft, "Constraints")
    begun = form_of(opened)
    assert len(begun) == 5
    assert all(len(words) <= 4_000 for words in begun.values())
    untouched = await server.submit(opened)
    assert file_of(untouched) == file_of(draft)
    assert all(f"- {n} {long}" in file_of(untouched) for n in range(7))
    opened = await server.press_shown(untouched, "Constraints")
    fewer = await server.submit(opened, **dict.fromkeys(form_of(opened), ""))
    assert f"- 6 {long}" in file_of(fewer)
    assert f"- 0 {long}" not in file_of(fewer)
    whole = await server.submit(
        await server.press_shown(fewer, "Constraints"), **{"constraints.0n": "all new"}
    )
    await server.submit(await server.press_shown(whole, "Constraints"), **{"constraints.0n": "short"})
    stale = await server.submit(opened, **dict.fromkeys(form_of(opened), "typed in vain"))
    assert shown(stale) == text("en", "refusal.form_outdated")
    assert "typed in vain" in file_of(stale)


@pytest.mark.soak
async def test_a_handover_goes_on_after_a_restart_between_its_steps(
    server: DiscordServer, tmp_path: Path
) -> None:
    async with open_discord_world(tmp_path, server) as there:
        thread = await there.ask("Which supplier?")
        targets = await server.press(thread, *server.button(thread, "Hand over"))
        draft = await seen(there, await server.choose_shown(targets, "compare"), "Only you see this draft")
        opened = await server.press_shown(draft, "How it begins")
    async with open_discord_world(tmp_path, server) as there:
        edited = await server.submit(opened, **{"start.0n": "Kita or Sol?"})
        asked = await server.press_shown(edited, "Send")
    async with open_discord_world(tmp_path, server) as there:
        sent = await seen(there, await server.press_shown(asked, "Send"), "<#")
        target = thread_in(sent)
        await server.until(lambda: any("What the models received" in post for post in server.texts(target)))
        await eventually(there.idle)
        assert thread_in(await server.press_shown(edited, "Send")) == target
        assert (await there.titles()).count("Kita or Sol?") == 1
    assert server.broken == []


async def test_a_draft_that_came_while_nobody_could_show_it_is_looked_at_after_the_restart(
    server: DiscordServer, tmp_path: Path
) -> None:
    async with open_discord_world(tmp_path, server) as there:
        thread = await there.ask("Which supplier?")
        there.model.hold, there.model.held = asyncio.Event(), "draft"
        waiting = await server.command("handover", thread, target="chat")
        await asyncio.wait_for(there.model.begun.wait(), 10)
        assert shown(waiting) == text("en", "discord.draft_coming")
        early = await server.press_shown(waiting, "Look again")
        assert shown(early) == text("en", "discord.draft_coming")
    async with open_discord_world(tmp_path, server) as there:
        again = await server.press_shown(waiting, "Look again")
        await seen(there, again, "Only you see this draft")
    assert server.broken == []


async def test_a_picked_answer_of_a_compare_is_the_centre(there: DiscordWorld) -> None:
    server = there.server
    offered = await server.command("compare", GENERAL, question="Which?", models="alpha,beta")
    started = await server.press_shown(offered, "Start")
    thread = thread_in(started)
    await server.until(lambda: len(server.ours(thread)) >= 2 and not there.busy(thread))
    await eventually(there.idle)
    picked = server.ours(thread)[1]
    ref = next(c["custom_id"] for c in components_of(picked) if c.get("label") == "Continue with this one")
    targets = await server.press(thread, picked["id"], ref)
    assert "This answer is the centre" in shown(targets)
    draft = await seen(there, await server.choose_shown(targets, "chat"), "Only you see this draft")
    (model,) = [name for name in ("alpha", "beta") if f"-# {name} ·" in picked["content"]]
    assert f"- Model: {model}" in shown(draft)
    words = picked["content"].splitlines()[0]
    drafting = [call for call in there.model.calls if "draft" in call.request_id]
    sent = "\n".join(part.text for part in drafting[-1].ai_input.parts)
    assert words in sent
    other = server.ours(thread)[0]["content"].splitlines()[0]
    assert other not in sent


async def test_whoever_cannot_see_the_source_gets_a_private_notice(there: DiscordWorld) -> None:
    private = await there.server.opens_thread(GENERAL, "closed", private=True)
    await there.server.says(private, f"{MENTION} between us")
    await there.answered(private)
    draft = await handed(there, private, "chat")
    for label in ("Send", "Models", "Summary, background"):
        done = await there.server.press_shown(draft, label, user=BOB)
        assert shown(done) == text("ja", "refusal.handover_not_found")
    done = await there.server.press(private, *there.server.button(private, "Hand over"), user=BOB)
    assert "スレッド" in shown(done)


@pytest.mark.soak
async def test_a_target_that_waits_starts_by_its_button_once(there: DiscordWorld) -> None:
    server = there.server
    draft = await handed(there, await there.ask("Which supplier?"), "debate")
    asked = await server.press_shown(draft, "Send")
    assert "The new thread waits" in shown(asked)
    sent = await seen(there, await server.press_shown(asked, "Send"), "<#")
    target = thread_in(sent)
    assert "Handed over from" in str(server.messages[GENERAL][target]["content"])
    await eventually(there.idle)
    calls = len(there.model.calls)
    started = await server.press(GENERAL, *server.button(GENERAL, "Start"))
    assert shown(started) == "Started."
    twice = await server.press(GENERAL, *server.button(GENERAL, "Start"))
    assert shown(twice) == text("en", "refusal.handover_started_already")
    await server.until(lambda: len(there.model.calls) > calls)
    await eventually(there.idle)


# --- adoption -------------------------------------------------------------------------------------------------------


async def reviewed(there: DiscordWorld, branch: str) -> Json:
    done = await there.server.command("adopt", branch)
    return await seen(there, done, "Ask for adoption")


def names_in(done: Json) -> list[str]:
    """What the menu of a private card lets choose."""
    (menu,) = [c for c in components_of(done["message"]) if c["type"] == 3]
    return [option["value"] for option in menu["options"]]


async def with_conflict(there: DiscordWorld) -> tuple[str, str]:
    """A thread and its branch, each with an answer saved as “offer”."""
    thread, branch = await grown(there)
    await there.server.command("save", thread, artifact="offer", position="2")
    await there.server.command("save", branch, artifact="Offer", position="4")
    return thread, branch


@pytest.mark.soak
async def test_the_review_shows_what_is_covered_and_asks_for_a_choice_where_names_meet(
    there: DiscordWorld,
) -> None:
    server = there.server
    thread, branch = await with_conflict(there)
    await server.command("pin", branch, kind="decision", text="we stay on SQLite")
    begun = await server.press(branch, *server.button(branch, "Ask for adoption"))
    review = await seen(there, begun, "Covered")
    for words in ("What would break?", "answer 2", "we stay on SQLite"):
        assert words in file_of(review)
    assert "answer 1" not in file_of(review)
    assert "Names that both threads have: 1, still to decide: 1" in shown(review)
    opened = await server.press_shown(review, "About, concluded")
    review = await server.submit(opened, **{"about.0n": "A try with SQLite", "concluded.0n": "It holds"})
    refused = await server.submit(await server.press_shown(review, "Request …"), reason="No operations")
    assert shown(refused).startswith("⚠️ Both threads have an artifact named “Offer”")
    conflict = await server.choose_shown(refused, names_in(refused)[0])
    assert "```diff\n- answer 1\n+ answer 2\n```" in shown(conflict)
    assert file_of(conflict) == "- answer 1\n+ answer 2\n"
    both = await server.press_shown(conflict, "Keep both …")
    taken = await server.submit(both, new_name="of/fer")
    assert "⚠️" in shown(taken)
    chosen = await server.submit(both, new_name="offer of the branch")
    assert "still to decide: 0" in shown(chosen)
    opened = await server.press_shown(chosen, "Request …")
    assert form_of(opened) == {"reason": "No operations"}
    done = await server.submit(opened, reason="No operations team")
    assert shown(done) == text("en", "card.requested")
    await server.until(lambda: any("Adoption of" in post for post in server.texts(thread)))
    card = server.ours(thread)[-1]
    assert labels(card)[:4] == ["Approve", "Reject", "Show changes", "Withdraw"]
    assert all(words in card["content"] for words in ("A try with SQLite", "It holds", "No operations team"))
    await server.press(thread, *server.button(thread, "Approve"))
    await eventually(there.idle)
    listed = await server.command("artifacts", thread)
    assert "offer of the branch" in shown(listed)


async def requested(there: DiscordWorld, thread: str, branch: str, reason: str) -> None:
    """A request in which the branch's version of the one name is taken."""
    server = there.server
    review = await reviewed(there, branch)
    conflict = await server.choose_shown(review, names_in(review)[0])
    review = await server.press_shown(conflict, "Take the branch's")
    await server.submit(await server.press_shown(review, "Request …"), reason=reason)
    await server.until(lambda: any(reason in post for post in server.texts(thread)))
    await eventually(there.idle)


async def test_a_branch_is_adopted_by_a_second_person_after_a_rejection(there: DiscordWorld) -> None:
    server = there.server
    there.world.policies[GUILD] = Policy(four_eyes=True, approvers=(BOB,))
    thread, branch = await with_conflict(there)
    await requested(there, thread, branch, "No operations team")
    changes = await server.press(thread, *server.button(thread, "Show changes"), user=BOB)
    assert "What would break?" in file_of(changes)
    own = await server.press(thread, *server.button(thread, "Approve"))
    assert shown(own) == text("en", "refusal.adopt_four_eyes")
    opened = await server.press(thread, *server.button(thread, "Reject"), user=BOB)
    rejected = await server.submit(opened, user=BOB, reason="Not before March")
    assert shown(rejected) == text("ja", "card.rejected")
    await server.until(lambda: any("Not before March" in post for post in server.texts(thread)))
    assert await there.conversation(thread) == ["Which database?", "answer 1"]
    await eventually(there.idle)
    await requested(there, thread, branch, "It is March")
    approved = await server.command("approve", thread, user=BOB)
    assert shown(approved) == text("ja", "card.approved")
    late = await server.press(thread, *server.button(thread, "Approve"), user=BOB)
    assert "Ben" in shown(late)
    await eventually(there.idle)
    assert (await there.conversation(thread))[-1] == "answer 2"
    versions = await server.command("artifacts", thread, artifact="offer")
    assert "▸ version 2" in shown(versions)
    listed = await server.command("adoptions", branch)
    assert "Approved" in shown(listed)
    again = await server.choose_shown(listed, names_in(listed)[1])
    assert "Rejected" in shown(again)


async def test_whoever_may_not_decide_is_told_privately_and_keeps_what_they_typed(
    there: DiscordWorld,
) -> None:
    server = there.server
    thread, branch = await grown(there)
    review = await reviewed(there, branch)
    await server.submit(await server.press_shown(review, "Request …"), reason="It is better")
    await server.until(lambda: any("Adoption of" in post for post in server.texts(thread)))
    opened = await server.press(thread, *server.button(thread, "Reject"), user=BOB)
    refused = await server.submit(opened, user=BOB, reason="私は反対です")
    assert shown(refused) == text("ja", "refusal.adopt_not_approver")
    assert file_of(refused) == "私は反対です"
    for name in ("approve", "withdraw"):
        assert "⚠" not in shown(done := await server.command(name, thread, user=BOB))
        assert shown(done) in (
            text("ja", "refusal.adopt_not_approver"),
            text("ja", "refusal.adopt_not_requester"),
        )
    assert shown(await server.command("withdraw", branch)) == text("en", "card.withdrawn")
    none = await server.command("reject", branch, reason="x")
    assert shown(none) == text("en", "refusal.adoption_not_found")
    assert await there.conversation(thread) == ["Which database?", "answer 1"]


@pytest.mark.soak
async def test_an_adoption_goes_on_after_a_restart_between_its_steps(
    server: DiscordServer, tmp_path: Path
) -> None:
    async with open_discord_world(tmp_path, server) as there:
        thread, branch = await grown(there)
        review = await reviewed(there, branch)
        opened = await server.press_shown(review, "Next steps, sources")
    async with open_discord_world(tmp_path, server) as there:
        edited = await server.submit(opened, **{"next_steps.0n": "measure it"})
        assert "measure it" in shown(edited)
        opened = await server.press_shown(edited, "Request …")
        await server.submit(opened, reason="It is better")
        await server.until(lambda: any("Adoption of" in post for post in server.texts(thread)))
        assert "measure it" in server.texts(thread)[-1]
    async with open_discord_world(tmp_path, server) as there:
        server.twice = True
        await server.press(thread, *server.button(thread, "Approve"))
        server.twice = False
        assert (await there.conversation(thread))[-1] == "answer 2"
        await eventually(there.idle)
    assert server.broken == []


async def test_a_typed_reason_leads_to_the_review_and_stands_in_its_form(there: DiscordWorld) -> None:
    server = there.server
    thread, branch = await grown(there)
    begun = await told(there, branch, "adopt It needs no operations team")
    assert shown(begun) == text("en", "discord.adopt_begun")
    await eventually(there.idle)
    assert not any("Adoption of" in post for post in server.texts(thread)), "nothing is asked for yet"
    review = await seen(there, await server.press_shown(begun, "Open the review"), "Ask for adoption")
    for words in ("What would break?", "answer 2"):
        assert words in file_of(review)
    opened = await server.press_shown(review, "Request …")
    assert form_of(opened) == {"reason": "It needs no operations team"}
    done = await server.submit(opened)
    assert shown(done) == text("en", "card.requested")
    await server.until(lambda: any("It needs no operations team" in post for post in server.texts(thread)))
    listed = await told(there, branch, "adoptions")
    (waiting,) = names_in(listed)
    changes = await server.choose_shown(listed, waiting)
    assert "What would break?" in file_of(changes)
    long = await told(there, branch, f"adopt {'x' * 1_001}")
    assert shown(long) == text("en", "refusal.reason_too_long", had=1_001, limit=1_000)
    none = await told(there, thread, "adopt it")
    assert "is no branch" in shown(none)


async def test_a_thread_that_is_no_branch_or_holds_nothing_new_says_so(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    done = await there.server.command("adopt", thread)
    assert "is no branch" in shown(done)


# --- pins -----------------------------------------------------------------------------------------------------------


async def test_a_message_is_pinned_from_its_menu_and_an_answer_by_its_button(there: DiscordWorld) -> None:
    server = there.server
    thread = await there.ask("Which database?")
    second = await server.says(thread, "At most 40 euros")
    await there.answered(thread, 2)
    opened = await server.menu("Pin", thread, second)
    assert shown(await server.submit(opened, kind="constraint")) == "Pinned."
    opened = await server.press(thread, *server.button(thread, "Pin", 0))
    await server.submit(opened, kind="decision")
    await server.submit(opened, kind="decision")
    opened = await server.menu("Pin", thread, server.ours(thread)[1]["id"], user=BOB)
    await server.submit(opened, user=BOB, kind="open_question", text="Who pays?")
    await server.command("pin", thread, kind="reference", position="1")
    listed = file_of(await server.command("pins", thread))
    assert listed == (
        "1. Constraint\n\nAt most 40 euros\n\n2. Decision\n\nanswer 1\n\n"
        "3. Open question\n\nWho pays?\n\n4. Reference\n\nWhich database?\n"
    )
    nothing = await server.command("pin", thread, kind="reference", position="99")
    assert "no message at position 99" in shown(nothing)
    human = await server.says(GENERAL, "people only")
    foreign = await server.menu("Pin", GENERAL, human)
    assert shown(foreign) == text("en", "refusal.message_not_ours")


async def test_a_pin_is_edited_and_removed_and_its_history_stays(there: DiscordWorld) -> None:
    server = there.server
    thread = await there.ask("Which database?")
    await server.command("pin", thread, kind="constraint", text="At most 40 euros")
    listed = await server.command("pins", thread)
    (menu,) = components_of(listed["message"])
    one = await server.choose_shown(listed, menu["options"][0]["value"])
    opened = await server.press_shown(one, "Edit")
    assert form_of(opened)["text.0n"] == "At most 40 euros"
    edited = await server.submit(opened, **{"text.0n": "At most 30 euros"}, kind="decision")
    assert file_of(edited) == (
        f"{shown(edited).splitlines()[-2].removeprefix('-# ')}\n\nAt most 40 euros\n\n"
        f"{shown(edited).splitlines()[-1].removeprefix('-# ')}\n\nAt most 30 euros\n"
    )
    typed = await told(there, thread, "pins")
    (menu,) = components_of(typed["message"])
    assert shown(await server.choose_shown(typed, menu["options"][0]["value"])) == shown(edited)
    stale = await server.press_shown(one, "Edit")
    assert shown(stale) == text("en", "refusal.pin_changed")
    gone = await server.press_shown(edited, "Remove")
    assert shown(gone).startswith("Removed. Its history stays.")
    assert text("en", "discord.no_pins") in shown(gone)


# --- artifacts ------------------------------------------------------------------------------------------------------


async def test_an_artifact_shows_what_changed_and_is_sent_to_the_thread(there: DiscordWorld) -> None:
    server = there.server
    thread = await there.ask("Which database?")
    await server.says(thread, "And now?")
    await there.answered(thread, 2)
    await server.command("save", thread, artifact="offer", position="2")
    await server.command("save", thread, artifact="OFFER", position="4", as_version=True)
    one = await server.command("artifacts", thread, artifact="Offer")
    assert "```diff\n- answer 1\n+ answer 2\n```" in shown(one)
    assert one["files"] == [("artifact.md", b"answer 2"), ("changes.diff", b"- answer 1\n+ answer 2\n")]
    server.twice = True
    done = await server.command("artifacts", thread, artifact="offer", version=1, send=True)
    assert shown(done) == text("en", "discord.artifact_sent")
    posts = [post for post in server.ours(thread) if "sent by Alice" in post["content"]]
    assert len(posts) == 1
    assert server.files[posts[0]["attachments"][0]["id"]] == b"answer 1"
    assert await there.conversation(thread) == ["Which database?", "answer 1", "And now?", "answer 2"]


# --- Cross Review ---------------------------------------------------------------------------------------------------


async def test_a_review_shows_its_cost_first_and_starts_once(there: DiscordWorld) -> None:
    server = there.server
    offered = await server.command("compare", GENERAL, question="Which?", models="alpha,beta")
    thread = thread_in(await server.press_shown(offered, "Start"))
    await server.until(lambda: len(server.ours(thread)) >= 2 and not there.busy(thread))
    await eventually(there.idle)
    calls = len(there.model.calls)
    card = await server.command("review", thread, focus="Is it true?", reviewers=1)
    assert "Start Cross Review? Answers: 2" in shown(card)
    assert "Calls to models: 1" in shown(card)
    assert len(there.model.calls) == calls
    started = await server.press_shown(card, "Start")
    assert shown(started).startswith("Reviewers at work: seer")
    again = await server.press_shown(card, "Start")
    assert shown(again) == shown(started)
    await server.until(lambda: any("Cross Review, result" in post for post in server.texts(thread)))
    await eventually(there.idle)
    assert len(there.model.calls) == calls + 1
    assert "Is it true?" in there.model.sent()
    targets = await server.press(thread, *server.button(thread, "Continue with the better answer"))
    draft = await seen(there, await server.choose_shown(targets, "chat"), "Only you see this draft")
    assert "- Model: " in shown(draft)
    await server.says(thread, f"{MENTION} review")
    await server.until(lambda: any("Start Cross Review" in post for post in server.texts(thread)))
    denied = await server.press(thread, *server.button(thread, "Start"), user=BOB)
    assert shown(denied) == text("ja", "refusal.start_not_yours")
    assert ALICE in server.button(thread, "Start")[1]


async def test_a_target_that_discord_refuses_is_told_to_its_sender_and_in_the_source_and_opened_again(
    there: DiscordWorld,
) -> None:
    server = there.server
    source = await there.ask("Which supplier?")
    posts = len(server.ours(GENERAL))
    draft = await handed(there, source, "chat")
    begins = await server.submit(
        await server.press_shown(draft, "How it begins"), **{"start.0n": "Do we take Kita?"}
    )
    server.faults.append(Fault(r"POST .*/threads$", "before", 403, code=50013))
    sent = await server.press_shown(begins, "Send")
    await server.until(lambda: "could not be opened in its channel" in shown(sent))
    await server.until(lambda: any("(50013)" in post for post in server.texts(source)))
    await eventually(there.idle)
    assert len(server.ours(GENERAL)) == posts, "nothing of it stands in the channel itself"
    calls = len(there.model.calls)
    opening = await server.press_shown(sent, "Open again")
    assert shown(opening) == text("en", "card.opening")
    await server.until(lambda: len(there.model.calls) > calls)
    await eventually(there.idle)
    assert "Do we take Kita?" in there.model.sent(calls)
    late = await server.press(source, *server.button(source, "Open again"), user=BOB)
    assert shown(late) == text("ja", "refusal.thread_open_already", title="Do we take Kita?")
    link = next(post for post in server.texts(source) if "Handed over to Chat" in post)
    assert "Do we take Kita?" in link
    assert (await there.titles()).count("Do we take Kita?") == 1


async def test_a_draft_that_no_model_wrote_says_so_and_is_edited_and_sent(there: DiscordWorld) -> None:
    server = there.server
    thread = await there.ask("Which supplier?")
    there.model.plan = lambda call: FailureKind.TIMEOUT_FIRST if "/draft" in call.request_id else None
    draft = await handed(there, thread, "chat")
    assert text("en", "draft_note.extract") in shown(draft)
    assert "Which supplier?" in file_of(draft)
    opened = await server.press_shown(draft, "Summary, background")
    edited = await server.submit(opened, **{"summary.0n": "put right by hand"})
    sent = await seen(there, await server.press_shown(edited, "Send"), "<#")
    assert "put right by hand" in str(server.messages[GENERAL][thread_in(sent)]["content"])
