"""Forms that take longer than Slack waits, and what happens to what was typed in them."""

import pytest

from bot.slack import modals
from bot.slack.form import REFUSED, sent_again
from core.i18n import LOCALES
from tests.bot.slack.payloads import pages
from tests.bot.slack.test_start import QUESTION, opened, roots
from tests.bot.slack.world import SlackWorld, texts_of
from tests.platforms.slack_blocks import view_problems
from tests.platforms.slack_server import state_of
from tests.platforms.slack_state import TEAM
from tests.product import eventually

SLOW_S = 0.6
NOT_YET = "Working on it"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack waits less than the next call takes."""
    monkeypatch.setattr(modals, "ACK_S", 0.2)


async def slow(slack: SlackWorld) -> None:
    """The channel is asked for anew, and Slack takes its time to tell about it."""
    slack.platform.access.changed(await slack.platform.bots.of_workspace(TEAM), "C1")
    slack.server.fault("conversations.info", "slow", delay_s=SLOW_S)


async def settled(slack: SlackWorld, view_id: str) -> str:
    """What a form shows once it stopped saying that it is at work."""
    await eventually(lambda: NOT_YET not in texts_of(slack.server.views[view_id]))
    return texts_of(slack.server.views[view_id])


def refusal_in(slack: SlackWorld, view_id: str) -> str:
    """What a form says about why it was refused."""
    blocks = slack.server.views[view_id]["blocks"]
    return texts_of({"blocks": [block for block in blocks if block.get("block_id") == REFUSED]})


@pytest.mark.usefixtures("hurried")
async def test_a_start_that_is_refused_late_comes_back_with_all_that_was_filled_in(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", "")
    await slow(slack)
    sent = {"text": QUESTION, "models": "1:beta", "blind": "on"}
    delivery = await slack.server.submit(view["id"], sent)
    assert delivery.response is not None
    assert NOT_YET in texts_of(delivery.response["view"])
    await settled(slack, view["id"])
    assert "2 to" in refusal_in(slack, view["id"])
    again = slack.server.views[view["id"]]
    state = state_of(again, {})
    assert state["text"]["text"]["value"] == QUESTION
    assert [one["value"] for one in state["models"]["models"]["selected_options"]] == ["1:beta"]
    assert [one["value"] for one in state["blind"]["blind"]["selected_options"]] == ["on"]
    assert roots(slack) == []
    mended = await slack.server.submit(view["id"], {"models": "1:alpha\n1:beta"})
    assert mended.response is not None
    assert mended.response["response_action"] == "update"
    assert refusal_in(slack, view["id"]) == ""


@pytest.mark.usefixtures("hurried")
async def test_a_branch_that_is_refused_late_keeps_its_name_and_can_be_sent_again(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    (card,) = slack.server.posts()
    await slack.server.click("C1", card["ts"], "do.branch")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    view_id = slack.server.newest_view["id"]
    slack.server.channels["C1"].archived = True
    await slow(slack)
    await slack.server.submit(view_id, {"name": "Mind the cost", "reason": "too dear"})
    assert "archived" in await settled(slack, view_id)
    again = state_of(slack.server.views[view_id], {})
    assert again["name"]["name"]["value"] == "Mind the cost"
    assert again["reason"]["reason"]["value"] == "too dear"
    slack.server.channels["C1"].archived = False
    slack.platform.access.changed(await slack.platform.bots.of_workspace(TEAM), "C1")
    assert (await slack.server.submit(view_id, {})).acked
    await eventually(lambda: any("Mind the cost" in texts_of(m) for m in slack.server.posts()))


@pytest.mark.usefixtures("hurried")
async def test_a_form_that_takes_long_and_works_says_so(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    (card,) = slack.server.posts()
    await slack.server.shortcut("message_branch", "C1", card["ts"])
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    view_id = slack.server.newest_view["id"]
    await slow(slack)
    await slack.server.submit(view_id, {"name": "Mind the cost"})
    assert await settled(slack, view_id) == "Done."
    await eventually(lambda: any("Mind the cost" in texts_of(m) for m in slack.server.posts()))


@pytest.mark.usefixtures("hurried")
async def test_whoever_closed_a_form_that_is_refused_late_is_written_to_with_what_they_typed(
    slack: SlackWorld,
) -> None:
    await slack.ask("Which database?")
    (card,) = slack.server.posts()
    await slack.server.click("C1", card["ts"], "do.branch")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    view_id = slack.server.newest_view["id"]
    slack.server.channels["C1"].archived = True
    await slow(slack)
    # What Slack says of a form that was closed.
    slack.server.fault("views.update", "error", code="not_found")
    delivery = await slack.server.submit(view_id, {"name": "Mind the cost", "reason": "too dear"})
    assert delivery.response is not None
    assert NOT_YET in texts_of(delivery.response["view"])
    await eventually(lambda: told_directly(slack))
    (said,) = told_directly(slack)
    assert "“Branch from here” was not carried out" in said
    assert "archived" in said
    await eventually(lambda: "too dear" in str(slack.server.files))
    assert "Mind the cost" in str(slack.server.files)
    assert NOT_YET in texts_of(slack.server.views[view_id]), "the closed form is left alone"


def told_directly(slack: SlackWorld) -> list[str]:
    """What the bot wrote to Alice in their own conversation."""
    channels = [name for name in slack.server.channels if name.startswith("D")]
    posts = [texts_of(message) for name in channels for message in slack.server.posts(name)]
    return [text for text in posts if "not carried out" in text]


@pytest.mark.parametrize("locale", LOCALES)
def test_every_form_can_be_shown_again_as_it_was_sent(locale: str) -> None:
    for name, view in pages(locale):
        state = state_of(view, {})
        again = sent_again(
            {**view, "id": "V1", "hash": "1", "state": {"values": state}}, "Because <of> this."
        )
        assert state_of(again, {}) == state, name
        assert "id" not in again
        assert "hash" not in again
        assert "Because &lt;of&gt; this." in texts_of(again)
        if view.get("submit"):
            assert view_problems(again) == [], name
            twice = sent_again({**again, "state": {"values": state}}, "Once more.")
            assert len(twice["blocks"]) == len(again["blocks"]), name
