"""What people do on the small Discord by commands, buttons, menus and forms, and what the bot answers."""

from dataclasses import dataclass

from aiohttp import web

from tests.platforms.discord_api import (
    ALICE,
    BOB,
    BOT,
    EVERYTHING,
    GUILD,
    Json,
    Refused,
    components_of,
)
from tests.platforms.discord_state import DiscordState


@dataclass
class DiscordInteractions(DiscordState):
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

    async def choose_shown(self, done: Json, value: str, *, user: str = ALICE) -> Json:
        """Choose in the menu of what an interaction showed to one person."""
        found = next(c for c in components_of(done["message"]) if c["type"] == 3)
        return await self._press(done["channel"], done["message"], found["custom_id"], user, [value])

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
            {"type": 18, "id": n, "component": _left_in(row["component"], values)}
            for n, row in enumerate(form["components"])
        ]
        data = {"custom_id": form["custom_id"], "components": components}
        return await self._interact(5, data, opened["channel"], user, message=opened["pressed"])

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
            "pressed": message,
            "shown": None,
        }
        await self.fire("INTERACTION_CREATE", event)
        await self.until(lambda: state["callback"] is not None)
        if state["callback"]["type"] in (5, 6):
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


def _left_in(field: Json, values: dict[str, str]) -> Json:
    """A field of a form as a person sends it: untouched it holds what it began with, and a client keeps its limits."""
    name = field["custom_id"]
    if field["type"] == 3:
        begun = [option["value"] for option in field["options"] if option.get("default")]
        chosen = [values[name]] if name in values else begun
        assert all(one in {option["value"] for option in field["options"]} for one in chosen)
        return {**field, "values": chosen}
    words = values.get(name, field.get("value") or "")
    assert len(words) <= field.get("max_length", 4_000), f"{name} takes no more"
    return {**field, "value": words}
