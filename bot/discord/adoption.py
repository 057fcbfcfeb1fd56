"""Adoption on Discord: the private review and request in a branch, and the decisions on its card in the parent."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import discord

from bot import carried
from bot.discord.action import Actions, Spot
from bot.discord.adoption_card import (
    ASK,
    CHOICES,
    CHOOSE,
    CONFLICT,
    EDIT,
    FORM,
    GROUPS,
    NAME,
    REQUEST,
    SHOW,
    WHY,
    Asked,
    adoptions_card,
    changes_card,
    conflict_card,
    name_form,
    reason_form,
    review_card,
    texts_form,
    waiting_card,
)
from bot.discord.card import Card, Form, PressButton
from bot.discord.component import FormModal
from bot.discord.pieces import left_in
from bot.discord.private import Later, Press, Pressed, Private, locale_of, problem_on
from core import i18n
from core.commands.adoption import (
    AdoptionRequest,
    AdoptionReview,
    begin_review,
    edit_review,
    list_adoptions,
    reject,
    request_adoption,
    show_changes,
    show_review,
)
from core.commands.artifact import show_artifact
from core.commands.pin import list_pins
from core.commands.services import Services
from core.commands.text import TextCommand, Word
from core.domain.adoption import Choice, Conflict, ReviewForm
from core.domain.artifact import artifact_name, diff
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.view import ButtonAction
from core.i18n import text

CHANGES: Final = "ad_changes"


@dataclass(frozen=True, slots=True)
class Adoptions:
    services: Services
    actions: Actions
    private: Private

    def presses(self) -> Mapping[str, Press]:
        """What its buttons, menus and forms do."""
        return {
            ButtonAction.ADOPT: self.adopt,
            SHOW: self.show,
            EDIT: self.open_texts,
            FORM: self.take_texts,
            CONFLICT: self.show_conflict,
            CHOOSE: self.take_choice,
            NAME: self.open_name,
            ASK: self.open_reason,
            REQUEST: self.request,
            ButtonAction.REJECT: self.open_rejection,
            WHY: self.take_rejection,
            ButtonAction.SHOW_CHANGES: self.show_changes,
            CHANGES: self.show_chosen,
        }

    # --- the review -----------------------------------------------------------------------------------------------

    async def adopt(self, pressed: Pressed) -> None:
        """The button under an answer of a branch."""

        async def act(actor: Actor, spot: Spot) -> Later:
            return await self._begin(actor, pressed.ref, pressed.key)

        await self.private.answer(pressed.interaction, act)

    async def command_adopt(self, interaction: discord.Interaction[Any]) -> None:
        """`/adopt`: about the branch in which it is given."""

        async def act(actor: Actor, spot: Spot) -> Later:
            branch_id = await self.actions.thread(actor, spot, "/adopt")
            return await self._begin(actor, branch_id, f"discord:interaction:{interaction.id}")

        await self.private.answer(interaction, act)

    async def typed(self, actor: Actor, branch_id: str, reason: str, key: str) -> Card:
        """The word: the review is drafted, and opens in private from a button. Raises Refusal."""
        review_id = await begin_review(self.services, actor, branch_id, reason=reason, event_key=key)
        opens = PressButton(
            label=text(actor.locale, "discord.open_review"), action=SHOW, ref=review_id, strong=True
        )
        return Card(content=text(actor.locale, "discord.adopt_begun"), buttons=(opens,))

    async def _begin(self, actor: Actor, branch_id: str, key: str) -> Later:
        review_id = await begin_review(self.services, actor, branch_id, event_key=key)
        return self._when_drafted(actor, review_id)

    def _when_drafted(self, actor: Actor, review_id: str) -> Later:
        async def drafted() -> bool:
            return (await show_review(self.services, actor, review_id)).draft is not None

        async def then() -> Card:
            await self.private.until(drafted)
            return await self._card(actor, review_id)

        return Later(card=waiting_card(review_id, actor.locale), then=then)

    async def _card(self, actor: Actor, review_id: str) -> Card:
        """The review as it stands now."""
        review = await show_review(self.services, actor, review_id)
        if review.form is None:
            return waiting_card(review_id, actor.locale)
        pins = await list_pins(self.services, actor, review.branch.id)
        return review_card(review_id, review, review.form, pins, actor.locale)

    async def show(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card | Later:
            review = await show_review(self.services, actor, pressed.ref)
            if review.form is None:
                return self._when_drafted(actor, pressed.ref)
            return await self._card(actor, pressed.ref)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def _drafted(self, actor: Actor, review_id: str) -> tuple[AdoptionReview, ReviewForm]:
        review = await show_review(self.services, actor, review_id)
        if review.form is None:
            raise Refusal("handover_drafting")
        return review, review.form

    async def open_texts(self, pressed: Pressed) -> None:
        review_id, _, group = pressed.ref.partition(":")

        async def make(actor: Actor, spot: Spot) -> Form:
            _, form = await self._drafted(actor, review_id)
            if group not in GROUPS:
                raise Refusal("button_outdated")
            return texts_form(review_id, group, form, str(pressed.interaction.id), actor.locale)

        await self.private.open(pressed.interaction, make)

    async def take_texts(self, pressed: Pressed) -> None:
        review_id, group, _, marks = (*pressed.ref.split(":"), "", "", "")[:4]

        async def act(actor: Actor, spot: Spot) -> Card:
            _, form = await self._drafted(actor, review_id)
            if group not in GROUPS:
                raise Refusal("button_outdated")
            current = {name: str(form.texts.get(name, "")) for name in GROUPS[group]}
            left = {n: words.strip() for n, words in left_in(pressed.fields, marks, current).items()}
            kept = replace(form, texts={**form.texts, **left})
            await edit_review(self.services, actor, review_id, kept)
            return await self._card(actor, review_id)

        await self.private.answer(pressed.interaction, act, in_place=True, typed=pressed.typed)

    # --- conflicts ------------------------------------------------------------------------------------------------

    async def show_conflict(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            return await self._conflict_card(actor, pressed.ref, pressed.chosen)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def _conflict_card(self, actor: Actor, review_id: str, artifact_id: str) -> Card:
        """What the branch's version would change in the parent's."""
        review, form = await self._drafted(actor, review_id)
        conflict = _conflict(review, artifact_id)
        sides = (
            (review.parent, conflict.parent_version),
            (review.branch, conflict.branch_version),
        )
        theirs, ours = [
            (await show_artifact(self.services, actor, thread.id, conflict.name, number=number)).text
            for thread, number in sides
        ]
        return conflict_card(review_id, conflict, diff(theirs, ours), form, actor.locale)

    async def open_name(self, pressed: Pressed) -> None:
        review_id, _, artifact_id = pressed.ref.partition(":")

        async def make(actor: Actor, spot: Spot) -> Form:
            review, form = await self._drafted(actor, review_id)
            chosen = form.choices.get(artifact_id) or {"new_name": ""}
            name = chosen["new_name"] or _conflict(review, artifact_id).name
            return name_form(f"{pressed.ref}:n", name, actor.locale)

        await self.private.open(pressed.interaction, make)

    async def take_choice(self, pressed: Pressed) -> None:
        """One of the three ways, by a button or with the new name from its form."""
        review_id, artifact_id, letter = (*pressed.ref.split(":"), "", "")[:3]
        typed = pressed.fields.get("new_name", "")

        async def act(actor: Actor, spot: Spot) -> Card:
            review, form = await self._drafted(actor, review_id)
            conflict = _conflict(review, artifact_id)
            choice = CHOICES.get(letter, Choice.KEEP_BOTH)
            name = artifact_name(typed) if choice is Choice.KEEP_BOTH else ""
            chosen = {conflict.branch_artifact: {"choice": choice.value, "new_name": name}}
            kept = replace(form, choices={**form.choices, **chosen})
            await edit_review(self.services, actor, review_id, kept)
            return await self._card(actor, review_id)

        await self._answer_on_review(pressed, review_id, act)

    async def _answer_on_review(
        self, pressed: Pressed, review_id: str, act: Callable[[Actor, Spot], Awaitable[Card]]
    ) -> None:
        """Carry out; a refusal stands above the review, which keeps all that was filled in."""

        async def tried(actor: Actor, spot: Spot) -> Card:
            try:
                return await act(actor, spot)
            except Refusal as refusal:
                card = await self._card(actor, review_id)
                return problem_on(card, i18n.refusal(actor.locale, refusal))

        await self.private.answer(pressed.interaction, tried, in_place=True, typed=pressed.typed)

    # --- the request ----------------------------------------------------------------------------------------------

    async def open_reason(self, pressed: Pressed) -> None:
        async def make(actor: Actor, spot: Spot) -> Form:
            _, form = await self._drafted(actor, pressed.ref)
            ref = f"{pressed.ref}:{pressed.interaction.id}"
            return reason_form(REQUEST, ref, form.reason, actor.locale)

        await self.private.open(pressed.interaction, make)

    async def request(self, pressed: Pressed) -> None:
        """Ask for the adoption; what was filled in is kept whether it is taken or not."""
        review_id, _, opening = pressed.ref.partition(":")
        reason = pressed.fields.get("reason", "")

        async def act(actor: Actor, spot: Spot) -> Card:
            review, form = await self._drafted(actor, review_id)
            await edit_review(self.services, actor, review_id, replace(form, reason=reason))
            found = {one.branch_artifact for one in review.conflicts}
            request = AdoptionRequest(
                branch_id=review.branch.id,
                reason=reason,
                texts=form.texts,
                choices={one: chosen for one, chosen in form.choices.items() if one in found},
            )
            key = f"discord:request:{review_id}:{opening}"
            await request_adoption(self.services, actor, request, event_key=key)
            return Card(content=text(actor.locale, "card.requested"))

        await self._answer_on_review(pressed, review_id, act)

    # --- decisions ------------------------------------------------------------------------------------------------

    async def command(self, interaction: discord.Interaction[Any], word: Word, reason: str) -> None:
        """`/approve`, `/reject` and `/withdraw`: about the request that waits here."""
        key = f"discord:interaction:{interaction.id}"

        async def act(actor: Actor, spot: Spot) -> Card:
            thread_id = await self.actions.thread(actor, spot, f"/{word.value}")
            command = TextCommand(word=word, rest=reason)
            return Card(content=await carried.typed(self.services, actor, thread_id, command, key))

        await self.private.answer(interaction, act, typed=reason)

    async def open_rejection(self, pressed: Pressed) -> None:
        """The form that asks why; who may decide is looked at when it is sent."""
        ref, locale = f"{pressed.ref}:{pressed.interaction.id}", locale_of(pressed.interaction)
        await pressed.interaction.response.send_modal(FormModal(reason_form(WHY, ref, "", locale)))

    async def take_rejection(self, pressed: Pressed) -> None:
        adoption_id, _, opening = pressed.ref.partition(":")

        async def act(actor: Actor, spot: Spot) -> Card:
            reason = pressed.fields.get("reason", "")
            await reject(self.services, actor, adoption_id, reason, event_key=f"discord:reject:{opening}")
            return Card(content=text(actor.locale, "card.rejected"))

        await self.private.answer(pressed.interaction, act, typed=pressed.typed)

    # --- looking --------------------------------------------------------------------------------------------------

    async def show_changes(self, pressed: Pressed) -> None:
        await self._show_changes(pressed, pressed.ref)

    async def show_chosen(self, pressed: Pressed) -> None:
        await self._show_changes(pressed, pressed.chosen)

    async def _show_changes(self, pressed: Pressed, adoption_id: str) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            return changes_card(await show_changes(self.services, actor, adoption_id), actor.locale)

        await self.private.answer(pressed.interaction, act)

    async def command_adoptions(self, interaction: discord.Interaction[Any]) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            return await self.listed(actor, await self.actions.thread(actor, spot, "/adoptions"))

        await self.private.answer(interaction, act)

    async def listed(self, actor: Actor, thread_id: str) -> Card:
        """The requests from a thread and into it, newest first. Raises Refusal."""
        asked = [
            Asked(
                adoption_id=one.id,
                status=one.status,
                day=f"{one.created_at:%Y-%m-%d}",
                reason=one.reason,
            )
            for one in await list_adoptions(self.services, actor, thread_id)
        ]
        return adoptions_card(asked, CHANGES, actor.locale)


def _conflict(review: AdoptionReview, artifact_id: str) -> Conflict:
    """Raises Refusal `conflict_gone` when the name is no longer in both threads."""
    found = next((one for one in review.conflicts if one.branch_artifact == artifact_id), None)
    if found is None:
        raise Refusal("conflict_gone")
    return found
