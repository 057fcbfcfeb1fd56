"""Pins on Discord: marked from a message, a button or a command; listed, edited and removed with their history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import discord

from bot.discord.action import Actions, Spot
from bot.discord.card import Card, Field, Form, Menu, Option, PressButton, TextFile
from bot.discord.component import FormModal
from bot.discord.limit import (
    CONTENT,
    FIELD_LABEL,
    FORM_FIELDS,
    FORM_TITLE,
    OPTION_TEXT,
    OPTIONS,
    PLACEHOLDER,
    head,
)
from bot.discord.pieces import NOTHING, apart, fields_for, together
from bot.discord.private import Press, Pressed, Private, locale_of
from bot.discord.render import plain
from core.commands.pin import edit_pin, list_pins, pin, remove_pin, show_pin_history
from core.commands.services import Services
from core.commands.thread import last_answer, show_thread
from core.domain.errors import Refusal
from core.domain.pin import Pin, PinKind
from core.domain.policy import Actor
from core.domain.view import ButtonAction
from core.i18n import text

FORM: Final = "pin_form"
AT: Final = "pin_at"
PICK: Final = "pin_pick"
PAGE: Final = "pin_page"
EDIT: Final = "pin_edit"
CHANGE: Final = "pin_change"
REMOVE: Final = "pin_remove"

LINE: Final = 65
"""Units of a pin's text in the list, so that a page of them fits into one message."""


