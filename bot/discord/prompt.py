"""Prompts on Discord, in cards that only their reader sees."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import discord

from bot.discord.action import Spot
from bot.discord.card import Card
from bot.discord.evaluation import Evaluations
from bot.discord.private import Press, Pressed, Private
from bot.discord.prompt_card import (
    ASK,
    FIND,
    HISTORY,
    LIST,
    PAGE,
    RELOAD,
    STATUS,
    VERSION,
    history_card,
    page_card,
    prompts_card,
    status_card,
    version_card,
    words_of,
)
from bot.discord.prompt_draft import refused_card
from bot.prompt_act import by_id, by_number, see_version
from bot.prompt_outline import EVAL, asked
from bot.prompt_outline import RELOAD as RELOAD_WORD
from bot.prompt_outline import STATUS as STATUS_WORD
from core import i18n
from core.commands.prompt import list_prompts, prompt_history, show_prompt
from core.commands.prompt_live import prompt_status, reload_prompts
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.prompt import PromptPage, PromptVersionView

Shown = Callable[[Actor], Awaitable[Card]]


@dataclass(frozen=True, slots=True)
class Prompts:
    services: Services
    private: Private
    evals: Evaluations

    def presses(self) -> Mapping[str, Press]:
        """What its buttons, menus and forms do."""
        return {
            ASK: self.ask,
            LIST: self.turn,
            FIND: self.find,
            PAGE: self.open,
            VERSION: self.version,
            HISTORY: self.history,
            STATUS: self.status,
            RELOAD: self.reload,
        }

    # --- asked for in words ---------------------------------------------------------------------------------------

    async def command(self, interaction: discord.Interaction[Any], words: str) -> None:
        """`/prompts`: the list, one prompt, one version, or the processes."""
        await self._tell(interaction, words)

    async def ask(self, pressed: Pressed) -> None:
        """The button under a public post."""
        await self._tell(pressed.interaction, words_of(pressed.ref))

    async def _tell(self, interaction: discord.Interaction[Any], words: str) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            return await self._asked(actor, words, str(interaction.id))

        await self.private.answer(interaction, act)

    async def _asked(self, actor: Actor, words: str, opening: str) -> Card:
        wanted = asked(words)
        if wanted is None:
            raise Refusal("prompts_asked")
        if wanted.word == STATUS_WORD:
            return await self._status(actor, opening)
        if wanted.word == RELOAD_WORD:
            return await self._reload(actor, opening)
        if wanted.word == EVAL:
            return await self.evals.listed(actor, wanted.name)
        if not wanted.name:
            return await self._list(actor, 0, opening)
        if wanted.version:
            return await self._version(actor, wanted.name, by_number(wanted.version))
        return await self.page(actor, wanted.name)

    # --- looking --------------------------------------------------------------------------------------------------

    async def turn(self, pressed: Pressed) -> None:
        page, opening = int(pressed.ref) if pressed.ref.isdecimal() else 0, str(pressed.interaction.id)
        await self.show(pressed, "", lambda actor: self._list(actor, page, opening))

    async def find(self, pressed: Pressed) -> None:
        await self.show(pressed, "", lambda actor: self.page(actor, pressed.chosen))

    async def open(self, pressed: Pressed) -> None:
        await self.show(pressed, "", lambda actor: self.page(actor, pressed.ref))

    async def version(self, pressed: Pressed) -> None:
        name, which = pressed.ref, by_id(pressed.chosen)
        await self.show(pressed, name, lambda actor: self._version(actor, name, which))

    async def history(self, pressed: Pressed) -> None:
        async def shown(actor: Actor) -> Card:
            events = await prompt_history(self.services, actor, pressed.ref)
            return await asyncio.to_thread(history_card, pressed.ref, events, actor.locale)

        await self.show(pressed, pressed.ref, shown)

    async def status(self, pressed: Pressed) -> None:
        await self.show(pressed, "", lambda actor: self._status(actor, pressed.ref))

    async def reload(self, pressed: Pressed) -> None:
        """Once for each card, however often its button is pressed."""
        await self.show(pressed, "", lambda actor: self._reload(actor, pressed.ref))

    async def _list(self, actor: Actor, page: int, opening: str) -> Card:
        return prompts_card(await list_prompts(self.services, actor), page, opening, actor.locale)

    async def page(self, actor: Actor, name: str, sentence: str = "") -> Card:
        return page_card(await show_prompt(self.services, actor, name), actor.locale, sentence)

    async def _version(
        self, actor: Actor, name: str, which: Callable[[PromptPage], PromptVersionView]
    ) -> Card:
        seen = await see_version(self.services, actor, name, which)
        page = await show_prompt(self.services, actor, name, version_id=seen.version.version_id)
        return await asyncio.to_thread(version_card, seen, page, actor.locale)

    async def _status(self, actor: Actor, opening: str) -> Card:
        return status_card(await prompt_status(self.services, actor), opening, actor.locale)

    async def _reload(self, actor: Actor, opening: str) -> Card:
        status = await reload_prompts(self.services, actor, event_key=f"discord:reload:{opening}")
        done = i18n.text(actor.locale, "console.prompts_reloaded")
        return status_card(status, opening, actor.locale, done)

    async def show(self, pressed: Pressed, name: str, shown: Shown) -> None:
        """Show a card in place of the pressed one; a refusal too, with the way back and what was typed."""

        async def act(actor: Actor, spot: Spot) -> Card:
            try:
                return await shown(actor)
            except Refusal as refusal:
                sentence = i18n.refusal(actor.locale, refusal)
                return refused_card(name, sentence, pressed.typed, actor.locale)

        await self.private.answer(pressed.interaction, act, in_place=True, typed=pressed.typed)
