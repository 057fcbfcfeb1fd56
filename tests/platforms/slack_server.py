"""A small, strict Slack on real sockets: the Web API, Socket Mode, files and answer addresses.

It refuses what Slack refuses, acknowledges nothing by itself, and keeps in `anomalies` what a person would have seen go
wrong. Faults are planned per method.
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import aiohttp
from aiohttp import WSMsgType, web

from tests.platforms.slack_api import SlackApi
from tests.platforms.slack_state import (
    APP,
    BOT_USER,
    PATIENCE_S,
    SIGNING_SECRET,
    TEAM,
    Delivery,
    Json,
)


class SlackServer(SlackApi):
    """The workspace of SlackApi on real sockets, with what people do in it."""

    # --- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        app = web.Application(client_max_size=50_000_000)
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_get("/link", self._link)
        app.router.add_post("/upload/{file}", self._upload)
        app.router.add_get("/files/{file}", self._download)
        app.router.add_post("/answer/{key}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for socket in list(self.connected):
            await socket.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def posts(self, channel: str = "C1", thread: str | None = None) -> list[Json]:
        """The bot's own messages, oldest first."""
        found = sorted(self.channels[channel].messages.values(), key=lambda m: str(m["ts"]))
        return [
            m for m in found if m.get("user") == BOT_USER and (thread is None or m.get("thread_ts") == thread)
        ]

    # --- what people do ---------------------------------------------------------------------------------------------

    def write(
        self, text: str, *, user: str = "UALICE", channel: str = "C1", thread: str | None = None, **more: Any
    ) -> Json:
        """Put a person's message into a channel, without telling anyone."""
        message = {"type": "message", "user": user, "ts": self.ts(), "text": text, **more}
        message.setdefault("team", self.channels[channel].team)
        if thread:
            message["thread_ts"] = thread
        self.channels[channel].messages[message["ts"]] = message
        return message

    async def say(
        self, text: str, *, user: str = "UALICE", channel: str = "C1", thread: str | None = None, **more: Any
    ) -> str:
        """A person's message, delivered as Slack delivers it; returns once both events are acknowledged or given up."""
        message = self.write(text, user=user, channel=channel, thread=thread, **more)
        await self.announce(channel, message)
        return str(message["ts"])

    async def announce(self, channel: str, message: Json, *, copies: int = 1) -> list[Delivery]:
        """Deliver the events of a message: `message`, and `app_mention` beside it where the bot is mentioned."""
        events = [self.event_of(channel, message)]
        if f"<@{BOT_USER}>" in message["text"] and self.channels[channel].kind != "im":
            mention = {**events[0], "type": "app_mention"}
            mention.pop("channel_type")
            mention.pop("subtype", None)
            events.append(mention)
        bodies = [self.envelope(event) for event in events]
        return list(await asyncio.gather(*(self.deliver("events_api", b) for b in bodies * copies)))

    async def event(self, event: Json) -> Delivery:
        return await self.deliver("events_api", self.envelope({"event_ts": self.ts(), **event}))

    async def edit(self, channel: str, ts: str, text: str, **more: Any) -> Delivery:
        message = self.channels[channel].messages[ts]
        before = dict(message)
        message.update({"text": text, "edited": {"user": message["user"], "ts": self.ts()}, **more})
        return await self.event(
            {
                "type": "message",
                "subtype": "message_changed",
                "channel": channel,
                "hidden": True,
                "message": dict(message),
                "previous_message": before,
                "channel_type": self.channels[channel].type,
                "ts": self.ts(),
            }
        )

    async def delete(self, channel: str, ts: str) -> Delivery:
        before = self.channels[channel].messages.pop(ts)
        return await self.event(
            {
                "type": "message",
                "subtype": "message_deleted",
                "channel": channel,
                "hidden": True,
                "deleted_ts": ts,
                "previous_message": before,
                "channel_type": self.channels[channel].type,
                "ts": self.ts(),
            }
        )

    async def click(
        self, channel: str, ts: str, action: str, *, user: str = "UALICE", times: int = 1
    ) -> Delivery:
        """Press a button that stands under a message."""
        message = self.channels[channel].messages[ts]
        pressed = next(
            e for b in message["blocks"] for e in b.get("elements", ()) if e.get("action_id") == action
        )
        container = {"type": "message", "message_ts": ts, "channel_id": channel}
        if message.get("thread_ts"):
            container["thread_ts"] = message["thread_ts"]
        body = {
            **self._interactive("block_actions", user, channel=channel),
            "channel": {"id": channel},
            "container": container,
            "message": message,
            "response_url": self.answer_address(),
            "actions": [
                {"type": "button", "action_id": action, "value": pressed["value"], "action_ts": self.ts()}
            ],
        }
        results = [await self.deliver("interactive", body) for _ in range(times)]
        return results[-1]

    async def choose(
        self, channel: str, ts: str, menu: Json, option: Json, *, user: str = "UALICE"
    ) -> Delivery:
        """Take an entry of an overflow menu that stands under a message."""
        message = self.channels[channel].messages[ts]
        body = {
            **self._interactive("block_actions", user, channel=channel),
            "channel": {"id": channel},
            "container": {
                "type": "message",
                "message_ts": ts,
                "channel_id": channel,
                "thread_ts": message.get("thread_ts", ts),
            },
            "message": message,
            "response_url": self.answer_address(),
            "actions": [
                {
                    "type": menu["type"],
                    "action_id": menu["action_id"],
                    "selected_option": option,
                    "action_ts": self.ts(),
                }
            ],
        }
        return await self.deliver("interactive", body)

    async def rate(self, channel: str, ts: str, thumb: str, *, user: str = "UALICE") -> Delivery:
        """Press a thumb (`positive` or `negative`) under a message."""
        message = self.channels[channel].messages[ts]
        (block,) = (b for b in message["blocks"] if b["type"] == "context_actions")
        (element,) = block["elements"]
        body = {
            **self._interactive("block_actions", user, channel=channel),
            "channel": {"id": channel},
            "container": {
                "type": "message",
                "message_ts": ts,
                "channel_id": channel,
                "thread_ts": message.get("thread_ts", ts),
            },
            "message": message,
            "response_url": self.answer_address(),
            "actions": [
                {
                    "type": "feedback_buttons",
                    "action_id": element["action_id"],
                    "block_id": block["block_id"],
                    "text": element[f"{thumb}_button"]["text"],
                    "value": element[f"{thumb}_button"]["value"],
                    "action_ts": self.ts(),
                }
            ],
        }
        return await self.deliver("interactive", body)

    async def click_in_view(self, view_id: str, action: str, value: str, *, user: str = "UALICE") -> Delivery:
        body = {
            **self._interactive("block_actions", user),
            "container": {"type": "view", "view_id": view_id},
            "view": {**self.views[view_id], "state": {"values": state_of(self.views[view_id], {})}},
            "actions": [
                {
                    "type": "static_select",
                    "action_id": action,
                    "selected_option": {"value": value},
                    "action_ts": self.ts(),
                }
            ],
        }
        return await self.deliver("interactive", body)

    async def press_in_view(
        self, action: str, values: Mapping[str, str] | None = None, *, user: str = "UALICE", at: int = 0
    ) -> Delivery:
        """Press a button, or take an entry of a menu, in the form that was opened last, filled in as `values` say."""
        view = self.newest_view
        pressed = _elements(view["blocks"], action)[at]
        body = {
            **self._interactive("block_actions", user),
            "container": {"type": "view", "view_id": view["id"]},
            "view": {**view, "state": {"values": state_of(view, values or {})}},
            "actions": [{**pressed, "action_ts": self.ts()}],
        }
        return await self.deliver("interactive", body)

    async def click_private(
        self, action: str, *, user: str = "UALICE", at: int = 0, times: int = 1
    ) -> Delivery:
        """Press a button, or take an entry of a menu, in what a person was told last."""
        told = self.ephemerals[-1]
        pressed = _elements(told["blocks"], action)[at]
        body = {
            **self._interactive("block_actions", user),
            "channel": {"id": told["channel"]},
            "container": {
                "type": "message",
                "message_ts": self.ts(),
                "channel_id": told["channel"],
                "is_ephemeral": True,
                **({"thread_ts": told["thread_ts"]} if told.get("thread_ts") else {}),
            },
            "response_url": self.answer_address(),
            "actions": [{**pressed, "action_ts": self.ts()}],
        }
        results = [
            await self.deliver("interactive", {**body, "trigger_id": self.trigger(user)})
            for _ in range(times)
        ]
        return results[-1]

    async def shortcut(self, name: str, channel: str = "", ts: str = "", *, user: str = "UALICE") -> Delivery:
        body = self._interactive("message_action" if ts else "shortcut", user, channel=channel)
        body |= {"callback_id": name, "action_ts": self.ts()}
        if ts:
            message = self.channels[channel].messages[ts]
            body |= {"channel": {"id": channel}, "message_ts": ts, "message": message}
            body["response_url"] = self.answer_address()
        return await self.deliver("interactive", body)

    async def slash(
        self, command: str, text: str = "", *, channel: str = "C1", user: str = "UALICE"
    ) -> Delivery:
        team = self.channels[channel].team
        organisation = self.organisations.get(team)
        body = {
            "team_id": team,
            "channel_id": channel,
            "user_id": user,
            "command": command,
            "text": text,
            "api_app_id": APP,
            "is_enterprise_install": "true" if organisation else "false",
            **({"enterprise_id": organisation} if organisation else {}),
            "response_url": self.answer_address(),
            "trigger_id": self.trigger(user),
        }
        return await self.deliver("slash_commands", body)

    async def submit(self, view_id: str, values: Mapping[str, str], *, user: str = "UALICE") -> Delivery:
        """Send a form with what was typed or chosen, by block."""
        view = self.views[view_id]
        body = self._interactive("view_submission", user)
        body["view"] = {**view, "state": {"values": state_of(view, values)}}
        delivery = await self.deliver("interactive", body)
        response = delivery.response or {}
        if response.get("response_action") == "update":
            self._check_view(response["view"])
            self.views[view_id] = {**response["view"], "id": view_id, "user": user, "open": True}
        elif response.get("response_action") == "errors":
            inputs = {b["block_id"] for b in view["blocks"] if b["type"] == "input"}
            if not response.get("errors") or not set(response["errors"]) <= inputs:
                self.anomalies.append(f"errors for blocks that are not there: {response.get('errors')}")
        elif delivery.acked:
            view["open"] = False
        return delivery

    def _interactive(self, kind: str, user: str, *, channel: str = "") -> Json:
        team = self.channels[channel].team if channel else self.users.get(user, {}).get("home", TEAM)
        organisation = self.organisations.get(team)
        return {
            "type": kind,
            "api_app_id": APP,
            "team": {"id": team},
            "user": {"id": user, "team_id": self.users.get(user, {}).get("team_id", team)},
            "enterprise": {"id": organisation, "name": organisation} if organisation else None,
            "is_enterprise_install": organisation is not None,
            "trigger_id": self.trigger(user),
        }

    def trigger(self, user: str) -> str:
        made = uuid4().hex
        self._triggers[made] = (user, time.monotonic())
        return made

    def answer_address(self) -> str:
        return f"http://127.0.0.1:{self.port}/answer/{uuid4().hex}"

    # --- delivery ---------------------------------------------------------------------------------------------------

    async def deliver(self, kind: str, payload: Json) -> Delivery:
        """Deliver once; events again, until acknowledged, after `retry_delays`."""
        delivery = Delivery(payload)
        self.deliveries.append(delivery)
        for pause_s in (0.0, *(self.retry_delays if kind == "events_api" else ())):
            await asyncio.sleep(pause_s)
            delivery.attempts += 1
            if await self._try(kind, payload, delivery):
                break
        return delivery

    async def _try(self, kind: str, payload: Json, delivery: Delivery) -> bool:
        envelope_id, fault = uuid4().hex, self._planned("socket")
        async with asyncio.timeout(PATIENCE_S):
            await self.listening.wait()
        self._round += 1
        socket = self.connected[self._round % len(self.connected)]
        waiting = self._waiting[envelope_id] = asyncio.get_running_loop().create_future()
        body = {
            "envelope_id": envelope_id,
            "type": kind,
            "payload": payload,
            "accepts_response_payload": True,
        }
        if kind == "events_api":
            body |= {"retry_attempt": delivery.attempts - 1, "retry_reason": ""}
        try:
            if fault and fault.kind == "drop_before":
                await self._drop(socket)
                return False
            await socket.send_str(json.dumps(body))
            if fault and fault.kind == "drop_after":
                await asyncio.sleep(0.05)
                await self._drop(socket)
                return False
            async with asyncio.timeout(self.ack_s):
                delivery.response = await waiting
        except (TimeoutError, ConnectionError):
            return False
        finally:
            self._waiting.pop(envelope_id, None)
        delivery.acked = True
        return True

    async def _drop(self, socket: web.WebSocketResponse) -> None:
        """Cut a socket without a word."""
        self._left(socket)
        transport = socket._req.transport if socket._req else None
        if transport is not None:
            transport.abort()

    async def drop_all(self) -> None:
        for socket in list(self.connected):
            await self._drop(socket)

    async def ask_to_reconnect(self, reason: str = "refresh_requested") -> None:
        for socket in list(self.connected):
            await socket.send_str(json.dumps({"type": "disconnect", "reason": reason}))

    async def _link(self, request: web.Request) -> web.StreamResponse:
        if self._planned("connect"):
            return web.Response(status=503)
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=408)
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        await socket.send_str(json.dumps({"type": "hello", "num_connections": len(self.connected) + 1}))
        self.connected.append(socket)
        self.listening.set()
        try:
            async for message in socket:
                if message.type is WSMsgType.PING and self.answer_pings:
                    await socket.pong(message.data)
                elif message.type is WSMsgType.TEXT:
                    self._acknowledged(json.loads(message.data))
        finally:
            self._left(socket)
        return socket

    def _left(self, socket: web.WebSocketResponse) -> None:
        if socket in self.connected:
            self.connected.remove(socket)
        if not self.connected:
            self.listening.clear()

    def _acknowledged(self, answer: Json) -> None:
        waiting = self._waiting.get(answer.get("envelope_id", ""))
        if waiting is None:
            self.anomalies.append("an acknowledgement that came too late or was for nothing")
        elif waiting.done():
            self.anomalies.append("acknowledged twice")
        else:
            waiting.set_result(answer.get("payload"))

    async def signed(self, url: str, body: Json, *, age_s: int = 0, secret: str = SIGNING_SECRET) -> int:
        """Deliver an event over HTTP; the status that came back."""
        raw, sent_at = json.dumps(body), str(int(time.time()) - age_s)
        mac = hmac.new(secret.encode(), f"v0:{sent_at}:{raw}".encode(), hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "X-Slack-Request-Timestamp": sent_at,
            "X-Slack-Signature": f"v0={mac}",
        }
        async with aiohttp.ClientSession() as session, session.post(url, data=raw, headers=headers) as answer:
            return answer.status


