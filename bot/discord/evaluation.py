"""Evaluations on Discord: begun in a form, told of in a thread, judged by buttons there."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot import eval_act
from bot.discord.action import Spot
from bot.discord.attachment import Attachments
from bot.discord.card import Card, Form
from bot.discord.eval_card import (
    ACCEPT,
    ALL,
    BEGIN,
    CHOOSE,
    CHOSEN,
    FAILED,
    FILE,
    LIST,
    choose_form,
    chosen,
    estimate_card,
    fail_form,
    list_card,
    read_request,
    report_card,
)
from bot.discord.opening import once_opened
from bot.discord.parse import files_of
from bot.discord.permission import missing
from bot.discord.private import Press, Pressed, Private
from bot.discord.tell import HOME_RIGHTS, rights_missing
from bot.eval_outline import eval_page
from core.commands.eval_question import show_question
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_gate import Judgement
from core.domain.eval_run import EvalRequest
from core.domain.policy import Actor
from core.domain.view import ButtonAction

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Evaluations:
    services: Services
    private: Private
    attachments: Attachments

    def presses(self) -> Mapping[str, Press]:
        """What its buttons and forms do."""
        return {
            LIST: self.list,
            CHOOSE: self.choose,
            CHOSEN: self.estimate,
            BEGIN: self.begin,
            ACCEPT: self.accept,
            FAILED: self.failed,
            ButtonAction.EVAL_FAIL: self.fail,
            ButtonAction.EVAL_REPORT: self.report,
            **{action: self._pressing(action) for action in eval_act.EVAL_BUTTONS},
        }

    # --- beginning ------------------------------------------------------------------------------------------------

    async def listed(self, actor: Actor, name: str) -> Card:
        """The newest evaluations of a prompt, or of all. Raises Refusal."""
        return list_card(name, await eval_act.listed(self.services, actor, name), actor.locale)

    async def list(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            return await self.listed(actor, "" if pressed.ref == ALL else pressed.ref)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def choose(self, pressed: Pressed) -> None:
        async def make(actor: Actor, spot: Spot) -> Form:
            return choose_form(await eval_act.choices(self.services, actor, pressed.ref), actor.locale)

        await self.private.open(pressed.interaction, make)

    async def estimate(self, pressed: Pressed) -> None:
        """What was chosen, and what it would come to; nothing is stored or called."""

        async def act(actor: Actor, spot: Spot) -> Card:
            if spot.rights is not None and (lacking := missing(spot.rights, HOME_RIGHTS)):
                raise rights_missing(lacking, spot.guild, actor.locale)
            request = chosen(pressed.ref, pressed.fields, spot.place.channel)
            found = await eval_act.estimated(self.services, actor, request)
            return estimate_card(found, str(pressed.interaction.id), actor.locale)

        await self.private.answer(pressed.interaction, act)

    async def begin(self, pressed: Pressed) -> None:
        """Begin what a card offered: once, however often its button is pressed."""
        await self._begin(pressed, acknowledged=False)

    async def accept(self, pressed: Pressed) -> None:
        await self._begin(pressed, acknowledged=True)

    async def _begin(self, pressed: Pressed, *, acknowledged: bool) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            request = replace(await self._read(pressed), acknowledged=acknowledged)
            key = f"discord:eval:{pressed.ref}"
            begun = await eval_act.begin(self.services, actor, request, key=key)
            card = Card(content=begun.sentence)
            return await once_opened(self.private, actor, card, begun.told_in) if begun.told_in else card

        await self.private.answer(pressed.interaction, act)

    async def _read(self, pressed: Pressed) -> EvalRequest:
        card = pressed.interaction.message
        files = [file for file in files_of(card) if file.name == FILE] if card is not None else []
        (upload,) = await self.attachments.fetch(files[:1]) or (None,)
        if upload is None or upload.problem:
            raise Refusal("start_gone")
        try:
            return read_request(upload.data)
        except (ValueError, TypeError) as error:
            log.warning("a card of another release was pressed (%s)", type(error).__name__)
            raise Refusal("start_gone") from error

    # --- while it is going on, and after --------------------------------------------------------------------------

    def _pressing(self, action: ButtonAction) -> Press:
        async def press(pressed: Pressed) -> None:
            async def act(actor: Actor, spot: Spot) -> Card:
                said = await eval_act.pressed(self.services, actor, action, pressed.ref, key=pressed.key)
                return Card(content=said)

            await self.private.answer(pressed.interaction, act)

        return press

    async def report(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            made = await eval_act.report(self.services, actor, pressed.ref, actor.locale)
            return report_card(made.title, f"{made.name}.html", made.text, eval_page(pressed.ref))

        await self.private.answer(pressed.interaction, act)

    async def fail(self, pressed: Pressed) -> None:
        """Ask what is wrong with an output; who may not say so is told at once."""

        async def make(actor: Actor, spot: Spot) -> Form:
            question = await show_question(self.services, actor, pressed.ref)
            return fail_form(pressed.ref, question, actor.locale)

        await self.private.open(pressed.interaction, make)

    async def failed(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            comment = pressed.fields.get("comment", "")
            said = await eval_act.judged(
                self.services, actor, pressed.ref, Judgement.FAIL, comment, key=pressed.key
            )
            return Card(content=said)

        await self.private.answer(pressed.interaction, act, typed=pressed.typed)
