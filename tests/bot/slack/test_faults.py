"""When Slack, the network or this process fail: nothing lost, nothing doubled."""

import asyncio
from pathlib import Path

import pytest

from bot.slack.markdown import JOINER
from core.domain.errors import FailureKind, StoreUnavailable
from core.store.database import Store
from tests.bot.slack.world import MENTION, SlackWorld, is_card, is_final, open_slack_world, texts_of
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import ACK_S, BOT_TOKEN
from tests.product import ScriptedModel, eventually

pytestmark = pytest.mark.soak


async def test_an_event_that_comes_several_times_is_answered_once(slack: SlackWorld) -> None:
    message = slack.server.write(f"{MENTION} Which database?")
    await slack.server.announce("C1", message, copies=3)
    await slack.settled("C1", message["ts"])
    assert len(slack.model.calls) == 1
    assert len(slack.server.posts()) == 1


async def test_a_reply_that_overtakes_its_thread_s_first_message_is_not_lost(slack: SlackWorld) -> None:
    first = slack.server.write(f"{MENTION} Which database?")
    second = slack.server.write("For 500 writers", thread=first["ts"])
    reply = asyncio.create_task(slack.server.announce("C1", second))
    await asyncio.sleep(0)
    await slack.server.announce("C1", first)
    await reply
    await slack.settled("C1", first["ts"], answers=2)
    assert "For 500 writers" in slack.model.sent()


async def test_messages_that_arrive_together_are_put_in_order(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    messages = [slack.server.write(f"turn {n}", thread=root) for n in range(4)]
    await asyncio.gather(*(slack.server.announce("C1", m) for m in reversed(messages)))
    await slack.settled("C1", root, answers=5)
    asked = [call.ai_input.parts[-1].text for call in slack.model.calls[1:]]
    assert [text.rsplit(" ", 1)[-1].strip() for text in asked] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("fault", ["drop_before", "drop_after"])
async def test_a_socket_that_drops_around_a_delivery_loses_and_doubles_nothing(
    slack: SlackWorld, fault: str
) -> None:
    slack.server.fault("socket", fault)
    await slack.ask("Which database?")
    assert len(slack.model.calls) == 1
    assert len(slack.server.posts()) == 1


async def test_a_refresh_asked_for_by_slack_goes_unnoticed(slack: SlackWorld) -> None:
    opened = slack.server.opened
    await slack.server.ask_to_reconnect()
    await slack.ask("Which database?")
    await eventually(lambda: slack.server.opened >= opened + 2)
    assert len(slack.server.posts()) == 1


async def test_slack_asking_for_patience_delays_and_loses_nothing(slack: SlackWorld) -> None:
    slack.server.streaming = False
    slack.server.fault("chat.postMessage", "ratelimited", count=2)
    slack.server.fault("chat.update", "ratelimited", count=2)
    await slack.ask("Which database?")
    assert "answer 1" in texts_of(slack.server.posts()[0])
    assert len(slack.server.posts()) == 1


@pytest.mark.parametrize("fault", ["landed", "http500", "reset"])
async def test_a_post_whose_answer_is_lost_is_looked_for_before_it_is_sent_again(
    slack: SlackWorld, fault: str
) -> None:
    slack.server.streaming = False
    slack.server.fault("chat.postMessage", fault)
    root = await slack.ask("Which database?")
    assert len(slack.server.posts()) == 1
    assert slack.server.calls_of("conversations.replies")[0]["ts"] == root


async def test_an_edit_that_fails_is_tried_until_the_final_text_stands(slack: SlackWorld) -> None:
    slack.server.streaming = False
    slack.server.fault("chat.update", "http500", count=2)
    await slack.ask("Which database?")
    assert "answer 1" in texts_of(slack.server.posts()[0])


async def test_a_stream_is_used_and_its_end_is_the_final_text(slack: SlackWorld) -> None:
    slack.model.script = ["streamed words"]
    await slack.ask("Which database?")
    (post,) = slack.server.posts()
    assert slack.server.calls_of("chat.startStream")[0]["recipient_user_id"] == "UALICE"
    assert post["streaming_state"] == "completed"
    assert "streamed words" in texts_of(post)


async def test_a_stream_that_slack_ends_early_goes_on_as_an_edited_message(slack: SlackWorld) -> None:
    slack.model.hold = asyncio.Event()
    slack.model.script = ["abcdef"]
    root = await slack.server.say(f"{MENTION} Write")
    await eventually(slack.model.begun.is_set)
    slack.server.kill_streams()
    slack.model.hold.set()
    await slack.settled("C1", root)
    assert len(slack.server.posts()) == 1
    assert "abcdef" in texts_of(slack.server.posts()[0])


async def test_a_stream_that_cannot_be_ended_at_first_still_becomes_the_final_text(slack: SlackWorld) -> None:
    slack.server.fault("chat.stopStream", "http500", count=3)
    slack.model.script = ["streamed words"]
    await slack.ask("Which database?")
    (post,) = slack.server.posts()
    assert post["streaming_state"] == "completed"
    assert "streamed words" in texts_of(post)


async def test_a_workspace_without_streaming_gets_edited_messages(slack: SlackWorld) -> None:
    slack.server.streaming = False
    root = await slack.ask("One")
    await slack.ask("Two", thread=root)
    assert len(slack.server.calls_of("chat.startStream")) == 1
    assert slack.metric("calls_total", method="chat.startStream", outcome="unknown_method") == 1


async def test_mentions_in_a_stream_never_leave_us_whole(slack: SlackWorld) -> None:
    slack.model.script = ["<!channel> and <@UBEN> and @here"]
    await slack.ask("Say hello")
    sent = str(slack.server.calls)
    assert "<!channel" not in sent
    assert "<@UBEN" not in sent
    assert "@here" not in sent
    assert f"@{JOINER}here" in texts_of(slack.server.posts()[0])


async def test_an_answer_that_fails_says_so_and_can_be_retried(slack: SlackWorld) -> None:
    slack.model.script = [FailureKind.RATE_LIMITED, "better now"]
    root = await slack.ask("Which database?")
    (card,) = slack.server.posts()
    assert "taking no more requests" in texts_of(card)
    await slack.server.click("C1", card["ts"], "do.retry")
    await slack.settled("C1", root, answers=2)
    assert "better now" in texts_of(slack.server.posts()[-1])


async def test_a_long_answer_is_posted_whole_even_when_a_part_fails(slack: SlackWorld) -> None:
    slack.server.streaming = False
    text = "\n\n".join(f"Paragraph {n}. " + "words " * 100 for n in range(40))
    slack.model.script = [text]
    slack.server.fault("chat.postMessage", "landed", skip=1)
    await slack.ask("Write a lot")
    shown = " ".join(texts_of(m) for m in slack.server.posts())
    assert all(shown.count(f"Paragraph {n}. ") == 1 for n in range(40))
    root = slack.server.posts()[0]["thread_ts"]
    await slack.server.say("Go on", thread=root)
    await slack.settled("C1", root, answers=2)
    assert text in slack.model.sent()


async def test_an_answer_too_long_for_messages_comes_as_a_file(slack: SlackWorld) -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "words " * 100 for n in range(100))
    slack.model.script = [text]
    slack.server.fault("files.completeUploadExternal", "landed")
    await slack.ask("Write a book")
    await eventually(lambda: any(f.get("channels") for f in slack.server.files.values()))
    root = slack.server.posts()[0]["thread_ts"]
    await slack.server.say("Go on", thread=root)
    await slack.settled("C1", root, answers=2)
    shared = [f for f in slack.server.files.values() if f.get("channels")]
    assert [f["data"].decode() for f in shared] == [text]
    assert len([m for m in slack.server.posts("C1", root) if m.get("files")]) == 1


