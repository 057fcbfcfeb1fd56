"""Send once: the look-up, the retries, the guard."""

import pytest

from core.domain.errors import PlatformFailure
from core.engine.database import Database
from core.engine.posts import PostLedger, Sender
from core.engine.serialiser import JsonValue


class Platform:
    """Keeps posts; fails as scripted, before or after the post has landed."""

    def __init__(self, *script: str) -> None:
        self.script = list(script)
        self.posts: list[str] = []
        self.calls: list[str] = []

    async def guard(self) -> None:
        self.calls.append("guard")

    async def send(self) -> JsonValue:
        self.calls.append("send")
        outcome = self.script.pop(0) if self.script else "ok"
        if outcome in {"ok", "landed"}:
            self.posts.append(f"post-{len(self.posts) + 1}")
        if outcome == "ok":
            return {"ids": [self.posts[-1]]}
        raise PlatformFailure(outcome, retryable=outcome != "forbidden")

    async def find(self) -> JsonValue:
        self.calls.append("find")
        return {"ids": [self.posts[-1]]} if self.posts else None


def sender_to(platform: Platform, database: Database, *, tries: int = 3) -> Sender:
    return Sender(ledger=PostLedger(database), guard=platform.guard, tries=tries, backoff_s=0.001)


async def send(sender: Sender, platform: Platform) -> JsonValue:
    return await sender.send_once("run/key", run_id="run", send=platform.send, find=platform.find)


async def test_a_first_send_looks_nothing_up_and_is_guarded(database: Database) -> None:
    platform = Platform()

    assert await send(sender_to(platform, database), platform) == {"ids": ["post-1"]}
    assert platform.calls == ["guard", "send"]


async def test_a_finished_send_is_remembered(database: Database) -> None:
    platform = Platform()
    await send(sender_to(platform, database), platform)

    assert await send(sender_to(platform, database), platform) == {"ids": ["post-1"]}
    assert platform.posts == ["post-1"]
    assert platform.calls == ["guard", "send"]


async def test_an_earlier_try_that_landed_is_found(database: Database) -> None:
    platform = Platform()
    sender = sender_to(platform, database)
    await sender.ledger.intend("run/key", run_id="run")
    platform.posts.append("post-1")

    assert await send(sender, platform) == {"ids": ["post-1"]}
    assert platform.calls == ["find"]


async def test_an_earlier_try_that_did_not_land_is_made_good(database: Database) -> None:
    platform = Platform()
    sender = sender_to(platform, database)
    await sender.ledger.intend("run/key", run_id="run")

    assert await send(sender, platform) == {"ids": ["post-1"]}
    assert platform.calls == ["find", "guard", "send"]


async def test_a_failure_worth_a_retry_is_retried_after_a_look(database: Database) -> None:
    platform = Platform("overloaded")

    assert await send(sender_to(platform, database), platform) == {"ids": ["post-1"]}
    assert platform.calls == ["guard", "send", "find", "guard", "send"]


async def test_a_post_that_landed_though_the_platform_failed_is_not_doubled(database: Database) -> None:
    platform = Platform("landed")

    assert await send(sender_to(platform, database), platform) == {"ids": ["post-1"]}
    assert platform.posts == ["post-1"]
    assert platform.calls == ["guard", "send", "find"]


@pytest.mark.parametrize(("outcome", "sends"), [("forbidden", 1), ("overloaded", 3)])
async def test_a_failure_that_stays_is_raised(database: Database, outcome: str, sends: int) -> None:
    platform = Platform(*[outcome] * 9)

    with pytest.raises(PlatformFailure, match=outcome):
        await send(sender_to(platform, database), platform)

    assert platform.calls.count("send") == sends
    assert platform.posts == []
