"""Every action by every route that Slack has: button, shortcut, slash command, words after a mention."""

import asyncio
from typing import Any

import pytest

from core.domain.view import AnswerView, MessageView
from tests.bot.slack.world import MENTION, SlackWorld, actions_of, is_card, texts_of
from tests.commands.look import rows
from tests.product import eventually

PNG = b"\x89PNG\r\n\x1a\n"


async def branch_of(slack: SlackWorld, root: str, *, channel: str = "C1") -> dict[str, Any]:
    """The first post of the branch that is opened next in the channel."""

    def heads() -> list[dict[str, Any]]:
        return [
            m
            for m in slack.server.posts(channel)
            if m.get("thread_ts") in (None, m["ts"]) and m["ts"] != root
        ]

    await eventually(heads)
    await eventually(lambda: any("Open the thread" in texts_of(m) for m in slack.server.posts(channel, root)))
    return heads()[-1]


async def test_branch_by_a_button_opens_a_form_and_then_a_thread(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.branch")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    view = slack.server.newest_view
    assert "message #2" in texts_of(view)
    sent = await slack.server.submit(view["id"], {"name": "Try SQLite", "reason": "No Postgres here"})
    assert sent.acked
    assert sent.response is None
    head = await branch_of(slack, root)
    assert "Try SQLite" in texts_of(head)
    assert "No Postgres here" in texts_of(head)
    assert f"archives/C1/p{root.replace('.', '')}" in texts_of(head)
    await eventually(lambda: any(m.get("files") for m in slack.server.posts("C1", head["ts"])))
    (file,) = [f for f in slack.server.files.values() if f["name"].startswith("transcript")]
    assert "Which database?" in file["data"].decode()


async def test_a_branch_is_a_conversation_of_its_own(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} branch 1 Other way", thread=root)
    head = await branch_of(slack, root)
    await slack.server.say("What about files?", thread=head["ts"])
    await slack.settled("C1", head["ts"])
    assert "Which database?" in slack.model.sent()
    assert "answer 1" not in slack.model.sent()
    await slack.server.say("And now?", thread=root)
    await slack.settled("C1", root, answers=2)
    assert "What about files?" not in slack.model.sent()


async def ended_as(slack: SlackWorld, kind: str, status: str) -> bool:
    return [row["status"] for row in await rows(slack.world, "run") if row["kind"] == kind] == [status]


async def test_a_branch_that_slack_does_not_take_is_told_in_the_thread_and_opened_when_asked_again(
    slack: SlackWorld,
) -> None:
    root = await slack.ask("Which database?")
    slack.server.fault("chat.postMessage", "error", code="restricted_action")
    await slack.server.say(f"{MENTION} branch 1 Other way", thread=root)
    told = (
        "The branch “Other way” could not be opened: the platform refused a new thread (restricted_action)."
    )
    await eventually(lambda: any(told in texts_of(m) for m in slack.server.posts("C1", root)))
    assert [m for m in slack.server.posts("C1") if m["ts"] != root and not m.get("thread_ts")] == []
    await eventually(lambda: ended_as(slack, "branch", "failed"))
    await slack.server.say(f"{MENTION} branch 1", thread=root)
    head = await branch_of(slack, root)
    assert "Other way" in texts_of(head)


async def test_branch_by_a_message_shortcut_on_a_person_s_message(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.shortcut("message_branch", "C1", root)
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    view = slack.server.newest_view
    assert "message #1" in texts_of(view)
    await slack.server.submit(view["id"], {"name": "From the question"})
    head = await branch_of(slack, root)
    assert "From the question" in texts_of(head)


async def test_branch_by_a_message_shortcut_on_an_answer(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    await slack.server.shortcut("message_branch", "C1", answer["ts"])
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    await slack.server.submit(slack.server.newest_view["id"], {"name": "From the answer"})
    assert "From the answer" in texts_of(await branch_of(slack, root))


async def test_branch_by_a_slash_command_picks_thread_and_message(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.slash("/branch")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    view = slack.server.newest_view
    options = view["blocks"][0]["element"]["options"]
    assert [o["text"]["text"] for o in options] == ["Which database?"]
    await slack.server.click_in_view(view["id"], "thread", options[0]["value"])
    await eventually(lambda: len(slack.server.newest_view["blocks"]) == 4)
    view = slack.server.newest_view
    messages = view["blocks"][1]
    first = messages["element"]["options"][-1]
    assert first["text"]["text"].startswith("#1 alice")
    values = {"thread": options[0]["value"], messages["block_id"]: first["value"], "name": "By slash"}
    await slack.server.submit(view["id"], values)
    head = await branch_of(slack, root)
    assert "By slash" in texts_of(head)
    assert "up to #1" in texts_of(head)


async def test_branch_by_a_copied_link(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    link = f"https://testers.slack.com/archives/C1/p{root.replace('.', '')}"
    await slack.server.slash("/branch", link)
    await eventually(lambda: slack.server.views and "message #1" in texts_of(slack.server.newest_view))


async def test_a_wrong_link_gets_one_sentence_in_the_form(slack: SlackWorld) -> None:
    await slack.server.slash("/branch", "https://example.org/nothing")
    await eventually(
        lambda: slack.server.views and "no link to a Slack message" in texts_of(slack.server.newest_view)
    )


async def test_a_form_sent_twice_makes_one_branch(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.branch")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    view = dict(slack.server.newest_view)
    await slack.server.submit(view["id"], {"name": "Once"})
    slack.server.views[view["id"]] = view
    await slack.server.submit(view["id"], {"name": "Once"})
    await branch_of(slack, root)
    assert len(await slack.threads()) == 2


@pytest.mark.soak
async def test_what_a_form_cannot_do_is_said_in_the_form(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    for depth in range(4):
        (card, *_) = [m for m in slack.server.posts("C1", root) if is_card(m)]
        await slack.server.click("C1", card["ts"], "do.branch")
        await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
        await slack.server.submit(slack.server.newest_view["id"], {"name": f"Level {depth + 1}"})
        before = root
        root = (await branch_of(slack, before))["ts"]
        await slack.server.say("Go on", thread=root)
        await slack.settled("C1", root)
    (card,) = [m for m in slack.server.posts("C1", root) if is_card(m)]
    await slack.server.click("C1", card["ts"], "do.branch")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    refused = await slack.server.submit(slack.server.newest_view["id"], {"name": "Too deep"})
    assert refused.response["response_action"] == "errors"
    assert "4 levels" in next(iter(refused.response["errors"].values()))


async def test_retry_by_button_and_by_words_gives_another_answer(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.retry", times=2)
    await slack.settled("C1", root, answers=2)
    await slack.server.say(f"{MENTION} retry beta", thread=root)
    await slack.settled("C1", root, answers=3)
    assert [call.model for call in slack.model.calls] == ["alpha", "alpha", "beta"]


async def test_another_model_is_chosen_in_a_form(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.other_model")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.other_model")
    await slack.server.submit(slack.server.newest_view["id"], {"model": "beta"})
    await slack.settled("C1", root, answers=2)
    assert [call.model for call in slack.model.calls] == ["alpha", "beta"]


async def test_an_earlier_answer_can_be_kept_again(slack: SlackWorld) -> None:
    slack.model.script = ["first answer", "second answer"]
    root = await slack.ask("Which database?")
    (first,) = slack.server.posts()
    await slack.server.click("C1", first["ts"], "do.retry")
    await slack.settled("C1", root, answers=2)
    page = await slack.page()
    kept = [item.text for item in page.items if isinstance(item, AnswerView) and item.kept]
    assert kept == ["second answer"]
    replaced = next(item for item in page.items if isinstance(item, AnswerView) and not item.kept)
    first["blocks"][-1]["elements"].append({"action_id": "do.keep_answer", "value": replaced.message_id})
    await slack.server.click("C1", first["ts"], "do.keep_answer")
    await eventually(lambda: slack.server.ephemerals)
    page = await slack.page()
    assert [i.text for i in page.items if isinstance(i, AnswerView) and i.kept] == ["first answer"]


async def test_stop_keeps_what_is_written(slack: SlackWorld) -> None:
    slack.model.hold = asyncio.Event()
    slack.model.script = ["abcdef"]
    root = await slack.server.say(f"{MENTION} Write a lot")
    await eventually(slack.model.begun.is_set)
    await eventually(lambda: slack.server.posts())
    (card,) = slack.server.posts()
    if "do.stop" in actions_of(card):
        await slack.server.click("C1", card["ts"], "do.stop")
    else:
        await slack.server.say(f"{MENTION} stop", thread=root)
    await slack.settled("C1", root)
    assert "Stopped by a person" in texts_of(slack.server.posts()[0])
    assert "abc" in texts_of(slack.server.posts()[0])


async def test_show_ai_input_by_button_shortcut_and_words(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.show_input")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.input")
    assert "Which database?" in texts_of(slack.server.newest_view)
    await slack.server.shortcut("message_show_input", "C1", answer["ts"])
    await eventually(
        lambda: len(slack.server.views) == 2 and slack.server.newest_view["callback_id"] == "form.input"
    )
    await slack.server.say(f"{MENTION} input", thread=root)
    await eventually(lambda: slack.server.ephemerals)
    assert actions_of(slack.server.ephemerals[0]) == ["do.show_input"]
    await slack.server.click_in_view(slack.server.newest_view["id"], "do.input_file", answer_receipt(answer))
    await eventually(lambda: any(m.get("files") for m in slack.server.posts("D1")))
    (file,) = [f for f in slack.server.files.values() if f["name"].startswith("ai-input")]
    assert "Which database?" in file["data"].decode()


def answer_receipt(message: dict[str, Any]) -> str:
    elements = [e for b in message["blocks"] for e in b.get("elements", ())]
    return str(next(e["value"] for e in elements if e.get("action_id") == "do.show_input"))


async def test_lists_are_for_the_one_who_asked(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    for command, expected in (
        ("/threads", "Which database?"),
        ("/models", "alpha"),
        ("/usage", "1 calls"),
        ("/help", "How to work"),
    ):
        delivery = await slack.server.slash(command)
        assert delivery.acked
        answer = slack.server.answers.pop()
        assert answer["response_type"] == "ephemeral"
        assert expected in texts_of(answer)


async def test_the_picture_of_usage_goes_to_the_one_who_asked_alone(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    before = {channel.id: len(channel.messages) for channel in slack.server.channels.values()}
    await slack.server.slash("/usage")
    await eventually(lambda: any(m.get("files") for m in slack.server.posts("D1")))
    (file,) = [f for f in slack.server.files.values() if f["name"] == "usage.png"]
    assert (file["data"][:8], file["channels"]) == (PNG, ["D1"])
    assert "tokens" in file["alt_txt"]
    assert len(file["alt_txt"]) <= 1_000
    said = next(m for m in slack.server.posts("D1") if m.get("files"))["text"]
    assert "Models: 1 alpha" in said
    assert "People: A " in said
    assert "direct conversation" in texts_of(slack.server.answers[0])
    after = {channel.id: len(channel.messages) for channel in slack.server.channels.values()}
    assert [c for c in after if after[c] != before.get(c, 0)] == ["D1"]


async def test_usage_typed_in_a_thread_is_answered_in_private_too(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} usage", thread=root)
    await eventually(lambda: any(m.get("files") for m in slack.server.posts("D1")))
    assert "1 calls" in texts_of(slack.server.ephemerals[0])


async def test_a_picture_that_slack_does_not_take_leaves_the_numbers_and_a_sentence(
    slack: SlackWorld,
) -> None:
    await slack.ask("Which database?")
    slack.server.fault("files.getUploadURLExternal", "error", code="file_uploads_disabled")
    await slack.server.slash("/usage")
    await eventually(lambda: len(slack.server.answers) == 2)
    assert "1 calls" in texts_of(slack.server.answers[0])
    assert slack.server.answers[1]["text"].startswith("The picture could not be sent.")


async def test_a_command_works_where_the_bot_is_not_a_member(slack: SlackWorld) -> None:
    await slack.server.slash("/help", channel="C2")
    await eventually(lambda: slack.server.answers)


async def test_an_unknown_command_gets_a_sentence(slack: SlackWorld) -> None:
    await slack.server.slash("/unheard")
    await eventually(lambda: slack.server.answers)
    assert "/unheard" in texts_of(slack.server.answers[0])


async def test_words_that_need_a_thread_say_so_outside_one(slack: SlackWorld) -> None:
    await slack.server.say(f"{MENTION} branch 3")
    await eventually(lambda: slack.server.ephemerals)
    assert "inside one of our threads" in slack.server.ephemerals[0]["text"]
    assert slack.model.calls == []


async def test_renaming_is_for_the_owner(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} rename Storage", thread=root, user="UBEN")
    await eventually(lambda: slack.server.ephemerals)
    await slack.server.say(f"{MENTION} rename Storage", thread=root)
    await eventually(lambda: len(slack.server.ephemerals) == 2)
    assert (await slack.page()).title == "Storage"


async def test_the_home_shows_threads_usage_and_help(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    await slack.server.event({"type": "app_home_opened", "user": "UALICE", "tab": "home", "channel": "D1"})
    await eventually(lambda: "UALICE" in slack.server.homes)
    shown = texts_of(slack.server.homes["UALICE"])
    assert "Which database?" in shown
    assert "calls" in shown


async def test_the_global_shortcut_lists_threads(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    await slack.server.shortcut("threads")
    await eventually(lambda: slack.server.views and "Which database?" in texts_of(slack.server.newest_view))


async def test_an_edit_reaches_the_next_answer_and_a_deletion_takes_the_message_out(
    slack: SlackWorld,
) -> None:
    root = await slack.ask("Which database?")
    second = await slack.server.say("For 10 writers", thread=root)
    await slack.settled("C1", root, answers=2)
    await slack.server.edit("C1", second, "For 500 writers")
    third = await slack.server.say("So?", thread=root)
    await slack.settled("C1", root, answers=3)
    assert "For 500 writers" in slack.model.sent()
    assert "For 10 writers" not in slack.model.sent()
    await slack.server.delete("C1", third)
    page = await slack.page()
    assert [i.text for i in page.items if isinstance(i, MessageView)] == [
        "Which database?",
        "For 500 writers",
    ]


async def test_a_link_preview_is_no_edit(slack: SlackWorld) -> None:
    root = await slack.ask("See https://a.example")
    message = slack.server.channels["C1"].messages[root]
    await slack.server.event(
        {
            "type": "message",
            "subtype": "message_changed",
            "channel": "C1",
            "message": {**message, "attachments": [{}]},
            "previous_message": message,
        }
    )
    assert len(slack.model.calls) == 1


async def test_a_mention_added_by_an_edit_is_a_turn_once(slack: SlackWorld) -> None:
    ts = await slack.server.say("Which database?")
    await slack.server.edit("C1", ts, f"{MENTION} Which database?")
    await slack.settled("C1", ts)
    await slack.server.edit("C1", ts, f"{MENTION} Which database now?")
    assert len(slack.model.calls) == 1


async def test_after_a_retry_the_earlier_post_offers_to_keep_its_answer(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    (first,) = slack.server.posts()
    await slack.server.click("C1", first["ts"], "do.retry")
    await slack.settled("C1", root, answers=2)
    (first, second) = slack.server.posts("C1", root)
    assert "do.keep_answer" in actions_of(first)
    assert "do.branch" not in actions_of(first)
    assert "do.keep_answer" not in actions_of(second)
    await slack.server.click("C1", first["ts"], "do.keep_answer")
    await eventually(lambda: "do.keep_answer" in actions_of(slack.server.posts("C1", root)[1]))
    await eventually(lambda: "do.keep_answer" not in actions_of(slack.server.posts("C1", root)[0]))
