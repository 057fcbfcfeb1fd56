"""Adoptions on Slack: the review with its exact preview, the request, the decision by another person, and restarts."""

from pathlib import Path
from typing import Any

import pytest

from bot.slack.carrying import Carrying
from core.domain.policy import Policy
from tests.bot.slack.test_actions import branch_of
from tests.bot.slack.test_handover import field, shown
from tests.bot.slack.test_review import press
from tests.bot.slack.world import MENTION, SlackWorld, open_slack_world, texts_of
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import TEAM
from tests.product import eventually

FORM = "form.adoption"


async def grown(slack: SlackWorld) -> tuple[str, str]:
    """A thread and its branch, which has something of its own, and an artifact that both have under one name."""
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} branch 2 Try SQLite", thread=root)
    branch = (await branch_of(slack, root))["ts"]
    await told(slack, "save Plan", root)
    await slack.server.say("What would break?", thread=branch)
    await slack.settled("C1", branch)
    await told(slack, "save Plan", branch)
    return root, branch


async def told(slack: SlackWorld, words: str, root: str, user: str = "UALICE") -> str:
    before = len(slack.server.ephemerals)
    await slack.server.say(f"{MENTION} {words}", thread=root, user=user)
    await eventually(lambda: len(slack.server.ephemerals) > before)
    return texts_of(slack.server.ephemerals[-1])


async def reviewed(slack: SlackWorld, branch: str) -> dict[str, Any]:
    """The form of the review whose draft has come."""
    await press(slack, branch, "adopt")
    return await shown(slack, FORM)


def choice(view: dict[str, Any]) -> str:
    """The id of the branch's artifact that needs a choice."""
    return next(
        str(b["block_id"]).partition(".")[2]
        for b in view["blocks"]
        if str(b.get("block_id", "")).startswith("choice.")
    )


def card(slack: SlackWorld, root: str, says: str) -> dict[str, Any] | None:
    found = [m for m in slack.server.posts("C1", root) if "Adoption of" in texts_of(m)]
    return next((m for m in reversed(found) if says in texts_of(m)), None)


async def carded(slack: SlackWorld, root: str, says: str) -> dict[str, Any]:
    await eventually(lambda: card(slack, root, says))
    found = card(slack, root, says)
    assert found is not None
    return found


async def requested(slack: SlackWorld, root: str, branch: str, reason: str) -> dict[str, Any]:
    """The card of a request made by the form."""
    view = await reviewed(slack, branch)
    values = {"reason": reason, f"choice.{choice(view)}": "take_branch", "review.about": "editedabout"}
    said = await slack.server.submit(view["id"], values)
    assert "parent's thread" in texts_of(said.response["view"])
    return await carded(slack, root, reason)


async def test_the_review_shows_every_message_and_what_differs_before_anything_is_asked(
    slack: SlackWorld,
) -> None:
    root, branch = await grown(slack)
    view = await reviewed(slack, branch)
    seen = texts_of(view)
    assert "What would break?" in seen
    assert "answer 2" in seen
    assert seen.count("Which database?") == 1, "the parent's title, and none of its messages"
    assert "Both threads have “Plan”" in seen
    assert "− answer 1\n+ answer 2" in seen
    assert card(slack, root, "") is None
    missing = await slack.server.submit(view["id"], {"reason": "It works"})
    assert "Both threads" in str(missing.response["errors"])
    values = {"reason": "It works", f"choice.{choice(view)}": "keep_both", f"new_name.{choice(view)}": "plan"}
    taken = await slack.server.submit(view["id"], values)
    assert list(taken.response["errors"]) == [f"new_name.{choice(view)}"]
    assert card(slack, root, "") is None
    await slack.server.press_in_view("carry.review_file")
    await eventually(lambda: any("What would break?" in str(f) for f in slack.server.files.values()))


