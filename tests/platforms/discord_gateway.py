"""The gateway of the small Discord: sessions that begin, resume and drop."""

import json
from dataclasses import dataclass

from aiohttp import WSMsgType, web

from tests.platforms.discord_api import (
    BOT,
    CONTENT_INTENT,
    GUILD,
    Json,
)
from tests.platforms.discord_state import DiscordState, Session


@dataclass
class DiscordGateway(DiscordState):
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
