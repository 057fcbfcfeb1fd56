"""Modes started by slash command and form, and by words after a mention, through the genuine library."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from bot.slack.people import PLATFORM
from core.commands.thread import list_channels
from core.domain.errors import StoreUnavailable
from core.domain.policy import Policy
from core.domain.thread import Mode
from core.domain.view import AnswerState, AnswerView, MessageView
from tests.bot.slack.world import MENTION, SlackWorld, actions_of, open_slack_world, texts_of
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import TEAM, Delivery
from tests.product import eventually

QUESTION = "Which database for 500 writers?"
COMMANDS = {
    "/compare": (Mode.COMPARE, QUESTION),
    "/debate": (Mode.DEBATE, QUESTION),
    "/codraft": (Mode.CODRAFT, QUESTION),
    "/workflow": (Mode.WORKFLOW, f"research_brief {QUESTION}"),
}


async def opened(slack: SlackWorld, command: str, text: str, **more: Any) -> dict[str, Any]:
    """The form that a command opened, once it is filled in."""
    before = len(slack.server.views)
    assert (await slack.server.slash(command, text, **more)).acked
    await eventually(
        lambda: len(slack.server.views) > before and "One moment" not in texts_of(slack.server.newest_view)
    )
    return slack.server.newest_view


async def estimated(slack: SlackWorld, view_id: str, values: dict[str, str] | None = None) -> dict[str, Any]:
    sent = await slack.server.submit(view_id, values or {})
    assert sent.response is not None
    assert sent.response["response_action"] == "update"
    return slack.server.views[view_id]


def refused(sent: Delivery) -> str:
    assert sent.response is not None
    assert sent.response["response_action"] == "errors"
    (sentence,) = sent.response["errors"].values()
    return str(sentence)


def roots(slack: SlackWorld, channel: str = "C1") -> list[dict[str, Any]]:
    return [m for m in slack.server.posts(channel) if m.get("thread_ts") in (None, m["ts"])]


async def finished(slack: SlackWorld, calls: int = 2) -> None:
    """Return when the only thread made so many calls and nothing in it is being written."""

    async def done() -> bool:
        channels = await list_channels(slack.services, await slack.actor(), PLATFORM)
        busy = [one.busy for channel in channels for one in channel.threads]
        return len(slack.model.calls) >= calls and busy == [False]

    await eventually(done)


def calls_in(view: dict[str, Any]) -> int:
    """The number of calls that an estimate names."""
    found = re.search(r"Calls to models: (\d+)", texts_of(view))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_with_a_question_alone_gives_an_estimate_and_then_the_thread(
    slack: SlackWorld, command: str
) -> None:
    mode, text = COMMANDS[command]
    view = await opened(slack, command, text)
    assert view["callback_id"] == "form.start"
    shown = await estimated(slack, view["id"])
    calls = calls_in(shown)
    assert shown["submit"]["text"] == "Start"
    assert slack.model.calls == []
    assert slack.server.posts() == []
    sent = await slack.server.submit(view["id"], {})
    assert sent.acked
    assert sent.response is None
    (root,) = roots(slack)
    assert QUESTION in texts_of(root)
    await finished(slack, calls)
    assert len(slack.model.calls) == calls
    assert (await slack.page()).mode is mode
    assert len(slack.server.posts("C1", root["ts"])) > 1


async def test_one_answer_is_stopped_by_its_own_button_and_the_others_go_on(slack: SlackWorld) -> None:
    slack.model.hold, slack.model.held = asyncio.Event(), "answer:beta"
    view = await opened(slack, "/compare", QUESTION)
    await estimated(slack, view["id"])
    await slack.server.submit(view["id"], {})
    (root,) = roots(slack)

    def writing() -> list[dict[str, Any]]:
        return [post for post in slack.server.posts("C1", root["ts"]) if "do.stop_one" in actions_of(post)]

    await eventually(lambda: slack.model.begun.is_set() and len(writing()) == 1)
    (card,) = writing()
    labels = [e["text"]["text"] for e in card["blocks"][-1]["elements"]]
    assert labels == ["Stop this answer", "Stop the run"]
    await slack.server.click("C1", card["ts"], "do.stop_one")
    await finished(slack, 3)
    states = [item.state for item in (await slack.page()).items if isinstance(item, AnswerView)]
    assert states == [AnswerState.DONE, AnswerState.STOPPED, AnswerState.DONE]
    assert sum("Stopped by a person" in texts_of(p) for p in slack.server.posts("C1", root["ts"])) == 1


async def test_start_pressed_twice_and_at_once_starts_one_thread(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", QUESTION)
    shown = dict(await estimated(slack, view["id"]))
    await asyncio.gather(*(slack.server.submit(view["id"], {}) for _ in range(2)))
    slack.server.views[view["id"]] = shown
    await slack.server.submit(view["id"], {})
    await finished(slack, calls_in(shown))
    assert len(roots(slack)) == 1
    assert len(await slack.threads()) == 1
    assert len(slack.model.calls) == calls_in(shown)


async def test_start_works_after_a_restart(server: SlackServer, tmp_path: Path) -> None:
    async with open_slack_world(tmp_path, server) as slack:
        view = await opened(slack, "/debate", QUESTION)
        calls = calls_in(await estimated(slack, view["id"], {"background": "The budget is 100 USD."}))
        assert slack.model.calls == []
    async with open_slack_world(tmp_path, server) as slack:
        sent = await server.submit(view["id"], {})
        assert sent.response is None
        await finished(slack, calls)
        assert QUESTION in slack.model.sent(0)
        assert "The budget is 100 USD." in slack.model.sent(0)
    assert server.anomalies == []


async def test_a_crash_between_post_and_thread_leaves_one_question(
    slack: SlackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await opened(slack, "/compare", QUESTION)
    shown = dict(await estimated(slack, view["id"]))

    async def away(*_: Any) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as broken:
        broken.setattr("bot.slack.start.say", away)
        assert "database" in refused(await slack.server.submit(view["id"], {}))
    assert len(roots(slack)) == 1
    assert (await slack.server.submit(view["id"], {})).response is None
    await finished(slack, calls_in(shown))
    assert len(roots(slack)) == 1


async def test_what_was_changed_under_an_estimate_is_estimated_anew(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", QUESTION)
    before = calls_in(await estimated(slack, view["id"]))
    shown = await estimated(slack, view["id"], {"models": "1:beta\n2:beta", "blind": "on"})
    assert calls_in(shown) == 2 != before
    assert "not independent" in texts_of(shown)
    assert slack.server.posts() == []
    await slack.server.submit(view["id"], {})
    await finished(slack, 2)
    assert {call.model for call in slack.model.calls} == {"beta"}


@pytest.mark.soak
async def test_another_workflow_asks_for_its_own_inputs(slack: SlackWorld) -> None:
    view = await opened(slack, "/workflow", "")
    assert "Workflow (Beta)" in view["title"]["text"]
    await slack.server.click_in_view(view["id"], "workflow", "decision_memo")
    await eventually(lambda: "Open questions" in str(slack.server.newest_view))
    sent = {"text": QUESTION, "workflow": "decision_memo", "input.decision_memo.constraints": "No cloud."}
    calls = calls_in(await estimated(slack, view["id"], sent))
    await slack.server.submit(view["id"], {})
    (root,) = roots(slack)
    assert "No cloud." in texts_of(root)
    await finished(slack, calls)
    assert "No cloud." in slack.model.sent(0)


@pytest.mark.parametrize(
    ("command", "values", "says"),
    [
        ("/compare", {"models": "1:alpha"}, "2 to 6 models"),
        ("/debate", {"models": "1:alpha"}, "2 to 4 participants"),
        ("/codraft", {"models": "1:alpha"}, "2 to 6 models"),
        ("/compare", {"text": "  "}, "nothing to send"),
        ("/debate", {"text": "  "}, "needs a topic"),
        ("/codraft", {"text": "  "}, "needs a task"),
        ("/workflow", {"text": "  "}, "firstRequest"),
    ],
)
async def test_a_refusal_is_one_sentence_in_the_form_and_nothing_starts(
    slack: SlackWorld, command: str, values: dict[str, str], says: str
) -> None:
    view = await opened(slack, command, QUESTION)
    sentence = refused(await slack.server.submit(view["id"], values))
    assert says in sentence
    assert slack.server.posts() == []
    assert slack.model.calls == []
    assert await slack.threads() == []


async def test_a_start_over_the_budget_is_refused_before_anything_is_posted(slack: SlackWorld) -> None:
    slack.world.policies[TEAM] = Policy(budget_person_usd_month=0.01)
    view = await opened(slack, "/compare", QUESTION)
    sent = await slack.server.submit(view["id"], {"models": "1:small\n1:alpha"})
    assert "budget" in refused(sent)
    assert slack.server.posts() == []


async def test_a_text_too_long_for_a_form_is_refused_and_not_cut(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", "x" * 3_001)
    assert "3001" in texts_of(view)
    assert view["callback_id"] == "form.note"


async def test_where_the_bot_is_not_a_member_the_form_says_so(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", QUESTION, channel="C2")
    assert "/invite" in texts_of(view)


async def press_start(
    slack: SlackWorld, ephemeral: dict[str, Any], *, user: str = "UALICE", times: int = 1
) -> Delivery:
    """Press Start under an estimate that one person sees."""
    (start,) = [e for b in ephemeral["blocks"] for e in b.get("elements", ()) if "action_id" in e]
    server = slack.server
    body = {
        **server._interactive("block_actions", user),
        "channel": {"id": "C1"},
        "container": {"type": "message", "message_ts": server.ts(), "channel_id": "C1", "is_ephemeral": True},
        "response_url": server.answer_address(),
        "actions": [{**start, "action_ts": server.ts()}],
    }
    return (await asyncio.gather(*(server.deliver("interactive", body) for _ in range(times))))[0]


async def estimate_of(slack: SlackWorld, text: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """A mention's message and what its writer is told."""
    before = len(slack.server.ephemerals)
    root = await slack.server.say(f"{MENTION} {text}", **more)
    await eventually(lambda: len(slack.server.ephemerals) > before)
    return root, slack.server.ephemerals[-1]


