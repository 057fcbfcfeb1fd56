"""Slack keeps the contracts of the ports."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.slack.adapter import SlackPlatform, one_bot, open_platform
from bot.slack.people import PLATFORM
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from core.domain.view import MessageView
from tests.bot.slack.world import HURRY, MENTION, SlackWorld, open_slack_world, texts_of
from tests.contracts.access import AccessContract, Doors
from tests.contracts.intake import IntakeContract, Talk
from tests.contracts.poster import PosterContract, PosterGround
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import BOT_TOKEN, BOT_USER, TEAM


@pytest.fixture
async def slack(tmp_path: Path) -> AsyncGenerator[SlackWorld]:
    server = SlackServer()
    await server.start()
    try:
        async with open_slack_world(tmp_path, server) as world:
            yield world
        assert server.anomalies == []
    finally:
        await server.close()


@dataclass
class Bare:
    """Slack without a product behind it: enough for posting and asking."""

    platform: SlackPlatform
    server: SlackServer


@pytest.fixture
async def bare() -> AsyncGenerator[Bare]:
    server = SlackServer()
    await server.start()

    async def external_id(workspace_id: WorkspaceId) -> str:
        return TEAM

    opened = open_platform(
        api_url=server.api_url, make_bots=one_bot(BOT_TOKEN), external_id=external_id, speed=HURRY
    )
    try:
        async with opened as platform:
            yield Bare(platform, server)
        assert server.anomalies == []
    finally:
        await server.close()


class SlackGround(PosterGround):
    channel = "C1"
    workspace_id = WorkspaceId("w")

    def __init__(self, bare: Bare) -> None:
        self.poster = bare.platform.poster
        self._server = bare.server

    async def thread(self) -> Place:
        return Place(platform=PLATFORM, channel="C1", thread=str(self._server.write("root")["ts"]))

    async def shown(self, place: Place) -> list[str]:
        found = []
        for post in self._server.posts("C1"):
            if place.thread in (post.get("thread_ts"), post["ts"]):
                files = [self._server.files[f["id"]]["data"].decode() for f in post.get("files", ())]
                found.append("\n".join([texts_of(post), *files]))
        return found

    async def pings(self) -> int:
        sent = str([args for method, args in self._server.calls if method.startswith("chat.")])
        return sum(
            sent.count(ping) for ping in ("<!channel", "<!here", "<@U", "@here", "@everyone", "@channel")
        )

    async def lose_next_answer(self) -> None:
        self._server.fault("chat.postMessage", "landed")


class TestPoster(PosterContract):
    @pytest.fixture
    async def ground(self, bare: Bare) -> SlackGround:
        return SlackGround(bare)


class SlackDoors(Doors):
    public, private, direct = "C1", "G1", "D1"
    insider, outsider = "UALICE", "UBEN"
    workspace_id = WorkspaceId("w")

    def __init__(self, bare: Bare) -> None:
        self.access = self._access = bare.platform.access
        self._bots = bare.platform.bots
        self._server = bare.server

    async def let_in(self, person: str, channel: str) -> None:
        self._server.channels[channel].members.append(person)
        self._access.changed(await self._bots.of_workspace(TEAM), channel)

    async def put_out(self, person: str, channel: str) -> None:
        self._server.channels[channel].members.remove(person)
        self._access.withdrawn(await self._bots.of_workspace(TEAM), channel, person)


class TestAccess(AccessContract):
    @pytest.fixture
    async def doors(self, bare: Bare) -> SlackDoors:
        return SlackDoors(bare)


class SlackTalk(Talk):
    workspace = TEAM

    def __init__(self, slack: SlackWorld) -> None:
        self.world = slack.world
        self._slack = slack
        self._server = slack.server

    async def begin(self, text: str, *, copies: int = 1) -> str:
        message = self._server.write(f"{MENTION} {text}")
        await self._server.announce("C1", message, copies=copies)
        return str(message["ts"])

    async def reply(self, thread: str, text: str, *, person: int = 0, copies: int = 1) -> str:
        message = self._server.write(text, user=("UALICE", "UBEN")[person], thread=thread)
        await self._server.announce("C1", message, copies=copies)
        return str(message["ts"])

    async def call(self, thread: str, text: str) -> None:
        await self.reply(thread, f"{MENTION} {text}")

    async def answered(self, thread: str, answers: int) -> None:
        await self._slack.settled("C1", thread, answers=answers)

    async def edit(self, thread: str, message: str, text: str) -> None:
        await self._server.edit("C1", message, text)

    async def delete(self, thread: str, message: str) -> None:
        await self._server.delete("C1", message)

    async def conversation(self, thread: str) -> list[str]:
        page = await self._slack.page()
        assert page.place.thread == thread
        spoken = [i for i in page.items if isinstance(i, MessageView) or hasattr(i, "answers_id")]
        return [getattr(i, "text", "") for i in spoken if getattr(i, "position", None) is not None]

    async def told(self) -> list[str]:
        return [e["text"] for e in self._server.ephemerals if e["user"] != BOT_USER]


class TestIntake(IntakeContract):
    @pytest.fixture
    async def talk(self, slack: SlackWorld) -> SlackTalk:
        return SlackTalk(slack)