async def test_blocks_that_slack_refuses_are_sent_as_plain_text(slack: SlackWorld) -> None:
    slack.server.streaming = False
    slack.server.fault("chat.update", "error", code="invalid_blocks")
    root = await slack.server.say(f"{MENTION} Which database?")
    await eventually(lambda: any("answer 1" in m["text"] for m in slack.server.posts("C1", root)))


async def test_our_message_deleted_by_someone_is_posted_anew_in_its_thread(slack: SlackWorld) -> None:
    slack.server.streaming = False
    slack.model.hold = asyncio.Event()
    slack.model.script = ["abcdef"]
    root = await slack.server.say(f"{MENTION} Write")
    await eventually(slack.model.begun.is_set)
    (post,) = slack.server.posts()
    del slack.server.channels["C1"].messages[post["ts"]]
    slack.model.hold.set()
    await slack.settled("C1", root)
    assert "abcdef" in texts_of(slack.server.posts("C1", root)[0])


async def test_a_thread_whose_first_message_was_deleted_gets_no_posts(slack: SlackWorld) -> None:
    slack.model.hold = asyncio.Event()
    root = await slack.server.say(f"{MENTION} Which database?")
    await eventually(slack.model.begun.is_set)
    second = slack.server.write("And this?", thread=root)
    await slack.server.announce("C1", second)
    await slack.server.delete("C1", root)
    before = len(slack.server.calls_of("chat.postMessage"))
    slack.model.hold.set()
    await eventually(lambda: slack.model.closed == 2 or len(slack.model.calls) == 1)
    assert len(slack.server.calls_of("chat.postMessage")) == before


