"""Beginning threads by command: Chat at once, the other modes from a card with an estimate whose Start works for good.

What is posted before it is said is checked before it is posted, so that a refusal leaves nothing behind.
"""

import logging
from dataclasses import dataclass, replace
from typing import Final

import discord

from bot.discord.action import Spot
from bot.discord.attachment import Attachments
from bot.discord.card import Card, TextFile
from bot.discord.channel import Channels, ThreadParent, place_of
from bot.discord.component import NO_MENTIONS, file_of, nonce, view_of
from bot.discord.history import earlier_in
from bot.discord.limit import CONTENT, head
from bot.discord.parse import Invocation, SentFile, command_in, files_of, own_of, words_of
from bot.discord.permission import missing
from bot.discord.plan import FILE, Plan, offer, plan_typed, read_plan
from bot.discord.poster import open_thread_of
from bot.discord.render import plain, thread_name
from bot.discord.tell import HOME_RIGHTS, THREAD_RIGHTS, rights_missing
from bot.discord.traffic import translated
from core.commands.opening import estimate_start, usual_setup
from core.commands.place import thread_at
from core.commands.say import Said, check_start, say
from core.commands.services import Services
from core.commands.text import STARTS
from core.commands.thread import show_thread
from core.domain.errors import PlatformFailure, Refusal
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.i18n import text

log = logging.getLogger(__name__)

QUESTION: Final = 1_700
"""Units of a question that its message shows; a longer one is in a file."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Begins threads. All methods raise Refusal, StoreUnavailable and PlatformFailure."""

    services: Services
    channels: Channels
    attachments: Attachments

    async def chat(self, actor: Actor, spot: Spot, asked: Invocation, *, key: str) -> Card:
        """Say something where the command was given: the question is posted first, and in a channel a thread opened."""
        channel = await self._open_channel(actor, spot)
        said = Said(
            text=asked.options["message"],
            event_key=f"discord:{key}",
            external_id=key,
            mentions_bot=True,
            model=asked.options.get("model"),
        )
        return await self._post_and_say(actor, channel, said, asked.files, nonce_of=f"chat:{key}")

    async def offer(self, actor: Actor, spot: Spot, plan: Plan, *, ref: str, in_file: bool) -> Card:
        """What the plan would cost, with Start. `ref` comes back with the button; nothing is stored or called."""
        if await thread_at(self.services, actor, spot.place) is not None:
            raise Refusal("start_in_channel", command=f"/{plan.mode.value}")
        usual = usual_setup(self.services, actor, plan.mode)
        # The estimate holds for the models that it names, whatever the usual ones are when Start is pressed.
        whole = replace(plan, setup={**usual, **plan.setup})
        estimate = estimate_start(self.services, actor, whole.mode, whole.setup, whole.text)
        return offer(whole, estimate, actor.locale, ref=ref, in_file=in_file)

    async def offer_typed(self, actor: Actor, spot: Spot, message: discord.Message) -> Card:
        """The same for a command typed after a mention; Start reads it again from the message."""
        ref = f"{message.author.id}:{message.id}"
        return await self.offer(actor, spot, _typed(message), ref=ref, in_file=False)

    async def begin(self, actor: Actor, spot: Spot, card: discord.Message | None, ref: str) -> Card:
        """Begin what a card offered: once, however often and after however long its button is pressed."""
        asker, _, number = ref.rpartition(":")
        if asker and asker != actor.external_id:
            raise Refusal("start_not_yours")
        channel = await self._open_channel(actor, spot)
        message = await _message(channel, int(number)) if asker else None
        plan = _typed(message) if message is not None else await self._read(card)
        said = Said(
            text=plan.text,
            event_key=f"discord:{number}",
            external_id=number,
            mentions_bot=True,
            place=place_of(channel),
            mode=plan.mode,
            setup=plan.setup,
            estimate_seen=True,
        )
        earlier = await check_start(self.services, actor, said)
        if earlier is not None and earlier.thread_id is not None:
            place = (await show_thread(self.services, actor, earlier.thread_id)).place
            return _started(int(place.thread), actor.locale)
        if await thread_at(self.services, actor, spot.place) is not None:
            raise Refusal("start_in_channel", command=f"/{plan.mode.value}")
        if message is None:
            return await self._post_and_say(actor, channel, said, plan.files, nonce_of=f"start:{number}")
        if isinstance(channel, discord.Thread):
            said = replace(said, earlier=await earlier_in(message, channel))
        return await self._say_at(actor, channel, message, said, files_of(message))

    async def _open_channel(self, actor: Actor, spot: Spot) -> discord.TextChannel | discord.Thread:
        """Where it begins, once it is known that we may write there."""
        channel: ThreadParent | discord.Thread = await self.channels.find(
            int(spot.place.thread or spot.place.channel)
        )
        wanted = THREAD_RIGHTS if isinstance(channel, discord.Thread) else HOME_RIGHTS
        if spot.rights is not None and (lacking := missing(spot.rights, wanted)):
            raise rights_missing(lacking, channel.guild, actor.locale)
        if isinstance(channel, discord.ForumChannel):
            raise Refusal("no_threads_here")
        return channel

    async def _read(self, card: discord.Message | None) -> Plan:
        """The plan that the pressed card holds."""
        files = [file for file in files_of(card) if file.name == FILE] if card is not None else []
        (upload,) = await self.attachments.fetch(files[:1]) or (None,)
        if upload is None or upload.problem:
            raise Refusal("start_gone")
        try:
            return read_plan(upload.data)
        except (ValueError, KeyError, TypeError) as error:
            log.warning("a card of another release was pressed (%s)", type(error).__name__)
            raise Refusal("start_gone") from error

    async def _post_and_say(
        self,
        actor: Actor,
        channel: discord.TextChannel | discord.Thread,
        said: Said,
        files: tuple[SentFile, ...],
        *,
        nonce_of: str,
    ) -> Card:
        """Post what was asked for all to see, and begin with it."""
        card = _question(actor, said.text, said.mode)
        async with translated():
            message = await channel.send(
                content=card.content,
                files=file_of(card),
                view=view_of(card),
                nonce=nonce(nonce_of),
                allowed_mentions=NO_MENTIONS,
                suppress_embeds=True,
            )
        return await self._say_at(actor, channel, message, said, files)

    async def _say_at(
        self,
        actor: Actor,
        channel: discord.TextChannel | discord.Thread,
        message: discord.Message,
        said: Said,
        files: tuple[SentFile, ...],
    ) -> Card:
        """Say what a message holds, in the thread that hangs on it or that it stands in."""
        uploads = await self.attachments.fetch(files)
        thread = channel
        if not isinstance(thread, discord.Thread):
            thread = await open_thread_of(message, thread_name(said.text))
        here = replace(said, external_id=str(message.id), place=place_of(thread), uploads=uploads)
        await say(self.services, actor, here)
        return _started(thread.id, actor.locale)


