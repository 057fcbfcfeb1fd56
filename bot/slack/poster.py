"""The Poster of Slack: paced, found again after a crash, edited by one owner, complete at any length."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

from bot.slack.background import Background
from bot.slack.bots import Bot, Bots
from bot.slack.calls import Calls, Json
from bot.slack.files import SlackFiles
from bot.slack.memo import Memo
from bot.slack.people import PLATFORM
from bot.slack.render import Rendered, SlackMessage, Surroundings, render
from bot.slack.status import Statuses
from bot.slack.stream import Streams
from core.domain.errors import PlatformFailure
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, PostView
from core.ports import PostRef

log = logging.getLogger(__name__)

EVENT: Final = "promptflow_post"
EDIT_EVERY_S: Final = 1.2
SPARE_EDITS: Final = 6
"""Edits a minute kept back for final texts; live updates are the first to give way."""

CLOCK_SKEW: Final = timedelta(seconds=10)
TOO_BIG: Final = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "msg_too_long",
        "markdown_text_conflict",
    }
)
DIRECT: Final = "D"
"""Ids of direct conversations begin so."""

CONFLICT: Final = "streaming_state_conflict"
UNFINISHED: Final = frozenset({"in_progress", "errored"})
LOST: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


@dataclass(frozen=True, slots=True)
class _Spot:
    """A thread, or the channel's top for a thread that is not open yet."""

    bot: Bot
    channel: str
    thread: str | None


