"""Pins and adoptions on Discord, by words after a mention and by the buttons of a card."""

from core.i18n import text
from tests.bot.discord.test_branch import opened
from tests.bot.discord.world import MENTION, DiscordWorld
from tests.platforms.discord_api import BOB


async def grown(there: DiscordWorld) -> tuple[str, str]:
    """A thread with one answer, and a branch of it with a message and an answer of its own."""
    thread = await there.ask("Which database?")
    await there.server.says(thread, f"{MENTION} branch 2 Try SQLite")
    branch = str((await opened(there, "Try SQLite"))["id"])
    await there.server.says(branch, "What would break?")
    await there.answered(branch)
    return thread, branch


async def asked(there: DiscordWorld) -> tuple[str, str]:
    """The same, once the branch asked for its adoption and the parent shows the card."""
    thread, branch = await grown(there)
    await there.server.says(branch, f"{MENTION} adopt It needs no operations team")
    await there.server.until(lambda: any("review" in post for post in there.server.texts(branch)))
    review = await there.server.press(branch, *there.server.button(branch, "Open the review"))
    await there.server.until(lambda: "Ask for adoption" in review["shown"]["content"])
    await there.server.submit(await there.server.press_shown(review, "Request …"))
    await there.server.until(lambda: any("Adoption of" in post for post in there.server.texts(thread)))
    return thread, branch


async def test_a_branch_comes_into_its_parent_by_a_word_and_the_button_of_the_card(
    there: DiscordWorld,
) -> None:
    thread, branch = await asked(there)
    card = next(post for post in there.server.texts(thread) if "Adoption of" in post)
    assert "Try SQLite" in card
    assert "It needs no operations team" in card
    before = ["Which database?", "answer 1"]
    assert await there.conversation(thread) == before
    done = await there.server.press(thread, *there.server.button(thread, "Approve"))
    assert done["shown"]["content"] == "Approved. The parent's thread shows what it now holds."
    assert await there.conversation(thread) == [*before, "What would break?", "answer 2"]
    await there.server.until(lambda: any("Approved" in post for post in there.server.texts(thread)))
    await there.server.says(thread, "Then we take it?")
    await there.answered(thread, 2)
    assert "What would break?" in there.model.sent()
    assert await there.conversation(branch) == [*before, "What would break?", "answer 2"]


async def test_whoever_may_not_decide_is_told_and_nothing_comes_in(there: DiscordWorld) -> None:
    thread, _ = await asked(there)
    done = await there.server.press(thread, *there.server.button(thread, "Approve"), user=BOB)
    assert done["shown"]["content"] == text("ja", "refusal.adopt_not_approver")
    assert await there.conversation(thread) == ["Which database?", "answer 1"]


async def test_a_request_is_rejected_with_a_reason_by_words(there: DiscordWorld) -> None:
    thread, branch = await asked(there)
    await there.server.says(thread, f"{MENTION} reject Not before March")
    await there.server.until(lambda: any("Not before March" in post for post in there.server.texts(thread)))
    assert await there.conversation(thread) == ["Which database?", "answer 1"]
    await there.server.says(branch, f"{MENTION} adoptions")
    await there.server.until(lambda: any("Rejected" in post for post in there.server.texts(branch)))


async def test_a_pin_needs_its_kind_and_stands_in_the_list(there: DiscordWorld) -> None:
    thread = await there.ask("Which database?")
    await there.server.says(thread, f"{MENTION} pin constraint at most 40 euros")
    await there.server.until(lambda: "Pinned." in there.server.texts(thread))
    await there.server.says(thread, f"{MENTION} pins")
    await there.server.until(lambda: any("at most 40 euros" in post for post in there.server.texts(thread)))
    await there.server.says(thread, f"{MENTION} pin down the costs")
    await there.answered(thread, 2)
    assert "pin down the costs" in there.model.sent()
