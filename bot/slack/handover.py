"""Handovers on Slack: where to, the draft, the form with every field, and sending it once (spec §9)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from bot.slack.block import Block, actions, button, section
from bot.slack.caller import Caller
from bot.slack.form import View
from bot.slack.handover_form import (
    MODEL_FIELD,
    TARGET_FIELD,
    Offer,
    fields_in,
    handover_form,
    target_form,
)
from bot.slack.markdown import escape, one_line
from bot.slack.opening import Openings
from bot.slack.parse import Submission
from bot.slack.render import SlackMessage
from bot.slack.sheet import HANDOVER, Sheet, sheet, waiting
from bot.slack.start_form import WORKFLOW, Wish, digest, setup_of, usual_values
from core import i18n
from core.commands.handover import (
    Sending,
    begin_handover,
    centre_model,
    edit_handover,
    estimate_handover,
    list_drafts,
    send_handover,
    show_handover,
)
from core.commands.opening import usual_setup
from core.commands.services import Services, allowed_models
from core.commands.thread import show_thread
from core.domain.drafting import HandoverDraft
from core.domain.errors import Refusal
from core.domain.handover import HandoverFields
from core.domain.thread import Mode
from core.domain.view import AnswerView, EstimateView

HAND_OVER_HERE: Final = "do.handover"
"""The button on a private card that asks where a thread goes on."""

DRAFT: Final = "do.draft"
"""The button that opens the form of a draft; its value says of which."""

SHOWN_DRAFTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Handovers:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was sent then."""

    services: Services
    openings: Openings

    # --- where to ----------------------------------------------------------------------------------------------------

    async def targets(self, caller: Caller, about: Sheet, *, chosen: str = "") -> View:
        """The form that asks for the mode; `about.ref` is the answer in the centre, where one was picked."""
        page = await show_thread(self.services, caller.actor, about.thread)
        if not page.targets:
            raise Refusal("handover_no_route", source=page.mode.value)
        about = replace(about, channel=page.place.channel, root=page.place.thread)
        quoted = _t(caller, "handover_picked") if about.ref else ""
        for one in page.items:
            if isinstance(one, AnswerView) and about.ref and one.message_id == about.ref:
                quoted = one_line(f"{one.model}: {one.text}", 300)
        return target_form(caller.locale, about, page.targets, quoted=quoted, chosen=chosen)

    async def submit_target(self, caller: Caller, form: Submission, *, key: str) -> View:
        """Have the draft made; the form waits for it."""
        about = sheet(form.metadata)
        target = form.values.get(TARGET_FIELD, "")
        return waiting(caller.locale, await self.begin(caller, about, target, key=key))

    async def begin(self, caller: Caller, about: Sheet, target: str, *, key: str) -> Sheet:
        handover_id = await begin_handover(
            self.services, caller.actor, about.thread, target, centre=about.ref or None, event_key=key
        )
        return replace(about, ref=handover_id, kind=HANDOVER)

    async def mine(self, caller: Caller, about: Sheet) -> SlackMessage:
        """The drafts of a person that wait in a thread to be sent, and the button that begins another."""
        page = await show_thread(self.services, caller.actor, about.thread)
        if not page.targets:
            raise Refusal("handover_no_route", source=page.mode.value)
        found = await list_drafts(self.services, caller.actor, about.thread)
        allowed = ", ".join(i18n.text(caller.locale, f"slack_modes.{mode.value}") for mode in page.targets)
        said = escape(_t(caller, "handover_where", allowed=allowed))
        buttons = [button(_t(caller, "handover_title"), HAND_OVER_HERE, about.thread, style="primary")]
        buttons += [
            {
                **button(
                    _t(
                        caller,
                        "handover_open",
                        mode=i18n.text(caller.locale, f"slack_modes.{one.target_mode.value}"),
                    ),
                    DRAFT,
                    f"{HANDOVER}:{one.id}",
                ),
                "action_id": f"{DRAFT}.{number}",
            }
            for number, one in enumerate(found[:SHOWN_DRAFTS], start=1)
        ]
        return SlackMessage(blocks=(section(said), actions("handover", buttons)), text=said)

    # --- the form ----------------------------------------------------------------------------------------------------

    async def drafted(self, caller: Caller, about: Sheet) -> View | None:
        """The form of a handover as it was kept last; None while it is being drafted."""
        handover = await show_handover(self.services, caller.actor, about.ref)
        if handover.status == "drafting":
            return None
        if handover.status != "draft":
            raise Refusal("handover_sent_already")
        fields = HandoverFields.from_json(handover.fields)
        about = replace(about, thread=handover.source_thread_id, kind=HANDOVER)
        values = await self._usual(caller, about.ref, handover.target_mode)
        target = Wish(id=handover.id, mode=handover.target_mode, channel=about.channel, values=values)
        draft = HandoverDraft.from_json(handover.draft)
        return handover_form(caller.locale, about, draft, fields, target, self._offer(caller))

    async def _usual(self, caller: Caller, handover_id: str, target: Mode) -> dict[str, str]:
        """What the target's settings begin with."""
        if target is Mode.CHAT:
            return {MODEL_FIELD: await centre_model(self.services, caller.actor, handover_id)}
        values = usual_values(target, usual_setup(self.services, caller.actor, target), "")
        if target is Mode.WORKFLOW:
            values[WORKFLOW] = next(iter(self.services.workflows), "")
        return values

    def _offer(self, caller: Caller) -> Offer:
        models = allowed_models(self.services, self.services.policy(caller.actor.workspace))
        return Offer(models=models, workflows=self.services.workflows)

    async def again(
        self,
        caller: Caller,
        about: Sheet,
        values: Mapping[str, str],
        *,
        estimate: EstimateView | None = None,
    ) -> View:
        """The form as a person has filled it in: with more room, for another workflow, or under an estimate."""
        handover = await show_handover(self.services, caller.actor, about.ref)
        if handover.status == "drafting":
            raise Refusal("handover_drafting")
        fields = self._fields(handover.fields, values)
        target = self._target(about, handover.target_mode, values)
        draft = HandoverDraft.from_json(handover.draft)
        if handover.status == "draft":
            await edit_handover(self.services, caller.actor, about.ref, fields.to_json())
        return handover_form(
            caller.locale, about, draft, fields, target, self._offer(caller), estimate=estimate
        )

    def _fields(self, stored: Mapping[str, object], values: Mapping[str, str]) -> HandoverFields:
        return fields_in(values, Mode(str(stored["sourceMode"])))

    def _target(self, about: Sheet, mode: Mode, values: Mapping[str, str]) -> Wish:
        return Wish(id=about.ref, mode=mode, channel=about.channel, values=values)

    # --- sending -----------------------------------------------------------------------------------------------------

    async def submit(self, caller: Caller, form: Submission, *, key: str) -> View | str:
        """The estimate where none was seen for exactly this; otherwise it is sent, and the sentence that says so."""
        about = sheet(form.metadata)
        handover = await show_handover(self.services, caller.actor, about.ref)
        if handover.status == "drafting":
            raise Refusal("handover_drafting")
        fields = self._fields(handover.fields, form.values)
        target = self._target(about, handover.target_mode, form.values)
        sending = Sending(
            handover_id=about.ref,
            fields=fields.to_json(),
            start=target.text,
            setup=setup_of(target) if target.mode is not Mode.CHAT else {},
            model=form.values.get(MODEL_FIELD) or None,
        )
        estimate = await estimate_handover(self.services, caller.actor, sending)
        asks = [sending.fields, sending.start, sending.setup, sending.model]
        seen = digest(json.dumps(asks, sort_keys=True))
        if estimate.calls > 1 and about.seen != seen:
            asked = replace(about, seen=seen)
            return await self.again(caller, asked, form.values, estimate=estimate)
        sent = replace(sending, estimate_seen=True)
        opened = await send_handover(self.services, caller.actor, sent, event_key=key)
        self.openings.watch(caller, opened.id)
        return _t(caller, "handed_over" if target.text else "handed_over_waits")


def ready_card(caller: Caller, about: Sheet) -> SlackMessage:
    """What a person is told in a thread when a draft is there and no form waits for it."""
    said = escape(_t(caller, f"{about.kind}_ready"))
    opens = button(_t(caller, f"{about.kind}_open_form"), DRAFT, f"{about.kind}:{about.ref}", style="primary")
    blocks: tuple[Block, ...] = (section(said), actions("draft", [opens]))
    return SlackMessage(blocks=blocks, text=said)


def drafting_card(caller: Caller, about: Sheet) -> SlackMessage:
    """What a person is told at once when they asked for a draft by words."""
    said = escape(_t(caller, f"{about.kind}_told_later"))
    return SlackMessage(blocks=(section(said),), text=said)


def _t(caller: Caller, name: str, **fields: str | float) -> str:
    return i18n.text(caller.locale, f"slack_carry.{name}", **fields)
