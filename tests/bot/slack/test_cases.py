"""Failures that other bots of Slack had, as far as no other test has the case as its subject."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.bot.slack.world import MENTION, SlackWorld, open_slack_world, texts_of
from tests.platforms.slack_server import SlackServer
from tests.product import ScriptedModel, eventually

METADATA_BYTES = 500
"""Slack refuses about 4,000; ids need far less."""


async def test_metadata_holds_ids_whatever_the_length_of_an_answer(slack: SlackWorld) -> None:
    slack.server.streaming = False
    slack.model.script = ["\n\n".join(f"Paragraph {n}. " + "words " * 100 for n in range(40))]
    await slack.ask("Write a lot")
    sent = [args["metadata"] for _, args in slack.server.calls if args.get("metadata")]
    assert len(sent) > 1
    assert all(len(json.dumps(one).encode()) < METADATA_BYTES for one in sent)
    assert "Paragraph" not in json.dumps(sent)


async def test_a_form_opens_before_anything_else_is_asked_of_slack(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    (card,) = slack.server.posts()
    before = len(slack.server.calls)
    slack.server.fault("users.info", "slow", delay_s=0.5)
    await slack.server.click("C1", card["ts"], "do.branch", user="UBEN")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    methods = [method for method, _ in slack.server.calls[before:]]
    assert methods[0] == "views.open"
    assert "users.info" in methods


async def test_a_stream_is_ended_before_slack_would_end_it(
    slack: SlackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.stream.LIFETIME_S", 0.0)
    monkeypatch.setattr("bot.slack.stream.APPEND_EVERY_S", 0.0)
    slack.model.script = ["a long answer that goes on"]
    await slack.ask("Write")
    (post,) = slack.server.posts()
    assert "a long answer that goes on" in texts_of(post)
    assert len(slack.server.calls_of("chat.stopStream")) == 1
    assert slack.server.calls_of("chat.appendStream") == []


async def test_a_status_that_a_killed_process_left_is_cleared_by_the_next(
    server: SlackServer, tmp_path: Path
) -> None:
    model = ScriptedModel(hold=asyncio.Event(), script=["abcdef", "abcdef"])
    async with open_slack_world(tmp_path, server, model=model, patient=False):
        root = await server.say("Write", channel="D1")
        await eventually(model.begun.is_set)
        await eventually(lambda: server.statuses)
        assert server.statuses[-1]["status"] != ""
    async with open_slack_world(tmp_path, server, model=ScriptedModel(script=["abcdef"])) as after:
        await after.settled("D1", root)
        await eventually(lambda: server.statuses[-1]["status"] == "")
    assert {one["thread_ts"] for one in server.statuses} == {root}
    assert server.anomalies == []


async def test_an_agent_s_session_is_at_work_until_the_answer_stands(slack: SlackWorld) -> None:
    slack.server.sessions = []
    root = await slack.ask("Which database?", channel="D1")
    await eventually(
        lambda: [one["status"] for one in slack.server.sessions or ()] == ["processing", "active"]
    )
    assert slack.server.sessions[0]["thread_ts"] == root
    assert slack.server.sessions[0]["initiator_user_id"] == "UALICE"
    assert slack.server.statuses == []


async def test_stop_in_an_agent_s_session_keeps_what_is_written_and_ends_the_session(
    slack: SlackWorld,
) -> None:
    slack.server.sessions = []
    slack.model.hold = asyncio.Event()
    slack.model.script = ["abcdef"]
    root = await slack.server.say("Write", channel="D1")
    await eventually(slack.model.begun.is_set)
    await eventually(lambda: slack.server.posts("D1"))
    stopped = {"type": "agent_session_stopped", "channel": "D1", "thread_ts": root, "user": "UALICE"}
    assert (await slack.server.event(stopped)).acked
    await slack.settled("D1", root)
    (post,) = slack.server.posts("D1")
    assert "topped" in texts_of(post)
    await eventually(lambda: [one["status"] for one in slack.server.sessions or ()][-1] == "active")
    assert (await slack.server.event(stopped)).acked


async def test_private_answers_to_a_button_stand_in_its_thread(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.ask("And for 200 writers?", thread=root)
    (first, second) = slack.server.posts("C1", root)
    await slack.server.click("C1", first["ts"], "do.retry")
    await slack.server.click("C1", second["ts"], "do.retry")
    await slack.server.say(f"{MENTION} branch 99", thread=root)
    await eventually(lambda: slack.server.ephemerals)
    assert {one["thread_ts"] for one in slack.server.ephemerals} == {root}
    assert {m.get("thread_ts") for m in slack.server.posts()} == {root}
