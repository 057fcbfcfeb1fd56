"""Handover on Discord: a private draft that is edited form by form and sent once. Nothing of it is kept on our side
but in the store, so every step goes on after a restart."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import discord

from bot.discord.action import Actions, Spot
from bot.discord.card import Card, Form, PressButton
from bot.discord.handover_card import (
    CONFIRM,
    EDIT,
    SEND,
    SHOW,
    TARGET,
    confirm_card,
    draft_card,
    fingerprint,
    sent_card,
    targets_card,
    unopened_card,
    waiting_card,
)
from bot.discord.handover_form import (
    FIELDS,
    FORM,
    Choices,
    Group,
    fields_form,
    setup_form,
    start_form,
    with_fields,
    with_setup,
    with_start,
)
from bot.discord.private import OPENS_S, Later, Press, Pressed, Private, problem_on
from core import i18n
from core.commands.handover import (
    Sending,
    begin_handover,
    centre_model,
    edit_handover,
    estimate_handover,
    keep_target_form,
    list_drafts,
    send_handover,
    show_handover,
)
from core.commands.model import list_models
from core.commands.opening import usual_setup
from core.commands.place import Standing, standing_of
from core.commands.services import Services
from core.commands.thread import show_thread
from core.domain.drafting import HandoverDraft, TargetForm
from core.domain.errors import Refusal
from core.domain.handover import HandoverFields
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import Mode
from core.domain.view import ButtonAction
from core.i18n import text

NO_CENTRE: Final = "-"
SHOWN_DRAFTS: Final = 5


@dataclass(frozen=True, slots=True)
class Handovers:
    services: Services
    actions: Actions
    private: Private

    def presses(self) -> Mapping[str, Press]:
        """What its buttons, menus and forms do."""
        return {
            ButtonAction.HAND_OVER: self.choose,
            ButtonAction.CONTINUE: self.choose_with,
            ButtonAction.CONTINUE_BEST: self.choose_with,
            TARGET: self.take_target,
            SHOW: self.show,
            EDIT: self.open_form,
            FORM: self.take_form,
            SEND: self.send,
            CONFIRM: self.confirm,
        }

    # --- where to -------------------------------------------------------------------------------------------------

    async def command(self, interaction: discord.Interaction[Any], target: str) -> None:
        """`/handover`: drafted at once where the target is named."""

        async def act(actor: Actor, spot: Spot) -> Card | Later:
            thread_id = await self.actions.thread(actor, spot, "/handover")
            if not target:
                return await self._targets(actor, thread_id, "", str(interaction.id))
            return await self._begin(actor, spot, thread_id, target, None, str(interaction.id))

        await self.private.answer(interaction, act)

    async def typed(self, actor: Actor, thread_id: ThreadId, target: str, key: str) -> Card:
        """The word: drafted at once where the target is named. Draft or choice open in private. Raises Refusal."""
        if not target:
            await self._allowed(actor, thread_id)
            label, means = (
                text(actor.locale, "button.hand_over"),
                text(actor.locale, "discord.handover_means"),
            )
            opens = PressButton(label=label, action=ButtonAction.HAND_OVER, ref=thread_id, strong=True)
            return Card(content=means, buttons=(opens,))
        handover_id = await begin_handover(self.services, actor, thread_id, target, event_key=key)
        opens = PressButton(
            label=text(actor.locale, "discord.open_draft"), action=SHOW, ref=handover_id, strong=True
        )
        return Card(content=text(actor.locale, "discord.handover_begun"), buttons=(opens,))

    async def choose(self, pressed: Pressed) -> None:
        """The button under an answer, for the work as it stands."""
        await self._choose(pressed, "")

    async def choose_with(self, pressed: Pressed) -> None:
        """The buttons that put one answer in the centre."""
        await self._choose(pressed, pressed.ref)

    async def _choose(self, pressed: Pressed, centre: str) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            thread_id = await self.actions.thread(actor, spot, "/handover")
            return await self._targets(actor, thread_id, centre, str(pressed.interaction.id))

        await self.private.answer(pressed.interaction, act)

    async def _targets(self, actor: Actor, thread_id: ThreadId, centre: str, opening: str) -> Card:
        targets = await self._allowed(actor, thread_id)
        waiting = [(one.id, one.target_mode) for one in await list_drafts(self.services, actor, thread_id)]
        ref = f"{centre or NO_CENTRE}:{opening}"
        return targets_card(targets, ref, waiting[:SHOWN_DRAFTS], actor.locale, centre=bool(centre))

    async def _allowed(self, actor: Actor, thread_id: ThreadId) -> Sequence[Mode]:
        """Where the thread's work may go on. Raises Refusal when that is nowhere."""
        page = await show_thread(self.services, actor, thread_id)
        if not page.targets:
            raise Refusal("handover_no_route", source=page.mode.value)
        return page.targets

    async def take_target(self, pressed: Pressed) -> None:
        centre, _, opening = pressed.ref.rpartition(":")

        async def act(actor: Actor, spot: Spot) -> Later:
            thread_id = await self.actions.thread(actor, spot, "/handover")
            picked = None if centre == NO_CENTRE else centre
            return await self._begin(actor, spot, thread_id, pressed.chosen, picked, opening)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def _begin(
        self, actor: Actor, spot: Spot, thread_id: ThreadId, target: str, centre: str | None, opening: str
    ) -> Later:
        """One draft for each opening and target, however often that is chosen."""
        key = f"discord:handover:{opening}:{target}"
        handover_id = await begin_handover(
            self.services, actor, thread_id, target, centre=centre, event_key=key
        )
        return self._when_drafted(actor, spot, handover_id)

    def _when_drafted(self, actor: Actor, spot: Spot, handover_id: str) -> Later:
        async def drafted() -> bool:
            return (await show_handover(self.services, actor, handover_id)).status != "drafting"

        async def then() -> Card:
            await self.private.until(drafted)
            return await self._card(actor, spot, handover_id)

        return Later(card=waiting_card(handover_id, actor.locale), then=then)

    # --- the draft ------------------------------------------------------------------------------------------------

    async def show(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card | Later:
            handover = await show_handover(self.services, actor, pressed.ref)
            if handover.status == "drafting":
                return self._when_drafted(actor, spot, pressed.ref)
            return await self._card(actor, spot, pressed.ref)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def _card(self, actor: Actor, spot: Spot, handover_id: str) -> Card:
        """The handover as it stands now."""
        handover = await show_handover(self.services, actor, handover_id)
        if handover.status == "drafting":
            return waiting_card(handover_id, actor.locale)
        if handover.target_thread_id is not None:
            target = handover.target_thread_id
            page = await show_thread(self.services, actor, target)
            if await standing_of(self.services, actor, target) is Standing.NOT_OPENED:
                return unopened_card(target, page.title, actor.locale)
            return sent_card(handover_id, page.place, actor.locale, guild=str(spot.guild.id))
        form = await self._form(actor, handover_id, handover.target_mode, handover.form)
        return draft_card(
            handover_id,
            handover.target_mode,
            HandoverDraft.from_json(handover.draft),
            HandoverFields.from_json(handover.fields),
            form,
            self._setup(actor, handover.target_mode, form),
            actor.locale,
        )

    async def _form(
        self, actor: Actor, handover_id: str, target: Mode, kept: Mapping[str, Any]
    ) -> TargetForm:
        """How the target begins: as filled in, and in a Chat else with the model that wrote the picked answer."""
        form = TargetForm.from_json(kept)
        if target is not Mode.CHAT or form.model:
            return form
        return replace(form, model=await centre_model(self.services, actor, handover_id))

    def _setup(self, actor: Actor, target: Mode, form: TargetForm) -> Mapping[str, Any]:
        """What the target begins with: the usual, and what was chosen."""
        usual = {} if target is Mode.CHAT else usual_setup(self.services, actor, target)
        return {**usual, **form.setup}

    async def open_form(self, pressed: Pressed) -> None:
        handover_id, _, name = pressed.ref.partition(":")
        ref = f"{pressed.ref}:{pressed.interaction.id}"

        async def make(actor: Actor, spot: Spot) -> Form:
            handover = await show_handover(self.services, actor, handover_id)
            if handover.status != "draft":
                raise Refusal("handover_sent_already" if handover.fields else "handover_drafting")
            group, target = _group(name), handover.target_mode
            if group in FIELDS:
                return fields_form(ref, group, HandoverFields.from_json(handover.fields), actor.locale)
            form = await self._form(actor, handover_id, target, handover.form)
            if group is Group.START:
                return start_form(ref, target, form, actor.locale)
            models = await list_models(self.services, actor)
            choices = Choices(
                models=tuple(one.alias for one in models if one.allowed), workflows=self.services.workflows
            )
            return setup_form(ref, target, form, self._setup(actor, target, form), choices, actor.locale)

        await self.private.open(pressed.interaction, make)

    async def take_form(self, pressed: Pressed) -> None:
        """Keep what a form holds; whether it may be sent so is said when it is sent."""
        handover_id, name, _, marks = (*pressed.ref.split(":"), "", "", "")[:4]

        async def act(actor: Actor, spot: Spot) -> Card:
            handover = await show_handover(self.services, actor, handover_id)
            group, typed = _group(name), pressed.fields
            if handover.status == "draft" and group in FIELDS:
                fields = with_fields(HandoverFields.from_json(handover.fields), group, typed, marks)
                await edit_handover(self.services, actor, handover_id, fields.to_json())
            else:
                form = TargetForm.from_json(handover.form)
                if group is Group.START:
                    form = with_start(handover.target_mode, form, typed, marks)
                else:
                    form = with_setup(handover.target_mode, form, typed)
                await keep_target_form(self.services, actor, handover_id, form)
            return await self._card(actor, spot, handover_id)

        await self.private.answer(pressed.interaction, act, in_place=True, typed=pressed.typed)

    # --- sending --------------------------------------------------------------------------------------------------

    async def send(self, pressed: Pressed) -> None:
        await self._answer_on_draft(pressed, pressed.ref, lambda a, s: self._send(a, s, pressed.ref, ""))

    async def confirm(self, pressed: Pressed) -> None:
        handover_id, _, seen = pressed.ref.rpartition(":")
        await self._answer_on_draft(pressed, handover_id, lambda a, s: self._send(a, s, handover_id, seen))

    async def _answer_on_draft(
        self, pressed: Pressed, handover_id: str, act: Callable[[Actor, Spot], Awaitable[Card | Later]]
    ) -> None:
        """Carry out; a refusal stands above the draft, which stays as it was."""

        async def tried(actor: Actor, spot: Spot) -> Card | Later:
            try:
                return await act(actor, spot)
            except Refusal as refusal:
                card = await self._card(actor, spot, handover_id)
                return problem_on(card, i18n.refusal(actor.locale, refusal))

        await self.private.answer(pressed.interaction, tried, in_place=True)

    async def _send(self, actor: Actor, spot: Spot, handover_id: str, seen: str) -> Card | Later:
        """Send it, once its cost was seen where the target calls more than one model."""
        handover = await show_handover(self.services, actor, handover_id)
        if handover.status == "sent":
            return await self._card(actor, spot, handover_id)
        if handover.status == "drafting":
            raise Refusal("handover_drafting")
        form = await self._form(actor, handover_id, handover.target_mode, handover.form)
        sending = Sending(
            handover_id=handover_id,
            fields=handover.fields,
            start=form.start,
            setup=form.setup,
            model=form.model or None,
        )
        estimate = await estimate_handover(self.services, actor, sending)
        if estimate.calls > 1 and seen != fingerprint(sending):
            return confirm_card(sending, estimate, actor.locale)
        target = await send_handover(
            self.services,
            actor,
            replace(sending, estimate_seen=True),
            event_key=f"discord:send:{handover_id}",
        )

        async def opened() -> bool:
            return await standing_of(self.services, actor, target.id) is not Standing.OPENING

        async def then() -> Card:
            await self.private.until(opened, within_s=OPENS_S)
            return await self._card(actor, spot, handover_id)

        first = sent_card(handover_id, target.place, actor.locale, guild=str(spot.guild.id))
        return Later(card=first, then=then)


def _group(name: str) -> Group:
    """Raises Refusal for a form of another release."""
    try:
        return Group(name)
    except ValueError as error:
        raise Refusal("button_outdated") from error
