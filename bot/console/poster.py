"""The console's Poster. The page is always drawn from the store, so a post only tells the open pages to look again."""

from typing import Final

from bot.console.feed import Feed
from bot.console.render import entry_id
from core.domain.errors import PlatformFailure
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from core.domain.view import (
    AnswerState,
    AnswerView,
    BranchHeaderView,
    HandoverHeaderView,
    NoticeView,
    PostView,
)
from core.ports import PostRef

PLATFORM: Final = "console"


class ConsolePoster:
    """Posts that land at once and cannot be doubled: what stands in the store is what the page shows."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def open_thread(
        self, workspace_id: WorkspaceId, channel: str, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        """The ref of a thread that the store holds already; a console thread's place is its own id.

        Only a header, and a notice that links to its thread, say which thread they open. Raises PlatformFailure for
        any other view.
        """
        match view:
            case BranchHeaderView():
                thread_id = view.thread_id
                self._feed.tell_change(view.parent_id)
            case HandoverHeaderView():
                thread_id = view.thread_id
                self._feed.tell_change(view.source.thread_id or "")
            case NoticeView(link=str(thread_id)):
                pass
            case _:
                raise PlatformFailure("thread_unnamed", retryable=False)
        place = Place(platform=PLATFORM, channel=channel, thread=thread_id)
        return await self.post(workspace_id, place, view, key=key, locale=locale)

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        ref = PostRef(place=place, ids=(key,))
        return await self.update(workspace_id, ref, view, final=True, locale=locale)

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        """None always: telling the pages once more is harmless, so no earlier try has to be found."""
        return None

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        thread_id = ref.place.thread
        if not isinstance(view, AnswerView) or view.state is AnswerState.QUEUED:
            self._feed.tell_change(thread_id)
        elif view.state is AnswerState.WRITING:
            self._feed.tell_text(thread_id, entry_id(view), view.text)
        else:
            self._feed.tell_end(thread_id, entry_id(view))
        return ref
