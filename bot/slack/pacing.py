"""Speed limits of the Web API, kept on our side so that Slack seldom has to say no.

Numbers are Slack's published tiers (requests a minute, per method and workspace; docs.slack.dev, Rate limits, 2026)
and one message a second into a channel.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

MAX_BUCKETS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Limit:
    per_minute: float
    burst: int


CHANNEL_POSTS: Final = Limit(60, 4)
DEFAULT: Final = Limit(50, 10)
LIMITS: Final = {
    "chat.postMessage": Limit(240, 60),
    "chat.update": Limit(50, 20),
    "chat.postEphemeral": Limit(100, 30),
    "chat.startStream": Limit(20, 8),
    "chat.appendStream": Limit(100, 40),
    "chat.stopStream": Limit(20, 8),
    "conversations.replies": Limit(50, 20),
    "conversations.history": Limit(50, 20),
    "conversations.members": Limit(100, 30),
    "users.info": Limit(100, 40),
    "views.open": Limit(100, 50),
    "views.update": Limit(100, 50),
    "views.publish": Limit(100, 50),
    "files.info": Limit(100, 30),
}


@dataclass
class Bucket:
    """A token bucket whose takers wait in line."""

    limit: Limit
    tokens: float = 0.0
    filled_at: float = 0.0
    waiting: int = 0
    line: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.tokens = self.limit.burst
        self.filled_at = asyncio.get_running_loop().time()

    def _fill(self) -> None:
        now = asyncio.get_running_loop().time()
        if now > self.filled_at:
            gained = (now - self.filled_at) * self.limit.per_minute / 60
            self.tokens = min(self.limit.burst, self.tokens + gained)
            self.filled_at = now

    def spare(self, *, reserve: float) -> bool:
        """Take a token when nobody waits and at least `reserve` others stay behind."""
        self._fill()
        if self.waiting or self.tokens < 1 + reserve or self.filled_at > asyncio.get_running_loop().time():
            return False
        self.tokens -= 1
        return True

    async def take(self) -> None:
        """Take a token in one's turn."""
        self.waiting += 1
        try:
            async with self.line:
                while True:
                    self._fill()
                    ahead_s = self.filled_at - asyncio.get_running_loop().time()
                    if self.tokens >= 1 and ahead_s <= 0:
                        self.tokens -= 1
                        return
                    await asyncio.sleep(max(ahead_s, (1 - self.tokens) * 60 / self.limit.per_minute, 0.01))
        finally:
            self.waiting -= 1

    def pause(self, seconds: float) -> None:
        """Give nothing for so long: the platform said no."""
        self._fill()
        self.tokens = min(self.tokens, 0.0)
        self.filled_at = max(self.filled_at, asyncio.get_running_loop().time() + seconds)


class Pacing:
    """The buckets of all workspaces and channels; the ones not used for longest are forgotten.

    `speed` multiplies every limit, for a Slack that allows more.
    """

    def __init__(self, *, speed: float = 1.0) -> None:
        self._speed = speed
        self._buckets: OrderedDict[tuple[str, str], Bucket] = OrderedDict()

    def of_method(self, workspace: str, method: str) -> Bucket:
        return self._bucket((workspace, method), LIMITS.get(method, DEFAULT))

    def of_channel(self, workspace: str, channel: str) -> Bucket:
        return self._bucket((workspace, f"#{channel}"), CHANNEL_POSTS)

    def _bucket(self, key: tuple[str, str], limit: Limit) -> Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            faster = Limit(limit.per_minute * self._speed, round(limit.burst * max(1.0, self._speed)))
            bucket = self._buckets[key] = Bucket(faster)
            if len(self._buckets) > MAX_BUCKETS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return bucket
