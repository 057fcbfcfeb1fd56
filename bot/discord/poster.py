"""Discord's Poster: threads, messages and edits, each exactly where it belongs and none twice.

A thread in a text channel hangs on a message, whose id it shares; that message stands in the channel. Every message
is sent with a nonce made from its key, by which Discord itself drops a second try within minutes, and its first
component carries a mark, by which it is found later.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Final

import discord

from bot.discord.card import Card
from bot.discord.channel import Channels, ThreadParent, place_of
from bot.discord.component import NO_MENTIONS, file_of, has_marker, marker, nonce, view_of
from bot.discord.render import render, thread_name
from bot.discord.traffic import EditPace, single_try, translated
from core.domain.errors import PlatformFailure
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from core.domain.view import BranchHeaderView, PostView
from core.ports import PostRef

log = logging.getLogger(__name__)

LOOK_BACK: Final = 100
"""Messages of a channel that are read for an earlier try."""

ARCHIVED: Final = "50083"
ALREADY_A_THREAD: Final = 160004
KEPT_FOR_MIN: Final = 10_080
"""A thread shows in the channel's list for a week without messages; the longest that Discord offers."""


class DiscordPoster:
    def __init__(self, channels: Channels, pace: EditPace) -> None:
        self._channels = channels
        self._pace = pace
        self._edits: set[asyncio.Task[None]] = set()

    async def open_thread(
        self, workspace_id: WorkspaceId, channel: str, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        home = await self._find(channel)
        card = render(view, locale, guild=str(home.guild.id))[0]
        name = thread_name(view.name if isinstance(view, BranchHeaderView) else card.content)
        if isinstance(home, discord.Thread):
            return await self._open_private(home, card, key, name)
        if isinstance(home, discord.ForumChannel):
            return await self._open_forum_post(home, card, key, name)
        message = await self._send(home, card, key)
        try:
            thread = await open_thread_of(message, name)
        except PlatformFailure as failure:
            if not failure.retryable:
                await _take_back(message)
            raise
        return PostRef(place=place_of(thread), ids=(str(message.id),))

    async def _open_private(self, beside: discord.Thread, card: Card, key: str, name: str) -> PostRef:
        """A private thread for those who are in the one it is opened beside."""
        parent = beside.parent
        if not isinstance(parent, discord.TextChannel):
            raise PlatformFailure("10003", retryable=False)
        with single_try():
            async with translated():
                thread = await parent.create_thread(
                    name=name, type=discord.ChannelType.private_thread, auto_archive_duration=KEPT_FOR_MIN
                )
        message = await self._send(thread, card, key)
        async with translated():
            for member in await beside.fetch_members():
                if member.id != thread.owner_id:
                    await thread.add_user(member)
        return PostRef(place=place_of(thread), ids=(str(message.id),))

    async def _open_forum_post(self, forum: discord.ForumChannel, card: Card, key: str, name: str) -> PostRef:
        tags = forum.available_tags[:1] if forum.flags.require_tag else []
        with single_try():
            async with translated():
                opened = await forum.create_thread(
                    name=name,
                    content=card.content,
                    files=file_of(card),
                    applied_tags=tags,
                    allowed_mentions=NO_MENTIONS,
                    suppress_embeds=True,
                    auto_archive_duration=KEPT_FOR_MIN,
                    view=view_of(card, mark=marker(key)),
                )
        return PostRef(place=place_of(opened.thread), ids=(str(opened.message.id),))

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        thread = await self._thread(place)
        cards = render(view, locale, guild=str(thread.guild.id))
        sent = [
            await self._send(thread, card, f"{key}:{number}" if number else key)
            for number, card in enumerate(cards)
        ]
        return PostRef(place=place, ids=tuple(str(message.id) for message in sent))

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        if not place.thread:
            return await self._find_opened(place, key)
        thread = await self._thread(place)
        messages = await self._ours(thread)
        found = []
        for number in range(len(messages)):
            part = _known_as(messages, f"{key}:{number}" if number else key)
            if part is None:
                break
            found.append(part)
        return PostRef(place=place, ids=tuple(str(m.id) for m in found)) if found else None

    async def _find_opened(self, place: Place, key: str) -> PostRef | None:
        home = await self._find(place.channel)
        if isinstance(home, discord.TextChannel):
            message = _known_as(await self._ours(home), key)
            if message is None:
                return None
            thread = await open_thread_of(message, thread_name(message.content.split("\n")[0].strip("* ")))
            return PostRef(place=place_of(thread), ids=(str(message.id),))
        parent = home.parent if isinstance(home, discord.Thread) else home
        own_id = await self._channels.own_id()
        async with translated():
            active = await home.guild.active_threads()
        for thread in active:
            if parent and thread.parent_id == parent.id and thread.owner_id == own_id:
                message = _known_as(await self._ours(thread, oldest_first=True), key)
                if message is not None:
                    return PostRef(place=place_of(thread), ids=(str(message.id),))
        return None

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        first = int(ref.ids[0])
        channel = await self._channel_of(ref)
        cards = render(view, locale, guild=str(channel.guild.id))
        shown = list(ref.ids)
        # Kept apart from whoever asked, who may be cancelled: an edit that is on its way is waited for by the next.
        await self._shielded(self._edit_all(channel, shown, cards, first=first, final=final))
        return PostRef(place=ref.place, ids=tuple(shown))

    async def _shielded(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._edits.add(task)
        task.add_done_callback(self._edits.discard)
        task.add_done_callback(_look_at)
        await asyncio.shield(task)

    async def _edit_all(
        self,
        channel: discord.TextChannel | discord.Thread,
        shown: list[str],
        cards: Sequence[Card],
        *,
        first: int,
        final: bool,
    ) -> None:
        async with self._pace.turn(channel.id, first, final=final) as worth_it:
            if not worth_it:
                return
            for message_id, card in zip(tuple(shown), cards, strict=False):
                await self._edit(channel, int(message_id), card)
            missing = cards[len(shown) :]
            earlier = await self._ours(channel, after=first) if missing else []
            for card in missing:
                key = f"{first}:{len(shown)}"
                known = _known_as(earlier, key) or _same(earlier, card, shown)
                message = known or await self._send(channel, card, key)
                shown.append(str(message.id))

    async def _edit(self, channel: discord.TextChannel | discord.Thread, message_id: int, card: Card) -> None:

        async def edit() -> None:
            async with translated():
                await channel.get_partial_message(message_id).edit(
                    content=card.content,
                    attachments=file_of(card),
                    view=view_of(card),
                    allowed_mentions=NO_MENTIONS,
                )

        try:
            await edit()
        except PlatformFailure as failure:
            if failure.code != ARCHIVED or not isinstance(channel, discord.Thread):
                raise
            async with translated():
                await channel.edit(archived=False)
            await edit()

    async def _send(
        self, channel: discord.TextChannel | discord.Thread, card: Card, key: str
    ) -> discord.Message:
        async with translated():
            return await channel.send(
                content=card.content,
                files=file_of(card),
                nonce=nonce(key),
                allowed_mentions=NO_MENTIONS,
                suppress_embeds=True,
                view=view_of(card, mark=marker(key)),
            )

    async def _find(self, channel: str) -> ThreadParent | discord.Thread:
        return await self._channels.find(int(channel))

    async def _thread(self, place: Place) -> discord.Thread:
        thread = await self._find(place.thread)
        if not isinstance(thread, discord.Thread):
            raise PlatformFailure("10003", retryable=False)
        return thread

    async def _channel_of(self, ref: PostRef) -> discord.TextChannel | discord.Thread:
        """Where the messages of a post stand: the one that a thread hangs on stands in the parent channel."""
        thread = await self._thread(ref.place)
        parent = thread.parent
        if ref.ids[0] == ref.place.thread and isinstance(parent, discord.TextChannel):
            return parent
        return thread

    async def _ours(
        self,
        channel: discord.TextChannel | discord.Thread | ThreadParent,
        *,
        after: int | None = None,
        oldest_first: bool | None = None,
    ) -> list[discord.Message]:
        """Our messages among the last of a channel, or among the first after a message."""
        if isinstance(channel, discord.ForumChannel):
            return []
        since = discord.Object(after) if after else None
        own_id = await self._channels.own_id()
        async with translated():
            return [
                message
                async for message in channel.history(limit=LOOK_BACK, after=since, oldest_first=oldest_first)
                if message.author.id == own_id
            ]


async def open_thread_of(message: discord.Message, name: str) -> discord.Thread:
    """The public thread that hangs on a message, opened unless it is there already. Raises PlatformFailure."""
    try:
        async with translated():
            return await message.create_thread(name=name, auto_archive_duration=KEPT_FOR_MIN)
    except PlatformFailure as failure:
        if not (isinstance(failure.__cause__, discord.HTTPException) and _is_there(failure.__cause__)):
            raise
    guild = message.guild
    if guild is None:
        raise PlatformFailure("10003", retryable=False)
    thread = guild.get_thread(message.id)
    if thread is None:
        async with translated():
            found = await guild.fetch_channel(message.id)
        if not isinstance(found, discord.Thread):
            raise PlatformFailure("10003", retryable=False)
        thread = found
    return thread


async def _take_back(message: discord.Message) -> None:
    """Delete a post that no thread hangs on: it would stand in the channel itself."""
    try:
        async with translated():
            await message.delete()
    except PlatformFailure as failure:
        log.warning("a post without its thread stays (%s)", failure.code, extra={"message_id": message.id})


def _is_there(error: discord.HTTPException) -> bool:
    return error.code == ALREADY_A_THREAD


def _known_as(messages: Sequence[discord.Message], key: str) -> discord.Message | None:
    wanted, mark = nonce(key), marker(key)
    return next((m for m in messages if m.nonce == wanted or has_marker(m, mark)), None)


def _same(messages: Sequence[discord.Message], card: Card, shown: Sequence[str]) -> discord.Message | None:
    """A later part without buttons carries no mark; its text is what it is known by."""
    return next(
        (m for m in messages if m.content.strip() == card.content.strip() and str(m.id) not in shown), None
    )


def _look_at(task: asyncio.Task[None]) -> None:
    """Take note of how an edit ended whose asker has gone, so that nothing is reported as never looked at."""
    if not task.cancelled():
        task.exception()
