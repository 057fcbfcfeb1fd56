"""Our side of Slack's speed limits."""

import asyncio

from bot.slack.pacing import Bucket, Limit, Pacing


async def test_a_burst_passes_and_the_rest_waits_in_line() -> None:
    bucket = Bucket(Limit(6_000, 3))
    clock = asyncio.get_running_loop().time
    began = clock()
    order: list[int] = []

    async def take(number: int) -> None:
        await bucket.take()
        order.append(number)

    await asyncio.gather(*(take(n) for n in range(8)))
    assert order == list(range(8))
    assert clock() - began >= 5 * 0.01


async def test_spare_room_gives_way_to_whoever_waits_and_to_the_reserve() -> None:
    bucket = Bucket(Limit(60, 3))
    assert bucket.spare(reserve=1)
    assert bucket.spare(reserve=1)
    assert not bucket.spare(reserve=1)
    assert bucket.spare(reserve=0)
    waiting = asyncio.create_task(bucket.take())
    await asyncio.sleep(0)
    assert not bucket.spare(reserve=0)
    waiting.cancel()


async def test_a_pause_holds_everybody_for_as_long_as_slack_said() -> None:
    bucket = Bucket(Limit(60_000, 10))
    clock = asyncio.get_running_loop().time
    began = clock()
    bucket.pause(0.2)
    assert not bucket.spare(reserve=0)
    await bucket.take()
    assert clock() - began >= 0.2


async def test_channels_and_methods_have_limits_of_their_own() -> None:
    pacing = Pacing()
    assert pacing.of_channel("T1", "C1") is pacing.of_channel("T1", "C1")
    assert pacing.of_channel("T1", "C1") is not pacing.of_channel("T1", "C2")
    assert pacing.of_method("T1", "chat.update") is not pacing.of_method("T2", "chat.update")
    assert Pacing(speed=2).of_method("T1", "chat.update").limit == Limit(100, 40)
