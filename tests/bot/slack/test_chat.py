"""From a mention to a whole answer, and the follow-ups in its thread."""

from tests.bot.slack.world import MENTION, SlackWorld, actions_of, texts_of
from tests.product import eventually


async def test_a_mention_is_answered_in_its_thread(slack: SlackWorld) -> None:
    slack.model.script = ["Use **Postgres**."]
    root = await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    assert answer["thread_ts"] == root
    assert "Use **Postgres**." in texts_of(answer)
    assert "alpha" in texts_of(answer)
    assert {"do.branch", "do.retry", "do.other_model", "do.show_input"} <= set(actions_of(answer))
    assert "Which database?" in slack.model.sent()
    assert MENTION not in slack.model.sent()


async def test_a_reply_without_a_mention_is_the_next_turn(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say("And for 200 writers?", thread=root)
    await slack.settled("C1", root, answers=2)
    assert "answer 1" in slack.model.sent()
    assert "And for 200 writers?" in slack.model.sent()
    assert len(slack.model.calls) == 2


async def test_a_message_to_the_bot_alone_needs_no_mention(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?", channel="D1")
    (answer,) = slack.server.posts("D1")
    assert answer["thread_ts"] == root
    await eventually(lambda: [s["status"] for s in slack.server.statuses][-1] == "")


async def test_talk_between_people_is_left_alone(slack: SlackWorld) -> None:
    root = await slack.server.say("Lunch?")
    await slack.server.say("Yes", thread=root)
    assert slack.model.calls == []
    assert slack.server.posts() == []
    assert slack.server.calls_of("users.info") == []


async def test_a_reply_that_speaks_to_another_person_is_kept_and_not_answered(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say("<@UBEN> what do you think?", thread=root)
    await slack.server.say("So?", thread=root, user="UBEN")
    await slack.settled("C1", root, answers=2)
    assert len(slack.model.calls) == 2
    assert "@ben what do you think?" in slack.model.sent()


async def test_what_slack_escapes_reaches_the_model_as_it_was_written(slack: SlackWorld) -> None:
    await slack.ask("is 1 &lt; 2 &amp; see <https://a.example/x|the page> in <#C1|general>, <@UBEN>?")
    assert "is 1 < 2 & see the page (https://a.example/x) in #general, @ben?" in slack.model.sent()


async def test_posts_are_in_the_thread_s_language_and_private_notes_in_the_person_s(
    slack: SlackWorld,
) -> None:
    root = await slack.ask("どれ?", user="UBEN")
    (answer,) = slack.server.posts()
    assert "再試行" in texts_of(answer) or "もう一度" in texts_of(answer)
    await slack.server.say(f"{MENTION} branch 99", thread=root)
    await eventually(lambda: slack.server.ephemerals)
    assert "99" in slack.server.ephemerals[0]["text"]
    assert slack.server.ephemerals[0]["thread_ts"] == root
    assert "whole number" in slack.server.ephemerals[0]["text"]
