"""Cross Review on Discord: what it would cost first, privately; Start begins exactly that, once."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import discord

from bot.discord import reply
from bot.discord.action import Actions, Spot
from bot.discord.attachment import Attachments
from bot.discord.card import Card
from bot.discord.parse import files_of
from bot.discord.private import Press, Pressed, Private
from bot.discord.review_card import BEGIN, FILE, read_request
from core.commands.review import ReviewRequest, cross_review
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.view import ButtonAction

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reviews:
    services: Services
    actions: Actions
    private: Private
    attachments: Attachments

    def presses(self) -> Mapping[str, Press]:
        """What its buttons do."""
        return {ButtonAction.REVIEW: self.choose, BEGIN: self.begin}

    async def choose(self, pressed: Pressed) -> None:
        """The button under an answer."""

        async def act(actor: Actor, spot: Spot) -> Card:
            request = ReviewRequest(answers=(pressed.ref,))
            return await self.actions.offer_review(actor, request, str(pressed.interaction.id))

        await self.private.answer(pressed.interaction, act)

    async def command(self, interaction: discord.Interaction[Any], options: Mapping[str, str]) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            request = await self.actions.review_of(
                actor,
                spot,
                options.get("answers", ""),
                options.get("focus", ""),
                options.get("reviewers", ""),
            )
            return await self.actions.offer_review(actor, request, str(interaction.id))

        await self.private.answer(interaction, act, typed=options.get("focus", ""))

    async def menu(self, interaction: discord.Interaction[Any], message: str) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            found = await self.actions.found(actor, spot, message)
            ref = await self.actions.answer_id_of(actor, found)
            request = ReviewRequest(answers=(ref,))
            return await self.actions.offer_review(actor, request, str(interaction.id))

        await self.private.answer(interaction, act)

    async def begin(self, pressed: Pressed) -> None:
        """Begin what a card offered: once, however often its button is pressed."""

        asker, _, number = pressed.ref.rpartition(":")

        async def act(actor: Actor, spot: Spot) -> Card:
            if asker and asker != actor.external_id:
                raise Refusal("start_not_yours")
            request = await self._read(pressed.interaction.message)
            key = f"discord:review:{number}"
            started = await cross_review(self.services, actor, request, event_key=key)
            return reply.reviewing(started, actor.locale)

        await self.private.answer(pressed.interaction, act)

    async def _read(self, card: discord.Message | None) -> ReviewRequest:
        files = [file for file in files_of(card) if file.name == FILE] if card is not None else []
        (upload,) = await self.attachments.fetch(files[:1]) or (None,)
        if upload is None or upload.problem:
            raise Refusal("start_gone")
        try:
            return read_request(upload.data)
        except (ValueError, KeyError, TypeError) as error:
            log.warning("a card of another release was pressed (%s)", type(error).__name__)
            raise Refusal("start_gone") from error
