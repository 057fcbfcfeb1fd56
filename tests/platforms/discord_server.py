"""A small strict Discord on real sockets: the REST calls and gateway events that a bot of ours meets.

It keeps what was posted, refuses what Discord refuses, replays what a resumed session missed, drops a second message
with a known nonce, and does on request what goes wrong: too many requests, failures before and after the effect,
dropped and invalid sessions, events delivered twice. What our own rules forbid beyond that is kept in `broken`.
"""

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from bot.discord.card import read_custom_id
from tests.platforms.discord_api import (
    ALICE,
    BOB,
    BOT,
    CONTENT_INTENT,
    EPOCH_MS,
    EVERYTHING,
    GUILD,
    ROLE,
    VIEW,
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
class DiscordServer:
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

    # --- what tests do --------------------------------------------------------------------------------------------

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v10"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gw/"

    async def says(self, channel: str, text: str, *, user: str = ALICE, copies: int = 1, **more: Any) -> str:
        """A person posts, and the event is delivered `copies` times; the id of the message."""
        message = self._message(channel, user, {"content": text, **more})
        await self._store(message)
        for _ in range(copies - 1):
            await self.fire("MESSAGE_CREATE", self._as_event(message))
        return str(message["id"])

    async def says_directly(self, text: str, *, user: str = ALICE) -> str:
        """A person writes to the bot alone; the id of the direct channel."""
        direct = f"5{user}"
        self.channels[direct] = {"id": direct, "type": 1, "recipients": [self.users[user]], "flags": 0}
        await self.fire("MESSAGE_CREATE", self._message(direct, user, {"content": text}))
        return direct

    async def edits(self, channel: str, message_id: str, text: str) -> None:
        message = self.messages[channel][message_id]
        message |= {"content": text, "edited_timestamp": moment()}
        await self.fire("MESSAGE_UPDATE", self._as_event(message))

    async def deletes(self, channel: str, message_id: str) -> None:
        del self.messages[channel][message_id]
        await self.fire("MESSAGE_DELETE", {"id": message_id, "channel_id": channel, "guild_id": GUILD})

    async def opens_thread(self, channel: str, name: str, *, user: str = ALICE, private: bool = False) -> str:
        thread = self._thread(channel, name, user, kind=12 if private else 11)
        self.members_of[thread["id"]] |= {user, BOT}
        await self.fire("THREAD_CREATE", {**thread, "newly_created": True})
        return str(thread["id"])

    async def command(
        self, command: str, channel: str, /, *, user: str = ALICE, **options: str | int | bool
    ) -> Json:
        """Run a slash command that was registered; what came of it, once something did."""
        registered = self._registered(command, 1)
        kinds = {o["name"]: o["type"] for o in registered.get("options", ())}
        data = {
            "id": registered["id"],
            "name": command,
            "type": 1,
            "options": [{"name": n, "type": kinds[n], "value": v} for n, v in options.items()],
            "resolved": {"attachments": {v: self.attached[v] for n, v in options.items() if kinds[n] == 11}},
        }
        return await self._interact(2, data, channel, user)

    async def suggestions(
        self, name: str, channel: str, focused: str, begun: str, *, user: str = ALICE
    ) -> list[str]:
        registered = self._registered(name, 1)
        option = {"name": focused, "type": 3, "value": begun, "focused": True}
        data = {"id": registered["id"], "name": name, "type": 1, "options": [option]}
        done = await self._interact(4, data, channel, user)
        return [choice["value"] for choice in done["callback"]["data"]["choices"]]

    async def menu(self, name: str, channel: str, message_id: str, *, user: str = ALICE) -> Json:
        registered = self._registered(name, 3)
        data = {
            "id": registered["id"],
            "name": name,
            "type": 3,
            "target_id": message_id,
            "resolved": {"messages": {message_id: self.messages[channel][message_id]}},
        }
        return await self._interact(2, data, channel, user)

    async def press(
        self,
        channel: str,
        message_id: str,
        custom_id: str,
        *,
        user: str = ALICE,
        values: list[str] | None = None,
    ) -> Json:
        return await self._press(channel, self.messages[channel][message_id], custom_id, user, values)

    async def press_shown(self, done: Json, label: str, *, user: str = ALICE) -> Json:
        """Press a button of what an interaction showed to one person."""
        found = next(c for c in components_of(done["message"]) if c.get("label") == label)
        return await self._press(done["channel"], done["message"], found["custom_id"], user, None)

    async def _press(
        self, channel: str, message: Json, custom_id: str, user: str, values: list[str] | None
    ) -> Json:
        found = next(c for c in components_of(message) if c.get("custom_id") == custom_id)
        data = {"custom_id": custom_id, "component_type": found["type"], "id": 1}
        if values is not None:
            data["values"] = values
        return await self._interact(3, data, channel, user, message=message)

    async def submit(self, opened: Json, *, user: str = ALICE, **values: str) -> Json:
        """Send the form that an interaction opened."""
        form = opened["callback"]["data"]
        components = [
            {
                "type": 18,
                "id": n,
                "component": {**row["component"], "value": values.get(row["component"]["custom_id"], "")},
            }
            for n, row in enumerate(form["components"])
        ]
        data = {"custom_id": form["custom_id"], "components": components}
        return await self._interact(5, data, opened["channel"], user)

    async def overwrites(self, channel: str, person: str, *, may_see: bool) -> None:
        """Someone who manages the channel lets a person in, or takes that back."""
        kept = [o for o in self.channels[channel]["permission_overwrites"] if o["id"] != person]
        own = [{"id": person, "type": 1, "allow": str(VIEW), "deny": "0"}] if may_see else []
        self.channels[channel]["permission_overwrites"] = [*kept, *own]
        await self.fire("CHANNEL_UPDATE", self.channels[channel])

    def ours(self, channel: str) -> list[Json]:
        """Posts of the bot that everyone sees, in order, without Discord's own notes."""
        return [m for m in self.messages[channel].values() if m["author"]["id"] == BOT and m["type"] != 21]

    def texts(self, channel: str) -> list[str]:
        return [message["content"] for message in self.ours(channel)]

    def button(self, channel: str, label: str, number: int = -1) -> tuple[str, str]:
        """Message and custom id of a button by its label."""
        found = [
            (m["id"], c["custom_id"])
            for m in self.ours(channel)
            for c in components_of(m)
            if c.get("label") == label and "custom_id" in c
        ]
        return found[number]

    def calls_of(self, method: str, route: str) -> list[Call]:
        return [call for call in self.calls if call.method == method and re.search(route, call.path)]

    async def drop(self) -> None:
        """Cut the gateway's sockets as a network does."""
        for session in self.sessions.values():
            if session.socket is not None:
                await session.socket.close(code=4000)

    def forget_sessions(self) -> list[web.WebSocketResponse]:
        """Forget every session; their sockets, over which nothing comes any more."""
        sockets = [s.socket for s in self.sessions.values() if s.socket is not None]
        self.sessions.clear()
        return sockets

    async def drop_all(self, sockets: list[web.WebSocketResponse]) -> None:
        for socket in sockets:
            await socket.close(code=4000)

    async def until(self, holds: Callable[[], object], *, within_s: float = 15.0) -> None:
        """Return when something holds; looks whenever something happened, and now and then."""
        async with asyncio.timeout(within_s):
            while not holds():
                async with self._news:
                    try:
                        await asyncio.wait_for(self._news.wait(), 0.05)
                    except TimeoutError:
                        continue

    # --- gateway --------------------------------------------------------------------------------------------------

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

    async def gateway(self, request: web.Request) -> web.StreamResponse:
        if self.refuse_gateway:
            self.refuse_gateway -= 1
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": 41_250}, "t": None, "s": None})
        session: Session | None = None
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                continue
            packet = json.loads(frame.data)
            if packet["op"] == 1:
                await socket.send_json({"op": 11})
            elif packet["op"] == 2:
                session = await self._identify(socket, packet["d"])
            elif packet["op"] == 6:
                session = await self._resume(socket, packet["d"])
        if session is not None and session.socket is socket:
            session.socket = None
        return socket

    async def _identify(self, socket: web.WebSocketResponse, data: Json) -> Session | None:
        self.identifies += 1
        if data["intents"] & CONTENT_INTENT and not self.content_approved:
            await socket.close(code=4014)
            return None
        name = f"session-{self.identifies}"
        session = self.sessions[name] = Session(intents=data["intents"], socket=socket)
        ready = {
            "v": 10,
            "user": self.users[BOT],
            "session_id": name,
            "resume_gateway_url": self.gateway_url,
            "guilds": [{"id": GUILD, "unavailable": True}],
            "application": {"id": BOT, "flags": self._flags()},
            "shard": data["shard"],
        }
        await self.fire("READY", ready)
        await self.fire("GUILD_CREATE", self._guild())
        return session

    async def _resume(self, socket: web.WebSocketResponse, data: Json) -> Session | None:
        session = self.sessions.get(data["session_id"])
        if session is None:
            await socket.send_json({"op": 9, "d": False, "t": None, "s": None})
            return None
        self.resumes += 1
        session.socket = socket
        for event in session.events[data["seq"] :]:
            await socket.send_json(event)
        await socket.send_json({"op": 0, "t": "RESUMED", "s": len(session.events), "d": {}})
        return session

    def _flags(self) -> int:
        return 1 << 18 if self.content_approved or self.flags_lie else 0

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

    # --- interactions ---------------------------------------------------------------------------------------------

    def _registered(self, name: str, kind: int) -> Json:
        found = [c for c in self.commands.get("global", ()) if c["name"] == name and c["type"] == kind]
        assert found, f"{name} is not registered"
        return found[0]

    async def _interact(
        self, kind: int, data: Json, channel: str, user: str, *, message: Json | None = None
    ) -> Json:
        number = self.new_id()
        permissions = 0 if channel in self.lost_rights else EVERYTHING
        event: Json = {
            "id": number,
            "application_id": BOT,
            "type": kind,
            "token": f"token-{number}",
            "version": 1,
            "locale": "ja" if user == BOB else "en-US",
            "data": data,
            "guild_id": GUILD,
            "channel_id": channel,
            "channel": self.channels[channel],
            "member": {**self._member(user), "permissions": str(EVERYTHING)},
            "app_permissions": str(permissions),
            "entitlements": [],
            "authorizing_integration_owners": {"0": GUILD},
            "attachment_size_limit": 10_485_760,
        }
        if message is not None:
            event["message"] = message
        state = self.interactions[number] = {
            "channel": channel,
            "kind": kind,
            "callback": None,
            "shown": None,
        }
        await self.fire("INTERACTION_CREATE", event)
        await self.until(lambda: state["callback"] is not None, within_s=3.0)
        if state["callback"]["type"] == 5:
            await self.until(lambda: state["shown"] is not None)
        return state

    async def callback(self, request: web.Request, body: Json) -> Json:
        state = self.interactions.get(request.match_info["id"])
        if state is None:
            raise Refused(404, 10062)
        if state["callback"] is not None:
            raise Refused(400, 40060)
        if body["type"] == 9 and state["kind"] == 5:
            raise Refused(400, 50035)
        if body["type"] == 4:
            state["shown"] = body["data"]
        state["callback"] = body
        if body["type"] in (4, 5) and not body.get("data", {}).get("flags", 0) & 64:
            self.broken.append("an interaction was answered for everyone to see")
        message = {"id": self.new_id(), "type": 0, "channel_id": state["channel"]}
        return {
            "interaction": {"id": request.match_info["id"], "type": state["kind"]},
            "resource": {"type": body["type"], **({"message": message} if body["type"] == 4 else {})},
        }

    async def edit_original(self, request: web.Request, body: Json, files: list[tuple[str, bytes]]) -> Json:
        number = request.match_info["token"].removeprefix("token-")
        state = self.interactions[number]
        self._lint(body, edit=True)
        message = self._message(state["channel"], BOT, body)
        message |= {"flags": 64, "attachments": [self.attach(name, data) for name, data in files]}
        state |= {"shown": body, "files": files, "message": message}
        return message

    # --- REST -----------------------------------------------------------------------------------------------------

    def new_id(self) -> str:
        self._count += 1
        return str((int(time.time() * 1000) - EPOCH_MS) << 22 | (self._count & 0xFFF))

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

    async def send(self, request: web.Request, body: Json, files: list[tuple[str, bytes]]) -> Json:
        channel = self._channel(request.match_info["channel"])
        if channel["type"] == 15:
            raise Refused(400, 50008)
        self._lint(body)
        if "nonce" not in body or not body.get("flags", 0) & 4:
            self.broken.append("a message without nonce, or with link previews")
        for message in self.messages[channel["id"]].values():
            if message.get("nonce") == body.get("nonce") and message["author"]["id"] == BOT:
                return message
        if channel.get("thread_metadata", {}).get("locked"):
            raise Refused(403, 160005)
        message = self._message(channel["id"], BOT, body)
        message["attachments"] = [self.attach(name, data) for name, data in files]
        await self._store(message)
        return message

    async def edit(self, request: web.Request, body: Json, files: list[tuple[str, bytes]]) -> Json:
        channel = self._channel(request.match_info["channel"])
        message = self.messages[channel["id"]].get(request.match_info["message"])
        if message is None:
            raise Refused(404, 10008)
        if channel.get("thread_metadata", {}).get("archived"):
            raise Refused(400, 50083)
        self._lint(body, edit=True)
        if "flags" in body:
            self.broken.append("an edit that brings link previews back")
        message |= {
            k: body[k] or ("" if k == "content" else []) for k in ("content", "components") if k in body
        }
        message["edited_timestamp"] = moment()
        if "attachments" in body:
            message["attachments"] = [self.attach(name, data) for name, data in files]
        await self.fire("MESSAGE_UPDATE", self._as_event(message))
        return message

    async def history(self, request: web.Request) -> list[Json]:
        channel = self._channel(request.match_info["channel"])
        found = sorted(self.messages[channel["id"]].values(), key=lambda m: int(m["id"]), reverse=True)
        limit = int(request.query.get("limit", 50))
        if "before" in request.query:
            found = [m for m in found if int(m["id"]) < int(request.query["before"])]
        if "after" in request.query:
            found = [m for m in found if int(m["id"]) > int(request.query["after"])][-limit:]
        # History does not give nonces back.
        return [{k: v for k, v in m.items() if k != "nonce"} for m in found[:limit]]

    async def thread_from_message(self, request: web.Request, body: Json) -> Json:
        channel, number = self._channel(request.match_info["channel"]), request.match_info["message"]
        if not 1 <= len(body["name"]) <= 100:
            raise Refused(400, 50035)
        if number not in self.messages[channel["id"]]:
            raise Refused(404, 10008)
        if number in self.channels:
            raise Refused(400, 160004)
        thread = self._thread(channel["id"], body["name"], BOT, kind=11, number=number)
        await self.fire("THREAD_CREATE", {**thread, "newly_created": True})
        await self._store(self._message(number, BOT, {}, kind=21))
        return thread

    async def thread_alone(self, request: web.Request, body: Json, files: list[tuple[str, bytes]]) -> Json:
        channel = self._channel(request.match_info["channel"])
        # Without a type Discord makes a private one.
        kind = 11 if channel["type"] == 15 else body.get("type", 12)
        thread = self._thread(channel["id"], body["name"], BOT, kind=kind)
        self.members_of[thread["id"]].add(BOT)
        await self.fire("THREAD_CREATE", {**thread, "newly_created": True})
        if channel["type"] != 15:
            return thread
        self._lint(body["message"])
        message = self._message(thread["id"], BOT, body["message"])
        message |= {"id": thread["id"], "attachments": [self.attach(name, data) for name, data in files]}
        await self._store(message)
        return {**thread, "message": message}

    async def change_channel(self, request: web.Request, body: Json) -> Json:
        channel = self._channel(request.match_info["channel"])
        if "archived" in body:
            channel["thread_metadata"]["archived"] = body["archived"]
        if "name" in body:
            channel["name"] = body["name"]
        await self.fire("THREAD_UPDATE", channel)
        return channel