def take_the_store_away(monkeypatch: pytest.MonkeyPatch, *, refusals: int) -> None:
    """Refuse so many writing transactions."""
    left, begin = [None] * refusals, Store.writing

    def away(store: Store) -> object:
        if left:
            left.pop()
            raise StoreUnavailable("locked")
        return begin(store)

    monkeypatch.setattr(Store, "writing", away)


async def test_a_store_that_is_away_makes_slack_send_the_event_again(
    slack: SlackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack.server.ack_s = ACK_S
    monkeypatch.setattr("bot.slack.app.STORE_PAUSES_S", ())
    take_the_store_away(monkeypatch, refusals=2)
    root = await slack.server.say(f"{MENTION} Which database?")
    await slack.settled("C1", root)
    assert any(d.attempts > 1 for d in slack.server.deliveries)
    assert len(slack.model.calls) == 1
    assert slack.metric("events_total", kind="written", outcome="again") >= 1


async def test_a_store_that_is_busy_for_a_moment_delays_the_acknowledgement_alone(
    slack: SlackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack.server.ack_s = ACK_S
    take_the_store_away(monkeypatch, refusals=1)
    root = await slack.server.say(f"{MENTION} Which database?")
    await slack.settled("C1", root)
    assert all(d.attempts == 1 for d in slack.server.deliveries)
    assert len(slack.model.calls) == 1


async def test_a_restart_in_the_middle_finishes_the_answer_in_its_place(
    server: SlackServer, tmp_path: Path
) -> None:
    model = ScriptedModel(hold=asyncio.Event(), script=["abcdef", "abcdef"])
    async with open_slack_world(tmp_path, server, model=model, patient=False):
        root = await server.say(f"{MENTION} Write", channel="C1")
        await eventually(model.begun.is_set)
        await eventually(lambda: server.posts("C1", root))
    async with open_slack_world(tmp_path, server, model=ScriptedModel(script=["abcdef"])) as after:
        await after.settled("C1", root)
        (post,) = server.posts("C1", root)
        assert "abcdef" in texts_of(post)
        await server.say("And?", thread=root)
        await after.settled("C1", root, answers=2)
    assert server.anomalies == []


async def test_buttons_work_after_a_restart(server: SlackServer, tmp_path: Path) -> None:
    async with open_slack_world(tmp_path, server) as before:
        root = await before.ask("Which database?")
    (card,) = server.posts()
    async with open_slack_world(tmp_path, server) as after:
        await server.click("C1", card["ts"], "do.retry")
        await after.settled("C1", root, answers=2)


async def test_an_outage_longer_than_a_ticket_lives_ends_by_itself(
    server: SlackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.socket.ILL_S", 0.5)
    monkeypatch.setattr("bot.slack.socket.CONNECT_S", 1.0)
    async with open_slack_world(tmp_path, server) as slack:
        server.fault("apps.connections.open", "http500", count=2)
        server.fault("connect", "refused", count=2)

        async def is_deaf() -> bool:
            return not await slack.adapter.is_ready()

        await server.drop_all()
        await eventually(is_deaf)
        await eventually(slack.adapter.is_ready)
        await slack.ask("Which database?")
        assert slack.metric("connections_lost_total") >= 1


async def test_a_socket_that_is_open_and_deaf_is_replaced(
    server: SlackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.socket.PING_S", 0.1)
    monkeypatch.setattr("bot.slack.socket.ILL_S", 0.5)
    async with open_slack_world(tmp_path, server) as slack:
        opened = server.opened
        server.answer_pings = False
        await eventually(lambda: server.opened > opened)
        server.answer_pings = True
        await eventually(slack.adapter.is_ready)
        await slack.ask("Which database?")
        assert slack.metric("connections_opened_total") > 2


async def test_a_token_that_slack_refuses_leaves_the_adapter_not_ready(
    server: SlackServer, tmp_path: Path
) -> None:
    del server.tokens[BOT_TOKEN]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2.0), open_slack_world(tmp_path, server):
            pass


async def test_the_status_of_a_direct_conversation_is_cleared_in_the_end(slack: SlackWorld) -> None:
    await slack.ask("Hello", channel="D1")
    await eventually(lambda: [s["status"] for s in slack.server.statuses][-1:] == [""])
    assert {(s["channel_id"], bool(s["thread_ts"])) for s in slack.server.statuses} == {("D1", True)}


async def test_many_threads_at_once_lose_and_double_nothing(slack: SlackWorld) -> None:
    messages = [slack.server.write(f"{MENTION} question {n}") for n in range(40)]
    await asyncio.gather(*(slack.server.announce("C1", m, copies=2) for m in messages))
    for message in messages:
        await slack.settled("C1", message["ts"])
    assert len(slack.model.calls) == 40
    cards = [m for m in slack.server.posts() if is_card(m)]
    assert sorted(m["thread_ts"] for m in cards) == [m["ts"] for m in messages]
    assert all(is_final(m) for m in cards)
