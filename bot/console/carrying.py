"""What a person does on the page with pins, handovers and adoptions: each form becomes core commands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.console.carried import fields_in, request_of, sending_of
from bot.console.feed import Feed
from bot.console.outcome import Outcome
from bot.console.page import last_answer
from bot.console.parse import Form, event_key_of
from bot.console.visit import Visit
from core import i18n
from core.commands.adoption import (
    approve,
    begin_review,
    pending_for,
    reject,
    request_adoption,
    show_review,
    withdraw,
)
from core.commands.handover import (
    begin_handover,
    edit_handover,
    estimate_handover,
    send_handover,
    show_handover,
    start_target,
)
from core.commands.pin import edit_pin, pin, remove_pin
from core.commands.services import Services
from core.commands.text import TextCommand, Word
from core.commands.thread import show_thread
from core.domain.errors import Refusal
from core.domain.thread import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryForms:
    """The commands behind the forms. All raise Refusal and StoreUnavailable; nothing was stored then."""

    services: Services
    feed: Feed

    # --- pins

    async def pin(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        """A message as it stands, or the text that was typed for it."""
        await pin(
            self.services,
            visit.actor,
            thread_id,
            form["kind"],
            form["text"],
            message_id=form["message"] or None,
            event_key=event_key_of(form),
        )
        return self._done(visit, thread_id, "console.pinned")

    async def edit_pin(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await edit_pin(
            self.services,
            visit.actor,
            form["ref"],
            form["text"],
            kind=form["kind"] or None,
            event_key=event_key_of(form),
        )
        return self._to_pins(visit, thread_id, "console.pin_edited")

    async def remove_pin(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await remove_pin(self.services, visit.actor, form["ref"], event_key=event_key_of(form))
        return self._to_pins(visit, thread_id, "console.pin_removed")

    def _to_pins(self, visit: Visit, thread_id: str, key: str) -> Outcome:
        return replace(self._done(visit, thread_id, key), location=f"/t/{thread_id}/pins", panel=True)

    # --- handovers

    async def begin_handover(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        return await self._begin_handover(
            visit, thread_id, form["target"], form["centre"] or None, event_key_of(form)
        )

    async def _begin_handover(
        self, visit: Visit, thread_id: str, target: str, centre: str | None, event_key: str
    ) -> Outcome:
        handover_id = await begin_handover(
            self.services, visit.actor, thread_id, target, centre=centre, event_key=event_key
        )
        return Outcome(location=f"/handovers/{handover_id}")

    async def keep_handover(self, visit: Visit, form: Form, handover_id: str) -> Outcome:
        """Keep the fields and draw the form again, with room for more items."""
        handover = await show_handover(self.services, visit.actor, handover_id)
        fields = fields_in(form.fields, _source_mode(handover.fields))
        await edit_handover(self.services, visit.actor, handover_id, fields.to_json())
        return Outcome(location="", handover=form)

    async def send_handover(self, visit: Visit, form: Form, handover_id: str) -> Outcome:
        """Send it, once what the target is expected to cost was seen where it calls more than one model."""
        handover = await show_handover(self.services, visit.actor, handover_id)
        mode = _source_mode(handover.fields)
        sending = sending_of(handover_id, handover.target_mode, mode, form, self.services.workflows)
        if not sending.estimate_seen:
            estimate = await estimate_handover(self.services, visit.actor, sending)
            if estimate.calls > 1:
                await edit_handover(self.services, visit.actor, handover_id, sending.fields)
                return Outcome(location="", handover=form, confirm=estimate)
        sent = replace(sending, estimate_seen=True)
        target = await send_handover(self.services, visit.actor, sent, event_key=event_key_of(form))
        self.feed.tell_change(handover.source_thread_id)
        self.feed.tell_change(target.id)
        return Outcome(
            location=f"/t/{target.id}", flash=i18n.text(visit.reader.locale, "console.handed_over")
        )

    async def begin(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        """Start a target that waits."""
        await start_target(self.services, visit.actor, thread_id, event_key=event_key_of(form))
        self.feed.tell_change(thread_id)
        return Outcome(location=f"/t/{thread_id}")

    # --- adoptions

    async def adopt(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        return await self._begin_review(visit, thread_id, event_key_of(form))

    async def _begin_review(
        self, visit: Visit, thread_id: str, event_key: str, *, reason: str = ""
    ) -> Outcome:
        review_id = await begin_review(
            self.services, visit.actor, thread_id, reason=reason, event_key=event_key
        )
        return Outcome(location=f"/reviews/{review_id}")

    async def request(self, visit: Visit, form: Form, review_id: str) -> Outcome:
        """Ask for the adoption that a review is about."""
        found = await show_review(self.services, visit.actor, review_id)
        request = request_of(found.branch.id, form)
        await request_adoption(self.services, visit.actor, request, event_key=event_key_of(form))
        self.feed.tell_change(found.parent.id)
        return self._done(visit, found.branch.id, "console.adoption_requested")

    async def approve(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        return await self._approve(visit, thread_id, form["ref"], event_key_of(form))

    async def _approve(self, visit: Visit, thread_id: str, adoption_id: str, event_key: str) -> Outcome:
        decided = await approve(self.services, visit.actor, adoption_id, event_key=event_key)
        return self._decided(visit, thread_id, (decided.branch_id, decided.parent_id), "console.adopted")

    async def reject(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        return await self._reject(visit, thread_id, form["ref"], form["reason"], event_key_of(form))

    async def _reject(
        self, visit: Visit, thread_id: str, adoption_id: str, reason: str, event_key: str
    ) -> Outcome:
        decided = await reject(self.services, visit.actor, adoption_id, reason, event_key=event_key)
        return self._decided(visit, thread_id, (decided.branch_id, decided.parent_id), "console.rejected")

    async def withdraw(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        return await self._withdraw(visit, thread_id, form["ref"], event_key_of(form))

    async def _withdraw(self, visit: Visit, thread_id: str, adoption_id: str, event_key: str) -> Outcome:
        decided = await withdraw(self.services, visit.actor, adoption_id, event_key=event_key)
        return self._decided(visit, thread_id, (decided.branch_id, decided.parent_id), "console.withdrawn")

    def _decided(self, visit: Visit, thread_id: str, changed: tuple[str, str], key: str) -> Outcome:
        for each in changed:
            self.feed.tell_change(each)
        return self._done(visit, thread_id, key)

    # --- typed

    async def command(self, visit: Visit, form: Form, command: TextCommand, thread_id: str) -> Outcome:
        """A command typed in a thread."""
        key = event_key_of(form)
        match command.word:
            case Word.PIN:
                return await self._typed_pin(visit, thread_id, command.rest, key)
            case Word.PINS | Word.ADOPTIONS:
                return Outcome(location=f"/t/{thread_id}/{command.word.value}", panel=True)
            case Word.HANDOVER:
                if command.rest:
                    return await self._begin_handover(visit, thread_id, command.rest, None, key)
                return Outcome(location=f"/t/{thread_id}/handover", panel=True)
            case Word.ADOPT:
                return await self._begin_review(visit, thread_id, key, reason=command.rest)
            case Word.APPROVE:
                return await self._approve(visit, thread_id, await self._pending(visit, thread_id), key)
            case Word.REJECT:
                pending = await self._pending(visit, thread_id)
                return await self._reject(visit, thread_id, pending, command.rest, key)
            case Word.WITHDRAW:
                return await self._withdraw(visit, thread_id, await self._pending(visit, thread_id), key)
            case _:
                raise Refusal("unknown_command", command=f"/{command.word.value}")

    async def _typed_pin(self, visit: Visit, thread_id: str, rest: str, event_key: str) -> Outcome:
        """`/pin decision We take Kita` pins the text, `/pin decision` the last answer; alone it opens the form."""
        kind, _, text = rest.partition(" ")
        if not kind:
            return Outcome(location=f"/t/{thread_id}/pin", panel=True)
        message_id = None
        if not text.strip():
            message_id = last_answer(await show_thread(self.services, visit.actor, thread_id)).message_id
        await pin(
            self.services, visit.actor, thread_id, kind, text, message_id=message_id, event_key=event_key
        )
        return self._done(visit, thread_id, "console.pinned")

    async def _pending(self, visit: Visit, thread_id: str) -> str:
        pending = await pending_for(self.services, visit.actor, thread_id)
        if pending is None:
            raise Refusal("adoption_not_found")
        return pending.id

    def _done(self, visit: Visit, thread_id: str, key: str) -> Outcome:
        self.feed.tell_change(thread_id)
        return Outcome(location=f"/t/{thread_id}", flash=i18n.text(visit.reader.locale, key))


def _source_mode(fields: Mapping[str, object]) -> Mode:
    """The mode of the thread that a draft was made from. Raises Refusal while there is no draft."""
    if not fields:
        raise Refusal("handover_drafting")
    return Mode(str(fields["sourceMode"]))