@pytest.mark.soak
async def test_rejected_with_a_reason_asked_again_and_approved_by_a_second_person(slack: SlackWorld) -> None:
    slack.world.policies[TEAM] = Policy(approvers=("UBEN",), four_eyes=True)
    root, branch = await grown(slack)
    first = await requested(slack, root, branch, "It needs no operations team")
    assert "editedabout" in texts_of(first)

    # Whoever asked cannot decide, and learns so in private.
    await slack.server.click("C1", first["ts"], "do.reject")
    await eventually(lambda: "second person" in texts_of(slack.server.newest_view))
    await slack.server.click("C1", first["ts"], "do.approve")
    await eventually(lambda: any("second person" in texts_of(m) for m in slack.server.ephemerals))

    await slack.server.click("C1", first["ts"], "do.show_changes", user="UBEN")
    changes = await shown(slack, "form.changes")
    assert "What would break?" in texts_of(changes)

    await slack.server.click("C1", first["ts"], "do.reject", user="UBEN")
    form = await shown(slack, "form.reject")
    said = await slack.server.submit(form["id"], {"reason": "Not before March"}, user="UBEN")
    assert said.response is not None
    await carded(slack, root, "Not before March")

    second = await requested(slack, root, branch, "March is over")
    await slack.server.click("C1", second["ts"], "do.approve", user="UBEN", times=2)
    await carded(slack, root, "Approved")
    await slack.server.say("Then we take it?", thread=root)
    await slack.settled("C1", root, answers=2)
    sent = slack.model.sent()
    assert sent.index("Which database?") < sent.index("What would break?") < sent.index("Then we take it?")
    assert sent.count("What would break?") == 1
    assert "Version 2" in await told(slack, "artifacts", root)


@pytest.mark.soak
async def test_by_slash_a_request_is_withdrawn_listed_and_rejected(slack: SlackWorld) -> None:
    root, branch = await grown(slack)
    await requested(slack, root, branch, "First reason")
    await picked(slack, "/withdraw")
    await carded(slack, root, "Withdrawn")
    await picked(slack, "/adopt")
    view = await shown(slack, FORM)
    await slack.server.submit(view["id"], {"reason": "Second", f"choice.{choice(view)}": "keep_parent"})
    await carded(slack, root, "Second")
    await picked(slack, "/reject", reason="Still too early")
    await carded(slack, root, "Still too early")
    await picked(slack, "/adoptions")
    listed = await shown(slack, "form.adoptions")
    assert "Second" in texts_of(listed)
    assert "First reason" in texts_of(listed)
    await slack.server.press_in_view("do.show_changes")
    assert "What would break?" in texts_of(await shown(slack, "form.changes"))
    await slack.server.slash("/approve")
    await eventually(lambda: "no adoption here that waits" in texts_of(slack.server.newest_view))


async def picked(slack: SlackWorld, command: str, **values: str) -> None:
    """Send the form of a slash command with the last thread that it offers."""
    await slack.server.slash(command)
    view = await shown(slack, "form.pick")
    (menu,) = [b["element"] for b in view["blocks"] if b.get("block_id") == "picked"]
    await slack.server.submit(view["id"], {"picked": menu["options"][-1]["value"], **values})


async def test_words_announce_the_review_and_list_the_requests_with_their_buttons(slack: SlackWorld) -> None:
    root, branch = await grown(slack)
    await slack.server.say(f"{MENTION} adopt It needs no operations", thread=branch)
    await eventually(lambda: any("branch is there" in texts_of(m) for m in slack.server.ephemerals))
    await eventually(lambda: any("being drafted" in texts_of(m) for m in slack.server.ephemerals))
    slack.server.ephemerals.sort(key=lambda one: "branch is there" in texts_of(one))
    await slack.server.click_private("do.draft")
    view = await shown(slack, FORM)
    assert card(slack, root, "") is None, "a reason alone asks for nothing before the review was seen"
    assert "What would break?" in texts_of(view)
    assert field(view, "reason") == "It needs no operations"
    reason = field(view, "reason")
    await slack.server.submit(view["id"], {"reason": reason, f"choice.{choice(view)}": "take_branch"})
    await carded(slack, root, reason)
    assert reason in await told(slack, "adoptions", root)
    await slack.server.click_private("do.withdraw")
    await carded(slack, root, "Withdrawn")


@pytest.mark.soak
async def test_after_a_restart_between_the_steps_the_forms_go_on(
    server: SlackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(*_: Any) -> None:
        """As if the process ended while the form waited."""

    with monkeypatch.context() as patched:
        patched.setattr(Carrying, "follow", forgetful)
        async with open_slack_world(tmp_path, server) as slack:
            root, branch = await grown(slack)
            await press(slack, branch, "adopt")
            await shown(slack, "form.waiting")
    async with open_slack_world(tmp_path, server) as slack:
        await slack.server.press_in_view("carry.look")
        view = await shown(slack, FORM)
    async with open_slack_world(tmp_path, server) as slack:
        await slack.server.submit(view["id"], {"reason": "Again", f"choice.{choice(view)}": "take_branch"})
        request = await carded(slack, root, "Again")
    async with open_slack_world(tmp_path, server) as slack:
        await slack.server.click("C1", request["ts"], "do.approve", times=2)
        await carded(slack, root, "Approved")
    assert server.anomalies == []
