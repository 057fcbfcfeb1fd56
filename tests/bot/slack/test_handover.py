"""Handovers on Slack, through the genuine library: from every route to the form, and from the form to the models."""

import asyncio
from typing import Any

import pytest

from core.domain.errors import FailureKind
from core.domain.policy import Policy
from core.i18n import text
from tests.bot.slack.test_review import compared, press
from tests.bot.slack.test_start import refused
from tests.bot.slack.world import MENTION, SlackWorld, actions_of, texts_of
from tests.platforms.slack_state import TEAM
from tests.product import eventually

FORM = "form.handover"


async def shown(slack: SlackWorld, callback: str) -> dict[str, Any]:
    """The form that was opened last, once it is this one."""
    await eventually(lambda: slack.server.views and slack.server.newest_view["callback_id"] == callback)
    return slack.server.newest_view


async def targets(slack: SlackWorld, root: str) -> dict[str, Any]:
    """The form that asks for the mode, opened by the button under the newest answer."""
    await press(slack, root, "hand_over")
    return await shown(slack, "form.handover_target")


async def drafted(slack: SlackWorld, root: str, mode: str) -> dict[str, Any]:
    """The form of a handover whose draft has come."""
    view = await targets(slack, root)
    waits = await slack.server.submit(view["id"], {"target": mode})
    assert waits.response is not None
    assert waits.response["view"]["callback_id"] == "form.waiting"
    return await shown(slack, FORM)


def field(view: dict[str, Any], name: str) -> str:
    """What a field of a form begins with."""
    (block,) = [one for one in view["blocks"] if one.get("block_id") == name]
    return str(block["element"].get("initial_value", ""))


async def sent(slack: SlackWorld, view: dict[str, Any], values: dict[str, str], *, times: int = 1) -> str:
    """What the form says once it was sent, after the estimate where there is one."""
    answers = await asyncio.gather(*(slack.server.submit(view["id"], values) for _ in range(times)))
    shows = answers[-1].response
    assert shows is not None, answers
    assert shows["response_action"] == "update", shows
    if shows["view"]["callback_id"] == FORM:
        return await sent(slack, slack.server.views[view["id"]], values, times=times)
    return texts_of(shows["view"])


def roots(slack: SlackWorld) -> list[dict[str, Any]]:
    return [m for m in slack.server.posts("C1") if "Handed over from" in texts_of(m)]


