"""What every adapter's Poster does, whatever the platform. Enrol by deriving from PosterContract with a `ground`."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Final

import pytest

from core.domain.errors import PlatformFailure
from core.domain.ids import RunId, WorkspaceId
from core.domain.message import Cut
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, PostView
from core.i18n import LOCALES
from core.ports import Poster, PostRef
from tests.examples import views

KEY: Final = "0195e000-0000-7000-a000-0000000000aa/post:answer"
WRITING: Final = replace(views.ANSWERS["answer_writing"], text="")
LONG: Final = "\n\n".join(f"Paragraph {n}: " + "words " * 60 for n in range(120))


class PosterGround(ABC):
    """A platform with an open thread in it."""

    poster: Poster
    workspace_id: WorkspaceId
    channel: str

    @abstractmethod
    async def thread(self) -> Place:
        """An open thread of the platform that holds no post of ours yet."""

    @abstractmethod
    async def shown(self, place: Place) -> list[str]:
        """What people read of our posts in a thread, each post whole, oldest first; files as their content."""

    @abstractmethod
    async def pings(self) -> int:
        """How many people or channels our posts called so far."""

    @abstractmethod
    async def lose_next_answer(self) -> None:
        """The next post lands, and the adapter is not told. A platform that cannot lose one does nothing."""


class PosterContract:
    """The contract of core.ports.Poster."""

    async def test_a_post_stands_in_its_thread_once(self, ground: PosterGround) -> None:
        place = await ground.thread()
        ref = await ground.poster.post(ground.workspace_id, place, _done("All well"), key=KEY, locale="en")
        assert ref.place == place
        assert ref.ids
        assert ["All well" in text for text in await ground.shown(place)] == [True]

    async def test_a_branch_opens_a_thread_of_its_own(self, ground: PosterGround) -> None:
        view = replace(views.HEADERS["branch_header"], parent_place=await ground.thread())
        ref = await ground.poster.open_thread(ground.workspace_id, ground.channel, view, key=KEY, locale="en")
        assert ref.place.thread not in ("", view.parent_place.thread)
        assert any("Try SQLite" in text for text in await ground.shown(ref.place))

    async def test_a_post_whose_answer_was_lost_is_found_and_not_doubled(self, ground: PosterGround) -> None:
        place = await ground.thread()
        view = _done("Only once")
        await ground.lose_next_answer()
        ref = await _send_once(ground, place, view)
        again = await ground.poster.find(ground.workspace_id, place, key=KEY)
        assert again is None or again.ids[0] == ref.ids[0]
        assert sum("Only once" in text for text in await ground.shown(place)) == 1

    async def test_what_was_never_sent_is_not_found(self, ground: PosterGround) -> None:
        place = await ground.thread()
        other = KEY.replace("aa/", "bb/")
        await ground.poster.post(ground.workspace_id, place, _done("x"), key=KEY, locale="en")
        assert await ground.poster.find(ground.workspace_id, place, key=other) is None
        assert await ground.poster.find(ground.workspace_id, replace(place, thread=""), key=other) is None

    async def test_the_final_text_replaces_what_was_shown_before(self, ground: PosterGround) -> None:
        place = await ground.thread()
        ref = await ground.poster.post(ground.workspace_id, place, WRITING, key=KEY, locale="en")
        for n in range(20):
            await _show(ground, ref, _writing(f"word {n} "), final=False)
        await _show(ground, ref, _done("The end"), final=True)
        (text,) = await ground.shown(place)
        assert "The end" in text
        assert "word 0" not in text

    async def test_the_final_text_stands_though_a_live_update_was_cut_off(self, ground: PosterGround) -> None:
        place = await ground.thread()
        ref = await ground.poster.post(ground.workspace_id, place, WRITING, key=KEY, locale="en")
        live = asyncio.create_task(_show(ground, ref, _writing("half a sen"), final=False))
        await asyncio.sleep(0)
        live.cancel()
        await _show(ground, ref, _done("The end"), final=True)
        await asyncio.gather(live, return_exceptions=True)
        (text,) = await ground.shown(place)
        assert "The end" in text

    async def test_an_answer_of_any_length_is_complete(self, ground: PosterGround) -> None:
        place = await ground.thread()
        ref = await ground.poster.post(ground.workspace_id, place, WRITING, key=KEY, locale="en")
        shown = await _show(ground, ref, _done(LONG), final=True)
        text = "\n".join(await ground.shown(place))
        missing = [n for n in range(120) if f"Paragraph {n}:" not in text]
        assert missing == []
        again = await _show(ground, shown, _done(LONG), final=True)
        assert len(again.ids) == len(shown.ids)
        assert len(await ground.shown(place)) == len(shown.ids) or len(shown.ids) == 1

    async def test_showing_the_final_text_twice_changes_nothing(self, ground: PosterGround) -> None:
        place = await ground.thread()
        ref = await ground.poster.post(ground.workspace_id, place, WRITING, key=KEY, locale="en")
        first = await _show(ground, ref, _done("The end"), final=True)
        before = await ground.shown(place)
        assert await _show(ground, first, _done("The end"), final=True) == first
        assert await ground.shown(place) == before

    @pytest.mark.parametrize("locale", LOCALES)
    async def test_every_kind_of_post_is_taken(self, ground: PosterGround, locale: str) -> None:
        place = await ground.thread()
        for number, (name, view) in enumerate(views.POSTS.items()):
            key = f"0195e000-0000-7000-a000-0000000001{number:02x}/{name}"
            await ground.poster.post(ground.workspace_id, place, view, key=key, locale=locale)
        assert len(await ground.shown(place)) >= len(views.POSTS)

    async def test_nothing_that_people_or_models_write_calls_anyone(self, ground: PosterGround) -> None:
        place = await ground.thread()
        ref = await ground.poster.post(ground.workspace_id, place, WRITING, key=KEY, locale="en")
        text = f"{views.HOSTILE} <!here> <@UALICE> @here @everyone"
        await _show(ground, ref, _writing(text), final=False)
        await _show(ground, ref, _done(text), final=True)
        await ground.poster.post(
            ground.workspace_id, place, views.NOTICES["notice_hostile"], key=f"{KEY}2", locale="en"
        )
        assert await ground.pings() == 0


def _done(text: str) -> AnswerView:
    return replace(views.ANSWERS["answer_done"], run_id=RunId(WRITING.run_id), text=text, cut=Cut.NONE)


def _writing(text: str) -> AnswerView:
    return replace(WRITING, state=AnswerState.WRITING, text=text)


async def _show(ground: PosterGround, ref: PostRef, view: PostView, *, final: bool) -> PostRef:
    return await ground.poster.update(ground.workspace_id, ref, view, final=final, locale="en")


async def _send_once(ground: PosterGround, place: Place, view: PostView) -> PostRef:
    """As the engine sends: after a failure that may have landed it looks before it sends again."""
    try:
        return await ground.poster.post(ground.workspace_id, place, view, key=KEY, locale="en")
    except PlatformFailure as failure:
        if not failure.retryable:
            raise
    found = await ground.poster.find(ground.workspace_id, place, key=KEY)
    return found or await ground.poster.post(ground.workspace_id, place, view, key=KEY, locale="en")
