"""Changing prompts on Discord: edited in forms, saved, looked after, made live and rolled back, each with a reason.

Nothing is remembered here between the steps: cards and forms carry ids, and what was typed is the person's draft.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import discord

from bot.discord.action import Spot
from bot.discord.attachment import Attachments
from bot.discord.card import Card, Form
from bot.discord.opening import once_opened
from bot.discord.parse import files_of
from bot.discord.private import Press, Pressed
from bot.discord.prompt import Prompts
from bot.discord.prompt_card import DRAFT, EDIT, MOVE
from bot.discord.prompt_draft import (
    ASK_SAVE,
    DROP,
    JOIN,
    TYPED,
    ask_move,
    ask_save,
    draft_card,
    once_more_card,
)
from bot.discord.prompt_form import (
    DO,
    REASON,
    SAVE,
    STEP,
    TEXT,
    by_short,
    edit_form,
    move_form,
    part_of,
    read_aim,
    save_form,
    typed_in,
    words_in,
)
from bot.prompt_act import (
    STALE,
    VERIFY,
    WITHDRAWN,
    Move,
    all_the_same,
    carry_out,
    drafted,
    join_changes,
    keep_part,
    save,
)
from bot.prompt_outline import begun_from
from core import i18n
from core.commands.prompt import show_prompt
from core.commands.prompt_edit import drop_draft
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.prompt import PromptText

OPENINGS: Final = 10**12
"""Of the number of a press, what is carried on: enough that no two of a person's are alike."""

REASONS: Final = ("prompt_reason_missing", "prompt_reason_long")
"""Refusals of a reason alone."""


