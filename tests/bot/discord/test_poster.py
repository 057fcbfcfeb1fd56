"""The poster by itself: what it sends, finds again, un-archives, and never sends elsewhere."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from bot.discord.app import Discord
from bot.discord.component import nonce
from bot.discord.poster import DiscordPoster
from core.domain.errors import PlatformFailure
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, NoticeView, Phrase, PostView
from core.ports import PostRef
from tests.bot.discord.world import HURRIED, settings_of
from tests.examples.views import ANSWERS, HEADERS, NOTICES, POSTS
from tests.platforms.discord_api import BOT, FORUM, GENERAL, Fault
from tests.platforms.discord_server import DiscordServer

WORKSPACE = WorkspaceId("w")


@pytest.fixture
async def poster(server: DiscordServer) -> AsyncGenerator[DiscordPoster]:
    bot = Discord(settings_of(server), HURRIED)
    async with bot.opened():
        await server.until(lambda: bot.connection.ready)
        yield bot.poster
    assert server.broken == []


def place(thread: str) -> Place:
    return Place(platform="discord", channel=GENERAL, thread=thread)


def answer(text: str, state: AnswerState = AnswerState.DONE) -> AnswerView:
    view = ANSWERS["answer_done"]
    assert isinstance(view, AnswerView)
    return replace(view, text=text, state=state)


async def post(poster: DiscordPoster, thread: str, view: PostView, key: str = "k") -> PostRef:
    return await poster.post(WORKSPACE, place(thread), view, key=key, locale="en")


async def update(poster: DiscordPoster, ref: PostRef, view: PostView, *, final: bool = True) -> PostRef:
    return await poster.update(WORKSPACE, ref, view, final=final, locale="en")


@pytest.mark.parametrize("name", POSTS)
async def test_every_kind_of_view_is_posted_in_both_languages(
    poster: DiscordPoster, server: DiscordServer, name: str
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    for locale in ("en", "ja"):
        ref = await poster.post(WORKSPACE, place(thread), POSTS[name], key=f"{name}{locale}", locale=locale)
        await poster.update(WORKSPACE, ref, POSTS[name], final=True, locale=locale)
    assert len(server.ours(thread)) == 2


async def test_the_same_key_posted_again_is_the_same_post(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    first = await post(poster, thread, answer("Hello."))
    assert await post(poster, thread, answer("Hello.")) == first
    assert server.ours(thread)[0]["nonce"] == nonce("k")


async def test_a_post_is_found_again_when_its_nonce_is_forgotten(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    await server.says(thread, "before")
    ref = await post(poster, thread, answer("Hello."))
    await server.says(thread, "after")
    assert await poster.find(WORKSPACE, place(thread), key="k") == ref
    assert await poster.find(WORKSPACE, place(thread), key="another") is None


@pytest.mark.parametrize("home", [GENERAL, FORUM])
async def test_an_opened_thread_is_found_again(
    poster: DiscordPoster, server: DiscordServer, home: str
) -> None:
    header = HEADERS["branch_header"]
    ref = await poster.open_thread(WORKSPACE, home, header, key="k", locale="en")
    assert server.channels[ref.place.thread]["name"] == "Try SQLite"
    empty = Place(platform="discord", channel=home, thread="")
    assert await poster.find(WORKSPACE, empty, key="k") == ref
    assert await poster.find(WORKSPACE, empty, key="another") is None


async def test_a_thread_of_which_only_the_message_was_posted_is_opened_when_it_is_looked_for(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    header = HEADERS["branch_header"]
    server.faults.append(Fault(r"POST .*/threads$", "before", 503))
    with pytest.raises(PlatformFailure):
        await poster.open_thread(WORKSPACE, GENERAL, header, key="k", locale="en")
    found = await poster.find(WORKSPACE, Place(platform="discord", channel=GENERAL, thread=""), key="k")
    assert found is not None
    assert server.channels[found.place.thread]["type"] == 11


async def test_a_message_whose_thread_discord_refuses_is_taken_back(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    server.faults.append(Fault(r"POST .*/threads$", "before", 403, code=50013))
    with pytest.raises(PlatformFailure, match="50013"):
        await poster.open_thread(WORKSPACE, GENERAL, HEADERS["branch_header"], key="k", locale="en")
    assert server.ours(GENERAL) == []
    empty = Place(platform="discord", channel=GENERAL, thread="")
    assert await poster.find(WORKSPACE, empty, key="k") is None


async def test_a_forum_post_whose_answer_was_lost_is_not_posted_again_by_the_library(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    server.faults.append(Fault(rf"POST /channels/{FORUM}/threads$", "after", 500))
    with pytest.raises(PlatformFailure, match="unsure") as caught:
        await poster.open_thread(WORKSPACE, FORUM, HEADERS["branch_header"], key="k", locale="en")
    assert caught.value.retryable
    assert len(server.calls_of("POST", f"/channels/{FORUM}/threads")) == 1
    assert await poster.find(WORKSPACE, Place(platform="discord", channel=FORUM, thread=""), key="k")


async def test_an_archived_thread_is_opened_again_before_an_edit(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    ref = await post(poster, thread, answer("", AnswerState.WRITING))
    server.channels[thread]["thread_metadata"]["archived"] = True
    await update(poster, ref, answer("Done."))
    assert server.texts(thread)[0].startswith("Done.")
    assert not server.channels[thread]["thread_metadata"]["archived"]


async def test_what_was_deleted_or_locked_is_a_failure_without_retry_and_nothing_is_posted_elsewhere(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    ref = await post(poster, thread, answer("Hello."))
    server.channels[thread]["thread_metadata"]["locked"] = True
    with pytest.raises(PlatformFailure, match="160005") as locked:
        await post(poster, thread, answer("More."), "k2")
    del server.messages[thread][ref.ids[0]]
    with pytest.raises(PlatformFailure, match="10008") as no_message:
        await update(poster, ref, answer("x"))
    del server.channels[thread]
    await server.fire(
        "THREAD_DELETE", {"id": thread, "guild_id": "3000000000000000001", "parent_id": GENERAL, "type": 11}
    )
    with pytest.raises(PlatformFailure, match="10003") as no_thread:
        await post(poster, thread, answer("x"), "k3")
    assert [f.value.retryable for f in (locked, no_message, no_thread)] == [False, False, False]
    assert server.texts(GENERAL) == []


async def test_an_update_adds_the_parts_it_needs_and_a_repeated_one_finds_them(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    ref = await post(poster, thread, answer("", AnswerState.WRITING))
    long = answer("\n\n".join(f"Paragraph {n}. " + "word " * 80 for n in range(10)))
    whole = await update(poster, ref, long)
    assert len(whole.ids) == 3
    for message in server.messages[thread].values():
        # As if the nonces had been forgotten meanwhile.
        message.pop("nonce", None)
    assert await update(poster, ref, long) == whole
    assert len(server.ours(thread)) == 3


async def test_live_updates_of_one_channel_keep_their_distance_and_only_the_newest_is_sent(
    server: DiscordServer,
) -> None:
    bot = Discord(settings_of(server), replace(HURRIED, edit_every_s=0.3))
    async with bot.opened():
        await server.until(lambda: bot.connection.ready)
        thread = await server.opens_thread(GENERAL, "t")
        ref = await post(bot.poster, thread, answer("", AnswerState.WRITING))
        live = [answer(f"word {n}", AnswerState.WRITING) for n in range(20)]
        await asyncio.gather(*(update(bot.poster, ref, view, final=False) for view in live))
        await update(bot.poster, ref, answer("The end."))
    edits = [call.body["content"].split("\n")[0] for call in server.calls_of("PATCH", thread)]
    assert edits[-1] == "The end."
    assert len(edits) <= 3
    assert edits[-2] == "word 19"


async def test_a_live_update_that_nobody_waits_for_any_more_does_not_overtake_the_final_one(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    ref = await post(poster, thread, answer("", AnswerState.WRITING))
    server.faults.append(Fault("PATCH /channels", "limit", pause_s=0.1))
    live = asyncio.create_task(update(poster, ref, answer("half", AnswerState.WRITING), final=False))
    await server.until(lambda: server.calls_of("PATCH", "/channels"))
    live.cancel()
    await update(poster, ref, answer("The end."))
    assert server.texts(thread)[0].startswith("The end.")


@pytest.mark.parametrize(
    ("fault", "code", "retryable", "pause_s"),
    [
        (Fault("POST", "before", 503), "503", True, None),
        (Fault("POST", "before", 403, 50013), "50013", False, None),
        (Fault("POST", "limit", pause_s=136.0), "429", True, 136.0),
        (Fault("POST", "limit", pause_s=1.0, ban=True), "429", True, 60.0),
    ],
)
async def test_what_discord_answers_becomes_our_failure(
    poster: DiscordPoster,
    server: DiscordServer,
    fault: Fault,
    code: str,
    retryable: bool,
    pause_s: Any,
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    server.faults.append(fault)
    with pytest.raises(PlatformFailure) as caught:
        await post(poster, thread, answer("Hello."))
    failure = caught.value
    assert (failure.code, failure.retryable, failure.retry_after_s) == (code, retryable, pause_s)


async def test_a_bucket_with_a_long_window_and_places_left_is_used(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    server.limits = {
        "X-RateLimit-Limit": "50",
        "X-RateLimit-Remaining": "40",
        "X-RateLimit-Reset-After": "290",
    }
    server.limits |= {"X-RateLimit-Reset": "4102444800", "X-RateLimit-Bucket": "b"}
    for number in range(3):
        await poster.open_thread(WORKSPACE, GENERAL, HEADERS["branch_header"], key=f"k{number}", locale="en")
    assert len(server.ours(GENERAL)) == 3


async def test_a_notice_names_people_and_threads_without_calling_them(
    poster: DiscordPoster, server: DiscordServer
) -> None:
    thread = await server.opens_thread(GENERAL, "t")
    await post(poster, thread, NOTICES["notice_hostile"])
    shouting = Phrase(key="notice.branched", fields={"name": "@everyone <@&1> # x", "position": 1})
    await post(poster, thread, NoticeView(phrase=shouting), "k2")
    assert server.texts(thread)[1] == "Branched at #1: \\@everyone \\<\\@&1\\> \\# x"
    assert {m["author"]["id"] for m in server.ours(thread)} == {BOT}
