"""What people write on Discord, taken in once each and in order for each channel."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import discord

from bot.carried import CARRIED_WORDS
from bot.discord.access import Members
from bot.discord.action import Actions, Spot
from bot.discord.attachment import GONE, Attachments
from bot.discord.card import Card
from bot.discord.channel import Channels, place_of
from bot.discord.history import earlier_in
from bot.discord.lane import Lanes
from bot.discord.limit import PLATFORM
from bot.discord.parse import (
    Words,
    command_in,
    files_of,
    is_for_people,
    own_of,
    person_of,
    words_of,
)
from bot.discord.poster import open_thread_of
from bot.discord.render import thread_name
from bot.discord.start import Starts
from bot.discord.tell import HOME_RIGHTS, THREAD_RIGHTS, check_rights, explained, locale_of, refuse, reply
from bot.discord.traffic import translated
from bot.discord.word import CarriedWords
from core import i18n
from core.commands.message import edit_message, follow_deletion
from core.commands.person import identify
from core.commands.place import is_ours, message_at
from core.commands.say import Earlier, Said, Upload, say
from core.commands.services import Services
from core.commands.text import STARTS
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable
from core.domain.policy import Actor
from core.domain.thread import Place

log = logging.getLogger(__name__)

REMEMBERED: Final = 2_000
"""Messages that a second delivery is recognised by without asking the database."""

PAUSE_S: Final = 1.0
PAUSE_AT_MOST_S: Final = 15.0
PLATFORM_TRIES: Final = 8
THREADS: Final = (
    discord.ChannelType.public_thread,
    discord.ChannelType.private_thread,
    discord.ChannelType.news_thread,
)
"""An uncached channel has no type and may be one of these."""


@dataclass
class Intake:
    """Takes in messages, edits and deletions. `reads_everything` says whether Discord shows us every message's text."""

    services: Services
    actions: Actions
    words: CarriedWords
    channels: Channels
    members: Members
    attachments: Attachments
    starts: Starts
    reads_everything: Callable[[], bool]
    lanes: Lanes = field(default_factory=Lanes)
    seen: deque[int] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    hinted: set[int] = field(default_factory=set)
    """Threads in which people were told that the bot cannot read everything."""

    async def take(self, message: discord.Message) -> None:
        """Take in one message, in its channel's turn; one that was taken in already is nothing.

        While the database is away it is tried again and again; people are told once. Only cancelling ends that.
        """
        if message.guild is None or not is_for_people(message):
            return
        async with self.lanes.turn(message.channel.id):
            if message.id in self.seen:
                return
            try:
                await self._insist(message, message.guild)
            except Exception:
                # One message ends here: those after it, live or missed, are none the worse for it.
                log.exception("a message could not be taken in", extra={"message_id": message.id})
                await self._say_to_mention(message, message.guild, "discord.unexpected")
            self.seen.append(message.id)

    async def decline_direct(self, message: discord.Message) -> None:
        """Say to someone who writes to the bot directly that it works in servers."""
        if is_for_people(message) and message.id not in self.seen:
            self.seen.append(message.id)
            await refuse(message, message.channel, Refusal("servers_only"), i18n.DEFAULT_LOCALE)

    async def _insist(self, message: discord.Message, guild: discord.Guild) -> None:
        pause_s, tries = PAUSE_S, 0
        while True:
            try:
                await self._take(message, guild)
            except StoreUnavailable:
                log.warning("the database is away; a message waits", extra={"message_id": message.id})
                if pause_s == PAUSE_S:
                    await self._say_to_mention(message, guild, "discord.store_away")
            except PlatformFailure as failure:
                tries += 1
                if not failure.retryable or tries == PLATFORM_TRIES:
                    log.warning("a message was given up (%s)", failure.code, extra={"message_id": message.id})
                    return
                log.info("a message is tried again (%s)", failure.code, extra={"message_id": message.id})
                pause_s = max(pause_s, failure.retry_after_s or 0.0)
            else:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, PAUSE_AT_MOST_S)

    async def _take(self, message: discord.Message, guild: discord.Guild) -> None:
        words = words_of(message, own_of(guild))
        is_thread = message.channel.type in (*THREADS, None)
        if not (words.mentions_bot or is_thread):
            return
        try:
            channel = await self.channels.find(message.channel.id)
        except PlatformFailure as failure:
            if words.mentions_bot and failure.code == "no_threads":
                await refuse(message, message.channel, Refusal("no_threads_here"), locale_of(guild))
                return
            raise
        place = place_of(channel)
        is_thread = isinstance(channel, discord.Thread)
        ours = is_thread and await is_ours(self.services, str(guild.id), place)
        if not (words.mentions_bot or ours):
            return
        if not (words.text or message.attachments) and not words.mentions_bot:
            await self._hint(message)
            return
        actor = await self._actor(message, guild)
        if actor is None:
            return
        await self._act(message, words, actor, channel, ours=ours)

    async def _act(
        self,
        message: discord.Message,
        words: Words,
        actor: Actor,
        channel: discord.TextChannel | discord.ForumChannel | discord.Thread,
        *,
        ours: bool,
    ) -> None:
        """Carry out a command, or say what was said; a refusal is told where the message stands."""
        command = command_in(words, ours=ours)
        spot = Spot(place=place_of(channel), guild=channel.guild, thread=ours)
        try:
            if command is not None and command.word in STARTS:
                check_rights(channel, THREAD_RIGHTS if spot.place.thread else HOME_RIGHTS, actor.locale)
                await reply(message, channel, await self.starts.offer_typed(actor, spot, message), "start")
            elif command is not None and command.word in CARRIED_WORDS:
                told = await self.words.typed(actor, spot, command, key=f"message:{message.id}")
                await reply(message, channel, told, "reply")
            elif command is not None:
                card = await self.actions.typed(actor, spot, command, key=f"message:{message.id}")
                if card is not None:
                    await reply(message, channel, card, "reply")
            else:
                await self._say(message, words, actor, channel, ours=ours)
        except Refusal as refusal:
            await refuse(message, channel, refusal, actor.locale)
        except PlatformFailure as failure:
            if failure.retryable:
                raise
            await refuse(
                message, channel, explained(failure, channel.guild, HOME_RIGHTS, actor.locale), actor.locale
            )

    async def _say(
        self,
        message: discord.Message,
        words: Words,
        actor: Actor,
        channel: discord.TextChannel | discord.ForumChannel | discord.Thread,
        *,
        ours: bool,
    ) -> None:
        """Say it in its thread, which is opened first where there is none. Raises Refusal and PlatformFailure."""
        if not (words.text or message.attachments):
            raise Refusal("empty_message")
        uploads = await self._files(message, channel)
        thread = channel
        earlier: tuple[Earlier, ...] = ()
        if not isinstance(channel, discord.Thread):
            check_rights(channel, HOME_RIGHTS, actor.locale)
            thread = await open_thread_of(message, thread_name(words.text or message.attachments[0].filename))
        elif not ours:
            check_rights(channel, THREAD_RIGHTS, actor.locale)
            earlier = await earlier_in(message, channel)
        said = Said(
            text=words.text,
            event_key=f"discord:{message.id}",
            external_id=str(message.id),
            mentions_bot=words.mentions_bot,
            mentions_other=words.mentions_other,
            place=place_of(thread),
            uploads=uploads,
            earlier=earlier,
        )
        try:
            await say(self.services, actor, said)
        except Refusal as refusal:
            await refuse(message, thread, refusal, actor.locale)

    async def _actor(self, message: discord.Message, guild: discord.Guild) -> Actor | None:
        """Who wrote it; None for someone who has left."""
        author = message.author
        if isinstance(author, discord.Member):
            self.members.see(author)
            return await identify(self.services, person_of(author, None))
        member = await self.members.member(guild, author.id)
        return await identify(self.services, person_of(member, None)) if member else None

    async def _files(self, message: discord.Message, channel: Any) -> tuple[Upload, ...]:
        """The files of a message. Addresses expire after a day: then they are asked for again, once."""
        files = files_of(message)
        uploads = await self.attachments.fetch(files)
        if not any(upload.problem == GONE for upload in uploads):
            return uploads
        async with translated():
            fresh = await channel.fetch_message(message.id)
        return await self.attachments.fetch(files_of(fresh))

    async def edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Follow an edit of a message that is in one of our threads, or that one hangs on."""
        message, guild = payload.message, payload.message.guild
        if guild is None or message.edited_at is None or not is_for_people(message):
            return
        async with self.lanes.turn(payload.channel_id):
            place = await self._place_of_message(payload.channel_id, message.id)
            if place is None or not await is_ours(self.services, str(guild.id), place):
                return
            words = words_of(message, own_of(guild))
            actor = await self._actor(message, guild)
            if actor is None or not words.text:
                return
            key = f"discord:edit:{message.id}:{message.edited_at.timestamp()}"
            try:
                found = await message_at(self.services, actor, place.channel, str(message.id))
                await edit_message(self.services, actor, found.ref, words.text, event_key=key)
            except Refusal as refusal:
                log.info("an edit was not followed (%s)", refusal.code, extra={"message_id": message.id})

    async def delete(self, guild_id: int | None, channel_id: int, message_id: int) -> None:
        """Follow a deletion, whoever made it."""
        if guild_id is None:
            return
        async with self.lanes.turn(channel_id):
            place = await self._place_of_message(channel_id, message_id)
            if place is not None:
                await follow_deletion(
                    self.services,
                    PLATFORM,
                    str(guild_id),
                    place.channel,
                    str(message_id),
                    event_key=f"discord:delete:{message_id}",
                )

    async def _place_of_message(self, channel_id: int, message_id: int) -> Place | None:
        """Where the thread of a message is: the one it stands in, or the one that hangs on it."""
        try:
            channel = await self.channels.find(channel_id)
        except PlatformFailure:
            return None
        place = place_of(channel)
        return place if place.thread else replace(place, thread=str(message_id))

    async def _hint(self, message: discord.Message) -> None:
        """Say once in a thread that without a mention the bot reads nothing here."""
        if self.reads_everything() or message.channel.id in self.hinted:
            return
        self.hinted.add(message.channel.id)
        sentence = i18n.text(locale_of(message.guild), "discord.content_hidden")
        await reply(message, message.channel, Card(content=sentence), "hint")

    async def _say_to_mention(self, message: discord.Message, guild: discord.Guild, key: str) -> None:
        """Tell whoever mentioned us; of other messages it is not known whether they are for us."""
        if words_of(message, own_of(guild)).mentions_bot:
            await reply(message, message.channel, Card(content=i18n.text(locale_of(guild), key)), key)
