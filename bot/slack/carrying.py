"""Pins, handovers and adoptions asked for on Slack: every button, form, command and word leads to one command.

A draft takes as long as its model does. The form that asked for it waits and is filled in; where it was closed, the
person is told in the thread, once. Nothing of this is remembered here: after a restart the button in the form, or the
same word again, finds the draft.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from bot import carried
from bot.slack import adoption_form, handover_form, sending
from bot.slack.adoption import Adoptions
from bot.slack.adoption_form import CHANGES_FILE, REJECT_FORM, REVIEW_FILE, REVIEW_FORM
from bot.slack.background import Background
from bot.slack.bots import Bot
from bot.slack.caller import Caller, Callers, place
from bot.slack.form import View, note
from bot.slack.handover import DRAFT, HAND_OVER_HERE, Handovers, drafting_card, ready_card
from bot.slack.handover_form import HANDOVER_FORM, MORE_ROOM, TARGET
from bot.slack.page import sentence
from bot.slack.parse import ACTION, Click, Json, Spot, Submission
from bot.slack.people import PLATFORM
from bot.slack.picking import NONE_THERE, PICK, PICKED, REASON, eligible, pick_form
from bot.slack.pin import (
    ADD,
    EDIT_FORM,
    LIST,
    LIST_FORM,
    PIN_EDIT,
    PIN_FORM,
    PIN_HISTORY,
    REMOVE,
    Pins,
)
from bot.slack.private import Private, explain
from bot.slack.render import SlackMessage
from bot.slack.review import ARTIFACT, ARTIFACT_FILE, ARTIFACT_SEND, Reviewer, artifact_meant
from bot.slack.sending import SEND_FORM, Sendings
from bot.slack.sheet import HANDOVER, LOOK, WAITING, Sheet, sheet, waiting
from bot.slack.start_form import WORKFLOW
from core import i18n
from core.commands.event import is_first
from core.commands.place import message_at, thread_at
from core.commands.services import Services
from core.commands.text import TextCommand, Word
from core.commands.thread import list_channels
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable
from core.domain.ids import ThreadId
from core.domain.view import ButtonAction

log = logging.getLogger(__name__)

OPENING: Final = {
    f"{ACTION}{ButtonAction.HAND_OVER.value}": "slack_carry.handover_title",
    f"{ACTION}{ButtonAction.CONTINUE.value}": "slack_carry.handover_title",
    f"{ACTION}{ButtonAction.CONTINUE_BEST.value}": "slack_carry.handover_title",
    HAND_OVER_HERE: "slack_carry.handover_title",
    DRAFT: "slack_carry.draft_title",
    f"{ACTION}{ButtonAction.ADOPT.value}": "slack_carry.review_title",
    f"{ACTION}{ButtonAction.REJECT.value}": "slack_carry.reject_title",
    f"{ACTION}{ButtonAction.SHOW_CHANGES.value}": "slack_carry.changes_title",
    f"{ACTION}{ButtonAction.PIN.value}": "slack_carry.pin_title",
    ARTIFACT: "slack_carry.artifacts_title",
    ARTIFACT_SEND: "sending.title",
    ADD: "slack_carry.pin_title",
    LIST: "slack_carry.pins_title",
    f"{ACTION}{PIN_EDIT}": "slack_carry.pin_edit_title",
    f"{ACTION}{PIN_HISTORY}": "slack_carry.pin_history",
}
"""Buttons that open a form, and its title."""

AT_ONCE: Final = frozenset({REMOVE, ARTIFACT_FILE})
"""Buttons of ours that need no form."""

CARRIED_SHORTCUTS: Final = {
    "message_handover": f"{ACTION}{ButtonAction.HAND_OVER.value}",
    "message_pin": f"{ACTION}{ButtonAction.PIN.value}",
}
"""Shortcuts on messages that open the form of a button."""

SENT: Final = {
    PICK: "slack_carry.pick_title",
    TARGET: "slack_carry.handover_title",
    HANDOVER_FORM: "slack_carry.handover_title",
    REVIEW_FORM: "slack_carry.review_title",
    REJECT_FORM: "slack_carry.reject_title",
    PIN_FORM: "slack_carry.pin_title",
    EDIT_FORM: "slack_carry.pin_edit_title",
    SEND_FORM: "sending.title",
}
"""Forms that can be sent, and their titles."""

REQUESTS: Final = "form.adoptions"
VIEWS: Final = frozenset({*SENT, WAITING, LIST_FORM, REQUESTS, adoption_form.CHANGES})
"""Forms whose buttons and menus are answered here."""

FIRST_LOOK_S: Final = 0.5
LAST_LOOK_S: Final = 3.0
PATIENCE_S: Final = 900.0
"""Pauses between the looks for a draft, which grow, and when looking ends; a draft has a deadline well before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrying:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    services: Services
    callers: Callers
    private: Private
    background: Background
    handovers: Handovers
    adoptions: Adoptions
    pins: Pins
    reviewer: Reviewer
    sendings: Sendings

    # --- buttons and shortcuts ---------------------------------------------------------------------------------------

    def title(self, action: str) -> str | None:
        """The title of the form that a button opens; None for a button that is answered elsewhere."""
        return OPENING.get(DRAFT if action.startswith(DRAFT) else action)

    async def fill(self, caller: Caller, spot: Spot, action: str, value: str) -> View:
        """The form that a button opens."""
        # What only one person sees stands in no thread that Slack names; its own time is no root of one.
        root = spot.thread if spot.thread != spot.message else ""
        about = Sheet(channel=spot.channel, root=root, ref=value)
        if action.startswith(DRAFT):
            kind, _, ref = value.partition(":")
            return await self._draft(caller, replace(about, kind=kind, ref=ref))
        match action.removeprefix(ACTION):
            case ButtonAction.REJECT:
                return await self.adoptions.reject_form(caller, about)
            case ButtonAction.SHOW_CHANGES:
                return await self.adoptions.changes(caller, value)
            case ButtonAction.ADOPT:
                there = replace(about, thread=ThreadId(value), ref="")
                return await self._begin_review(caller, there, key=spot.key)
            case "artifact":
                thread, number, name = artifact_meant(value)
                shown = await self.reviewer.artifact(caller, thread, name, number)
                there = replace(about, thread=thread, ref="")
                return _page(caller, "slack_carry.artifacts_title", shown, LIST_FORM, there)
            case "artifact_send":
                return await self.sendings.form(caller, about, value)
            case "pin_edit" | "pin_history" | "pin_list" | "pin_add" as name:
                return await self._of_pins(caller, about, name)
            case "handover":
                return await self.handovers.targets(caller, replace(about, thread=ThreadId(value), ref=""))
            case name:
                there = replace(about, thread=await self._thread_of(caller, spot))
                return await self._of_answer(caller, there, name)

    async def _of_pins(self, caller: Caller, about: Sheet, name: str) -> View:
        """The form of a button of the list of pins, which names a pin or the thread."""
        there = replace(about, thread=about.ref, ref="")
        match name:
            case "pin_edit":
                return await self.pins.edit_form(caller, about)
            case "pin_history":
                return await self.pins.history(caller, about.ref)
            case "pin_list":
                return await self.pins.list_form(caller, there)
            case _:
                return await self.pins.form(caller, there)

    async def act(self, caller: Caller, spot: Spot, action: str, value: str) -> str:
        """Carry out one of the buttons of `AT_ONCE`; the sentence that says so."""
        if action == REMOVE:
            return await self.pins.remove(caller, value, key=spot.key)
        file = await self.reviewer.artifact_file(caller, value)
        await self.adoptions.send(caller, file)
        return i18n.text(caller.locale, "slack.input_sent")

    async def _of_answer(self, caller: Caller, about: Sheet, name: str) -> View:
        """The form of a button under an answer, which names the answer."""
        match name:
            case ButtonAction.PIN:
                return await self.pins.form(caller, about)
            case ButtonAction.CONTINUE:
                return await self.handovers.targets(caller, about)
            case ButtonAction.CONTINUE_BEST:
                return await self.handovers.targets(caller, about, chosen="chat")
            case _:
                return await self.handovers.targets(caller, replace(about, ref=""))

    async def fill_for_message(self, caller: Caller, spot: Spot, action: str) -> View:
        """The form that a shortcut on a message opens."""
        found = await message_at(self.services, caller.actor, spot.channel, spot.message)
        about = Sheet(thread=found.thread_id, ref=found.ref, channel=spot.channel, root=spot.thread)
        return await self._of_answer(caller, about, action.removeprefix(ACTION))

    async def _thread_of(self, caller: Caller, spot: Spot) -> ThreadId:
        thread = await thread_at(self.services, caller.actor, place(spot.channel, spot.thread))
        if thread is None:
            raise Refusal("thread_not_found")
        return thread.id

    # --- inside a form -----------------------------------------------------------------------------------------------

    async def in_view(self, caller: Caller, click: Click, view: Json) -> View | None:
        """What a form shows after a click in it; None where it stays as it is."""
        title = str((view.get("title") or {}).get("text") or "")
        try:
            return await self._in_view(caller, click, view)
        except (Refusal, StoreUnavailable, PlatformFailure) as problem:
            said = note(
                caller.locale, title="slack_carry.pick_title", sentence=explain(caller.locale, problem)
            )
            return {**said, "title": {**said["title"], "text": title}} if title else said

    async def _in_view(self, caller: Caller, click: Click, view: Json) -> View | None:
        about = sheet(str(view.get("private_metadata") or "{}"))
        match click.action:
            case action if action == LOOK:
                return await self._draft(caller, about)
            case action if action == MORE_ROOM:
                return await self.handovers.again(caller, replace(about, more=about.more + 1), click.state)
            case action if action == WORKFLOW:
                return await self.handovers.again(caller, about, {**click.state, WORKFLOW: click.value})
            case action if action == CHANGES_FILE:
                await self.adoptions.send_changes(caller, click.value)
                return None
            case action if action == REVIEW_FILE:
                await self.adoptions.send_review(caller, click.value)
                return None
            case action if action == ARTIFACT_FILE:
                await self.act(caller, click.spot, action, click.value)
                return None
            case action if action == REMOVE:
                await self.pins.remove(caller, click.value, key=click.spot.key)
                return await self.pins.list_form(caller, about)
            case action if action in OPENING:
                spot = replace(click.spot, channel=about.channel, thread=about.root)
                return await self.fill(caller, spot, action, click.value)
            case action if action.removeprefix(ACTION) in set(carried.CARRIED_BUTTONS):
                wanted = ButtonAction(action.removeprefix(ACTION))
                said = await carried.pressed(self.services, caller.actor, wanted, click.value, click.spot.key)
                return note(caller.locale, title="slack_carry.adoptions_title", sentence=said)
            case _:
                return None

    # --- forms that were sent ----------------------------------------------------------------------------------------

    async def submit(self, caller: Caller, form: Submission) -> View | str:
        """Carry out a form; the form that comes after it, or the sentence that says how it went."""
        about = sheet(form.metadata)
        key = f"{form.key}:{form.name}:{about.ref}"
        match form.name:
            case name if name == PICK:
                return await self._picked(caller, about, form, key=key)
            case name if name == TARGET:
                return await self.handovers.submit_target(caller, form, key=key)
            case name if name == HANDOVER_FORM:
                return await self.handovers.submit(caller, form, key=key)
            case name if name == REVIEW_FORM:
                return await self.adoptions.submit_review(caller, form, key=key)
            case name if name == REJECT_FORM:
                return await self.adoptions.submit_reject(caller, form, key=key)
            case name if name == SEND_FORM:
                return await self.sendings.submit(caller, form, key=key)
            case name if name == PIN_FORM:
                return await self.pins.submit(caller, form, key=key)
            case _:
                return await self.pins.submit_edit(caller, form, key=key)

    def blamed(self, form: Submission, problem: BaseException) -> str:
        """The block of a form at which a refusal is said; empty where it has none."""
        if form.name == HANDOVER_FORM:
            return handover_form.blamed(form.values, problem)
        if form.name == REVIEW_FORM:
            return adoption_form.blamed(form.values, problem)
        if form.name == SEND_FORM:
            return sending.blamed(form.values, problem)
        return list(form.values)[-1] if form.values else ""

    # --- slash commands ----------------------------------------------------------------------------------------------

    async def pick(self, caller: Caller, spot: Spot, word: Word) -> View:
        """The form that asks which thread a command is about; only threads that the person can see."""
        channels = await list_channels(self.services, caller.actor, PLATFORM)
        threads = eligible(word, channels, spot.channel)
        if not threads:
            raise Refusal(NONE_THERE.get(word, "thread_not_found"))
        return pick_form(caller.locale, Sheet(channel=spot.channel, kind=word.value), threads)

    async def _picked(self, caller: Caller, about: Sheet, form: Submission, *, key: str) -> View | str:
        thread, word = ThreadId(form.values.get(PICKED, "")), Word(about.kind)
        if not thread:
            raise Refusal("slack_choose_thread")
        there = replace(about, thread=thread, kind="")
        match word:
            case Word.HANDOVER:
                return await self.handovers.targets(caller, there)
            case Word.ADOPT:
                return await self._begin_review(caller, there, key=key)
            case Word.PINS:
                return await self.pins.list_form(caller, there)
            case Word.ADOPTIONS:
                shown = await self.adoptions.listed(caller, thread)
                return _page(caller, "slack_carry.adoptions_title", shown, REQUESTS, there)
            case Word.ARTIFACTS:
                shown = await self.reviewer.artifacts(caller, thread, "")
                return _page(caller, "slack_carry.artifacts_title", shown, LIST_FORM, there)
            case _:
                command = TextCommand(word=word, rest=form.values.get(REASON, ""))
                return await carried.typed(self.services, caller.actor, thread, command, key)

    # --- words after a mention ---------------------------------------------------------------------------------------

    async def typed(
        self, caller: Caller, spot: Spot, thread_id: ThreadId, command: TextCommand
    ) -> SlackMessage:
        """Carry out a word in a thread; what its writer is told."""
        about = Sheet(thread=thread_id, channel=spot.channel, root=spot.thread)
        match command.word:
            case Word.HANDOVER:
                if not command.rest:
                    return await self.handovers.mine(caller, about)
                begun = await self.handovers.begin(caller, about, command.rest, key=spot.key)
                return self._told_later(caller, begun)
            case Word.PINS:
                return await self.pins.card(caller, thread_id)
            case Word.ADOPTIONS:
                return await self.adoptions.listed(caller, thread_id)
            case Word.ADOPT:
                begun = await self.adoptions.begin(caller, about, reason=command.rest, key=spot.key)
                return self._told_later(caller, begun)
            case _:
                said = await carried.typed(self.services, caller.actor, thread_id, command, spot.key)
                return sentence(said)

    def _told_later(self, caller: Caller, about: Sheet) -> SlackMessage:
        self.follow(caller.bot, caller.actor.external_id, waiting(caller.locale, about), None)
        return drafting_card(caller, about)

    # --- drafts ------------------------------------------------------------------------------------------------------

    async def _begin_review(self, caller: Caller, about: Sheet, *, key: str) -> View:
        return waiting(caller.locale, await self.adoptions.begin(caller, about, key=key))

    async def _draft(self, caller: Caller, about: Sheet) -> View:
        """The form of a draft, or the one that waits for it."""
        return await self._drafted(caller, about) or waiting(caller.locale, about)

    async def _drafted(self, caller: Caller, about: Sheet) -> View | None:
        if about.kind == HANDOVER:
            return await self.handovers.drafted(caller, about)
        return await self.adoptions.drafted(caller, about)

    def follow(self, bot: Bot, user: str, view: View, put: Callable[[View], Awaitable[bool]] | None) -> None:
        """For a form that waits: have it filled in by `put`, or its reader told, once the draft is there."""
        if view.get("callback_id") == WAITING:
            about = sheet(view["private_metadata"])
            self.background.leave(self._await(bot, user, about, put), name="draft")

    async def _await(
        self, bot: Bot, user: str, about: Sheet, put: Callable[[View], Awaitable[bool]] | None
    ) -> None:
        loop, pause_s = asyncio.get_running_loop(), FIRST_LOOK_S
        deadline = loop.time() + PATIENCE_S
        while loop.time() < deadline:
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LAST_LOOK_S)
            try:
                caller = await self.callers.caller(bot, user)
                view = await self._drafted(caller, about)
                if view is None:
                    continue
            except Refusal as refused:
                view = note(
                    caller.locale, title="slack_carry.draft_title", sentence=explain(caller.locale, refused)
                )
            except (StoreUnavailable, PlatformFailure) as problem:
                log.info("looking for a draft again (%s)", problem)
                continue
            if put is None or not await put(view):
                await self._tell(caller, about)
            return

    async def _tell(self, caller: Caller, about: Sheet) -> None:
        """Tell a person that a draft is there, once however many forms of theirs waited for it."""
        if about.channel and await is_first(self.services, caller.actor, f"ready:{about.kind}:{about.ref}"):
            spot = Spot(channel=about.channel, user=caller.actor.external_id, thread=about.root)
            await self.private.tell(caller.bot, spot, ready_card(caller, about))


def _page(caller: Caller, title: str, shown: SlackMessage, callback: str, about: Sheet) -> View:
    """What a person is shown in a form where they asked for it by a command."""
    view = note(caller.locale, title=title, sentence="")
    return {
        **view,
        "callback_id": callback,
        "blocks": [dict(block) for block in shown.blocks],
        "private_metadata": about.dump(),
    }
