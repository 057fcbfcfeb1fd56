"""A small strict Discord on real sockets: the REST calls and gateway events that a bot of ours meets.

It keeps what was posted, refuses what Discord refuses, replays what a resumed session missed, drops a second message
with a known nonce, and does on request what goes wrong: too many requests, failures before and after the effect,
dropped and invalid sessions, events delivered twice. What our own rules forbid beyond that is kept in `broken`.
"""

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.platforms.discord_api import (
    ALICE,
    BOT,
    GUILD,
    VIEW,
    Json,
    Refused,
    components_of,
    moment,
)
from tests.platforms.discord_gateway import DiscordGateway
from tests.platforms.discord_interaction import DiscordInteractions


@dataclass
class DiscordServer(DiscordGateway, DiscordInteractions):
    # --- what tests do --------------------------------------------------------------------------------------------

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

    # --- REST -----------------------------------------------------------------------------------------------------

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

    async def take_back(self, request: web.Request) -> None:
        """A message of ours is deleted by us."""
        channel = self._channel(request.match_info["channel"])["id"]
        message = self.messages[channel].get(request.match_info["message"])
        if message is None:
            raise Refused(404, 10008)
        if message["author"]["id"] != BOT:
            raise Refused(403, 50013)
        await self.deletes(channel, message["id"])

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