def state_of(view: Json, values: Mapping[str, str]) -> Json:
    """What stands in the fields of a form: what was typed or chosen, by block, otherwise what they began with."""
    state: Json = {}
    for block in view["blocks"]:
        if block["type"] != "input":
            continue
        element, given = block["element"], values.get(block["block_id"])
        if element["type"] == "static_select":
            chosen = next(
                (o for o in element["options"] if o["value"] == given), element.get("initial_option")
            )
            answer: Json = {"type": "static_select", "selected_option": chosen}
        elif element["type"] in ("multi_static_select", "checkboxes"):
            by_value = {o["value"]: o for o in element["options"]}
            several = (
                element.get("initial_options", [])
                if given is None
                else [by_value[one] for one in given.split("\n") if one]
            )
            answer = {"type": element["type"], "selected_options": several}
        elif element["type"] == "conversations_select":
            conversation = element.get("initial_conversation") if given is None else given
            answer = {"type": element["type"], "selected_conversation": conversation}
        else:
            text = element.get("initial_value") if given is None else given
            answer = {"type": "plain_text_input", "value": text}
        state[block["block_id"]] = {element["action_id"]: answer}
    return state


def _elements(blocks: Sequence[Json], action: str) -> list[Json]:
    """What a click on a button with this id, or on a menu's entry whose value begins with it, brings along."""
    found: list[Json] = []
    for block in blocks:
        for element in (*block.get("elements", ()), *([block["accessory"]] if "accessory" in block else ())):
            if element.get("action_id") == action:
                found.append(
                    {"type": element["type"], "action_id": action, "value": element.get("value", "")}
                )
            found += [
                {"type": "overflow", "action_id": element["action_id"], "selected_option": one}
                for one in element.get("options", ())
                if one["value"].startswith(f"{action}|")
            ]
    return found