@dataclass(frozen=True, slots=True)
class Pins:
    services: Services
    actions: Actions
    private: Private

    def presses(self) -> Mapping[str, Press]:
        """What its buttons, menus and forms do."""
        return {
            ButtonAction.PIN: self.open_form,
            FORM: self.take_form,
            AT: self.take_form_at,
            PICK: self.show,
            PAGE: self.show_page,
            EDIT: self.open_edit,
            CHANGE: self.take_edit,
            REMOVE: self.remove,
        }

    # --- marking --------------------------------------------------------------------------------------------------

    async def command(self, interaction: discord.Interaction[Any], options: Mapping[str, str]) -> None:
        """`/pin`: typed text, the message at a position, or the newest answer."""
        words, position = options.get("text", ""), options.get("position", "")

        async def act(actor: Actor, spot: Spot) -> Card:
            thread_id = await self.actions.thread(actor, spot, "/pin")
            message_id = None
            if position:
                message_id = await self.actions.message_id_at(actor, thread_id, position)
            elif not words.strip():
                message_id = last_answer(await show_thread(self.services, actor, thread_id)).message_id
            key = f"discord:interaction:{interaction.id}"
            await pin(
                self.services,
                actor,
                thread_id,
                options.get("kind", ""),
                words,
                message_id=message_id,
                event_key=key,
            )
            return Card(content=text(actor.locale, "card.pinned"))

        await self.private.answer(interaction, act, typed=words)

    async def open_form(self, pressed: Pressed) -> None:
        """The form for the answer that the button stands under."""
        form = new_form(FORM, f"{pressed.ref}:{pressed.interaction.id}", locale_of(pressed.interaction))
        await pressed.interaction.response.send_modal(FormModal(form))

    async def menu(self, interaction: discord.Interaction[Any], message: str) -> None:
        """The form for a message of Discord, which must be one of a thread of ours."""

        async def make(actor: Actor, spot: Spot) -> Form:
            await self.actions.found(actor, spot, message)
            return new_form(AT, f"{message}:{interaction.id}", actor.locale)

        await self.private.open(interaction, make)

    async def take_form(self, pressed: Pressed) -> None:
        ref, _, opening = pressed.ref.rpartition(":")

        async def act(actor: Actor, spot: Spot) -> Card:
            thread_id = await self.actions.thread(actor, spot, "/pin")
            return await self._pin(actor, thread_id, ref, opening, pressed)

        await self.private.answer(pressed.interaction, act, typed=pressed.typed)

    async def take_form_at(self, pressed: Pressed) -> None:
        message, _, opening = pressed.ref.rpartition(":")

        async def act(actor: Actor, spot: Spot) -> Card:
            found = await self.actions.found(actor, spot, message)
            ref = await self.actions.message_id_of(actor, found)
            return await self._pin(actor, found.thread_id, ref, opening, pressed)

        await self.private.answer(pressed.interaction, act, typed=pressed.typed)

    async def _pin(self, actor: Actor, thread_id: str, ref: str, opening: str, pressed: Pressed) -> Card:
        fields = pressed.fields
        await pin(
            self.services,
            actor,
            thread_id,
            fields.get("kind", ""),
            fields.get("text", ""),
            message_id=ref,
            event_key=f"discord:pin:{opening}",
        )
        return Card(content=text(actor.locale, "card.pinned"))

    # --- the list -------------------------------------------------------------------------------------------------

    async def command_pins(self, interaction: discord.Interaction[Any]) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            thread_id = await self.actions.thread(actor, spot, "/pins")
            return await self.listed(actor, thread_id, 0)

        await self.private.answer(interaction, act)

    async def show_page(self, pressed: Pressed) -> None:
        thread_id, _, page = pressed.ref.partition(":")

        async def act(actor: Actor, spot: Spot) -> Card:
            return await self.listed(actor, thread_id, int(page) if page.isdecimal() else 0)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def listed(self, actor: Actor, thread_id: str, page: int) -> Card:
        """A page of a thread's pins, counted from 0. Raises Refusal."""
        return pins_card(thread_id, await list_pins(self.services, actor, thread_id), page, actor.locale)

    async def show(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            return await self._card(actor, pressed.ref, pressed.chosen)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def _card(self, actor: Actor, thread_id: str, pin_id: str) -> Card:
        versions = await show_pin_history(self.services, actor, pin_id)
        return pin_card(thread_id, versions, actor.locale)

    async def open_edit(self, pressed: Pressed) -> None:
        async def make(actor: Actor, spot: Spot) -> Form:
            newest = (await show_pin_history(self.services, actor, pressed.ref))[-1]
            if newest.id != pressed.ref or newest.ended_at is not None:
                raise Refusal("pin_changed")
            return edit_form(newest, f"{pressed.ref}:{pressed.interaction.id}", actor.locale)

        await self.private.open(pressed.interaction, make)

    async def take_edit(self, pressed: Pressed) -> None:
        pin_id, _, opening = pressed.ref.partition(":")

        async def act(actor: Actor, spot: Spot) -> Card:
            new = await edit_pin(
                self.services,
                actor,
                pin_id,
                together("text", pressed.fields, NOTHING, ""),
                kind=pressed.fields.get("kind") or None,
                event_key=f"discord:pin:{opening}",
            )
            thread_id = await self.actions.thread(actor, spot, "/pins")
            return await self._card(actor, thread_id, new)

        await self.private.answer(pressed.interaction, act, in_place=True, typed=pressed.typed)

    async def remove(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            await remove_pin(self.services, actor, pressed.ref, event_key=f"discord:unpin:{pressed.ref}")
            thread_id = await self.actions.thread(actor, spot, "/pins")
            listed = await self.listed(actor, thread_id, 0)
            done = text(actor.locale, "discord.pin_removed")
            return Card(
                content=head(f"{done}\n{listed.content}", CONTENT), buttons=listed.buttons, menu=listed.menu
            )

        await self.private.answer(pressed.interaction, act, in_place=True)


# --- what people see ------------------------------------------------------------------------------------------------


def _kind_field(locale: str, chosen: str) -> Field:
    options = tuple(
        Option(label=text(locale, f"pin_kind.{kind.value}"), value=kind.value) for kind in PinKind
    )
    label = head(text(locale, "discord.pin_kind"), FIELD_LABEL)
    return Field(name="kind", label=label, value=chosen, required=True, options=options)


def new_form(action: str, ref: str, locale: str) -> Form:
    """The form of a pin that a message is marked with."""
    typed = Field(
        name="text",
        label=head(text(locale, "discord.pin_text"), FIELD_LABEL),
        description=head(text(locale, "discord.pin_text_how"), OPTION_TEXT),
        long=True,
    )
    title = head(text(locale, "button.pin"), FORM_TITLE)
    return Form(title=title, action=action, ref=ref, fields=(_kind_field(locale, ""), typed))


def edit_form(newest: Pin, ref: str, locale: str) -> Form:
    """The form of another version; a pin is never too long for it."""
    parts = apart(newest.text, FORM_FIELDS - 1)
    label = head(text(locale, "discord.pin_text"), FIELD_LABEL - 2)
    return Form(
        title=head(text(locale, "discord.pin_edit"), FORM_TITLE),
        action=CHANGE,
        ref=ref,
        fields=(_kind_field(locale, newest.kind.value), *fields_for("text", label, parts, note="")),
    )


def pins_card(thread_id: str, pins: Sequence[Pin], page: int, locale: str) -> Card:
    """A page of the pins with a menu to pick one; all stand in the file, to the letter."""
    if not pins:
        return Card(content=text(locale, "discord.no_pins"))
    last = (len(pins) - 1) // OPTIONS
    page = min(page, last)
    here = list(enumerate(pins, start=1))[page * OPTIONS : (page + 1) * OPTIONS]
    lines = [f"**{text(locale, 'discord.pins', count=len(pins))}**"]
    lines += [f"{n}\\. {_kind(one, locale)}: {plain(one.text, LINE)}" for n, one in here]
    options = tuple(
        Option(
            label=head(f"{number}. {_kind(one, locale)}", OPTION_TEXT),
            value=one.id,
            description=head(" ".join(one.text.split()), OPTION_TEXT),
        )
        for number, one in here
    )
    turns = [("discord.page_before", page - 1), ("discord.page_after", page + 1)]
    buttons = tuple(
        PressButton(label=text(locale, key), action=PAGE, ref=f"{thread_id}:{number}")
        for key, number in turns
        if 0 <= number <= last
    )
    whole = "\n\n".join(f"{n}. {_kind(one, locale)}\n\n{one.text}" for n, one in enumerate(pins, start=1))
    placeholder = head(text(locale, "discord.pin_choose"), PLACEHOLDER)
    return Card(
        content=head("\n".join(lines), CONTENT),
        buttons=buttons,
        menu=Menu(placeholder=placeholder, action=PICK, ref=thread_id, options=options),
        file=TextFile(name="pins.md", text=whole + "\n"),
    )


def pin_card(thread_id: str, versions: Sequence[Pin], locale: str) -> Card:
    """One pin with its earlier versions; the file holds all of them, to the letter."""
    newest = versions[-1]
    lines = [f"**{_kind(newest, locale)}**", f"> {plain(newest.text, 900)}"]
    lines += [
        f"-# {_version(number, one, locale)}" for number, one in list(enumerate(versions, start=1))[-8:]
    ]
    back = PressButton(label=text(locale, "discord.back_to_pins"), action=PAGE, ref=f"{thread_id}:0")
    buttons: tuple[PressButton, ...] = (back,)
    if newest.ended_at is None:
        edit = PressButton(label=text(locale, "discord.pin_edit"), action=EDIT, ref=newest.id)
        gone = PressButton(label=text(locale, "discord.pin_remove"), action=REMOVE, ref=newest.id)
        buttons = (edit, gone, back)
    whole = "\n\n".join(
        f"{_version(number, one, locale)}\n\n{one.text}" for number, one in enumerate(versions, start=1)
    )
    return Card(
        content=head("\n".join(lines), CONTENT),
        buttons=buttons,
        file=TextFile(name="pin.md", text=whole + "\n"),
    )


def _version(number: int, one: Pin, locale: str) -> str:
    day = f"{one.created_at:%Y-%m-%d}"
    kind = _kind(one, locale)
    return text(locale, "discord.pin_version", number=number, kind=kind, who=plain(one.author), day=day)


def _kind(one: Pin, locale: str) -> str:
    return text(locale, f"pin_kind.{one.kind.value}")
