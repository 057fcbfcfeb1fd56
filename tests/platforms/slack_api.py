"""The Web API of the small, strict Slack for tests: it refuses what Slack refuses and counts what should not be."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from aiohttp import web

from tests.platforms.slack_blocks import message_problems, units, view_problems
from tests.platforms.slack_state import (
    BOT_ID,
    BOT_USER,
    TEAM,
    Channel,
    Fault,
    Json,
    Refused,
    SlackState,
)


class SlackApi(SlackState):
    """The methods that an app calls, over what the workspace holds."""

    def _planned(self, method: str) -> Fault | None:
        for fault in self.faults:
            if fault.method in (method, "*") and fault.skip > 0:
                fault.skip -= 1
            elif fault.method in (method, "*"):
                fault.count -= 1
                if fault.count <= 0:
                    self.faults.remove(fault)
                return fault
        return None

    # --- Web API ----------------------------------------------------------------------------------------------------

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method, args = request.match_info["method"], await _arguments(request)
        fault = self._planned(method)
        self.calls.append((method, args))
        if fault is not None:
            if fault.kind == "reset":
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
            if fault.kind == "http500":
                return web.Response(status=500, text="upstream", content_type="text/html")
            if fault.kind == "ratelimited":
                body = {"ok": False, "error": "ratelimited"}
                return web.json_response(body, status=429, headers={"Retry-After": str(fault.retry_after)})
            if fault.kind == "error":
                return web.json_response({"ok": False, "error": fault.code})
            await asyncio.sleep(fault.delay_s)
        try:
            self._check_token(request, method, args)
            handler: Callable[[Json], Any] = getattr(
                self, f"_{method.replace('.', '_').lower()}", self._unknown
            )
            answer = handler(args)
        except Refused as refused:
            return web.json_response({"ok": False, "error": refused.code, **refused.more})
        if fault is not None and fault.kind == "landed":
            return web.Response(status=503, text="upstream", content_type="text/html")
        headers = {"X-OAuth-Scopes": ",".join(sorted(self.granted))} if self.granted else {}
        return web.json_response({"ok": True, **answer}, headers=headers)

    def _check_token(self, request: web.Request, method: str, args: Json) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        kind = self.tokens.get(token)
        if method == "oauth.v2.access":
            return
        if kind is None:
            raise Refused("invalid_auth")
        if (method == "apps.connections.open") != (kind == "app"):
            raise Refused("not_allowed_token_type")
        args.pop("token", None)
        self._token = token
        self.used.append((token, method))

    def _unknown(self, args: Json) -> Json:
        raise Refused("unknown_method")

    def _auth_test(self, args: Json) -> Json:
        teams = self.reach.get(self._token, {TEAM})
        organisation = next((self.organisations[t] for t in sorted(teams) if t in self.organisations), None)
        if organisation or TEAM not in teams:
            name = organisation or min(teams)
            return {
                "url": f"https://{name.lower()}.slack.com/",
                "team": name,
                "team_id": name,
                "enterprise_id": organisation,
                "user_id": BOT_USER,
                "bot_id": BOT_ID,
                "is_enterprise_install": organisation is not None,
            }
        return {
            "url": "https://testers.slack.com/",
            "team": "Testers",
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT_ID,
            "is_enterprise_install": False,
        }

    def _oauth_v2_access(self, args: Json) -> Json:
        key = args.get("code") or args.get("refresh_token") or ""
        answer = self.oauth.pop(key, None)
        if answer is None:
            raise Refused("invalid_code" if args.get("code") else "invalid_refresh_token")
        self.tokens[answer["access_token"]] = "bot"
        return answer

    def _apps_connections_open(self, args: Json) -> Json:
        self.opened += 1
        ticket = uuid4().hex
        self._tickets.add(ticket)
        return {"url": f"ws://127.0.0.1:{self.port}/link?ticket={ticket}"}

    def _users_info(self, args: Json) -> Json:
        user = self.users.get(args.get("user", ""))
        if user is None:
            raise Refused("user_not_found")
        profile = {"display_name": user["name"]}
        return {"user": {"id": args["user"], "team_id": TEAM, "profile": profile, **user}}

    def _channel(self, args: Json, *, write: bool) -> Channel:
        channel = self.channels.get(args.get("channel", ""))
        if channel is not None and channel.team not in self.reach.get(self._token, {TEAM}):
            self.anomalies.append(f"a token of another workspace at {channel.id}")
            channel = None
        if channel is None or (channel.kind != "channel" and BOT_USER not in channel.members):
            raise Refused("channel_not_found")
        if write and BOT_USER not in channel.members:
            raise Refused("not_in_channel")
        if write and channel.archived:
            raise Refused("is_archived")
        return channel

    def _conversations_info(self, args: Json) -> Json:
        channel = self._channel(args, write=False)
        described: Json = {
            "id": channel.id,
            "is_archived": channel.archived,
            "is_member": BOT_USER in channel.members,
            "context_team_id": channel.team,
            "shared_team_ids": [channel.team],
        }
        if channel.kind == "im":
            described |= {"is_im": True, "user": next(m for m in channel.members if m != BOT_USER)}
        return {"channel": described | {"is_private": channel.kind == "group"}}

    def _conversations_members(self, args: Json) -> Json:
        members = self._channel(args, write=False).members
        start = int(args.get("cursor") or 0)
        more = start + 2 < len(members)
        return {
            "members": members[start : start + 2],
            "response_metadata": {"next_cursor": str(start + 2) if more else ""},
        }

    def _conversations_open(self, args: Json) -> Json:
        person = args.get("users", "")
        found = next((c for c in self.channels.values() if c.kind == "im" and person in c.members), None)
        if found is None:
            found = self.channels[f"D{person}"] = Channel(f"D{person}", kind="im", members=[BOT_USER, person])
        return {"channel": {"id": found.id}}

    def _conversations_replies(self, args: Json) -> Json:
        channel = self._channel(args, write=True)
        root = channel.messages.get(args.get("ts", ""))
        if root is None:
            raise Refused("thread_not_found")
        if root.get("thread_ts") not in (None, root["ts"]):
            return self._page([root], args)
        thread = [
            m
            for ts, m in sorted(channel.messages.items())
            if ts == root["ts"] or (m.get("thread_ts") == root["ts"] and _within(ts, args))
        ]
        return self._page(thread, args)

    def _conversations_history(self, args: Json) -> Json:
        channel = self._channel(args, write=True)
        top = [
            m
            for ts, m in sorted(channel.messages.items(), reverse=True)
            if m.get("thread_ts") in (None, ts) and _within(ts, args)
        ]
        return self._page(top, args)

    def _page(self, messages: list[Json], args: Json) -> Json:
        shown = [
            m if args.get("include_all_metadata") else {k: v for k, v in m.items() if k != "metadata"}
            for m in messages
        ]
        start, size = int(args.get("cursor") or 0), min(int(args.get("limit") or 100), 3)
        more = start + size < len(shown)
        return {
            "messages": shown[start : start + size],
            "has_more": more,
            "response_metadata": {"next_cursor": str(start + size) if more else ""},
        }

    def _checked(self, args: Json, *, text_limit: int) -> tuple[str, list[Json]]:
        text, blocks = args.get("text") or "", args.get("blocks") or []
        if not text and not blocks:
            raise Refused("no_text")
        if units(text) > text_limit:
            raise Refused("msg_too_long")
        problems = message_problems(blocks)
        if problems:
            self.anomalies.append(f"blocks refused: {problems}")
            raise Refused("msg_blocks_too_long" if "msg_blocks_too_long" in problems else "invalid_blocks")
        return text, blocks

    def _chat_postmessage(self, args: Json) -> Json:
        channel = self._channel(args, write=True)
        text, blocks = self._checked(args, text_limit=4_000)
        if args.get("unfurl_links") is not False or args.get("unfurl_media") is not False:
            self.anomalies.append("a post that unfurls")
        message: Json = {"type": "message", "user": BOT_USER, "bot_id": BOT_ID, "ts": self.ts(), "text": text}
        message["blocks"] = blocks
        if args.get("metadata"):
            message["metadata"] = args["metadata"]
        thread = args.get("thread_ts")
        if thread and thread in channel.messages:
            message["thread_ts"] = thread
            channel.messages[thread].setdefault("thread_ts", thread)
        elif thread:
            self.anomalies.append(f"a post into a thread that is gone: {thread}")
        channel.messages[message["ts"]] = message
        self._echo(channel, message)
        return {"channel": channel.id, "ts": message["ts"], "message": message}

    def _echo(self, channel: Channel, message: Json) -> None:
        """The bot hears its own posts too."""
        task = asyncio.create_task(
            self.deliver("events_api", self.envelope(self.event_of(channel.id, dict(message))))
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _own(self, args: Json) -> Json:
        message = self._channel(args, write=True).messages.get(args.get("ts", ""))
        if message is None:
            raise Refused("message_not_found")
        if message["user"] != BOT_USER:
            raise Refused("cant_update_message")
        return message

    def _chat_update(self, args: Json) -> Json:
        message = self._own(args)
        if message.get("streaming_state") == "in_progress":
            raise Refused("streaming_state_conflict")
        text, blocks = self._checked(args, text_limit=4_000)
        message.update({"text": text, "blocks": blocks})
        message.setdefault("shown", []).append(text)
        if args.get("metadata"):
            message["metadata"] = args["metadata"]
        return {"channel": args["channel"], "ts": message["ts"], "message": message}

    def _chat_delete(self, args: Json) -> Json:
        message = self._own(args)
        del self.channels[args["channel"]].messages[message["ts"]]
        return {}

    def _chat_postephemeral(self, args: Json) -> Json:
        channel = self._channel(args, write=True)
        if args.get("user") not in channel.members:
            raise Refused("user_not_in_channel")
        text, blocks = self._checked(args, text_limit=4_000)
        self.ephemerals.append({**args, "text": text, "blocks": blocks})
        return {"message_ts": self.ts()}

    def _chat_startstream(self, args: Json) -> Json:
        channel = self._channel(args, write=True)
        if not self.streaming:
            raise Refused("unknown_method")
        if not args.get("thread_ts") or args["thread_ts"] not in channel.messages:
            raise Refused("invalid_thread_ts")
        if channel.kind != "im" and not (args.get("recipient_user_id") and args.get("recipient_team_id")):
            raise Refused("missing_recipient_user_id")
        message: Json = {"type": "message", "user": BOT_USER, "bot_id": BOT_ID, "ts": self.ts(), "text": ""}
        message |= {"thread_ts": args["thread_ts"], "blocks": [], "streaming_state": "in_progress"}
        message["began"] = time.monotonic()
        channel.messages[message["ts"]] = message
        return {"channel": channel.id, "ts": message["ts"]}

    def _stream(self, args: Json) -> Json:
        message = self._own(args)
        if time.monotonic() - message.get("began", 0) > self.stream_lives_s:
            message["streaming_state"] = "errored"
        if message.get("streaming_state") != "in_progress":
            raise Refused("message_not_in_streaming_state")
        return message

    def _chat_appendstream(self, args: Json) -> Json:
        message = self._stream(args)
        message["text"] += "".join(chunk["text"] for chunk in args["chunks"])
        message.setdefault("streamed", []).append(args["chunks"][0]["text"])
        return {}

    def _chat_stopstream(self, args: Json) -> Json:
        message = self._stream(args)
        message["streaming_state"] = "completed"
        if args.get("metadata"):
            message["metadata"] = args["metadata"]
        return {"message": message}

    def kill_streams(self) -> None:
        """End every stream, as Slack does after five minutes."""
        for channel in self.channels.values():
            for message in channel.messages.values():
                if message.get("streaming_state") == "in_progress":
                    message["streaming_state"] = "errored"

    # --- views ------------------------------------------------------------------------------------------------------

    def _check_view(self, view: Any) -> None:
        problems = view_problems(view)
        if problems:
            self.anomalies.append(f"view refused: {problems}")
            raise Refused("invalid_arguments")

    def _views_open(self, args: Json) -> Json:
        user, made = self._triggers.pop(args.get("trigger_id", ""), ("", 0.0))
        if not user:
            raise Refused("exchanged_trigger_id")
        if time.monotonic() - made > self.ack_s:
            raise Refused("expired_trigger_id")
        self._check_view(args["view"])
        view_id = f"V{uuid4().hex[:8]}"
        self.views[view_id] = {**args["view"], "id": view_id, "user": user, "open": True}
        return {"view": {"id": view_id}}

    def _views_update(self, args: Json) -> Json:
        view = self.views.get(args.get("view_id", ""))
        if view is None or not view["open"]:
            raise Refused("not_found")
        self._check_view(args["view"])
        self.views[view["id"]] = {**args["view"], "id": view["id"], "user": view["user"], "open": True}
        return {"view": {"id": view["id"]}}

    def _views_publish(self, args: Json) -> Json:
        self._check_view(args["view"])
        self.homes[args["user_id"]] = args["view"]
        return {}

    @property
    def newest_view(self) -> Json:
        return list(self.views.values())[-1]

    def _agents_sessions_setstatus(self, args: Json) -> Json:
        if self.sessions is None:
            raise Refused("unknown_method")
        if args.get("status") not in ("active", "processing", "suspended", "closed"):
            raise Refused("invalid_arguments")
        if args.get("channel_id") not in self.channels or not args.get("thread_ts"):
            raise Refused("invalid_arguments")
        self.sessions.append(args)
        return {}

    def _assistant_threads_setstatus(self, args: Json) -> Json:
        if args.get("channel_id") not in self.channels or not args.get("thread_ts"):
            raise Refused("invalid_arguments")
        self.statuses.append(args)
        return {}

    # --- files ------------------------------------------------------------------------------------------------------

    def attach(self, name: str, data: bytes, *, media_type: str = "text/plain", **more: Any) -> Json:
        """A file object for a person's message."""
        file_id = f"F{uuid4().hex[:8]}"
        self.files[file_id] = {"id": file_id, "name": name, "data": data, "media_type": media_type}
        url = f"http://127.0.0.1:{self.port}/files/{file_id}"
        described = {"id": file_id, "name": name, "mimetype": media_type, "size": len(data), "mode": "hosted"}
        return {**described, "url_private_download": url, "url_private": url, **more}

    def _files_getuploadurlexternal(self, args: Json) -> Json:
        if not args.get("filename") or int(args.get("length") or 0) < 1:
            raise Refused("missing_argument")
        file_id = f"F{uuid4().hex[:8]}"
        self.files[file_id] = {
            "id": file_id,
            "name": args["filename"],
            "length": int(args["length"]),
            "alt_txt": args.get("alt_txt", ""),
            "channels": [],
        }
        return {"upload_url": f"http://127.0.0.1:{self.port}/upload/{file_id}", "file_id": file_id}

    async def _upload(self, request: web.Request) -> web.Response:
        file = self.files[request.match_info["file"]]
        file["data"] = await request.read()
        if len(file["data"]) != file["length"]:
            self.anomalies.append("an upload of another length than announced")
        return web.Response(text="OK")

    def _files_completeuploadexternal(self, args: Json) -> Json:
        channel = self._channel({"channel": args.get("channel_id")}, write=True)
        for given in json.loads(args["files"]):
            file = self.files.get(given["id"])
            if file is None or "data" not in file:
                raise Refused("file_not_found")
            if channel.id in file["channels"]:
                raise Refused("file_already_shared")
            file["channels"].append(channel.id)
            message: Json = {
                "type": "message",
                "user": BOT_USER,
                "bot_id": BOT_ID,
                "ts": self.ts(),
                "text": args.get("initial_comment", ""),
            }
            message |= {"files": [{"id": file["id"], "name": file["name"]}], "blocks": []}
            if args.get("thread_ts"):
                message["thread_ts"] = args["thread_ts"]
            channel.messages[message["ts"]] = message
        return {}

    def _files_info(self, args: Json) -> Json:
        file = self.files.get(args.get("file", ""))
        if file is None:
            raise Refused("file_not_found")
        shares = {channel: [{"ts": "1.1"}] for channel in file.get("channels", ())}
        return {"file": {"id": file["id"], "name": file["name"], "shares": {"public": shares}}}

    async def _download(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.tokens.get(token) != "bot" or "files:read" not in self.scopes:
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        file = self.files[request.match_info["file"]]
        return web.Response(body=file["data"], content_type=file["media_type"])

    async def _answer(self, request: web.Request) -> web.Response:
        key = request.match_info["key"]
        self._answer_uses[key] += 1
        if self._answer_uses[key] > 5:
            return web.Response(status=404, text="used_url")
        answer = await request.json()
        problems = message_problems(answer.get("blocks") or [])
        if problems:
            self.anomalies.append(f"answer refused: {problems}")
            return web.Response(status=400)
        self.answers.append(answer)
        return web.Response(text="ok")


def _within(ts: str, args: Json) -> bool:
    oldest, latest = args.get("oldest"), args.get("latest")
    if args.get("inclusive") == "1" and ts in (oldest, latest):
        return True
    return (not oldest or float(ts) > float(oldest)) and (not latest or float(ts) < float(latest))


async def _arguments(request: web.Request) -> Json:
    args: Json = dict(request.query)
    if request.content_type == "application/json" and request.can_read_body:
        args |= await request.json()
    elif request.content_type == "application/x-www-form-urlencoded":
        args |= dict(await request.post())
    return args
