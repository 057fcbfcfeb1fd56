"""Thumbs under an answer and the form that asks why, through the genuine library."""

from typing import Any

import pytest

from bot.slack.feedback import pressed
from core.domain.errors import Refusal
from core.domain.feedback import COMMENT_CHARS
from tests.bot.slack.world import SlackWorld, texts_of
from tests.commands.look import rows
from tests.product import eventually


async def answered(slack: SlackWorld, **more: Any) -> dict[str, Any]:
    """The post of a whole answer."""
    await slack.ask("Which database?", **more)
    return slack.server.posts(more.get("channel", "C1"))[-1]


async def held(slack: SlackWorld) -> list[tuple[str, str]]:
    return [(row["thumb"], row["comment"]) for row in await rows(slack.world, "feedback")]


async def told(slack: SlackWorld, count: int) -> str:
    await eventually(lambda: len(slack.server.ephemerals) >= count)
    return texts_of(slack.server.ephemerals[count - 1])


async def asked_why(slack: SlackWorld, count: int = 1) -> dict[str, Any]:
    await eventually(
        lambda: len(slack.server.views) >= count and "One moment" not in texts_of(slack.server.newest_view)
    )
    return slack.server.newest_view


async def test_a_thumb_up_is_kept_and_told_privately_in_the_thread(slack: SlackWorld) -> None:
    card = await answered(slack)
    assert (await slack.server.rate("C1", card["ts"], "positive")).acked
    assert "good answer" in await told(slack, 1)
    assert slack.server.ephemerals[0]["thread_ts"] == card["thread_ts"]
    assert slack.server.ephemerals[0]["user"] == "UALICE"
    assert await held(slack) == [("up", "")]
    await slack.server.rate("C1", card["ts"], "positive")
    assert "taken back" in await told(slack, 2)
    assert await held(slack) == []


async def test_a_thumb_down_counts_at_once_and_asks_why(slack: SlackWorld) -> None:
    card = await answered(slack)
    await slack.server.rate("C1", card["ts"], "negative")
    view = await asked_why(slack)
    assert view["callback_id"] == "form.feedback"
    assert await held(slack) == [("down", "")]
    sent = await slack.server.submit(view["id"], {"comment": "It made this up."})
    assert sent.response is not None
    assert "kept" in texts_of(sent.response["view"])
    assert await held(slack) == [("down", "It made this up.")]
    await slack.server.rate("C1", card["ts"], "negative")
    assert "taken back" in texts_of(await asked_why(slack, 2))
    assert await held(slack) == []


async def test_each_person_has_a_thumb_of_their_own_and_can_change_it(slack: SlackWorld) -> None:
    card = await answered(slack)
    await slack.server.rate("C1", card["ts"], "positive")
    await told(slack, 1)
    await slack.server.rate("C1", card["ts"], "positive", user="UBEN")
    assert "良い回答" in await told(slack, 2)
    assert await held(slack) == [("up", ""), ("up", "")]
    await slack.server.rate("C1", card["ts"], "negative")
    await asked_why(slack)
    assert sorted(await held(slack)) == [("down", ""), ("up", "")]


async def test_a_comment_too_long_is_refused_and_keeps_the_thumb(slack: SlackWorld) -> None:
    card = await answered(slack)
    await slack.server.rate("C1", card["ts"], "negative")
    view = await asked_why(slack)
    sent = await slack.server.submit(view["id"], {"comment": "x" * (COMMENT_CHARS + 1)})
    assert sent.response is not None
    assert "1001" in sent.response["errors"]["comment"]
    assert await held(slack) == [("down", "")]


async def test_whoever_left_the_channel_cannot_comment_on_what_is_said_there(slack: SlackWorld) -> None:
    slack.server.channels["G1"].members.append("UGUEST")
    card = await answered(slack, channel="G1")
    await slack.server.rate("G1", card["ts"], "negative", user="UGUEST")
    view = await asked_why(slack)
    slack.server.channels["G1"].members.remove("UGUEST")
    await slack.server.event({"type": "member_left_channel", "user": "UGUEST", "channel": "G1"})
    sent = await slack.server.submit(view["id"], {"comment": "late words"}, user="UGUEST")
    assert sent.response is not None
    assert "no longer there" in sent.response["errors"]["comment"]
    assert await held(slack) == [("down", "")]


async def test_an_answer_that_is_written_or_failed_empty_has_no_thumbs(slack: SlackWorld) -> None:
    slack.model.script = [""]
    await slack.ask("Which database?")
    (card,) = slack.server.posts()
    assert "context_actions" not in [block["type"] for block in card["blocks"]]


@pytest.mark.parametrize("value", ["", "up", "sideways|1"])
def test_a_forged_thumb_is_refused(value: str) -> None:
    with pytest.raises(Refusal) as refused:
        pressed(value)
    assert refused.value.code in ("slack_form_old", "unknown_thumb")