def _typed(message: discord.Message) -> Plan:
    """What a message with a mention asks to start. Raises Refusal when it was edited and asks for nothing any more."""
    guild = message.guild
    command = command_in(words_of(message, own_of(guild)), ours=False) if guild is not None else None
    if command is None or command.word not in STARTS:
        raise Refusal("start_gone")
    return plan_typed(command)


async def _message(channel: discord.TextChannel | discord.Thread, number: int) -> discord.Message:
    try:
        async with translated():
            return await channel.fetch_message(number)
    except PlatformFailure as failure:
        if isinstance(failure.__cause__, discord.NotFound):
            raise Refusal("start_gone") from failure
        raise


def _started(thread: int, locale: str) -> Card:
    return Card(content=text(locale, "discord.started", thread=f"<#{thread}>"))


def _question(actor: Actor, question: str, mode: Mode) -> Card:
    """What others see of a question that was asked by a command."""
    asks = f"**{plain(actor.name)}**"
    if mode is not Mode.CHAT:
        asks += f" · {text(actor.locale, f'discord.mode_{mode.value}')}"
    quoted = "\n".join(f"> {line}" for line in head(question, QUESTION).splitlines())
    content = f"{asks}\n{quoted}"
    if head(question, QUESTION) == question and len(content) <= CONTENT:
        return Card(content=content)
    first = f"{asks}\n> {plain(question, QUESTION // 2)}"
    return Card(content=first, file=TextFile(name="message.md", text=question))
