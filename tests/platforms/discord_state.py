"""What the small Discord keeps, the events that it tells of it, and what it refuses of a message."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from bot.discord.card import read_custom_id
from tests.platforms.discord_api import (
    BOT,
    CONTENT_INTENT,
    EPOCH_MS,
    EVERYTHING,
    GUILD,
    ROLE,
    Call,
    Fault,
    Json,
    Refused,
    components_of,
    moment,
)


@dataclass
class Session:
    intents: int
    events: list[Json] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None


@dataclass
class DiscordState:
    port: int = 0
    channels: dict[str, Json] = field(default_factory=dict)
    messages: defaultdict[str, dict[str, Json]] = field(default_factory=lambda: defaultdict(dict))
    users: dict[str, Json] = field(default_factory=dict)
    admins: set[str] = field(default_factory=set)
    members_of: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    commands: dict[str, list[Json]] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    interactions: dict[str, Json] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    attached: dict[Any, Json] = field(default_factory=dict)
    content_approved: bool = True
    flags_lie: bool = False
    """The application says that it may read everything, and the gateway refuses it."""
    refuse_gateway: int = 0
    identifies: int = 0
    resumes: int = 0
    twice: bool = False
    """Deliver every event of a person two times."""
    lost_rights: set[str] = field(default_factory=set)
    limits: dict[str, str] = field(default_factory=dict)
    """Headers about rate limits, put on every answer."""
    check: Callable[[str, str, Json], None] = lambda method, path, body: None
    _count: int = 0
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v10"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gw/"

    def calls_of(self, method: str, route: str) -> list[Call]:
        return [call for call in self.calls if call.method == method and re.search(route, call.path)]

    async def until(self, holds: Callable[[], object], *, within_s: float = 15.0) -> None:
        """Return when something holds; looks whenever something happened, and now and then."""
        async with asyncio.timeout(within_s):
            while not holds():
                async with self._news:
                    try:
                        await asyncio.wait_for(self._news.wait(), 0.05)
                    except TimeoutError:
                        continue

    async def fire(self, name: str, data: Json) -> None:
        for session in self.sessions.values():
            seen = data
            mentioned = any(user["id"] == BOT for user in data.get("mentions", ()))
            own = data.get("author", {}).get("id") == BOT
            if (
                name.startswith("MESSAGE_")
                and not session.intents & CONTENT_INTENT
                and not mentioned
                and not own
            ):
                seen = {**data, "content": "", "attachments": []} if "content" in data else data
            for _ in range(2 if self.twice and name in ("MESSAGE_CREATE", "INTERACTION_CREATE") else 1):
                event = {"op": 0, "t": name, "s": len(session.events) + 1, "d": seen}
                session.events.append(event)
                if session.socket is not None and not session.socket.closed:
                    await session.socket.send_json(event)
        async with self._news:
            self._news.notify_all()

    def new_id(self) -> str:
        self._count += 1
        return str((int(time.time() * 1000) - EPOCH_MS) << 22 | (self._count & 0xFFF))

    def attach(self, name: str, data: bytes, kind: str = "text/plain") -> Json:
        """A file that a person's message may bring along as `attachments_sent`."""
        number = self.new_id()
        self.files[number] = data
        url = f"http://127.0.0.1:{self.port}/files/{number}"
        made = self.attached[number] = {
            "id": number,
            "filename": name,
            "size": len(data),
            "content_type": kind,
            "url": url,
            "proxy_url": url,
        }
        return made

    def _channel(self, channel_id: str) -> Json:
        if channel_id not in self.channels:
            raise Refused(404, 10003, "Unknown Channel")
        if channel_id in self.lost_rights:
            raise Refused(403, 50013, "Missing Permissions")
        return self.channels[channel_id]

    def _message(self, channel: str, user: str, body: Json, kind: int = 0) -> Json:
        content = body.get("content") or ""
        named = [self.users[u] for u in dict.fromkeys(re.findall(r"<@!?(\d+)>", content)) if u in self.users]
        return {
            "id": self.new_id(),
            "channel_id": channel,
            "type": kind,
            "content": content,
            "author": self.users[user],
            "timestamp": moment(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": named,
            "mention_roles": re.findall(r"<@&(\d+)>", content),
            "attachments": body.get("attachments_sent", []),
            "embeds": [],
            "pinned": False,
            "flags": body.get("flags", 0),
            "components": body.get("components", []),
            **({"nonce": body["nonce"]} if "nonce" in body else {}),
        }

    def _as_event(self, message: Json) -> Json:
        return {
            **message,
            "guild_id": GUILD,
            "member": {k: v for k, v in self._member(message["author"]["id"]).items() if k != "user"},
        }

    async def _store(self, message: Json) -> None:
        channel = message["channel_id"]
        self.messages[channel][message["id"]] = message
        self.channels[channel]["last_message_id"] = message["id"]
        await self.fire("MESSAGE_CREATE", self._as_event(message))

    def _thread(self, parent: str, name: str, owner: str, *, kind: int, number: str = "") -> Json:
        thread: Json = {
            "id": number or self.new_id(),
            "type": kind,
            "name": name,
            "guild_id": GUILD,
            "parent_id": parent,
            "owner_id": owner,
            "last_message_id": None,
            "message_count": 0,
            "member_count": 1,
            "flags": 0,
            "rate_limit_per_user": 0,
            "thread_metadata": {
                "archived": False,
                "archive_timestamp": moment(),
                "auto_archive_duration": 1440,
                "locked": False,
            },
        }
        self.channels[thread["id"]] = thread
        return thread

    def _lint(self, body: Json, *, edit: bool = False) -> None:
        """What Discord refuses, and what our own rules forbid."""
        content = body.get("content") or ""
        if len(content) > 2_000:
            raise Refused(400, 50035, "content too long")
        if body.get("allowed_mentions", {}).get("parse") != [] or body["allowed_mentions"].get(
            "replied_user"
        ):
            self.broken.append(f"may ping: {content[:60]!r}")
        if not edit and "nonce" in body and (len(body["nonce"]) > 25 or not body.get("enforce_nonce")):
            raise Refused(400, 50035, "nonce")
        ids = [c["custom_id"] for c in components_of(body) if "custom_id" in c]
        if len(ids) != len(set(ids)) or any(len(i) > 100 for i in ids):
            raise Refused(400, 50035, "custom ids")
        self.broken += [f"not our custom id: {i}" for i in ids if read_custom_id(i) is None]

    def _guild(self) -> Json:
        closed = [c for c in self.channels.values() if c["type"] not in (11, 12)]
        threads = [c for c in self.channels.values() if c["type"] in (11, 12)]
        return {
            "id": GUILD,
            "name": "Testers",
            "unavailable": False,
            "owner_id": "1",
            "preferred_locale": "en-US",
            "roles": self._roles(),
            "members": [self._member(BOT)],
            "channels": closed,
            "threads": [t for t in threads if not t["thread_metadata"]["archived"]],
            "emojis": [],
            "features": [],
            "member_count": len(self.users),
            "joined_at": moment(),
            "large": False,
            "voice_states": [],
            "presences": [],
        }

    def _roles(self) -> list[Json]:
        common: Json = {
            "color": 0,
            "hoist": False,
            "position": 0,
            "managed": False,
            "mentionable": False,
            "flags": 0,
        }
        admin = {"id": "3000000000000000008", "name": "admins", "permissions": str(EVERYTHING)}
        everyone = {
            "id": GUILD,
            "name": "@everyone",
            "permissions": str(EVERYTHING & ~(1 << 3 | 1 << 5 | 1 << 34)),
        }
        own = {"id": ROLE, "name": "promptflow", "permissions": "0", "managed": True, "tags": {"bot_id": BOT}}
        return [{**common, **role} for role in (everyone, admin, own)]

    def _member(self, user: str) -> Json:
        roles = (["3000000000000000008"] if user in self.admins else []) + ([ROLE] if user == BOT else [])
        return {
            "user": self.users[user],
            "roles": roles,
            "joined_at": moment(),
            "deaf": False,
            "mute": False,
            "flags": 0,
        }

    def _flags(self) -> int:
        return 1 << 18 if self.content_approved or self.flags_lie else 0
