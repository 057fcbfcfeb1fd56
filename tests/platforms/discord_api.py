"""Ids, faults and payloads of the small Discord."""

import time
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

BOT: Final = "1000000000000000001"
ROLE: Final = "3000000000000000009"
GUILD: Final = "3000000000000000001"
GENERAL: Final = "4000000000000000001"
FORUM: Final = "4000000000000000002"
SECRET: Final = "4000000000000000003"
"""A channel that only those in `admins` see."""
ALICE: Final = "2000000000000000001"
BOB: Final = "2000000000000000002"
EPOCH_MS: Final = 1_420_070_400_000
EVERYTHING: Final = (1 << 50) - 1
VIEW: Final = 1 << 10
CONTENT_INTENT: Final = 1 << 15


class Refused(Exception):
    def __init__(self, status: int, code: int, message: str = "refused", **more: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.more = status, code, more


@dataclass
class Fault:
    """`before` and `after` answer `status` without or with the effect, `limit` asks for a pause of `pause_s`."""

    route: str
    kind: str
    status: int = 500
    code: int = 0
    pause_s: float = 0.05
    times: int = 1
    ban: bool = False
    """A 429 as the front door of Discord gives it: no JSON, no `Via`."""


@dataclass
class Call:
    method: str
    path: str
    body: Json
    files: list[tuple[str, bytes]]
    status: int


def components_of(message: Json) -> list[Json]:
    """Buttons and menus of a message, in order."""
    return [inner for row in message.get("components") or () for inner in row.get("components", ())]


def moment() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{int(time.time() % 1 * 1e6):06d}+00:00"


def user(number: str, name: str, *, bot: bool = False) -> Json:
    return {
        "id": number,
        "username": name.lower(),
        "global_name": name,
        "discriminator": "0",
        "avatar": None,
        "bot": bot,
    }


def channel(number: str, name: str, kind: int = 0) -> Json:
    made: Json = {
        "id": number,
        "name": name,
        "type": kind,
        "guild_id": GUILD,
        "position": 0,
        "permission_overwrites": [],
        "parent_id": None,
        "last_message_id": None,
        "flags": 0,
    }
    return made | ({"available_tags": []} if kind == 15 else {})
