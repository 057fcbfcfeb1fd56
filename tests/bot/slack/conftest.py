"""A small Slack and the product in it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.bot.slack.world import SlackWorld, open_slack_world
from tests.platforms.slack_server import SlackServer


@pytest.fixture
async def server() -> AsyncGenerator[SlackServer]:
    slack = SlackServer()
    await slack.start()
    yield slack
    await slack.close()


@pytest.fixture
async def slack(server: SlackServer, tmp_path: Path) -> AsyncGenerator[SlackWorld]:
    async with open_slack_world(tmp_path, server) as world:
        yield world
    assert server.anomalies == []