@pytest.mark.soak
async def test_a_debate_gets_the_form_as_it_was_edited_and_says_what_arrived(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier? onlyinthesource")
    await slack.server.say(f"{MENTION} pin constraint customer names stay in-house", thread=root)
    view = await drafted(slack, root, "debate")
    assert field(view, "carry.constraints") == "- customer names stay in-house"
    assert "onlyinthesource" in field(view, "carry.first_request")
    values = {
        "carry.summary": "editedsummary",
        "carry.first_request": "Which supplier?",
        "carry.open_questions": "- Who pays?\n- Until when?",
        "text": "Kita or Minami?",
    }
    calls = len(slack.model.calls)
    assert "Calls to models" in texts_of((await slack.server.submit(view["id"], values)).response["view"])
    assert "starts at once" in await sent(slack, slack.server.views[view["id"]], values, times=2)
    await eventually(lambda: any("What the models received" in texts_of(m) for m in slack.server.posts("C1")))
    first = "\n".join(slack.model.sent_texts(calls))
    for carried in ("editedsummary", "Who pays?", "Until when?", "customer names stay in-house", "Minami"):
        assert carried in first
    assert "onlyinthesource" not in first
    (header,) = roots(slack)
    assert "editedsummary" in texts_of(header)
    line = next(m for m in slack.server.posts("C1") if "What the models received" in texts_of(m))
    assert line["thread_ts"] == header["ts"]
    assert "MISSING" not in texts_of(line)


async def test_without_a_topic_the_target_waits_for_its_button(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    view = await drafted(slack, root, "compare")
    assert "waits for its start" in await sent(slack, view, {"models": "1:alpha\n1:beta"})
    await eventually(lambda: roots(slack))
    (header,) = roots(slack)
    calls = len(slack.model.calls)
    await slack.server.click("C1", header["ts"], "do.start", times=2)
    await slack.settled("C1", header["ts"], answers=2)
    assert len(slack.model.calls) == calls + 2


async def test_what_is_refused_is_said_at_its_field_and_nothing_is_sent(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    view = await drafted(slack, root, "chat")
    many = "\n".join(f"- question {number}" for number in range(11))
    answer = await slack.server.submit(view["id"], {"carry.open_questions": many})
    assert "11 open questions" in refused(answer)
    assert set(answer.response["errors"]) == {"carry.open_questions"}
    long = await slack.server.submit(view["id"], {"carry.constraints": f"- {'x' * 301}"})
    assert set(long.response["errors"]) == {"carry.constraints"}
    assert roots(slack) == []


async def test_more_room_keeps_what_was_typed_and_adds_a_box(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    view = await drafted(slack, root, "chat")
    before = len(view["blocks"])
    await slack.server.press_in_view("carry.more", {"carry.summary": "a" * 3_000})
    await eventually(lambda: len(slack.server.newest_view["blocks"]) > before)
    view = slack.server.newest_view
    assert field(view, "carry.summary") == "a" * 3_000
    await sent(slack, view, {"carry.summary~2": "the end of it", "text": "And now?"})
    await eventually(lambda: "the end of it" in "\n".join(slack.model.sent_texts()))
    assert "a" * 3_000 + "\nthe end of it" in "\n".join(slack.model.sent_texts())


async def test_by_words_the_draft_is_announced_and_its_form_opened_by_a_button(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    await slack.server.say(f"{MENTION} handover 通常チャット", thread=root)
    await eventually(lambda: any("is there" in texts_of(m) for m in slack.server.ephemerals))
    await eventually(lambda: len(slack.server.ephemerals) == 2)
    slack.server.ephemerals.sort(key=lambda told: "is there" in texts_of(told))
    assert [m["thread_ts"] for m in slack.server.ephemerals] == [root, root]
    await slack.server.click_private("do.draft")
    view = await shown(slack, FORM)
    assert "starts at once" in await sent(slack, view, {"text": "And now?"})
    await eventually(lambda: roots(slack))


async def test_words_that_name_no_mode_list_the_allowed_ones_and_longer_sentences_are_said(
    slack: SlackWorld,
) -> None:
    slack.world.policies[TEAM] = Policy(handover_routes=("chat>debate",))
    root = await slack.ask("Which supplier?")
    await slack.server.say(f"{MENTION} handover nonsense", thread=root)
    await eventually(lambda: slack.server.ephemerals)
    assert "is not a mode" in texts_of(slack.server.ephemerals[-1])
    await slack.server.say(f"{MENTION} handover compare", thread=root)
    await eventually(lambda: len(slack.server.ephemerals) == 2)
    assert "it can go to: debate" in texts_of(slack.server.ephemerals[-1])
    await slack.server.say(f"{MENTION} handover", thread=root)
    await eventually(lambda: len(slack.server.ephemerals) == 3)
    await slack.server.click_private("do.handover")
    (menu,) = [b["element"] for b in (await shown(slack, "form.handover_target"))["blocks"] if "element" in b]
    assert [one["value"] for one in menu["options"]] == ["debate"]
    await slack.server.say(f"{MENTION} handover to the night shift is at six", thread=root)
    await slack.settled("C1", root, answers=2)
    assert "night shift" in slack.model.sent()


async def test_a_form_that_was_closed_is_announced_once_in_the_thread(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    view = await targets(slack, root)
    slack.server.views[view["id"]]["open"] = True
    await slack.server.submit(view["id"], {"target": "chat"})
    slack.server.views[view["id"]]["open"] = False
    await eventually(lambda: any("is there" in texts_of(m) for m in slack.server.ephemerals))
    told = [m for m in slack.server.ephemerals if "is there" in texts_of(m)]
    assert [m["thread_ts"] for m in told] == [root]
    await slack.server.say(f"{MENTION} handover", thread=root)
    await eventually(lambda: "Draft for Chat" in texts_of(slack.server.ephemerals[-1]))
    await slack.server.click_private("do.draft.1")
    await shown(slack, FORM)


async def test_a_slash_command_picks_the_thread_first(slack: SlackWorld) -> None:
    await slack.ask("Which supplier?")
    await slack.server.slash("/handover")
    view = await shown(slack, "form.pick")
    (menu,) = [b["element"] for b in view["blocks"] if "element" in b]
    answer = await slack.server.submit(view["id"], {"picked": menu["options"][0]["value"]})
    assert answer.response is not None
    assert answer.response["view"]["callback_id"] == "form.handover_target"


async def test_a_picked_answer_is_the_centre_on_the_model_that_wrote_it(slack: SlackWorld) -> None:
    root = await compared(slack)
    await press(slack, root, "continue")
    view = await shown(slack, "form.handover_target")
    assert "answer" in texts_of(view)
    await slack.server.submit(view["id"], {"target": "chat"})
    form = await shown(slack, FORM)
    (model,) = [b["element"] for b in form["blocks"] if b.get("block_id") == "model"]
    assert model["initial_option"]["value"] == "beta"
    await sent(slack, form, {"text": "Go on"})
    await eventually(lambda: slack.model.calls[-1].model == "beta")


@pytest.mark.soak
async def test_a_workflow_has_boxes_for_its_inputs(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    view = await drafted(slack, root, "workflow")
    chosen = {"workflow": "decision_memo", "carry.summary": "s", "text": "Decide"}
    names = [b["block_id"] for b in view["blocks"] if str(b.get("block_id")).startswith("input.")]
    assert "input.decision_memo.background" in names
    await sent(slack, view, {**chosen, "input.decision_memo.background": "plantedinput"})
    await eventually(
        lambda: any(
            "plantedinput" in "\n".join(c.ai_input.parts[i].text for i in range(len(c.ai_input.parts)))
            for c in slack.model.calls
        )
    )


def written(slack: SlackWorld) -> list[dict[str, Any]]:
    """What the bot wrote to Alice in their own conversation about a thread that is not there."""
    channels = [name for name in slack.server.channels if name.startswith("D")]
    posts = [{**message, "channel": name} for name in channels for message in slack.server.posts(name)]
    return [message for message in posts if "could not be opened" in texts_of(message)]


async def test_a_target_that_slack_refuses_is_told_to_its_sender_and_in_the_source_and_opened_again(
    slack: SlackWorld,
) -> None:
    root = await slack.ask("Which supplier?")
    view = await drafted(slack, root, "chat")
    slack.server.fault("chat.postMessage", "error", code="restricted_action")
    await sent(slack, view, {"text": "Do we take Kita?"})
    await eventually(lambda: written(slack))
    (told,) = written(slack)
    assert "“Do we take Kita?”" in texts_of(told)
    line = next(m for m in slack.server.posts("C1", root) if "(restricted_action)" in texts_of(m))
    assert "do.open_again" in actions_of(line)
    assert roots(slack) == []
    calls = len(slack.model.calls)
    await slack.server.click("C1", line["ts"], "do.open_again", times=2)
    await eventually(lambda: roots(slack))
    (header,) = roots(slack)
    await slack.settled("C1", header["ts"])
    assert len(slack.model.calls) == calls + 1
    assert "Do we take Kita?" in slack.model.sent()
    link = next(m for m in slack.server.posts("C1", root) if "Handed over to Chat" in texts_of(m))
    assert header["ts"].replace(".", "") in str(link["blocks"])
    await slack.server.click(told["channel"], told["ts"], "do.open_again")
    await eventually(lambda: any("is open already" in texts_of(m) for m in slack.server.ephemerals))
    assert len(roots(slack)) == 1


async def test_a_draft_that_no_model_wrote_says_so_and_is_edited_and_sent(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    slack.model.plan = lambda call: FailureKind.TIMEOUT_FIRST if "/draft" in call.request_id else None
    view = await drafted(slack, root, "chat")
    assert text("en", "draft_note.extract") in texts_of(view)
    assert "Which supplier?" in field(view, "carry.summary")
    await sent(slack, view, {"carry.summary": "put right by hand"})
    await eventually(lambda: roots(slack))
    (header,) = roots(slack)
    assert "put right by hand" in texts_of(header)
