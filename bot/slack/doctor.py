"""What would keep Slack from working: tokens, permissions, and whether Slack answers. Changes nothing at Slack."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import aiohttp

from bot.check import Check
from bot.slack.calls import Calls
from bot.slack.scopes import SCOPES
from core.domain.errors import PlatformFailure
from core.domain.view import Phrase

DEADLINE_S: Final = 5.0
SOCKETS: Final = "connections:write"
"""What the app-level token may do, and nothing else."""


async def try_slack(
    *, api_url: str, bot_token: str, app_token: str, deadline_s: float = DEADLINE_S
) -> AsyncIterator[Check]:
    """Findings about the tokens that are set. No token stands in any of them."""
    async with aiohttp.ClientSession() as session:
        calls = Calls(api_url=api_url, session=session)
        if bot_token:
            async for check in _bot_token(calls, bot_token, deadline_s):
                yield check
        if app_token:
            yield await _app_token(calls, app_token, deadline_s)


async def _bot_token(calls: Calls, token: str, deadline_s: float) -> AsyncIterator[Check]:
    try:
        async with asyncio.timeout(deadline_s):
            answer, granted = await calls.test(token)
    except (PlatformFailure, TimeoutError) as problem:
        yield _trouble("SLACK_BOT_TOKEN", problem, deadline_s)
        return
    yield _well("slack_bot", workspace=str(answer.get("team") or ""), bot=str(answer.get("user_id") or ""))
    # Slack names what a token may do beside every answer; some gateways take that away.
    missing = [scope for scope in SCOPES if granted and scope not in granted]
    if missing:
        reasons = "; ".join(f"{scope} ({SCOPES[scope]})" for scope in missing)
        yield _ill("slack_scopes", scopes=reasons)


async def _app_token(calls: Calls, token: str, deadline_s: float) -> Check:
    try:
        async with asyncio.timeout(deadline_s):
            await calls.send(token, "apps.connections.open")
    except PlatformFailure as failure:
        if failure.code.startswith("missing_scope"):
            return _ill("slack_app_scope", scope=SOCKETS)
        return _trouble("SLACK_APP_TOKEN", failure, deadline_s)
    except TimeoutError as silence:
        return _trouble("SLACK_APP_TOKEN", silence, deadline_s)
    return _well("slack_sockets")


def _trouble(name: str, problem: PlatformFailure | TimeoutError, deadline_s: float) -> Check:
    if isinstance(problem, TimeoutError) or problem.code == "timeout":
        return _ill("slack_silent", seconds=round(deadline_s, 1))
    if problem.retryable:
        return _ill("slack_away", reason=problem.code)
    return _ill("slack_token", name=name, reason=problem.code)


def _well(key: str, **fields: str | float) -> Check:
    return Check(well=True, phrase=Phrase(key=f"cli.doctor_{key}", fields=fields))


def _ill(key: str, **fields: str | float) -> Check:
    return Check(well=False, phrase=Phrase(key=f"cli.doctor_{key}", fields=fields))
