"""The modes in which several models speak, from the estimate to the last button."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.domain.policy import Policy
from core.i18n import text
from tests.bot.discord.world import MENTION, DiscordWorld, labels, open_discord_world
from tests.platforms.discord_api import ALICE, BOB, FORUM, GENERAL, GUILD, Fault, Json
from tests.platforms.discord_server import DiscordServer
from tests.product import eventually

LONG = "  Which of these?\n\n\n" + "Ünïcödé 🙂 `code` *stars*\n" * 220


def shown(done: Json) -> str:
    return str(done["shown"]["content"])


def thread_in(done: Json) -> str:
    """The thread that the person is told of."""
    begin, end = "Your thread: <#", ">"
    assert shown(done).startswith(begin)
    return shown(done).removeprefix(begin).removesuffix(end)


async def finished(there: DiscordWorld, thread: str, posts: int) -> None:
    """Return when a thread shows so many posts of ours and nothing is being written any more."""
    await there.server.until(lambda: len(there.server.ours(thread)) >= posts and not there.busy(thread))
    await eventually(there.idle)


async def start(there: DiscordWorld, command: str, /, **options: Any) -> str:
    """A thread in a mode, begun by command and Start."""
    return thread_in(
        await there.server.press_shown(await there.server.command(command, GENERAL, **options), "Start")
    )


def models_called(there: DiscordWorld) -> list[str]:
    return [call.model for call in there.model.calls]


async def test_compare_shows_its_cost_privately_and_starts_with_the_usual_models(there: DiscordWorld) -> None:
    offered = await there.server.command("compare", GENERAL, question="Which one is better?")
    assert shown(offered).startswith(
        "**Start Compare?**\n> Which one is better?\n- Models: alpha, beta, seer\n"
    )
    assert "Calls to models: 3" in shown(offered)
    assert [c["label"] for row in offered["shown"]["components"] for c in row["components"]] == ["Start"]
    assert there.server.ours(GENERAL) == []
    assert there.model.calls == []
    thread = thread_in(await there.server.press_shown(offered, "Start"))
    (question,) = there.server.ours(GENERAL)
    assert question["content"] == "**Alice** · Compare\n> Which one is better?"
    assert question["id"] == thread
    await finished(there, thread, 3)
    assert sorted(models_called(there)) == ["alpha", "beta", "seer"]
    assert all("Which one is better?" in there.model.sent(n) for n in range(3))
    assert await there.titles() == ["Which one is better?"]


async def test_one_answer_is_stopped_by_its_own_button_and_the_others_go_on(there: DiscordWorld) -> None:
    there.model.hold, there.model.held = asyncio.Event(), "answer:beta"
    thread = await start(there, "compare", question="Which?")

    def writing() -> list[Json]:
        return [one for one in there.server.ours(thread) if "Stop this answer" in labels(one)]

    await there.server.until(lambda: there.model.begun.is_set() and len(writing()) == 1)
    (card,) = writing()
    assert labels(card) == ["Stop this answer", "Stop the run"]
    pressed = await there.server.press(thread, *there.server.button(thread, "Stop this answer"))
    assert shown(pressed) == "Stopping. What is written so far is kept."
    await finished(there, thread, 3)
    assert ["Stopped by a person" in text for text in there.server.texts(thread)[:3]] == [False, True, False]
    assert len(there.model.calls) == 3


@pytest.mark.soak
async def test_the_answers_are_compared_reviewed_and_saved_by_their_buttons(there: DiscordWorld) -> None:
    thread = await start(there, "compare", question="Which?", models="alpha,beta")
    await finished(there, thread, 2)
    await there.server.press(thread, *there.server.button(thread, "Compare answers"))
    await finished(there, thread, 3)
    offered = await there.server.press(thread, *there.server.button(thread, "Cross Review"))
    reviewed = await there.server.press_shown(offered, "Start")
    assert shown(reviewed).startswith("Reviewers at work: seer")
    await there.server.until(lambda: any("Cross Review, result" in t for t in there.server.texts(thread)))
    await eventually(there.idle)
    assert "Saved as “Result 1”." in shown(
        await there.server.press(thread, *there.server.button(thread, "Save"))
    )


async def test_a_blind_compare_hides_its_models_until_someone_votes(there: DiscordWorld) -> None:
    thread = await start(there, "compare", question="Which?", models="alpha beta", blind=True)
    await finished(there, thread, 2)
    assert not any(name in text for text in there.server.texts(thread) for name in ("alpha", "beta"))
    old = {"message": dict(there.server.ours(thread)[0]), "channel": thread}
    posts = len(there.server.texts(thread))
    voted = await there.server.press(thread, *there.server.button(thread, "Vote for this"))
    assert shown(voted) == text("en", "answer.vote")
    answers = there.server.ours(thread)[:2]
    await there.server.until(lambda: not any("Vote for this" in labels(one) for one in answers))
    assert all(any(f"-# {name} ·" in one["content"] for one in answers) for name in ("alpha", "beta"))
    await eventually(there.idle)
    assert len(there.server.texts(thread)) == posts, "the posts themselves say it; nothing is added"
    refused = await there.server.press_shown(old, "Vote for this")
    assert "voted on this question already" in shown(refused)


async def test_a_debate_goes_through_the_rounds_and_settings_that_were_chosen(there: DiscordWorld) -> None:
    thread = await start(
        there,
        "debate",
        topic="Do we move?",
        models="beta, alpha",
        rounds=2,
        moderator="seer",
        background="The lease ends in May.",
    )
    await finished(there, thread, 8)
    called = models_called(there)
    assert (called[0], sorted(called[1:3]), called[3:]) == (
        "seer",
        ["alpha", "beta"],
        ["beta", "alpha", "beta", "alpha", "seer"],
    )
    assert all("The lease ends in May." in there.model.sent(n) for n in range(8))
    assert r"Round 5 of 5\: synthesis" in there.server.texts(thread)[-1]


async def test_a_co_draft_is_revised_and_its_versions_are_shown(there: DiscordWorld) -> None:
    thread = await start(there, "codraft", task="A greeting.", models="alpha,beta", passes=1)
    await finished(there, thread, 3)
    assert models_called(there) == ["alpha", "beta", "beta"]
    listed = await there.server.command("artifacts", thread)
    assert "**draft** · version 2 · beta" in shown(listed)
    one = await there.server.command("artifacts", thread, artifact="draft", version=1)
    assert "▸ version 1 · alpha" in shown(one)
    assert one["files"] == [("artifact.md", b"answer 1")]
    assert await there.server.suggestions("artifacts", thread, "artifact", "dr") == ["draft"]
    missing = await there.server.command("artifacts", thread, artifact="memo")
    assert shown(missing) == "This thread has no artifact named “memo”."


async def test_a_workflow_runs_its_steps_with_what_was_given(there: DiscordWorld) -> None:
    offered = await there.server.command(
        "workflow", GENERAL, workflow="document_polish", request="Dear all", constraints="Ten words."
    )
    assert "Start Workflow (Beta)?" in shown(offered)
    assert "- Limits: Ten words." in shown(offered)
    thread = thread_in(await there.server.press_shown(offered, "Start"))
    await there.server.until(lambda: there.server.ours(thread))
    await eventually(there.idle)
    assert r"Workflow \(Beta\), Diagnosis" in there.server.texts(thread)[0]
    assert "Dear all" in there.model.sent(0)
    assert "Ten words." in there.model.sent(0)


async def test_start_works_after_a_restart_and_the_whole_text_arrives(
    server: DiscordServer, tmp_path: Path
) -> None:
    async with open_discord_world(tmp_path, server) as before:
        file = server.attach("load.csv", b"minute,jobs\n0,200\n")
        offered = await before.server.command("compare", GENERAL, question=LONG, models="alpha,beta")
        with_file = await before.server.command("compare", GENERAL, question="And this?", file=file["id"])
    async with open_discord_world(tmp_path, server) as after:
        thread = thread_in(await server.press_shown(offered, "Start"))
        await finished(after, thread, 2)
        assert (await after.conversation(thread))[0] == LONG.strip()
        assert thread_in(await server.press_shown(with_file, "Start")) != thread
        await eventually(after.idle)
        assert "0,200" in after.model.sent()
    assert server.broken == []


async def test_start_pressed_twice_starts_one_thread(there: DiscordWorld) -> None:
    offered = await there.server.command("compare", GENERAL, question="Which?", models="alpha,beta")
    first = thread_in(await there.server.press_shown(offered, "Start"))
    await finished(there, first, 2)
    for message in there.server.ours(GENERAL):
        # Discord remembers a nonce for minutes only.
        message.pop("nonce")
    assert thread_in(await there.server.press_shown(offered, "Start")) == first
    assert len(there.server.ours(GENERAL)) == 1
    assert await there.titles() == ["Which?"]
    assert len(there.model.calls) == 2


async def test_start_that_was_cut_off_by_discord_goes_on_with_the_same_question(there: DiscordWorld) -> None:
    offered = await there.server.command("compare", GENERAL, question="Which?", models="alpha,beta")
    there.server.faults.append(Fault(f"POST /channels/{GENERAL}/messages$", "after", 500))
    thread = thread_in(await there.server.press_shown(offered, "Start"))
    await finished(there, thread, 2)
    assert len(there.server.ours(GENERAL)) == 1


@pytest.mark.parametrize(
    ("command", "options", "sentence"),
    [
        ("compare", {"question": "x", "models": "alpha"}, "Compare takes 2 to 6 models; 1 were named."),
        ("compare", {"question": "  "}, "There is nothing to send"),
        ("compare", {"question": "x", "models": "alpha,ghost"}, "There is no model “ghost”"),
        ("debate", {"topic": " "}, "A Debate needs a topic"),
        ("debate", {"topic": "x", "rounds": 0}, "“rebuttal_rounds” is 0; 1 to 3 are allowed."),
        ("debate", {"topic": "x", "rounds": "many"}, "must be a whole number from 1 to 3"),
        ("debate", {"topic": "x", "background": "b" * 100_000}, "have 100000 characters"),
        ("codraft", {"task": "x", "models": "alpha"}, "Co-Draft takes 2 to 6 models"),
        ("workflow", {"workflow": "nothing", "request": "x"}, "There is no workflow “nothing”"),
    ],
)
async def test_a_refusal_is_one_private_sentence_and_nothing_is_posted(
    there: DiscordWorld, command: str, options: dict[str, Any], sentence: str
) -> None:
    done = await there.server.command(command, GENERAL, **options)
    assert sentence in shown(done)
    assert done["shown"]["components"] == []
    japanese = await there.server.command(command, GENERAL, user=BOB, **options)
    assert sentence not in shown(japanese)
    assert there.server.ours(GENERAL) == []
    assert there.model.calls == []


async def test_over_budget_nothing_is_started_or_posted(there: DiscordWorld) -> None:
    there.world.policies[GUILD] = Policy(budget_person_usd_month=0.01)
    offered = await there.server.command("compare", GENERAL, question="Which?", models="alpha,small")
    done = await there.server.press_shown(offered, "Start")
    assert "over your budget" in shown(done)
    assert there.server.ours(GENERAL) == []
    assert await there.titles() == []


async def test_an_estimate_whose_file_is_gone_or_of_another_release_says_so(there: DiscordWorld) -> None:
    for broken in (None, b"{}", b"not json"):
        offered = await there.server.command("compare", GENERAL, question="Which?")
        (file,) = offered["message"]["attachments"]
        if broken is None:
            del there.server.files[file["id"]]
        else:
            there.server.files[file["id"]] = broken
        done = await there.server.press_shown(offered, "Start")
        assert "can no longer be read" in shown(done)
    assert there.server.ours(GENERAL) == []


async def test_a_thread_of_ours_stays_what_it_is(there: DiscordWorld) -> None:
    thread = await there.ask("First.")
    done = await there.server.command("compare", thread, question="Which?")
    assert shown(done) == "This thread goes on as it is. To start something new use /compare in the channel."
    await there.server.says(thread, f"{MENTION} compare the two")
    await there.answered(thread, 2)
    assert (await there.conversation(thread))[2] == "compare the two"


async def test_a_mention_starts_a_mode_for_whoever_wrote_it(there: DiscordWorld) -> None:
    message = await there.server.says(GENERAL, f"{MENTION} compare which is better")
    await there.server.until(lambda: there.server.ours(GENERAL))
    (card,) = there.server.ours(GENERAL)
    assert card["content"].startswith("**Start Compare?**\n> which is better\n")
    assert card["attachments"] == []
    press = there.server.button(GENERAL, "Start")
    assert "本人だけ" in shown(await there.server.press(GENERAL, *press, user=BOB))
    assert there.model.calls == []
    assert thread_in(await there.server.press(GENERAL, *press)) == message
    assert thread_in(await there.server.press(GENERAL, *press)) == message
    await finished(there, message, 3)
    assert (await there.conversation(message))[0] == "which is better"
    assert len(there.model.calls) == 3


async def test_a_mention_names_the_workflow_before_the_request(there: DiscordWorld) -> None:
    await there.server.says(GENERAL, f"{MENTION} workflow document_polish Dear all")
    await there.server.says(GENERAL, f"{MENTION} workflow")
    await there.server.until(lambda: len(there.server.ours(GENERAL)) == 2)
    assert "> Dear all" in there.server.texts(GENERAL)[0]
    assert there.server.texts(GENERAL)[1].startswith("There is no workflow “”.")


async def test_a_question_that_was_deleted_meanwhile_is_not_started(there: DiscordWorld) -> None:
    message = await there.server.says(GENERAL, f"{MENTION} compare which is better")
    await there.server.until(lambda: there.server.ours(GENERAL))
    press = there.server.button(GENERAL, "Start")
    await there.server.edits(GENERAL, message, "never mind")
    assert "can no longer be read" in shown(await there.server.press(GENERAL, *press))
    await there.server.deletes(GENERAL, message)
    assert "can no longer be read" in shown(await there.server.press(GENERAL, *press))


async def test_a_mode_begins_in_a_forum_post_with_what_stood_there_before(there: DiscordWorld) -> None:
    post = await there.server.opens_thread(FORUM, "An idea")
    await there.server.says(post, "We could rent.", user=BOB)
    await there.server.says(post, f"{MENTION} debate is it any good?")
    await there.server.until(lambda: there.server.ours(post))
    assert thread_in(await there.server.press(post, *there.server.button(post, "Start"))) == post
    await eventually(there.idle)
    assert await there.titles() == ["is it any good?"]
    assert "We could rent." in (await there.conversation(post, channel=FORUM))


async def test_missing_rights_are_named_before_anything_is_posted(there: DiscordWorld) -> None:
    offered = await there.server.command("compare", GENERAL, question="Which?")
    there.server.lost_rights.add(GENERAL)
    assert "Send Messages in Threads" in shown(await there.server.press_shown(offered, "Start"))


async def test_review_takes_the_last_answers_or_those_that_are_named(there: DiscordWorld) -> None:
    thread = await start(there, "compare", question="Which?", models="alpha,beta")
    await finished(there, thread, 2)
    before = len(there.model.calls)
    done = await there.server.command("review", thread, focus="Only cost.", reviewers=1)
    assert len(there.model.calls) == before
    started = await there.server.press_shown(done, "Start")
    assert shown(started) == "Reviewers at work: seer. Their results appear in the thread."
    await eventually(there.idle)
    sent = there.model.sent(before)
    assert all(part in sent for part in ("Only cost.", "answer 1", "answer 2"))
    there.world.policies[GUILD] = Policy(allowed_models=("alpha", "beta", "seer"))
    done = await there.server.command("review", thread, answers="#2", reviewers=4)
    assert "Only 1 of 4 reviewers" in shown(done)
    refused = await there.server.command("review", thread, answers="1")
    assert "There is no answer at position 1" in shown(refused)
    refused = await there.server.command("review", thread, reviewers=0)
    assert "1 to 4 reviewers; 0 were asked for" in shown(refused)


async def test_an_answer_is_reviewed_from_the_menu_of_its_message(there: DiscordWorld) -> None:
    thread = await start(there, "compare", question="Which?", models="alpha,beta")
    await finished(there, thread, 2)
    answer = there.server.ours(thread)[0]
    offered = await there.server.menu("Cross Review", thread, answer["id"])
    assert shown(await there.server.press_shown(offered, "Start")).startswith("Reviewers at work")
    refused = await there.server.menu("Cross Review", GENERAL, thread)
    assert "This is not an answer" in shown(refused)


async def test_what_cannot_be_reviewed_says_where_it_can(there: DiscordWorld) -> None:
    thread = await there.ask("First.")
    done = await there.server.command("review", thread)
    assert "Answers of this mode cannot be cross-reviewed" in shown(done)
    assert "/review works inside a thread" in shown(await there.server.command("review", GENERAL))


async def test_answers_are_saved_under_a_name_listed_and_saved_again(there: DiscordWorld) -> None:
    thread = await start(there, "compare", question="Which?", models="alpha,beta")
    await finished(there, thread, 2)
    assert "Nothing is saved" in shown(await there.server.command("artifacts", thread))
    assert shown(await there.server.command("save", thread, artifact="Memo")) == "Saved as “Memo”."
    taken = await there.server.command("save", thread, artifact="memo")
    assert "already has an artifact named “Memo”" in shown(taken)
    again = await there.server.command("save", thread, artifact="memo", position="2", as_version=True)
    assert shown(again) == "Saved as “Memo”."
    await there.server.says(thread, f"{MENTION} artifacts", user=ALICE)
    await there.server.until(lambda: "Saved results" in there.server.texts(thread)[-1])
    assert "**Memo** · version 2" in there.server.texts(thread)[-1]
    await there.server.says(thread, f"{MENTION} save Typed")
    await there.server.until(lambda: there.server.texts(thread)[-1] == "Saved as “Typed”.")
    assert labels(there.server.ours(thread)[-1]) == []


async def test_models_and_workflows_are_suggested(there: DiscordWorld) -> None:
    suggestions = there.server.suggestions
    assert await suggestions("compare", GENERAL, "models", "be") == ["beta"]
    assert "alpha, beta" in await suggestions("compare", GENERAL, "models", "alpha, ")
    assert await suggestions("debate", GENERAL, "models", "alpha,be") == ["alpha, beta"]
    assert await suggestions("codraft", GENERAL, "models", "x" * 99 + ",be") == []
    assert await suggestions("debate", GENERAL, "moderator", "see") == ["seer"]
    assert await suggestions("workflow", GENERAL, "workflow", "memo") == ["decision_memo"]
    assert await suggestions("workflow", GENERAL, "workflow", "仕上げ", user=BOB) == ["document_polish"]