@pytest.mark.parametrize("command", COMMANDS)
async def test_words_after_a_mention_give_an_estimate_and_its_start_the_thread_there(
    slack: SlackWorld, command: str
) -> None:
    mode, text = COMMANDS[command]
    root, shown = await estimate_of(slack, f"{command[1:]} {text}")
    calls = calls_in(shown)
    assert slack.model.calls == []
    assert await slack.threads() == []
    await press_start(slack, shown, times=2)
    await finished(slack, calls)
    assert len(slack.model.calls) == calls
    page = await slack.page()
    assert (page.mode, page.place.thread) == (mode, root)
    assert QUESTION in slack.model.sent(0)
    assert f"{command[1:]} " not in page.title


async def test_start_under_a_mention_works_after_a_restart_and_for_its_writer_alone(
    server: SlackServer, tmp_path: Path
) -> None:
    async with open_slack_world(tmp_path, server) as slack:
        _, shown = await estimate_of(slack, f"compare {QUESTION}")
    async with open_slack_world(tmp_path, server) as slack:
        await press_start(slack, shown, user="UBEN")
        assert await slack.threads() == []
        await press_start(slack, shown)
        await finished(slack, calls_in(shown))
    assert server.anomalies == []


async def test_a_message_that_changed_since_its_estimate_is_estimated_anew(slack: SlackWorld) -> None:
    root, shown = await estimate_of(slack, f"compare {QUESTION}")
    slack.server.channels["C1"].messages[root]["text"] = f"{MENTION} compare Which queue?"
    await press_start(slack, shown)
    await eventually(lambda: len(slack.server.ephemerals) == 2)
    assert slack.model.calls == []
    await press_start(slack, slack.server.ephemerals[-1])
    await finished(slack, calls_in(shown))
    assert "Which queue?" in slack.model.sent(0)


