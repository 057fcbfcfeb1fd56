"""What operators can watch of Slack."""

from tests.bot.slack.world import MENTION, SlackWorld
from tests.product import eventually


async def test_events_calls_and_acknowledgements_are_counted(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    assert slack.metric("events_total", kind="written", outcome="taken") == 2
    await slack.server.event({"type": "channel_created"})
    assert slack.metric("events_total", kind="ignored", outcome="ignored") >= 1
    assert slack.metric("acknowledge_seconds_count", kind="event") >= 3
    assert slack.metric("calls_total", method="auth.test", outcome="ok") == 1
    await slack.server.slash("/help")
    await eventually(lambda: slack.metric("acknowledge_seconds_count", kind="command") == 1)
    await slack.server.slash("/branch")
    await eventually(lambda: slack.metric("calls_total", method="views.open", outcome="ok") == 1)


async def test_waits_that_slack_asks_for_and_refusals_are_counted_by_method(slack: SlackWorld) -> None:
    slack.server.fault("chat.postEphemeral", "ratelimited", retry_after=1)
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} branch 99", thread=root)
    await eventually(lambda: slack.server.ephemerals)
    method = "chat.postEphemeral"
    assert slack.metric("calls_total", method=method, outcome="ratelimited") == 1
    assert slack.metric("calls_total", method=method, outcome="ok") == 1
    assert slack.metric("ratelimited_seconds_total", method=method) == 1
    slack.server.fault("users.info", "error", code="missing_scope")
    await slack.server.slash("/models", user="UBEN")
    await eventually(lambda: slack.metric("calls_total", method="users.info", outcome="missing_scope") == 1)


async def test_connections_that_hear_and_those_made_anew_are_shown(slack: SlackWorld) -> None:
    await eventually(lambda: slack.metric("connections_well") == 2)
    assert slack.metric("connections_opened_total") == 2
    assert slack.metric("connections_lost_total") == 0
