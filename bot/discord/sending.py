"""Sending artifacts to other threads on Discord: opened from a list, a version sent where a person picks (spec §7)."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.discord import reply
from bot.discord.action import Spot
from bot.discord.card import Card, Form
from bot.discord.limit import PLATFORM
from bot.discord.private import Press, Pressed, Private
from bot.discord.render import plain
from bot.discord.sending_card import (
    NAME,
    NAMED,
    PAGE,
    SEND,
    SHOW,
    TO,
    every,
    name_form,
    taken_card,
    threads_card,
)
from core import i18n
from core.commands.artifact import saved_by_id, show_artifact
from core.commands.sending import SendRequest, send_artifact
from core.commands.services import Services
from core.commands.thread import list_channels, show_thread
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.view import ArtifactItem
from core.i18n import text


@dataclass(frozen=True, slots=True)
class Sendings:
    services: Services
    private: Private

    def presses(self) -> Mapping[str, Press]:
        """What its buttons, menus and forms do."""
        return {
            SHOW: self.show,
            SEND: self.choose,
            PAGE: self.turn,
            TO: self.send,
            NAME: self.open_name,
            NAMED: self.send_named,
        }

    async def show(self, pressed: Pressed) -> None:
        """The artifact that was chosen in a list."""

        async def act(actor: Actor, spot: Spot) -> Card:
            item = await saved_by_id(self.services, actor, pressed.chosen)
            shown = await show_artifact(self.services, actor, item.thread_id, item.name)
            return reply.artifact(shown, actor.locale)

        await self.private.answer(pressed.interaction, act)

    async def choose(self, pressed: Pressed) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            return await self._threads(actor, spot, pressed.ref, 0)

        await self.private.answer(pressed.interaction, act)

    async def turn(self, pressed: Pressed) -> None:
        ref, _, page = pressed.ref.rpartition(":")

        async def act(actor: Actor, spot: Spot) -> Card:
            return await self._threads(actor, spot, ref, int(page) if page.isdecimal() else 0)

        await self.private.answer(pressed.interaction, act, in_place=True)

    async def _threads(self, actor: Actor, spot: Spot, ref: str, page: int) -> Card:
        """The threads that a version may go to: only those that the person can see, those of the channel first."""
        item, number = await self._meant(actor, ref)
        channels = await list_channels(self.services, actor, PLATFORM)
        ordered = sorted(channels, key=lambda one: one.external_id != spot.place.channel)
        threads = [
            (channel.name, one)
            for channel in ordered
            for one in every(channel.threads)
            if one.place.thread and one.thread_id != item.thread_id
        ]
        if not threads:
            return Card(content=text(actor.locale, "sending.nowhere"))
        return threads_card(item, number, threads, page, actor.locale)

    async def _meant(self, actor: Actor, ref: str) -> tuple[ArtifactItem, int]:
        """The artifact and the version that a button names. Raises Refusal."""
        artifact_id, _, number = ref.partition(":")
        if not number.isdecimal():
            raise Refusal("button_outdated")
        return await saved_by_id(self.services, actor, artifact_id), int(number)

    async def send(self, pressed: Pressed) -> None:
        await self._send(pressed, pressed.ref, pressed.chosen, "")

    async def send_named(self, pressed: Pressed) -> None:
        ref, _, to = pressed.ref.rpartition(":")
        await self._send(pressed, ref, to, pressed.fields.get("name", ""))

    async def _send(self, pressed: Pressed, ref: str, to: str, name: str) -> None:
        async def act(actor: Actor, spot: Spot) -> Card:
            item, number = await self._meant(actor, ref)
            request = SendRequest(
                thread_id=item.thread_id, name=item.name, to_thread_id=to, number=number, new_name=name
            )
            try:
                return await self.carry_out(actor, request, pressed.key)
            except Refusal as refusal:
                if not refusal.code.startswith("artifact_name"):
                    raise
                return taken_card(f"{ref}:{to}", i18n.refusal(actor.locale, refusal), actor.locale)

        await self.private.answer(pressed.interaction, act, in_place=True, typed=pressed.typed)

    async def carry_out(self, actor: Actor, request: SendRequest, key: str) -> Card:
        """Send it; what is said about it. Raises Refusal."""
        sent = await send_artifact(self.services, actor, request, event_key=key)
        title = (await show_thread(self.services, actor, sent.thread_id)).title
        return Card(content=text(actor.locale, "sending.sent", name=plain(sent.name), title=plain(title)))

    async def open_name(self, pressed: Pressed) -> None:
        async def make(actor: Actor, spot: Spot) -> Form:
            item, _ = await self._meant(actor, pressed.ref.rpartition(":")[0])
            return name_form(pressed.ref, item.name, actor.locale)

        await self.private.open(pressed.interaction, make)