@dataclass(frozen=True, slots=True)
class PromptChanges:
    prompts: Prompts
    attachments: Attachments

    def presses(self) -> Mapping[str, Press]:
        """What its buttons and forms do."""
        return {
            EDIT: self.open_part,
            TEXT: self.take_part,
            DRAFT: self.show_draft,
            JOIN: self.join,
            DROP: self.drop,
            ASK_SAVE: self.open_save,
            SAVE: self.take_save,
            MOVE: self.open_move,
            DO: self.take_move,
        }

    # --- editing --------------------------------------------------------------------------------------------------

    async def open_part(self, pressed: Pressed) -> None:
        async def make(actor: Actor, spot: Spot) -> Form:
            name, file = part_of(pressed.ref)
            page = await show_prompt(self.prompts.services, actor, name)
            return edit_form(begun_from(page), file, actor.locale)

        await self.prompts.private.open(pressed.interaction, make)

    async def take_part(self, pressed: Pressed) -> None:
        """Keep a part as it was typed; whether it can be saved so is said by the draft."""

        async def shown(actor: Actor) -> Card:
            about = typed_in(pressed.ref)
            page = await show_prompt(self.prompts.services, actor, about.name)
            base, newest = by_short(about.base)(page), by_short(about.head)(page)
            begun = PromptText(name=about.name, base_id=base.version_id, head_id=newest.version_id)
            words = words_in(pressed.fields)
            await keep_part(self.prompts.services, actor, begun, about.file, words, key=pressed.key)
            return await self._draft(actor, about.name)

        await self.prompts.show(pressed, pressed.ref.partition(":")[0], shown)

    async def show_draft(self, pressed: Pressed) -> None:
        await self.prompts.show(pressed, pressed.ref, lambda actor: self._draft(actor, pressed.ref))

    async def join(self, pressed: Pressed) -> None:
        """Lay the draft over what others saved meanwhile; a reason that was given in vain stays with it."""

        async def shown(actor: Actor) -> Card:
            await join_changes(self.prompts.services, actor, pressed.ref, key=pressed.key)
            reason = await self._typed_on(pressed.interaction.message)
            return await self._draft(actor, pressed.ref, typed=reason)

        await self.prompts.show(pressed, pressed.ref, shown)

    async def drop(self, pressed: Pressed) -> None:
        async def shown(actor: Actor) -> Card:
            await drop_draft(self.prompts.services, actor, pressed.ref, event_key=pressed.key)
            done = i18n.text(actor.locale, "console.prompt_draft_dropped")
            return await self.prompts.page(actor, pressed.ref, done)

        await self.prompts.show(pressed, pressed.ref, shown)

    async def _draft(self, actor: Actor, name: str, sentence: str = "", typed: str = "") -> Card:
        found = await drafted(self.prompts.services, actor, name)
        return await asyncio.to_thread(draft_card, found, actor.locale, sentence, typed)

    # --- saving ---------------------------------------------------------------------------------------------------

    async def open_save(self, pressed: Pressed) -> None:
        name, _, mark = pressed.ref.partition(":")

        async def make(actor: Actor, spot: Spot) -> Form:
            found = await drafted(self.prompts.services, actor, name)
            reason = await self._typed_on(pressed.interaction.message)
            opening = str(pressed.interaction.id)
            return save_form(found, opening, reason, actor.locale, acknowledged=mark == "a")

        await self.prompts.private.open(pressed.interaction, make)

    async def take_save(self, pressed: Pressed) -> None:
        """Save the draft as a version, once for each form."""
        name, mark, opening = (*pressed.ref.split(":"), "", "")[:3]
        reason, step = pressed.fields.get(REASON, ""), pressed.fields.get(STEP, "")

        async def shown(actor: Actor) -> Card:
            try:
                done = await save(
                    self.prompts.services,
                    actor,
                    name,
                    reason=reason,
                    version=step,
                    acknowledged=mark == "a",
                    key=f"discord:prompt:{opening}",
                )
            except Refusal as refused:
                sentence = i18n.refusal(actor.locale, refused)
                if refused.code in STALE:
                    return await self._draft(actor, name, sentence, typed=reason)
                if refused.code not in (WITHDRAWN, *REASONS):
                    raise
                knows = mark == "a" or refused.code == WITHDRAWN
                key = (
                    "chat_prompts.all_the_same"
                    if refused.code == WITHDRAWN
                    else "discord.prompt_reason_again"
                )
                again = ask_save(name, _t(actor, key), acknowledged=knows)
                return once_more_card(name, again, sentence, reason, actor.locale)
            return await self.prompts.page(actor, name, done)

        await self.prompts.show(pressed, name, shown)

    # --- versions -------------------------------------------------------------------------------------------------

    async def open_move(self, pressed: Pressed) -> None:
        async def make(actor: Actor, spot: Spot) -> Form:
            aim = read_aim(pressed.ref)
            page = await show_prompt(self.prompts.services, actor, aim.name)
            version = by_short(aim.version)(page)
            # What is live moves once for each number; a version can be looked at more than once.
            at = pressed.interaction.id % OPENINGS if aim.kind == VERIFY else page.rev
            reason = await self._typed_on(pressed.interaction.message)
            return move_form(replace(aim, at=at), page, version, reason, actor.locale)

        await self.prompts.private.open(pressed.interaction, make)

    async def take_move(self, pressed: Pressed) -> None:
        """Do something with a version, once for each form."""
        reason = pressed.fields.get(REASON, "")
        name = pressed.ref.partition(":")[0]
        await self.prompts.show(pressed, name, lambda actor: self._move(actor, pressed.ref, reason))

    async def _move(self, actor: Actor, ref: str, reason: str) -> Card:
        aim = read_aim(ref)
        page = await show_prompt(self.prompts.services, actor, aim.name)
        version = by_short(aim.version)(page)
        move = Move(
            kind=aim.kind,
            name=aim.name,
            version_id=version.version_id,
            rev=aim.at,
            reason=reason,
            acknowledged=aim.acknowledged,
            override=aim.override,
        )
        key = f"discord:{aim.kind}:{version.version_id}:{aim.at}:{actor.person_id}"
        try:
            done = await carry_out(self.prompts.services, actor, move, key=key)
        except Refusal as refused:
            if refused.code in REASONS:
                again = ask_move(move, _t(actor, "discord.prompt_reason_again"))
            else:
                again = ask_move(all_the_same(move, refused), _t(actor, "chat_prompts.all_the_same"))
            sentence = i18n.refusal(actor.locale, refused)
            return once_more_card(aim.name, again, sentence, reason, actor.locale)
        card = await self.prompts.page(actor, aim.name, done.sentence)
        if not done.told_in:
            return card
        return await once_opened(self.prompts.private, actor, card, done.told_in)

    async def _typed_on(self, card: discord.Message | None) -> str:
        """A reason that was given in vain, off the card that holds it; empty where there is none any more."""
        files = [file for file in files_of(card) if file.name == TYPED] if card is not None else []
        (upload,) = await self.attachments.fetch(files[:1]) or (None,)
        return upload.data.decode(errors="replace") if upload is not None and not upload.problem else ""


def _t(actor: Actor, key: str) -> str:
    return i18n.text(actor.locale, key)
