"""What the doctor finds wrong with Slack, against the small Slack."""

from typing import Any

import pytest

from bot.check import Check
from bot.slack.doctor import try_slack
from bot.slack.scopes import SCOPES
from core.i18n import LOCALES, phrase
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import APP_TOKEN, BOT_TOKEN


async def checks(server: SlackServer, **more: Any) -> list[Check]:
    given = {"api_url": server.api_url, "bot_token": BOT_TOKEN, "app_token": APP_TOKEN, **more}
    found = [check async for check in try_slack(**given)]
    for check in found:
        for locale in LOCALES:
            said = phrase(locale, check.phrase)
            assert not any(token and token in said for token in (given["bot_token"], given["app_token"]))
    return found


def problems(found: list[Check]) -> list[str]:
    return [phrase("en", check.phrase) for check in found if not check.well]


async def test_working_tokens_are_named_with_their_workspace(server: SlackServer) -> None:
    found = await checks(server)
    assert problems(found) == []
    assert [check.phrase.key for check in found] == ["cli.doctor_slack_bot", "cli.doctor_slack_sockets"]
    assert "Testers" in phrase("en", found[0].phrase)
    assert server.connected == []


async def test_a_token_that_is_not_set_is_not_tried(server: SlackServer) -> None:
    assert [c.phrase.key for c in await checks(server, app_token="")] == ["cli.doctor_slack_bot"]
    assert await checks(server, app_token="", bot_token="") == []


async def test_a_missing_scope_is_named_with_its_reason_and_the_reinstall(server: SlackServer) -> None:
    server.granted = {scope for scope in SCOPES if scope not in ("files:read", "groups:read")}
    (problem,) = problems(await checks(server))
    assert f"files:read ({SCOPES['files:read']})" in problem
    assert "groups:read" in problem
    assert "reinstall" in problem.lower()
    assert "users:read" not in problem


async def test_a_slack_that_does_not_name_scopes_is_believed(server: SlackServer) -> None:
    server.granted = set()
    assert problems(await checks(server)) == []


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"bot_token": "xoxb-revoked"}, "SLACK_BOT_TOKEN"),
        ({"bot_token": APP_TOKEN}, "SLACK_BOT_TOKEN"),
        ({"app_token": "xapp-revoked"}, "SLACK_APP_TOKEN"),
        ({"app_token": BOT_TOKEN}, "SLACK_APP_TOKEN"),
    ],
)
async def test_a_token_that_slack_refuses_is_named_by_its_variable(
    server: SlackServer, more: dict[str, str], name: str
) -> None:
    (problem,) = problems(await checks(server, **more))
    assert name in problem


async def test_an_app_token_without_its_scope_says_which(server: SlackServer) -> None:
    server.fault("apps.connections.open", "error", code="missing_scope")
    (problem,) = problems(await checks(server))
    assert "connections:write" in problem


@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
async def test_a_slack_that_is_silent_is_not_waited_for(server: SlackServer, method: str) -> None:
    server.fault(method, "slow", delay_s=30)
    (problem,) = problems(await checks(server, deadline_s=0.2))
    assert "0.2 s" in problem


@pytest.mark.parametrize("kind", ["http500", "reset"])
async def test_a_slack_that_is_down_is_a_problem_and_not_the_token_s(server: SlackServer, kind: str) -> None:
    server.fault("*", kind, count=2)
    said = problems(await checks(server))
    assert len(said) == 2
    assert all("TOKEN" not in one for one in said)