async def test_in_a_thread_of_ours_the_same_words_are_a_turn(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} compare the two for me", thread=root)
    await slack.settled("C1", root, answers=2)
    assert "compare the two for me" in slack.model.sent()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("workflow nothing_like_it do it", "no workflow"),
        ("debate", "needs a topic"),
        ("compare", "nothing to send"),
    ],
)
async def test_words_that_cannot_start_get_a_sentence(slack: SlackWorld, text: str, says: str) -> None:
    _, told = await estimate_of(slack, text)
    assert says in told["text"]
    assert slack.model.calls == []


async def test_an_edit_of_a_question_leaves_the_word_that_named_the_mode_out(slack: SlackWorld) -> None:
    root, shown = await estimate_of(slack, f"compare {QUESTION}")
    await press_start(slack, shown)
    await finished(slack, calls_in(shown))
    await slack.server.edit("C1", root, f"{MENTION} compare Which queue?")
    page = await slack.page()
    assert [i.text for i in page.items if isinstance(i, MessageView)] == ["Which queue?"]


async def test_a_mode_can_be_started_in_the_conversation_with_the_bot_alone(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", QUESTION, channel="D1")
    shown = await estimated(slack, view["id"])
    await slack.server.submit(view["id"], {})
    await finished(slack, calls_in(shown))
    (root,) = roots(slack, "D1")
    assert QUESTION in texts_of(root)


async def test_a_reply_under_a_started_question_goes_to_every_model(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", QUESTION)
    shown = await estimated(slack, view["id"], {"models": "1:alpha\n1:beta"})
    await slack.server.submit(view["id"], {})
    await finished(slack, calls_in(shown))
    (root,) = roots(slack)
    await slack.server.say("And for reads?", thread=root["ts"])
    await finished(slack, 4)
    assert "And for reads?" in slack.model.sent()


async def test_a_mode_started_in_a_human_thread_takes_in_what_stood_there(slack: SlackWorld) -> None:
    human = await slack.server.say("We have 500 writers.")
    _, shown = await estimate_of(slack, "compare Which database?", thread=human)
    await press_start(slack, shown)
    await finished(slack, calls_in(shown))
    assert "We have 500 writers." in slack.model.sent(0)
    assert (await slack.page()).mode is Mode.COMPARE


async def test_a_thread_that_became_a_chat_meanwhile_is_not_started_over(slack: SlackWorld) -> None:
    human = await slack.server.say("We have 500 writers.")
    _, shown = await estimate_of(slack, "compare Which database?", thread=human)
    await slack.ask("What do you say?", thread=human)
    await press_start(slack, shown)
    await eventually(lambda: len(slack.server.ephemerals) == 2)
    assert len(slack.model.calls) == 1
    assert (await slack.page()).mode is Mode.CHAT
