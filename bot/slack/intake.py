"""What people write, edit and delete, from Slack's events to commands of the core.

Everything is stored before the event is acknowledged; what cannot be stored is not acknowledged, and Slack sends it
again.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from bot.slack.bots import Bot
from bot.slack.caller import Caller, Callers, place
from bot.slack.calls import Calls, Json
from bot.slack.desk import Desk
from bot.slack.files import SlackFiles
from bot.slack.memo import Memo
from bot.slack.page import sentence
from bot.slack.parse import OWN_SUBTYPES, Deleted, Edited, Spot, Written, written
from bot.slack.people import PLATFORM, People
from bot.slack.poster import SlackPoster
from bot.slack.private import Private, explain
from bot.slack.render import SlackMessage
from bot.slack.start import CHAT, DIRECT, Offer, Typed, offer, still_says, typed_start
from bot.slack.status import Statuses
from bot.slack.stream import Streams
from bot.slack.turn import Turns
from bot.slack.words import begins_with_another, command_in, people_in, plain
from core.commands.event import is_first
from core.commands.message import edit_message, follow_deletion
from core.commands.place import is_ours, message_at, thread_at
from core.commands.say import Earlier, Said, SaidResult, say
from core.commands.services import Services
from core.commands.text import STARTS
from core.domain.errors import PlatformFailure, Refusal
from core.domain.message import AuthorKind
from core.domain.thread import Mode, Place

log = logging.getLogger(__name__)

YOUNG_S: Final = 60.0
"""A thread this young may be one of ours whose first message is still on its way in."""

LATE_LOOKS: Final = (0.1, 0.3, 0.6)
"""Pauses between the looks for such a thread."""

MAX_EARLIER: Final = 500
"""Messages taken in from a human thread: its first and the newest, as many as Slack gives in a few pages."""

MAX_NAMES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """All methods raise StoreUnavailable and PlatformFailure when the event should come again."""

    services: Services
    calls: Calls
    callers: Callers
    people: People
    files: SlackFiles
    streams: Streams
    statuses: Statuses
    poster: SlackPoster
    desk: Desk
    private: Private
    turns: Turns
    taken: Memo[tuple[str, str, str], bool]
    """Messages that were taken in, so that their second event costs nothing; the claims in the store decide."""
    places: asyncio.Semaphore
    """Messages that are worked on at one time. More would only wait for the store's one writer and time out there."""

    async def written(self, bot: Bot, message: Written) -> None:
        """A message: a turn of ours, a command, or none of our business."""
        if message.at_top and not message.direct and not message.mentions(bot.user):
            return
        key = (bot.workspace, message.channel, message.message)
        if self.taken.peek(key):
            return
        async with self.turns.turn(message.channel, message.thread, message.message), self.places:
            if not self.taken.peek(key):
                await self._take(bot, message)
                self.taken.put(key, value=True)

    async def _take(self, bot: Bot, message: Written) -> None:
        called = message.mentions(bot.user)
        where = place(message.channel, message.thread)
        ours = not message.at_top and await self._is_ours(bot, where, message)
        if not ours and not called and not message.direct:
            return
        caller = await self.callers.caller(bot, message.user, channel=message.channel)
        spot = Spot(
            channel=message.channel,
            user=message.user,
            thread=message.thread,
            message=message.message,
            key=f"message:{message.channel}:{message.message}",
        )
        try:
            text = plain(message.text, await self._names(bot, message.text), bot.user)
            command = command_in(text, called=called, ours=ours) if called or message.direct else None
            if command is not None and (command.word in STARTS or not message.files):
                answer = await self.desk.typed(caller, spot, command)
                if answer is not None:
                    await self._tell(caller, spot, answer)
                return
            await self._say(caller, message, where, text, ours=ours)
        except (Refusal, PlatformFailure) as problem:
            if isinstance(problem, PlatformFailure) and problem.retryable:
                raise
            await self._tell(caller, spot, sentence(explain(caller.locale, problem)))

    async def _tell(self, caller: Caller, spot: Spot, message: SlackMessage) -> None:
        """Tell the writer of a message something about it, once: the same message comes as two events."""
        if await is_first(self.services, caller.actor, f"told:{spot.channel}:{spot.message}"):
            await self.private.tell(caller.bot, spot, message)

    async def _is_ours(self, bot: Bot, where: Place, message: Written) -> bool:
        """Whether the thread is ours. A young one gets a moment, in case its first message was overtaken."""
        for pause_s in (*LATE_LOOKS, 0.0):
            if await is_ours(self.services, bot.workspace, where):
                return True
            young = float(message.message) - float(message.thread) < YOUNG_S
            if not young or message.mentions(bot.user) or message.direct:
                return False
            await asyncio.sleep(pause_s)
        return False

    async def begin(self, caller: Caller, spot: Spot, value: str) -> SlackMessage | None:
        """Start what a person's message asked for; where it changed since its estimate, the new estimate.

        The message is read from Slack again. Raises Refusal too.
        """
        bot, meant = caller.bot, offer(value)
        async with self.turns.turn(spot.channel, meant.thread, meant.message):
            message = await self._reread(bot, spot.channel, meant)
            if message is None or message.user != spot.user:
                raise Refusal("message_not_ours")
            text = plain(message.text, await self._names(bot, message.text), bot.user)
            command = command_in(text, called=True, ours=False)
            if command is None or command.word not in STARTS:
                raise Refusal("slack_form_old")
            asked = typed_start(command)
            if not still_says(meant, asked):
                there = replace(spot, thread=meant.thread, message=meant.message)
                return await self.desk.starter.offer(caller, there, command)
            where = place(spot.channel, meant.thread)
            known = await thread_at(self.services, caller.actor, where)
            if known is None:
                await self._say(caller, message, where, asked.text, ours=False, asked=asked)
            elif known.mode is not asked.mode:
                # Another message made the thread ours meanwhile.
                raise Refusal("slack_thread_taken")
        return None

    async def _reread(self, bot: Bot, channel: str, meant: Offer) -> Written | None:
        """A person's message as it stands in Slack now; None where it is gone."""
        pages = self.calls.pages(
            bot,
            "conversations.replies",
            "messages",
            channel=channel,
            ts=meant.thread,
            oldest=meant.message,
            latest=meant.message,
            inclusive=True,
            limit=10,
        )
        async for one in pages:
            if str(one.get("ts")) == meant.message:
                kind = "im" if channel.startswith(DIRECT) else "channel"
                return written({**one, "thread_ts": meant.thread}, f"start:{meant.message}", channel, kind)
        return None

    async def _say(
        self,
        caller: Caller,
        message: Written,
        where: Place,
        text: str,
        *,
        ours: bool,
        asked: Typed = CHAT,
    ) -> SaidResult:
        bot = caller.bot
        uploads = await self.files.fetch_all(bot, message.files)
        earlier = () if ours or message.at_top else await self._earlier(caller, message)
        result = await say(
            self.services,
            caller.actor,
            Said(
                text=text,
                event_key=f"event:{message.event_id}",
                external_id=message.message,
                mentions_bot=message.direct or message.mentions(bot.user),
                mentions_other=begins_with_another(message.text, bot.user),
                place=where,
                uploads=uploads,
                earlier=earlier,
                mode=asked.mode,
                setup=asked.setup,
                estimate_seen=asked.mode is not Mode.CHAT,
            ),
        )
        if result.run_id and not result.duplicate:
            self.streams.reads(message.channel, message.thread, user=message.user, team=caller.team)
            if message.direct:
                self.statuses.begin(bot, message.channel, message.thread, message.user)
        return result

    async def _names(self, bot: Bot, text: str) -> Mapping[str, str]:
        """Names of the people a text mentions; an id stands for one that Slack does not tell."""
        names: dict[str, str] = {}
        for user in people_in(text)[:MAX_NAMES]:
            try:
                names[user] = await self.people.name(bot, user)
            except PlatformFailure as failure:
                if failure.retryable:
                    raise
        return names

    async def _earlier(self, caller: Caller, message: Written) -> tuple[Earlier, ...]:
        """What a human thread holds before the message that calls us, oldest first, with its speakers."""
        found: list[Json] = []
        pages = self.calls.pages(
            caller.bot,
            "conversations.replies",
            "messages",
            channel=message.channel,
            ts=message.thread,
            latest=message.message,
            inclusive=False,
            limit=200,
        )
        async for one in pages:
            if str(one.get("ts")) < message.message:
                found.append(one)
            if len(found) > MAX_EARLIER:
                del found[1]
        read = [await self._earlier_message(caller.bot, one) for one in found]
        return tuple(one for one in read if one is not None)

    async def _earlier_message(self, bot: Bot, message: Json) -> Earlier | None:
        subtype, user = message.get("subtype"), str(message.get("user") or "")
        is_bot = bool(message.get("bot_id")) or subtype == "bot_message"
        if user == bot.user or (not is_bot and subtype not in OWN_SUBTYPES):
            return None
        raw = str(message.get("text") or "")
        if is_bot:
            profile = message.get("bot_profile") or {}
            name = str(message.get("username") or profile.get("name") or "bot")
        else:
            name = (await self._names(bot, f"<@{user}>")).get(user, user)
        return Earlier(
            external_id=str(message["ts"]),
            author_external_id=user or str(message.get("bot_id") or ""),
            author_name=name,
            author_kind=AuthorKind.BOT if is_bot else AuthorKind.PERSON,
            text=plain(raw, await self._names(bot, raw), bot.user),
            created_at=datetime.fromtimestamp(float(message["ts"]), UTC),
        )

    # --- edits and deletions -----------------------------------------------------------------------------------------

    async def edited(self, bot: Bot, edit: Edited) -> None:
        """A person changed a message of theirs: the next AI input follows. One that calls us only now is a turn."""
        message = edit.now
        async with self.turns.turn(message.channel, message.thread, message.message):
            where = place(message.channel, message.thread)
            ours = await is_ours(self.services, bot.workspace, where)
            newly_called = message.mentions(bot.user) and not replace(message, text=edit.before).mentions(
                bot.user
            )
            if not ours and not newly_called:
                return
            caller = await self.callers.caller(bot, message.user, channel=message.channel)
            spot = Spot(channel=message.channel, user=message.user, thread=message.thread)
            text = plain(message.text, await self._names(bot, message.text), bot.user)
            command = command_in(text, called=message.at_top, ours=False)
            if command is not None and command.word in STARTS:
                # The word that named the mode was no part of the question.
                text = typed_start(command).text
            try:
                found = await message_at(self.services, caller.actor, message.channel, message.message)
                await edit_message(
                    self.services, caller.actor, found.ref, text, event_key=f"event:{edit.event_id}"
                )
            except Refusal as refused:
                if refused.code == "message_not_ours":
                    if newly_called:
                        await self._take(bot, message)
                    return
                await self.private.say(bot, spot, explain(caller.locale, refused))

    async def deleted(self, bot: Bot, deletion: Deleted) -> None:
        """A message is gone from Slack: it leaves the conversation, and what is answering it stops."""
        async with self.turns.turn(deletion.channel, deletion.thread, deletion.message):
            if deletion.message == deletion.thread:
                self.poster.thread_gone(deletion.channel, deletion.thread)
            await follow_deletion(
                self.services,
                PLATFORM,
                bot.workspace,
                deletion.channel,
                deletion.message,
                event_key=f"event:{deletion.event_id}",
            )
