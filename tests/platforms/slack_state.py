"""What the small Slack of the tests holds: people, channels, files, and all that went in and out."""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from aiohttp import web

from bot.slack.scopes import SCOPES

TEAM, APP, BOT_USER, BOT_ID = "T1", "A1", "UBOT", "B1"
BOT_TOKEN, APP_TOKEN, SIGNING_SECRET = "xoxb-1", "xapp-1", "signing-secret"
EXTERNAL_TEAM = "T9"
ACK_S = 3.0
PATIENCE_S = 15.0
"""Instead of `ACK_S` where a machine that stands still for a moment would fail a test about something else."""
Json = dict[str, Any]


class Refused(Exception):
    """An error answer of the Web API."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.code = code
        self.more = more


@dataclass
class Fault:
    """`kind`: ratelimited, http500, reset, landed (it is done, the answer says 503), error, slow."""

    method: str
    kind: str
    count: int = 1
    skip: int = 0
    code: str = ""
    retry_after: float = 1
    delay_s: float = 0.0


@dataclass
class Channel:
    id: str
    kind: str = "channel"
    members: list[str] = field(default_factory=list)
    archived: bool = False
    team: str = TEAM
    messages: dict[str, Json] = field(default_factory=dict)

    @property
    def type(self) -> str:
        return {"channel": "channel", "group": "group", "im": "im"}[self.kind]


@dataclass
class Delivery:
    payload: Json
    acked: bool = False
    response: Any = None
    attempts: int = 0


class SlackState:
    """One workspace with four people, one of them a guest and one an outsider, and channels of every kind."""

    def __init__(self) -> None:
        self.users: dict[str, Json] = {
            "UALICE": {"name": "alice", "locale": "en-US"},
            "UBEN": {"name": "ben", "locale": "ja-JP"},
            "UGUEST": {"name": "guest", "locale": "en-US", "is_restricted": True},
            "UOUT": {"name": "outsider", "locale": "en-US", "team_id": EXTERNAL_TEAM, "is_stranger": True},
            BOT_USER: {"name": "promptflow", "is_bot": True},
        }
        self.channels = {
            c.id: c
            for c in (
                Channel("C1", members=[BOT_USER, "UALICE", "UBEN"]),
                Channel("C2", members=["UALICE"]),
                Channel("G1", kind="group", members=[BOT_USER, "UALICE"]),
                Channel("D1", kind="im", members=[BOT_USER, "UALICE"]),
                Channel("COLD", members=[BOT_USER, "UALICE"], archived=True),
            )
        }
        self.scopes = {"files:read"}
        self.granted = set(SCOPES)
        """What answers say that the token may do."""
        self.ephemerals: list[Json] = []
        self.answers: list[Json] = []
        self.views: dict[str, Json] = {}
        self.homes: dict[str, Json] = {}
        self.files: dict[str, Json] = {}
        self.statuses: list[Json] = []
        self.calls: list[tuple[str, Json]] = []
        self.anomalies: list[str] = []
        self.faults: list[Fault] = []
        self.deliveries: list[Delivery] = []
        self.retry_delays: tuple[float, ...] = (0.2, 0.5, 1.0)
        self.ack_s = PATIENCE_S
        """Seconds an acknowledgement or the opening of a form may take. Tests of that rule set `ACK_S`."""
        self.streaming = True
        self.sessions: list[Json] | None = None
        """States of agents' sessions, in order; None for a Slack that has none."""
        self.stream_lives_s = 300.0
        self.answer_pings = True
        self.tokens = {BOT_TOKEN: "bot", APP_TOKEN: "app"}
        self.oauth: dict[str, Json] = {}
        self.organisations: dict[str, str] = {}
        """The organisation that installed the app for a team; teams that are missing installed it themselves."""
        self.reach = {BOT_TOKEN: {TEAM}}
        """Teams whose channels a token opens."""
        self.used: list[tuple[str, str]] = []
        """Token and method of every call that was let in."""
        self.opened = 0
        self.connected: list[web.WebSocketResponse] = []
        self.listening = asyncio.Event()
        self._token = ""
        self._tickets: set[str] = set()
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._triggers: dict[str, tuple[str, float]] = {}
        self._answer_uses: defaultdict[str, int] = defaultdict(int)
        self._next_ts = int(time.time() * 1_000_000)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._round = 0
        self._runner: web.AppRunner | None = None
        self.port = 0

    def event_of(self, channel: str, message: Json) -> Json:
        kind = self.channels[channel].type
        return {**message, "channel": channel, "event_ts": message["ts"], "channel_type": kind}

    def team_of(self, event: Json) -> str:
        """The team in which something happens."""
        channel = self.channels.get(str(event.get("channel", "")))
        return channel.team if channel else str(event.get("team") or TEAM)

    def envelope(self, event: Json) -> Json:
        team = self.team_of(event)
        organisation = self.organisations.get(team)
        return {
            "type": "event_callback",
            "team_id": team,
            "api_app_id": APP,
            "event": event,
            "event_id": f"Ev{uuid4().hex}",
            "event_time": int(time.time()),
            "authorizations": [
                {
                    "enterprise_id": organisation,
                    "team_id": None if organisation else team,
                    "user_id": BOT_USER,
                    "is_bot": True,
                    "is_enterprise_install": organisation is not None,
                }
            ],
        }

    async def deliver(self, kind: str, payload: Json) -> Delivery:
        """Deliver an event to the app."""
        raise NotImplementedError

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/"

    def fault(self, method: str, kind: str, **more: Any) -> None:
        self.faults.append(Fault(method=method, kind=kind, **more))

    def calls_of(self, method: str) -> list[Json]:
        return [args for name, args in self.calls if name == method]

    def ts(self) -> str:
        self._next_ts = max(self._next_ts + 1, int(time.time() * 1_000_000))
        return f"{self._next_ts // 1_000_000}.{self._next_ts % 1_000_000:06d}"
