"""The REST half of the small Discord: routes, faults, the record of every call, and what runs both halves."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import BodyPartReader, web

from tests.platforms.discord_api import (
    ALICE,
    BOB,
    BOT,
    FORUM,
    GENERAL,
    GUILD,
    ROLE,
    SECRET,
    VIEW,
    Call,
    Json,
    Refused,
    channel,
    moment,
    user,
)
from tests.platforms.discord_server import DiscordServer


@asynccontextmanager
async def running_discord() -> AsyncGenerator[DiscordServer]:
    """A server with one guild, three channels and two people, until the block ends."""
    server = DiscordServer()
    server.users = {
        BOT: user(BOT, "Promptflow", bot=True),
        ALICE: user(ALICE, "Alice"),
        BOB: user(BOB, "Ben"),
        "7": user("7", "Otherbot", bot=True),
    }
    server.channels = {
        GENERAL: channel(GENERAL, "general"),
        FORUM: channel(FORUM, "ideas", 15),
        SECRET: channel(SECRET, "secret"),
    }
    server.channels[SECRET]["permission_overwrites"] = [
        {"id": GUILD, "type": 0, "allow": "0", "deny": str(VIEW)},
        {"id": "3000000000000000008", "type": 0, "allow": str(VIEW), "deny": "0"},
        {"id": ROLE, "type": 0, "allow": str(VIEW), "deny": "0"},
    ]
    runner = web.AppRunner(_application(server), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await server.drop()
        await runner.cleanup()


def _application(server: DiscordServer) -> web.Application:
    application = web.Application(client_max_size=1 << 25)
    rest = _Rest(server)
    application.router.add_get("/gw/", server.gateway)
    application.router.add_get("/files/{id}", rest.file)
    application.router.add_route("*", "/api/v10/{path:.*}", rest.handle)
    return application


class _Rest:
    """Routes, faults, and the record of every call."""

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        s = server
        self._routes: list[tuple[str, re.Pattern[str], Any]] = [
            ("GET", _path("/users/@me"), lambda r, b, f: _later(s.users[BOT])),
            ("GET", _path("/oauth2/applications/@me"), lambda r, b, f: _later(self._about())),
            ("GET", _path("/gateway/bot"), lambda r, b, f: _later(self._gateway())),
            ("PUT", _path("/applications/{app}/commands"), lambda r, b, f: self._register("global", b)),
            (
                "PUT",
                _path("/applications/{app}/guilds/{guild}/commands"),
                lambda r, b, f: self._register(r.match_info["guild"], b),
            ),
            ("GET", _path("/guilds/{guild}/members/{user}"), lambda r, b, f: self._member(r)),
            ("GET", _path("/guilds/{guild}/threads/active"), lambda r, b, f: self._active()),
            (
                "GET",
                _path("/channels/{channel}"),
                lambda r, b, f: _later(s._channel(r.match_info["channel"])),
            ),
            ("PATCH", _path("/channels/{channel}"), lambda r, b, f: s.change_channel(r, b)),
            ("GET", _path("/channels/{channel}/messages"), lambda r, b, f: s.history(r)),
            ("POST", _path("/channels/{channel}/messages"), lambda r, b, f: s.send(r, b, f)),
            ("GET", _path("/channels/{channel}/messages/{message}"), lambda r, b, f: self._one(r)),
            ("PATCH", _path("/channels/{channel}/messages/{message}"), lambda r, b, f: s.edit(r, b, f)),
            ("DELETE", _path("/channels/{channel}/messages/{message}"), lambda r, b, f: s.take_back(r)),
            (
                "POST",
                _path("/channels/{channel}/messages/{message}/threads"),
                lambda r, b, f: s.thread_from_message(r, b),
            ),
            ("POST", _path("/channels/{channel}/threads"), lambda r, b, f: s.thread_alone(r, b, f)),
            ("POST", _path("/channels/{channel}/typing"), lambda r, b, f: _later(None)),
            ("GET", _path("/channels/{channel}/thread-members"), lambda r, b, f: self._thread_members(r)),
            (
                "GET",
                _path("/channels/{channel}/thread-members/{user}"),
                lambda r, b, f: self._thread_member(r),
            ),
            ("PUT", _path("/channels/{channel}/thread-members/{user}"), lambda r, b, f: self._join(r)),
            ("POST", _path("/interactions/{id}/{token}/callback"), lambda r, b, f: s.callback(r, b)),
            (
                "PATCH",
                _path("/webhooks/{app}/{token}/messages/@original"),
                lambda r, b, f: s.edit_original(r, b, f),
            ),
        ]

    async def handle(self, request: web.Request) -> web.Response:
        path = "/" + request.match_info["path"]
        body, files = await _read(request)
        status, headers, answer = 200, {"Via": "1.1 test", **self._server.limits}, None
        try:
            answer = await self._answer(request, path, body, files, headers)
        except Refused as refused:
            status = refused.status
            more = {k.removeprefix("is_"): v for k, v in refused.more.items()}
            answer = {"message": str(refused), "code": refused.code, **more}
        self._server.calls.append(Call(request.method, path, body, files, status))
        async with self._server._news:
            self._server._news.notify_all()
        if headers.pop("X-Ban", ""):
            return web.Response(status=429, text="<html>banned</html>", content_type="text/html")
        if answer is None:
            return web.Response(status=204, headers=headers)
        # The library takes an answer for JSON only with exactly this type.
        headers["Content-Type"] = "application/json"
        return web.Response(status=status, headers=headers, body=json.dumps(answer).encode())

    async def _answer(
        self,
        request: web.Request,
        path: str,
        body: Json,
        files: list[tuple[str, bytes]],
        headers: dict[str, str],
    ) -> Any:
        name = f"{request.method} {path}"
        fault = next((f for f in self._server.faults if re.search(f.route, name)), None)
        if fault is not None:
            fault.times -= 1
            if fault.times <= 0:
                self._server.faults.remove(fault)
            if fault.kind == "limit":
                headers["Retry-After"] = str(max(1, round(fault.pause_s)))
                headers["X-Ban"] = "1" if fault.ban else ""
                raise Refused(429, 0, "slow down", retry_after=fault.pause_s, is_global=False)
            if fault.kind == "before":
                raise Refused(fault.status, fault.code)
        for method, pattern, act in self._routes:
            found = pattern.fullmatch(path)
            if found and method == request.method:
                request.match_info.update(found.groupdict())
                self._server.check(method, path, body)
                answer = await act(request, body, files)
                if fault is not None and fault.kind == "after":
                    raise Refused(fault.status, fault.code)
                return answer
        self._server.broken.append(f"unknown route: {name}")
        raise Refused(404, 0, "no such route")

    async def file(self, request: web.Request) -> web.Response:
        data = self._server.files.get(request.match_info["id"])
        return web.Response(status=404) if data is None else web.Response(body=data)

    def _about(self) -> Json:
        server = self._server
        return {
            "id": BOT,
            "name": "promptflow",
            "icon": None,
            "description": "",
            "bot_public": True,
            "bot_require_code_grant": False,
            "verify_key": "0" * 64,
            "flags": server._flags(),
            "owner": server.users[ALICE],
        }

    def _gateway(self) -> Json:
        limits = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
        return {"url": self._server.gateway_url, "shards": 1, "session_start_limit": limits}

    async def _register(self, scope: str, body: Any) -> list[Json]:
        menus = [c for c in body if c["type"] == 3]
        if len(menus) > 5 or len({(c["type"], c["name"]) for c in body}) != len(body):
            raise Refused(400, 50035)
        made = [{**c, "id": self._server.new_id(), "application_id": BOT, "version": "1"} for c in body]
        self._server.commands[scope] = made
        return made

    async def _member(self, request: web.Request) -> Json:
        if request.match_info["user"] not in self._server.users:
            raise Refused(404, 10007)
        return self._server._member(request.match_info["user"])

    async def _active(self) -> Json:
        threads = [c for c in self._server.channels.values() if c["type"] in (11, 12)]
        return {"threads": [t for t in threads if not t["thread_metadata"]["archived"]], "members": []}

    async def _one(self, request: web.Request) -> Json:
        found = self._server.messages[request.match_info["channel"]].get(request.match_info["message"])
        if found is None:
            raise Refused(404, 10008)
        return found

    async def _thread_members(self, request: web.Request) -> list[Json]:
        thread = request.match_info["channel"]
        return [self._in_thread(thread, u) for u in sorted(self._server.members_of[thread])]

    async def _thread_member(self, request: web.Request) -> Json:
        thread, who = request.match_info["channel"], request.match_info["user"]
        if who not in self._server.members_of[thread]:
            raise Refused(404, 10007)
        return self._in_thread(thread, who)

    def _in_thread(self, thread: str, who: str) -> Json:
        return {"id": thread, "user_id": who, "join_timestamp": moment(), "flags": 0}

    async def _join(self, request: web.Request) -> None:
        self._server.members_of[request.match_info["channel"]].add(request.match_info["user"])


async def _later(value: Any) -> Any:
    return value


def _path(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern))


async def _read(request: web.Request) -> tuple[Any, list[tuple[str, bytes]]]:
    files: list[tuple[str, bytes]] = []
    body: Any = {}
    if request.content_type == "multipart/form-data":
        reader = await request.multipart()
        while isinstance(part := await reader.next(), BodyPartReader):
            data = bytes(await part.read())
            if part.name == "payload_json":
                body = json.loads(data)
            else:
                files.append((part.filename or "", data))
    elif request.can_read_body:
        body = await request.json()
    return body, files
