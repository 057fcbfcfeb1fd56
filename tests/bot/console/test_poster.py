from dataclasses import replace

import pytest

from bot.console.feed import Feed, TextWritten, ThreadChanged, TreeChanged, WritingEnded
from bot.console.poster import ConsolePoster
from bot.console.render import entry_id
from core.domain.errors import PlatformFailure
from core.domain.ids import WorkspaceId
from core.domain.view import AnswerState, AnswerView, NoticeView, Phrase
from core.ports import Poster, PostRef
from tests.examples.handover_views import HEADER
from tests.examples.views import ANSWERS, HEADERS, PLACE, POSTS, thread_id

WORKSPACE = WorkspaceId("w")
REF = PostRef(place=PLACE, ids=("k",))


async def test_every_kind_of_post_lands_and_tells_the_pages_of_its_thread() -> None:
    feed = Feed()
    poster: Poster = ConsolePoster(feed)
    for view in POSTS.values():
        with feed.subscribe(PLACE.thread) as page:
            assert await poster.post(WORKSPACE, PLACE, view, key="k", locale="en") == REF
            assert await page.next(2.0)
        if isinstance(view, AnswerView):
            feed.tell_end(PLACE.thread, entry_id(view))


async def test_a_branch_opens_under_its_own_thread_id_and_the_parent_is_told() -> None:
    feed = Feed()
    header = HEADERS["branch_header"]
    with feed.subscribe(header.parent_id) as parent, feed.subscribe(header.thread_id) as branch:
        ref = await ConsolePoster(feed).open_thread(WORKSPACE, "general", header, key="k", locale="en")
        assert ThreadChanged() in await parent.next(2.0)
        assert ThreadChanged() in await branch.next(2.0)
    assert (ref.place.platform, ref.place.channel, ref.place.thread) == (
        "console",
        "general",
        header.thread_id,
    )


async def test_a_handover_opens_under_its_own_thread_id_and_the_source_is_told() -> None:
    feed = Feed()
    with feed.subscribe(HEADER.source.thread_id or "") as source:
        ref = await ConsolePoster(feed).open_thread(WORKSPACE, "general", HEADER, key="k", locale="en")
        assert ThreadChanged() in await source.next(2.0)
    assert ref.place.thread == HEADER.thread_id


async def test_a_notice_opens_the_thread_that_it_links_to() -> None:
    notice = NoticeView(phrase=Phrase(key="notice.prompt_rolled_back"), link=thread_id(1))
    with_thread = await ConsolePoster(Feed()).open_thread(WORKSPACE, "general", notice, key="k", locale="en")
    assert with_thread.place.thread == thread_id(1)


async def test_a_thread_that_no_view_names_is_refused() -> None:
    with pytest.raises(PlatformFailure, match="thread_unnamed"):
        await ConsolePoster(Feed()).open_thread(
            WORKSPACE, "general", ANSWERS["answer_queued"], key="k", locale="en"
        )


async def test_updates_stream_the_text_and_the_final_one_ends_it() -> None:
    feed = Feed()
    poster = ConsolePoster(feed)
    writing = ANSWERS["answer_writing"]
    done = replace(writing, state=AnswerState.DONE)
    with feed.subscribe(thread_id(1)) as page:
        await poster.update(WORKSPACE, REF, writing, final=False, locale="en")
        assert await page.next(2.0) == (TextWritten(card=entry_id(writing), text=writing.text),)
        await poster.update(WORKSPACE, REF, done, final=True, locale="en")
        assert await page.next(2.0) == (WritingEnded(card=entry_id(writing)), ThreadChanged(), TreeChanged())


async def test_a_post_is_never_looked_for_because_telling_twice_harms_nobody() -> None:
    poster = ConsolePoster(Feed())
    first = await poster.post(WORKSPACE, PLACE, ANSWERS["answer_queued"], key="k", locale="en")
    assert await poster.find(WORKSPACE, PLACE, key="k") is None
    assert await poster.post(WORKSPACE, PLACE, ANSWERS["answer_queued"], key="k", locale="en") == first