class SlackPoster:
    """Implements core.ports.Poster."""

    def __init__(
        self,
        calls: Calls,
        bots: Bots,
        files: SlackFiles,
        streams: Streams,
        statuses: Statuses,
        background: Background,
        external_id: Callable[[WorkspaceId], Awaitable[str]],
        *,
        edit_every_s: float = EDIT_EVERY_S,
    ) -> None:
        self._calls = calls
        self._bots = bots
        self._files = files
        self._streams = streams
        self._statuses = statuses
        self._background = background
        self._external_id = external_id
        self._edit_every_s = edit_every_s
        self._owners: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._edited: Memo[tuple[str, str], float] = Memo(fresh_s=600.0)
        self._gone: Memo[tuple[str, str], bool] = Memo(fresh_s=3600.0)

    def thread_gone(self, channel: str, thread: str) -> None:
        """The first message of a thread was deleted: nothing is posted there any more, since Slack would put it at
        the channel's top."""
        self._gone.put((channel, thread), value=True)

    async def open_thread(
        self, workspace_id: WorkspaceId, channel: str, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        bot = await self._bot(workspace_id)
        return await self._send(_Spot(bot, channel, None), self._render(bot, view, locale), key)

    async def open_with(
        self, workspace_id: WorkspaceId, channel: str, message: SlackMessage, *, key: str, again: bool
    ) -> str:
        """Post the first message of a thread; its id. With `again` an earlier try may have: its post is taken then."""
        found = None
        if again:
            found = await self.find(
                workspace_id, Place(platform=PLATFORM, channel=channel, thread=""), key=key
            )
        if found is not None:
            return found.ids[0]
        bot = await self._bot(workspace_id)
        return await self._post(_Spot(bot, channel, None), message, _metadata(key=key))

    async def take_back(self, workspace_id: WorkspaceId, channel: str, message: str) -> None:
        """Delete a message of ours; one that is gone already needs nothing."""
        await self._remove(_Spot(await self._bot(workspace_id), channel, None), message)

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        bot = await self._bot(workspace_id)
        if self._gone.peek((place.channel, place.thread)):
            raise PlatformFailure("thread_not_found", retryable=False)
        if isinstance(view, AnswerView) and view.state is AnswerState.WRITING and not view.text:
            message = await self._streams.start(bot, place.channel, place.thread)
            if message is not None:
                return PostRef(place=place, ids=(message,))
        return await self._send(_Spot(bot, place.channel, place.thread), self._render(bot, view, locale), key)

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        bot = await self._bot(workspace_id)
        spot = _Spot(bot, place.channel, place.thread or None)
        first: str | None = None
        stray: str | None = None
        for message in [m async for m in self._own_messages(spot, since=_made_at(key))]:
            if _identity(message).get("key") == key:
                first = str(message["ts"])
            elif message.get("streaming_state") in UNFINISHED and not _identity(message):
                stray = str(message["ts"])
        if first is None and stray is not None and place.thread:
            # A stream carries our mark only from its end on. A thread's answers are written one at a time, so one
            # without a mark is what an earlier try of this very post left behind.
            first = stray
            await self._streams.end(bot, place.channel, stray, _metadata(key=key))
        if first is None:
            return None
        thread = place.thread or first
        ids = [first, *await self._continuations(replace(spot, thread=thread), first)]
        await self._attach_missing(replace(spot, thread=thread), first)
        return PostRef(place=replace(place, platform=PLATFORM, thread=thread), ids=tuple(ids))

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        bot = await self._bot(workspace_id)
        channel, first = ref.place.channel, ref.ids[0]
        owner = self._owners.setdefault((channel, first), asyncio.Lock())
        if not final:
            if owner.locked():
                return ref
            # What is on its way is carried through even when the answer ends meanwhile: cut off, it could land after
            # the final text.
            work = self._live(owner, bot, channel, first, view, locale)
            await asyncio.shield(self._background.start(work, name="live update"))
            return ref
        async with owner:
            if self._streams.is_live(channel, first):
                await self._streams.end(bot, channel, first, _metadata(stream="ended"))
            try:
                return await self._settle(bot, ref, self._render(bot, view, locale))
            finally:
                if channel.startswith(DIRECT):
                    await self._statuses.end(bot, channel, ref.place.thread)

    async def close(self) -> None:
        """Let edits that are under way end."""
        await self._background.drain(5.0)

    async def _bot(self, workspace_id: WorkspaceId) -> Bot:
        return await self._bots.of_workspace(await self._external_id(workspace_id))

    def _render(self, bot: Bot, view: PostView, locale: str) -> Rendered:
        return render(view, Surroundings(locale=locale, url=bot.url))

    # --- sending ----------------------------------------------------------------------------------------------------

    async def _send(self, spot: _Spot, rendered: Rendered, key: str) -> PostRef:
        """Post every message of a view, the file reserved first so that the first message can name it."""
        file_id = await self._files.reserve(spot.bot, rendered.file) if rendered.file else None
        first = await self._post(spot, rendered.messages[0], _metadata(key=key, file=file_id))
        spot = replace(spot, thread=spot.thread or first)
        ids = [first]
        for part, message in enumerate(rendered.messages[1:], start=1):
            ids.append(await self._post(spot, message, _metadata(after=first, part=part)))
        if file_id and rendered.file:
            await self._files.share(
                spot.bot, file_id, rendered.file.title, channel=spot.channel, thread=spot.thread
            )
        place = Place(platform=PLATFORM, channel=spot.channel, thread=spot.thread or first)
        return PostRef(place=place, ids=tuple(ids))

    async def _post(self, spot: _Spot, message: SlackMessage, metadata: dict[str, Any]) -> str:
        """Post one message; its id. Raises PlatformFailure."""
        answer = await self._with_fallback(
            spot.bot,
            "chat.postMessage",
            message,
            channel=spot.channel,
            thread_ts=spot.thread,
            metadata=metadata,
            unfurl_links=False,
            unfurl_media=False,
        )
        posted: Json = answer.get("message") or {}
        made = str(answer["ts"])
        if spot.thread and posted and posted.get("thread_ts") != spot.thread:
            # The thread's first message is gone and Slack put ours at the channel's top instead.
            self.thread_gone(spot.channel, spot.thread)
            await self._calls.call(spot.bot, "chat.delete", channel=spot.channel, ts=made)
            raise PlatformFailure("thread_not_found", retryable=False)
        return made

    async def _with_fallback(self, bot: Bot, method: str, message: SlackMessage, **args: Any) -> Json:
        try:
            return await self._calls.call(
                bot, method, text=message.text, blocks=list(message.blocks) or None, **args
            )
        except PlatformFailure as failure:
            if failure.code not in TOO_BIG or not message.blocks:
                raise
            log.warning("%s refused our blocks (%s); sent as plain text", method, failure.code)
            plain = message.last_resort()
            return await self._calls.call(
                bot, method, text=plain.text, blocks=[] if method == "chat.update" else None, **args
            )

    # --- editing ----------------------------------------------------------------------------------------------------

    async def _live(
        self, owner: asyncio.Lock, bot: Bot, channel: str, message: str, view: PostView, locale: str
    ) -> None:
        async with owner:
            if self._streams.is_live(channel, message):
                if isinstance(view, AnswerView):
                    await self._streams.show(bot, channel, message, view.text)
                return
            now = asyncio.get_running_loop().time()
            last = self._edited.peek((channel, message)) or 0.0
            if now - last < self._edit_every_s:
                await asyncio.sleep(self._edit_every_s - (now - last))
            if not self._calls.pacing.of_method(bot.workspace, "chat.update").spare(reserve=SPARE_EDITS):
                return
            self._edited.put((channel, message), asyncio.get_running_loop().time())
            shown = self._render(bot, view, locale).messages[0]
            try:
                await self._calls.send(
                    bot.token,
                    "chat.update",
                    channel=channel,
                    ts=message,
                    text=shown.text,
                    blocks=list(shown.blocks),
                )
            except PlatformFailure as failure:
                if failure.code != CONFLICT:
                    raise
                # A process that was killed streamed here; from now on the message is edited.
                await self._streams.end(bot, channel, message, _metadata(stream="ended"))

    async def _settle(self, bot: Bot, ref: PostRef, rendered: Rendered) -> PostRef:
        """Bring the messages of a post to their final form, adding those that are missing."""
        spot = _Spot(bot, ref.place.channel, ref.place.thread)
        known = list(ref.ids)
        if len(rendered.messages) > len(known) or rendered.file:
            known[1:] = await self._continuations(spot, known[0]) or known[1:]
        ids: list[str] = []
        for part, message in enumerate(rendered.messages):
            if part < len(known):
                ids.append(await self._edit(spot, known[part], message))
            else:
                ids.append(await self._post(spot, message, _metadata(after=known[0], part=part)))
        for extra in known[len(ids) :]:
            await self._remove(spot, extra)
        if rendered.file:
            await self._attach(spot, known[0], rendered)
        return replace(ref, ids=tuple(ids))

    async def _edit(self, spot: _Spot, message_id: str, message: SlackMessage) -> str:
        """Show a message in place of an earlier one of ours; its id. One that was deleted is posted anew."""
        for last in (False, True):
            try:
                await self._with_fallback(
                    spot.bot, "chat.update", message, channel=spot.channel, ts=message_id
                )
            except PlatformFailure as failure:
                if failure.code == CONFLICT and not last:
                    await self._streams.end(spot.bot, spot.channel, message_id, _metadata(stream="ended"))
                    continue
                if failure.code in LOST and spot.thread != message_id:
                    return await self._post(spot, message, _metadata(after=message_id, part=0))
                raise
            return message_id
        raise AssertionError("unreachable: the second try returns or raises")

    async def _remove(self, spot: _Spot, message_id: str) -> None:
        try:
            await self._calls.call(spot.bot, "chat.delete", channel=spot.channel, ts=message_id)
        except PlatformFailure as failure:
            if failure.code != "message_not_found":
                raise

    async def _attach(self, spot: _Spot, first: str, rendered: Rendered) -> None:
        """Put the file of a post into its thread, unless an earlier try did."""
        if rendered.file is None:
            return
        async for message in self._own_messages(spot, since=_moment(first)):
            if any(f.get("name") == rendered.file.name for f in message.get("files") or ()):
                return
        file_id = await self._files.reserve(spot.bot, rendered.file)
        await self._files.share(
            spot.bot, file_id, rendered.file.title, channel=spot.channel, thread=spot.thread
        )

    # --- finding ----------------------------------------------------------------------------------------------------

    async def _own_messages(self, spot: _Spot, *, since: datetime | None) -> Any:
        """Our own messages of a thread, or of a channel's top, from `since` on."""
        oldest = f"{(since - CLOCK_SKEW).timestamp():.6f}" if since else None
        args: dict[str, Any] = {"channel": spot.channel, "oldest": oldest, "limit": 200}
        method = "conversations.replies" if spot.thread else "conversations.history"
        if spot.thread:
            args["ts"] = spot.thread
        async for message in self._calls.pages(
            spot.bot, method, "messages", include_all_metadata=True, **args
        ):
            if message.get("user") == spot.bot.user or message.get("bot_id") == spot.bot.bot_id:
                yield message

    async def _continuations(self, spot: _Spot, first: str) -> list[str]:
        """Ids of the further messages of a post, in order."""
        found: dict[int, str] = {}
        async for message in self._own_messages(spot, since=_moment(first)):
            mark = _identity(message)
            if mark.get("after") == first and isinstance(mark.get("part"), int):
                found[mark["part"]] = str(message["ts"])
        return [found[part] for part in sorted(found)]

    async def _attach_missing(self, spot: _Spot, first: str) -> None:
        """Share the file that a found post names, where a crash came between the two."""
        messages = [m async for m in self._own_messages(spot, since=_moment(first))]
        named = next((_identity(m).get("file") for m in messages if m["ts"] == first), None)
        shown = {f.get("id") for m in messages for f in m.get("files") or ()}
        if not named or named in shown:
            return
        try:
            await self._files.share(spot.bot, named, "", channel=spot.channel, thread=spot.thread)
        except PlatformFailure as failure:
            if failure.retryable:
                raise
            log.warning("a file could not be shared again (%s)", failure.code)


def _metadata(**fields: str | int | None) -> dict[str, Any]:
    """Marks a message as ours for a later look-up. Ids only: everyone in the channel can read it."""
    return {
        "event_type": EVENT,
        "event_payload": {name: value for name, value in fields.items() if value is not None},
    }


def _identity(message: Json) -> Json:
    metadata = message.get("metadata") or {}
    if isinstance(metadata, str):
        metadata = json.loads(metadata)
    found: Json = metadata.get("event_payload") or {} if metadata.get("event_type") == EVENT else {}
    return found


def _made_at(key: str) -> datetime | None:
    """When the run behind a post's key was made: its id is a UUIDv7. None for any other key."""
    try:
        made = UUID(key.partition("/")[0])
    except ValueError:
        return None
    return datetime.fromtimestamp((made.int >> 80) / 1000, UTC) if made.version == 7 else None


def _moment(message: str) -> datetime:
    """When a message was written: Slack's ids are times."""
    return datetime.fromtimestamp(float(message), UTC)
