import asyncio

import pytest

from bot.console.feed import (
    MAX_CARDS,
    MAX_SUBSCRIPTIONS,
    Feed,
    FeedFull,
    TextWritten,
    ThreadChanged,
    TreeChanged,
    WritingEnded,
)

SOON_S = 2.0


async def test_each_look_gets_the_newest_text() -> None:
    feed = Feed()
    with feed.subscribe("t") as page:
        feed.tell_text("t", "r", "Post")
        first = await page.next(SOON_S)
        feed.tell_text("t", "r", "Postgres")
        second = await page.next(SOON_S)
    assert first == (TextWritten(card="r", text="Post"),)
    assert second == (TextWritten(card="r", text="Postgres"),)


async def test_a_slow_page_gets_the_newest_text_once_and_no_queue_of_old_ones() -> None:
    feed = Feed()
    with feed.subscribe("t") as page:
        for length in range(1, 1001):
            feed.tell_text("t", "r", "x" * length)
        events = await page.next(SOON_S)
    assert events == (TextWritten(card="r", text="x" * 1000),)


async def test_a_page_that_opens_in_the_middle_of_an_answer_gets_what_is_written_so_far() -> None:
    feed = Feed()
    feed.tell_text("t", "r", "so far")
    with feed.subscribe("t") as page:
        assert await page.next(SOON_S) == (TextWritten(card="r", text="so far"),)
    feed.tell_end("t", "r")
    with feed.subscribe("t") as page:
        assert await page.next(0.01) == ()


async def test_text_reaches_only_the_pages_of_its_thread() -> None:
    feed = Feed()
    with feed.subscribe("t") as page, feed.subscribe("other") as other, feed.subscribe("") as start:
        feed.tell_text("t", "r", "secret")
        assert await page.next(SOON_S)
        assert await other.next(0.01) == ()
        assert await start.next(0.01) == ()


async def test_a_change_is_told_to_its_own_page_and_to_every_tree() -> None:
    feed = Feed()
    with feed.subscribe("t") as page, feed.subscribe("other") as other:
        feed.tell_change("t")
        feed.tell_change("t")
        assert await page.next(SOON_S) == (ThreadChanged(), TreeChanged())
        assert await other.next(SOON_S) == (TreeChanged(),)


async def test_the_end_of_an_answer_comes_without_the_text_that_the_store_now_holds() -> None:
    feed = Feed()
    with feed.subscribe("t") as page:
        feed.tell_text("t", "r", "nearly")
        feed.tell_end("t", "r")
        assert await page.next(SOON_S) == (WritingEnded(card="r"), ThreadChanged(), TreeChanged())


async def test_waiting_ends_empty_after_its_time_and_at_once_when_the_feed_closes() -> None:
    feed = Feed()
    with feed.subscribe("t") as page:
        assert await page.next(0.01) == ()
        assert not page.closed
        waiting = asyncio.ensure_future(page.next(60.0))
        await asyncio.sleep(0)
        feed.close()
        async with asyncio.timeout(SOON_S):
            assert await waiting == ()
        assert page.closed
    with feed.subscribe("t") as late:
        assert late.closed


async def test_nothing_is_left_of_a_page_that_went() -> None:
    feed = Feed()

    def visit() -> None:
        with feed.subscribe("t"):
            assert feed.open_pages == 1
            raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError, match="gone"):
        visit()
    assert feed.open_pages == 0


async def test_memory_stays_bounded_with_many_runs_and_many_pages() -> None:
    feed = Feed()
    for number in range(MAX_CARDS + 50):
        feed.tell_text("t", f"r{number}", "x")
        feed.tell_text(f"t{number}", "r", "x")
    with feed.subscribe("t1") as dropped, feed.subscribe(f"t{MAX_CARDS}") as kept:
        assert await dropped.next(0.01) == ()
        assert await kept.next(SOON_S)
    with feed.subscribe("t") as page:
        for number in range(MAX_CARDS + 50):
            feed.tell_text("t", f"s{number}", "x")
            feed.tell_end("t", f"e{number}")
        events = await page.next(SOON_S)
    assert sum(isinstance(one, TextWritten) for one in events) == MAX_CARDS
    assert sum(isinstance(one, WritingEnded) for one in events) == MAX_CARDS


async def test_more_pages_than_the_feed_serves_are_turned_away() -> None:
    feed = Feed()
    subscriptions = [feed.subscribe("t") for _ in range(MAX_SUBSCRIPTIONS)]
    for one in subscriptions:
        one.__enter__()
    with pytest.raises(FeedFull), feed.subscribe("t"):
        pass
    for one in subscriptions:
        one.__exit__(None, None, None)
    assert feed.open_pages == 0
