"""Pins and adoptions on Slack, by words after a mention and by the buttons of a card."""

from typing import Any

from tests.bot.slack.test_actions import branch_of
from tests.bot.slack.test_handover import field
from tests.bot.slack.world import MENTION, SlackWorld, texts_of
from tests.product import eventually


async def cards(slack: SlackWorld, root: str) -> list[dict[str, Any]]:
    return [m for m in slack.server.posts("C1", root) if "Adoption of" in texts_of(m)]


async def asked(slack: SlackWorld) -> tuple[str, str, str]:
    """A thread, its branch with something of its own, and the card of the request that the thread shows."""
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} branch 2 Try SQLite", thread=root)
    branch = (await branch_of(slack, root))["ts"]
    await slack.server.say("What would break?", thread=branch)
    await slack.settled("C1", branch)
    await slack.server.say(f"{MENTION} adopt It needs no operations team", thread=branch)
    ready = "The review of this branch is there"
    await eventually(lambda: any(ready in texts_of(m) for m in slack.server.ephemerals))
    slack.server.ephemerals.sort(key=lambda one: ready in texts_of(one))
    await slack.server.click_private("do.draft")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.adoption")
    view = slack.server.newest_view
    await slack.server.submit(view["id"], {"reason": field(view, "reason")})

    async def shown() -> bool:
        return bool(await cards(slack, root))

    await eventually(shown)
    return root, branch, (await cards(slack, root))[0]["ts"]


async def test_a_branch_comes_into_its_parent_by_a_word_and_the_button_of_the_card(slack: SlackWorld) -> None:
    root, _, card = await asked(slack)
    (shown,) = await cards(slack, root)
    assert "Try SQLite" in texts_of(shown)
    assert "It needs no operations team" in texts_of(shown)
    await slack.server.click("C1", card, "do.approve")
    await eventually(lambda: any("Approved" in texts_of(m) for m in slack.server.posts("C1", root)))
    await slack.server.say("Then we take it?", thread=root)
    await slack.settled("C1", root, answers=2)
    sent = slack.model.sent()
    assert sent.index("Which database?") < sent.index("What would break?") < sent.index("Then we take it?")


async def test_whoever_may_not_decide_is_told_and_nothing_comes_in(slack: SlackWorld) -> None:
    root, _, card = await asked(slack)
    await slack.server.click("C1", card, "do.approve", user="UBEN")
    await eventually(lambda: slack.server.ephemerals)
    await slack.server.say("And now?", thread=root)
    await slack.settled("C1", root, answers=2)
    assert "What would break?" not in slack.model.sent()


async def test_a_request_is_rejected_with_a_reason_by_words(slack: SlackWorld) -> None:
    root, _, _ = await asked(slack)
    await slack.server.say(f"{MENTION} reject Not before March", thread=root)
    await eventually(lambda: any("Not before March" in texts_of(m) for m in slack.server.posts("C1", root)))
    await slack.server.say("And now?", thread=root)
    await slack.settled("C1", root, answers=2)
    assert "What would break?" not in slack.model.sent()


async def test_a_pin_needs_its_kind_and_stands_in_the_list(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} pin constraint at most 40 euros", thread=root)
    await eventually(lambda: slack.server.ephemerals)
    await slack.server.say(f"{MENTION} pins", thread=root)
    await eventually(lambda: any("at most 40 euros" in texts_of(m) for m in slack.server.ephemerals))
    await slack.server.say(f"{MENTION} pin down the costs", thread=root)
    await slack.settled("C1", root, answers=2)
    assert "pin down the costs" in slack.model.sent()
