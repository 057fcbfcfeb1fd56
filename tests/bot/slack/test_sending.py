"""Artifacts sent to another thread on Slack: picked among what the person sees, or by a link, nothing overwritten."""

import asyncio
from typing import Any

import pytest

from core.commands.artifact import list_saved, show_artifact
from core.commands.place import thread_at
from core.domain.ids import ThreadId
from core.domain.thread import Place
from core.i18n import text
from tests.bot.slack.test_adoption import told
from tests.bot.slack.test_handover import shown
from tests.bot.slack.test_start import refused
from tests.bot.slack.world import SlackWorld, texts_of
from tests.product import eventually

FORM = "form.send_artifact"


async def ours(slack: SlackWorld, root: str, channel: str = "C1") -> ThreadId:
    place = Place(platform="slack", channel=channel, thread=root)
    found = await thread_at(slack.services, await slack.actor(), place)
    assert found is not None
    return found.id


def offered(view: dict[str, Any]) -> list[str]:
    """Titles of the threads that a form offers."""
    menus = [block["element"] for block in view["blocks"] if block.get("block_id") == "to"]
    return [one["text"]["text"] for menu in menus for one in menu["options"]]


async def opened(slack: SlackWorld, root: str, user: str = "UALICE") -> dict[str, Any]:
    """The form that a saved answer is sent by, from the private card of the artifact."""
    await told(slack, "artifacts Plan", root, user)
    await slack.server.click_private("do.artifact_send", user=user)
    return await shown(slack, FORM)


async def test_an_artifact_is_sent_to_a_picked_thread_once_and_told_there(slack: SlackWorld) -> None:
    target = await slack.ask("Which database?")
    hidden = await slack.ask("Between us", channel="G1")
    root = await slack.ask("Which supplier?")
    await told(slack, "save Plan", root)
    view = await opened(slack, root, "UBEN")
    assert offered(view) == ["Which database?"], "neither its own thread nor one that Ben cannot see"
    nothing = await slack.server.submit(view["id"], {}, user="UBEN")
    assert refused(nothing) == text("ja", "refusal.slack_choose_thread")
    link = f"https://acme.slack.com/archives/G1/p{hidden.replace('.', '')}"
    closed = await slack.server.submit(view["id"], {"link": link}, user="UBEN")
    assert closed.response is not None
    assert set(closed.response["errors"]) == {"link"}
    to = await ours(slack, target)
    both = [slack.server.submit(view["id"], {"to": str(to)}, user="UBEN") for _ in range(2)]
    sent, _ = await asyncio.gather(*both)
    assert sent.response is not None
    assert texts_of(sent.response["view"]) == text("ja", "sending.sent", name="Plan", title="Which database?")
    actor = await slack.actor()
    assert [one.name for one in await list_saved(slack.services, actor, to)] == ["Plan"]
    copy = await show_artifact(slack.services, actor, to, "Plan")
    assert copy.text == "answer 3"
    await eventually(lambda: any("sent “Plan” here" in texts_of(m) for m in slack.server.posts("C1", target)))
    assert not any("Plan" in texts_of(m) for m in slack.server.posts("G1", hidden))
    await slack.server.say("And now?", thread=target)
    await slack.settled("C1", target, answers=2)
    assert "answer 3" not in slack.model.sent(), "an artifact is no part of the conversation"


@pytest.mark.soak
async def test_a_name_that_is_taken_there_and_a_link_to_nowhere_are_refused_at_their_fields(
    slack: SlackWorld,
) -> None:
    target = await slack.ask("Which database?")
    await told(slack, "save Plan", target)
    root = await slack.ask("Which supplier?")
    await told(slack, "save Plan", root)
    view = await opened(slack, root)
    to = str(await ours(slack, target))
    taken = await slack.server.submit(view["id"], {"to": to})
    assert taken.response is not None
    assert set(taken.response["errors"]) == {"name"}
    assert "nothing is overwritten" in refused(taken)
    wrong = await slack.server.submit(view["id"], {"link": "https://example.com/plan"})
    assert wrong.response is not None
    assert set(wrong.response["errors"]) == {"link"}
    link = f"https://acme.slack.com/archives/C1/p{target.replace('.', '')}"
    done = await slack.server.submit(view["id"], {"link": link, "name": "Plan of the supplier"})
    assert done.response is not None
    assert "“Plan of the supplier” is in “Which database?” now." in texts_of(done.response["view"])
    saved = await list_saved(slack.services, await slack.actor(), to)
    assert [one.name for one in saved] == ["Plan", "Plan of the supplier"]


async def test_the_slash_command_leads_from_the_thread_to_the_artifact_and_on(slack: SlackWorld) -> None:
    target = await slack.ask("Which database?")
    root = await slack.ask("Which supplier?")
    await told(slack, "save Plan", root)
    await slack.server.slash("/artifacts")
    view = await shown(slack, "form.pick")
    await slack.server.submit(view["id"], {"picked": str(await ours(slack, root))})
    await slack.server.press_in_view("do.artifact")
    await eventually(lambda: "answer 2" in texts_of(slack.server.newest_view))
    await slack.server.press_in_view("do.artifact_send")
    view = await shown(slack, FORM)
    to = await ours(slack, target)
    await slack.server.submit(view["id"], {"to": str(to)})
    assert [one.name for one in await list_saved(slack.services, await slack.actor(), to)] == ["Plan"]
