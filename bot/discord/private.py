"""Answers that only whoever asked sees: a card at once, perhaps another when something is ready, or a form."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import discord

from bot.discord.action import Spot
from bot.discord.card import Card, Form, TextFile
from bot.discord.channel import Channels, place_of
from bot.discord.component import NO_MENTIONS, FormModal, file_of, view_of
from bot.discord.limit import CONTENT, head
from bot.discord.parse import person_of
from bot.discord.tell import HOME_RIGHTS, explained
from core import i18n
from core.commands.person import identify
from core.commands.services import Services
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable
from core.domain.policy import Actor

log = logging.getLogger(__name__)

FIRST_ANSWER_S: Final = 2.5
"""Discord drops an interaction that had no answer after 3 s; what is slower is begun without looking first."""

LATEST_S: Final = 600.0
"""How long a second card may take: an interaction can be answered for 15 minutes."""

OPENS_S: Final = 20.0
"""How long a person waits to be told whether a new thread was opened."""

LOOK_EVERY_S: Final = 0.2
TRIES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """A button that was pressed, a menu in which something was chosen, or a form that was sent."""

    interaction: discord.Interaction[Any]
    ref: str
    chosen: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same however often this arrives."""
        return f"discord:interaction:{self.interaction.id}"

    @property
    def typed(self) -> str:
        """All that was typed into a form."""
        return "\n\n".join(words for words in self.fields.values() if words)


Press = Callable[[Pressed], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A card to be shown at once, and what brings the one that takes its place."""

    card: Card
    then: Callable[[], Awaitable[Card]]


Act = Callable[[Actor, Spot], Awaitable[Card | Later]]


@dataclass(frozen=True, slots=True)
class Private:
    """Answers interactions. `closing` ends every wait for a second card when the product ends."""

    services: Services
    channels: Channels
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def who(self, interaction: discord.Interaction[Any]) -> tuple[Actor, Spot]:
        """Who asks, and where. Raises StoreUnavailable and PlatformFailure."""
        member = interaction.user
        if not isinstance(member, discord.Member):
            raise Refusal("servers_only")
        actor = await identify(self.services, person_of(member, str(interaction.locale)))
        channel = await self.channels.find(interaction.channel_id or 0)
        spot = Spot(
            place=place_of(channel),
            guild=member.guild,
            thread=isinstance(channel, discord.Thread),
            rights=interaction.app_permissions,
        )
        return actor, spot

    async def answer(
        self, interaction: discord.Interaction[Any], act: Act, *, in_place: bool = False, typed: str = ""
    ) -> None:
        """Acknowledge at once, carry out, and show what came of it: in a new card, or `in_place` of the pressed one.

        A card that everyone sees stays as it is.
        What was `typed` comes back in a file when it could not be taken.
        """
        if in_place and interaction.message is not None and interaction.message.flags.ephemeral:
            await interaction.response.defer()
        else:
            await interaction.response.defer(ephemeral=True, thinking=True)
        outcome = await self._outcome(interaction, act, typed)
        if isinstance(outcome, Later):
            await _show(interaction, outcome.card)
            outcome = await self._outcome(interaction, _then(outcome), typed)
        await _show(interaction, outcome.card if isinstance(outcome, Later) else outcome)

    async def open(
        self, interaction: discord.Interaction[Any], make: Callable[[Actor, Spot], Awaitable[Form]]
    ) -> None:
        """Open the form that is made of what is stored; say why when there is none."""
        locale = locale_of(interaction)
        try:
            async with asyncio.timeout(FIRST_ANSWER_S):
                form = await make(*await self.who(interaction))
        except Refusal as refusal:
            sentence = i18n.refusal(locale, refusal)
            await interaction.response.send_message(head(sentence, CONTENT), ephemeral=True)
        except (TimeoutError, StoreUnavailable, PlatformFailure) as problem:
            log.info("a form could not be opened (%s)", type(problem).__name__)
            await interaction.response.send_message(i18n.text(locale, "discord.form_late"), ephemeral=True)
        else:
            await interaction.response.send_modal(FormModal(form))

    async def until(self, ready: Callable[[], Awaitable[bool]], *, within_s: float = LATEST_S) -> None:
        """Return when something is ready, when that takes too long, or when the product ends."""
        try:
            async with asyncio.timeout(within_s):
                while not self.closing.is_set() and not await ready():
                    await self._pause()
        except TimeoutError:
            log.info("a second card comes without what it waited for")

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self.closing.wait(), LOOK_EVERY_S)
        except TimeoutError:
            return

    async def _outcome(self, interaction: discord.Interaction[Any], act: Act, typed: str) -> Card | Later:
        locale, pause_s = locale_of(interaction), 1.0
        for left in reversed(range(TRIES)):
            try:
                return await act(*await self.who(interaction))
            except Refusal as refusal:
                return _sentence(i18n.refusal(locale, refusal), typed)
            except StoreUnavailable:
                return _sentence(i18n.text(locale, "refusal.store_unavailable"), typed)
            except PlatformFailure as failure:
                guild = interaction.guild
                if (not failure.retryable or not left) and guild is not None:
                    why = explained(failure, guild, HOME_RIGHTS, locale)
                    return _sentence(i18n.refusal(locale, why), typed)
                await asyncio.sleep(max(pause_s, failure.retry_after_s or 0.0))
                pause_s *= 2
            except Exception:
                log.exception("an interaction failed", extra={"interaction": interaction.id})
                return _sentence(i18n.text(locale, "discord.unexpected"), typed)
        raise AssertionError("unreachable: the last try returns")


def _then(later: Later) -> Act:
    async def act(actor: Actor, spot: Spot) -> Card:
        return await later.then()

    return act


async def _show(interaction: discord.Interaction[Any], card: Card) -> None:
    await interaction.edit_original_response(
        content=card.content or None,
        attachments=file_of(card),
        view=view_of(card),
        allowed_mentions=NO_MENTIONS,
    )


def locale_of(interaction: discord.Interaction[Any]) -> str:
    """The language of whoever acts."""
    return i18n.nearest(str(interaction.locale))


def problem_on(card: Card, words: str) -> Card:
    """A card with what went wrong above what it says."""
    return replace(card, content=head(f"⚠️ {words}\n\n{card.content}", CONTENT))


def _sentence(words: str, typed: str) -> Card:
    return Card(
        content=head(words, CONTENT), file=TextFile(name="typed.md", text=typed) if typed.strip() else None
    )
