"""Order within a channel, and the mark up to which everything was taken in."""

import asyncio

import pytest

from bot.discord.lane import Lanes, Water


async def test_a_channel_s_turns_come_in_order_one_at_a_time_and_channels_side_by_side() -> None:
    lanes, seen, hold = Lanes(), list[int](), asyncio.Event()

    async def work(channel: int, number: int, wait: asyncio.Event | None = None) -> None:
        async with lanes.turn(channel):
            if wait is not None:
                await wait.wait()
            seen.append(number)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work(1, 1, hold))
        tasks.create_task(work(1, 2))
        tasks.create_task(work(2, 3))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == [3]
        hold.set()
    assert seen == [3, 1, 2]
    assert not lanes._locks


async def test_a_turn_that_fails_lets_the_next_one_in() -> None:
    lanes = Lanes()
    with pytest.raises(KeyError, match="x"):
        async with lanes.turn(1):
            raise KeyError("x")
    async with asyncio.timeout(1.0), lanes.turn(1):
        assert lanes._locks


def test_the_mark_stays_below_whatever_is_under_way() -> None:
    water = Water(100)
    assert water.mark == 100
    with water.taking_in(200):
        with water.taking_in(300):
            assert water.mark == 199
        assert water.mark == 199
    assert water.mark == 300


def test_the_mark_stays_below_what_was_broken_off() -> None:
    water = Water(100)
    with pytest.raises(asyncio.CancelledError), water.taking_in(200):
        raise asyncio.CancelledError
    with water.taking_in(300):
        pass
    assert water.mark == 199
