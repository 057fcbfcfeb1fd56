"""Commands, buttons, menus and forms: one router for all, which needs no memory and so works after every restart."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import discord
from discord import app_commands

from bot.discord.access import Members
from bot.discord.action import Actions, Spot
from bot.discord.adoption import Adoptions
from bot.discord.card import Card, Field, Form, read_custom_id
from bot.discord.channel import Channels
from bot.discord.command import command_named
from bot.discord.component import FormModal
from bot.discord.evaluation import Evaluations
from bot.discord.handover import Handovers
from bot.discord.limit import CHOICE_TEXT, CHOICES, head
from bot.discord.parse import Invocation, answers_of, invocation_of
from bot.discord.pin import Pins
from bot.discord.plan import START, plan_of
from bot.discord.private import FIRST_ANSWER_S, Press, Pressed, Private, locale_of
from bot.discord.prompt import Prompts
from bot.discord.prompt_change import PromptChanges
from bot.discord.review import Reviews
from bot.discord.sending import Sendings
from bot.discord.start import Starts
from bot.discord.suggest import suggest
from bot.discord.traffic import failure_of
from core import i18n
from core.commands.branch import REASON_CHARS
from core.commands.sending import SendRequest
from core.commands.services import Services
from core.commands.text import STARTS, Word
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable
from core.domain.policy import Actor
from core.domain.thread import TITLE_CHARS, Mode
from core.domain.view import ButtonAction

log = logging.getLogger(__name__)

SUGGESTIONS_S: Final = 2.5
REMEMBERED: Final = 1_000
ANSWER_WITH: Final = "answer_with"

Act = Callable[[], Awaitable[Card]]


@dataclass
class Interactions:
    services: Services
    actions: Actions
    channels: Channels
    members: Members
    starts: Starts
    private: Private
    handovers: Handovers
    adoptions: Adoptions
    pins: Pins
    reviews: Reviews
    sendings: Sendings
    prompts: Prompts
    evals: Evaluations
    prompt_changes: PromptChanges
    seen: deque[int] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    @property
    def routes(self) -> Mapping[str, Press]:
        """What is done with a component or a form that belongs to one of the features, by its action."""
        return {
            **self.handovers.presses(),
            **self.adoptions.presses(),
            **self.pins.presses(),
            **self.reviews.presses(),
            **self.sendings.presses(),
            **self.prompts.presses(),
            **self.evals.presses(),
            **self.prompt_changes.presses(),
        }

    async def take(self, interaction: discord.Interaction[Any]) -> None:
        """Answer one interaction; one that was delivered before is nothing."""
        if interaction.id in self.seen:
            return
        self.seen.append(interaction.id)
        try:
            if not isinstance(interaction.user, discord.Member):
                sentence = i18n.text(locale_of(interaction), "refusal.servers_only")
                await interaction.response.send_message(sentence, ephemeral=True)
                return
            self.members.see(interaction.user)
            await self._route(interaction)
        except discord.HTTPException as error:
            # The answer came too late or another process gave it: whoever asked has been told by Discord itself.
            code = failure_of(error).code
            log.warning(
                "an interaction could not be answered (%s)", code, extra={"interaction": interaction.id}
            )

    async def _route(self, interaction: discord.Interaction[Any]) -> None:
        data: Mapping[str, Any] = interaction.data or {}
        match interaction.type:
            case discord.InteractionType.application_command:
                await self._command(interaction, invocation_of(data), is_menu=data.get("type") == 3)
            case discord.InteractionType.autocomplete:
                await self._suggest(interaction, invocation_of(data))
            case discord.InteractionType.component:
                await self._component(interaction, data)
            case discord.InteractionType.modal_submit:
                await self._form(interaction, data)
            case _:
                log.warning("an interaction of an unknown kind", extra={"kind": str(interaction.type)})

    # --- commands -------------------------------------------------------------------------------------------------

    async def _command(
        self, interaction: discord.Interaction[Any], asked: Invocation, *, is_menu: bool
    ) -> None:
        command = command_named(asked.name, is_menu=is_menu)
        own = self._own_answers(interaction, asked)
        if command is not None and command.name in own:
            await own[command.name]()
            return

        async def act(actor: Actor, spot: Spot) -> Card:
            if command is None:
                raise Refusal("command_outdated", command=asked.name)
            return await self._carry_out(interaction, command.name, asked, actor, spot)

        await self.private.answer(interaction, act)

    def _own_answers(
        self, interaction: discord.Interaction[Any], asked: Invocation
    ) -> dict[str, Callable[[], Awaitable[None]]]:
        """Commands that open a form, or that show a card before the one that counts."""
        options = asked.options

        def decide(word: Word) -> Callable[[], Awaitable[None]]:
            return lambda: self.adoptions.command(interaction, word, options.get("reason", ""))

        return {
            "menu_branch": lambda: self._open_branch_form(interaction, asked.target),
            "menu_review": lambda: self.reviews.menu(interaction, asked.target),
            "menu_pin": lambda: self.pins.menu(interaction, asked.target),
            "review": lambda: self.reviews.command(interaction, options),
            "handover": lambda: self.handovers.command(interaction, options.get("target", "")),
            "pin": lambda: self.pins.command(interaction, options),
            "pins": lambda: self.pins.command_pins(interaction),
            "prompts": lambda: self.prompts.command(interaction, options.get("prompt", "")),
            "adopt": lambda: self.adoptions.command_adopt(interaction),
            "adoptions": lambda: self.adoptions.command_adoptions(interaction),
            **{word.value: decide(word) for word in (Word.APPROVE, Word.REJECT, Word.WITHDRAW)},
        }

    async def _carry_out(
        self, interaction: discord.Interaction[Any], name: str, asked: Invocation, actor: Actor, spot: Spot
    ) -> Card:
        actions, options, key = self.actions, asked.options, f"interaction:{interaction.id}"
        acts: dict[str, Act] = {
            "chat": lambda: self.starts.chat(actor, spot, asked, key=str(interaction.id)),
            "branch": lambda: actions.branch_here(
                actor,
                spot,
                options.get("position") or None,
                options.get("name", ""),
                options.get("reason", ""),
                key=key,
            ),
            "retry": lambda: actions.retry(actor, spot, options.get("model"), key=key),
            "stop": lambda: actions.stop_here(actor, spot),
            "input": lambda: actions.input_here(actor, spot, options.get("position")),
            "rename": lambda: actions.rename(actor, spot, options["title"]),
            "save": lambda: actions.save_here(
                actor,
                spot,
                options.get("position", ""),
                options.get("artifact", ""),
                as_version=options.get("as_version") == str(True),
                key=key,
            ),
            "artifacts": lambda: self._artifacts(actor, spot, options, key=key),
            "threads": lambda: actions.threads(actor),
            "models": lambda: actions.models(actor),
            "usage": lambda: actions.usage(actor, options.get("by", "day")),
            "help": lambda: actions.help(actor, spot),
            "menu_input": lambda: self._menu_input(actor, spot, asked.target),
            "menu_keep": lambda: self._menu_keep(actor, spot, asked.target, key=key),
        }
        if name in STARTS:
            plan = plan_of(Mode(name), options, asked.files)
            return await self.starts.offer(actor, spot, plan, ref=str(interaction.id), in_file=True)
        return await acts[name]()

    async def _artifacts(self, actor: Actor, spot: Spot, options: Mapping[str, str], *, key: str) -> Card:
        name, version, to = (options.get(each, "") for each in ("artifact", "version", "to"))
        if not to:
            send = options.get("send") == str(True)
            return await self.actions.artifacts(actor, spot, name, version, send=send, key=key)
        request = SendRequest(
            thread_id=await self.actions.thread(actor, spot, "/artifacts"),
            name=name,
            to_thread_id=to,
            number=int(version) if version else None,
        )
        return await self.sendings.carry_out(actor, request, f"discord:{key}")

    async def _menu_input(self, actor: Actor, spot: Spot, message: str) -> Card:
        return await self.actions.input_at(actor, await self.actions.found(actor, spot, message))

    async def _menu_keep(self, actor: Actor, spot: Spot, message: str, *, key: str) -> Card:
        return await self.actions.keep_at(actor, await self.actions.found(actor, spot, message), key=key)

    async def _suggest(self, interaction: discord.Interaction[Any], asked: Invocation) -> None:
        """Suggest values, at most what fits; nothing when that takes too long or is not for this person."""
        begun = asked.options.get(asked.focused, "")
        found: list[tuple[str, str]] = []
        try:
            async with asyncio.timeout(SUGGESTIONS_S):
                actor, spot = await self.private.who(interaction)
                found = await suggest(self.services, actor, spot, asked.focused, begun)
        except (Refusal, StoreUnavailable, PlatformFailure, TimeoutError) as problem:
            log.info("nothing is suggested (%s)", type(problem).__name__)
        choices = [
            app_commands.Choice(name=head(label, CHOICE_TEXT), value=head(value, CHOICE_TEXT))
            for label, value in found[:CHOICES]
        ]
        await interaction.response.autocomplete(choices)

    # --- buttons, menus and forms ---------------------------------------------------------------------------------

    async def _component(self, interaction: discord.Interaction[Any], data: Mapping[str, Any]) -> None:
        read = read_custom_id(str(data.get("custom_id", "")))
        chosen = str(next(iter(data.get("values") or ()), ""))
        if read is not None and read[0] in self.routes:
            await self.routes[read[0]](Pressed(interaction=interaction, ref=read[1], chosen=chosen))
            return
        if read is None or read[0] not in (*ButtonAction, ANSWER_WITH, START):
            await self.private.answer(interaction, _outdated)
            return
        action, ref = read
        if action == ButtonAction.BRANCH:
            await interaction.response.send_modal(
                FormModal(_branch_form(locale_of(interaction), "branch", f"{ref}:{interaction.id}"))
            )
            return

        async def act(actor: Actor, spot: Spot) -> Card:
            return await self._press(interaction, action, ref, chosen, actor, spot)

        await self.private.answer(interaction, act)

    async def _press(
        self,
        interaction: discord.Interaction[Any],
        action: str,
        ref: str,
        chosen: str,
        actor: Actor,
        spot: Spot,
    ) -> Card:
        actions, key = self.actions, f"interaction:{interaction.id}"
        match action:
            case ButtonAction.RETRY:
                thread_id = await actions.thread(actor, spot, "/retry")
                return await actions.again(actor, thread_id, ref, None, key=key)
            case _ if action == START:
                return await self.starts.begin(actor, spot, interaction.message, ref)
            case _ if action == ANSWER_WITH:
                thread_id = await actions.thread(actor, spot, "/retry")
                return await actions.again(actor, thread_id, ref, chosen, key=key)
            case ButtonAction.OTHER_MODEL:
                await actions.thread(actor, spot, "/retry")
                return await actions.other_models(actor, ref)
            case ButtonAction.SHOW_INPUT:
                return await actions.input(actor, ref)
            case ButtonAction.STOP | ButtonAction.STOP_ONE | ButtonAction.STOP_RUN:
                return await actions.stop_run(actor, ref)
            case ButtonAction.KEEP_ANSWER:
                return await actions.keep(actor, ref, key=key)
            case _:
                card = await actions.on_answer(actor, action, ref, key=key)
        if card is None:
            raise Refusal("button_outdated")
        return card

    async def _open_branch_form(self, interaction: discord.Interaction[Any], message: str) -> None:
        """The form for a branch at a message, unless the message is known to be none of ours."""
        try:
            async with asyncio.timeout(FIRST_ANSWER_S):
                actor, spot = await self.private.who(interaction)
                await self.actions.found(actor, spot, message)
        except Refusal as refusal:
            sentence = i18n.refusal(locale_of(interaction), refusal)
            await interaction.response.send_message(sentence, ephemeral=True)
            return
        except (TimeoutError, StoreUnavailable, PlatformFailure):
            log.info("a form is opened unchecked; it is checked when it is sent")
        await interaction.response.send_modal(
            FormModal(_branch_form(locale_of(interaction), "branch_at", f"{message}:{interaction.id}"))
        )

    async def _form(self, interaction: discord.Interaction[Any], data: Mapping[str, Any]) -> None:
        read = read_custom_id(str(data.get("custom_id", "")))
        fields = answers_of(data.get("components") or ())
        if read is not None and read[0] in self.routes:
            await self.routes[read[0]](Pressed(interaction=interaction, ref=read[1], fields=fields))
            return
        if read is None or read[0] not in ("branch", "branch_at"):
            await self.private.answer(interaction, _outdated)
            return
        action, (ref, _, opening) = read[0], read[1].rpartition(":")
        name, reason, key = fields.get("name", ""), fields.get("reason", ""), f"form:{opening}"

        async def act(actor: Actor, spot: Spot) -> Card:
            if action == "branch_at":
                found = await self.actions.found(actor, spot, ref)
                return await self.actions.branch_at(actor, found.thread_id, found.ref, name, reason, key=key)
            thread_id = await self.actions.thread(actor, spot, "/branch")
            return await self.actions.branch_at(actor, thread_id, ref, name, reason, key=key)

        await self.private.answer(interaction, act)


async def _outdated(actor: Actor, spot: Spot) -> Card:
    raise Refusal("button_outdated")


def _branch_form(locale: str, action: str, ref: str) -> Form:
    return Form(
        title=i18n.text(locale, "discord.branch_title"),
        action=action,
        ref=ref,
        fields=(
            Field(
                name="name",
                label=i18n.text(locale, "discord.branch_name"),
                description=i18n.text(locale, "discord.branch_name_how"),
                max_chars=TITLE_CHARS,
            ),
            Field(
                name="reason",
                label=i18n.text(locale, "discord.branch_reason"),
                long=True,
                max_chars=REASON_CHARS,
            ),
        ),
    )
