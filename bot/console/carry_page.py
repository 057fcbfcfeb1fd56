"""The pages of pins, handovers and adoptions, drawn for a visit."""

from dataclasses import dataclass, replace

from bot.console.carried import SPARE_ROWS, TEXTS, fields_in, texts_in, workflow_inputs
from bot.console.opening import fields_of
from bot.console.page import NOTHING, START_LIMITS, Pages, message_quote
from bot.console.parse import Form, Typed
from bot.console.visit import Visit
from core.commands.adoption import AdoptionReview, list_adoptions, show_changes, show_review
from core.commands.handover import centre_model, show_handover
from core.commands.model import list_models
from core.commands.opening import usual_setup
from core.commands.pin import list_pins, show_pin_history
from core.commands.thread import show_thread
from core.domain.adoption import REASON_CHARS, Choice, ReviewTexts
from core.domain.drafting import HandoverDraft, draft_notes
from core.domain.handover import LISTS, Field, HandoverFields, sent_fields
from core.domain.pin import PinKind
from core.domain.prior_context import FIRST_REQUEST_CHARS, ITEM_CHARS, ITEMS, OVERVIEW_CHARS
from core.domain.thread import Mode
from core.domain.view import EstimateView

POLL_S = 2
"""After which a page that waits for a draft is loaded again, with or without a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryPages(Pages):
    """Every page of the console. All raise Refusal and StoreUnavailable."""

    # --- pins

    async def pins(self, visit: Visit, thread_id: str) -> str:
        """The pins of a thread as they stand."""
        found = await list_pins(self.services, visit.actor, thread_id)
        return await self._sheet(visit, "pins", thread_id, NOTHING, "", pins=found)

    async def pin(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form of a pin: for a message, or for typed text."""
        item = await self._item(visit, thread_id, typed.message, typed.at) if typed.message else None
        quote = message_quote(item)
        return await self._sheet(visit, "pin", thread_id, typed, error, quote=quote, kinds=tuple(PinKind))

    async def edit_pin(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form for another version of a pin; it begins with the newest."""
        newest = (await show_pin_history(self.services, visit.actor, typed.ref))[-1]
        if not error:
            typed = replace(typed, text=newest.text, kind=newest.kind.value)
        return await self._sheet(visit, "edit_pin", thread_id, typed, error, kinds=tuple(PinKind))

    async def pin_history(self, visit: Visit, thread_id: str, ref: str) -> str:
        versions = await show_pin_history(self.services, visit.actor, ref)
        return await self._sheet(visit, "pin_history", thread_id, NOTHING, "", versions=versions)

    # --- handovers

    async def handover_targets(
        self, visit: Visit, thread_id: str, *, typed: Typed = NOTHING, error: str = ""
    ) -> str:
        """The modes in which the work may go on, with the picked answer in the centre where there is one."""
        page = await show_thread(self.services, visit.actor, thread_id)
        item = await self._item(visit, thread_id, typed.centre, typed.at) if typed.centre else None
        quote = message_quote(item)
        return await self._sheet(
            visit,
            "handover_targets",
            thread_id,
            typed,
            error,
            targets=page.targets,
            source=page.mode,
            centre=typed.centre,
            quote=quote,
        )

    async def handover(
        self,
        visit: Visit,
        handover_id: str,
        *,
        form: Form | None = None,
        event_key: str = "",
        error: str = "",
    ) -> str:
        """The form of a handover as its draft stands, or as `form` left it; before the draft, that it is coming."""
        handover = await show_handover(self.services, visit.actor, handover_id)
        frame = await self._outer(visit, current=handover.source_thread_id, back=f"/handovers/{handover_id}")
        context = {"handover": handover, "error": error, "poll_s": POLL_S, **frame}
        if handover.status != "draft":
            return self.renderer.page("handover_waiting", visit.reader, fragment=visit.fragment, **context)
        draft, target = HandoverDraft.from_json(handover.draft), handover.target_mode
        kept = HandoverFields.from_json(handover.fields)
        fields = kept if form is None else fields_in(form.fields, kept.source_mode)
        setup = dict(form.fields) if form is not None else await self._usual(visit, handover_id, target)
        source = await show_thread(self.services, visit.actor, handover.source_thread_id)
        return self.renderer.page(
            "handover",
            visit.reader,
            fragment=visit.fragment,
            source=source,
            notes=draft_notes(draft),
            caps=draft.caps,
            carried=fields,
            lists=LISTS,
            every_field=tuple(Field),
            sent=sent_fields(target, fields),
            spare=SPARE_ROWS,
            mode=target.value,
            fields=setup,
            models=[one for one in await list_models(self.services, visit.actor) if one.allowed],
            workflows=self.services.workflows.values(),
            inputs=workflow_inputs(self.services.workflows),
            event_key=event_key,
            limits={
                "overview": OVERVIEW_CHARS,
                "count": ITEMS,
                "item": ITEM_CHARS,
                "first": FIRST_REQUEST_CHARS,
            },
            **START_LIMITS,
            **context,
        )

    async def _usual(self, visit: Visit, handover_id: str, target: Mode) -> dict[str, str]:
        if target is Mode.CHAT:
            return {"model": await centre_model(self.services, visit.actor, handover_id)}
        return fields_of(target, usual_setup(self.services, visit.actor, target))

    async def handover_confirm(
        self, visit: Visit, handover_id: str, form: Form, estimate: EstimateView
    ) -> str:
        """What the target is expected to cost, before it is made."""
        handover = await show_handover(self.services, visit.actor, handover_id)
        frame = await self._outer(visit, current=handover.source_thread_id, back=f"/handovers/{handover_id}")
        return self.renderer.page(
            "handover_confirm",
            visit.reader,
            fragment=visit.fragment,
            handover=handover,
            held=form.fields,
            starts=bool(form["text"].strip()),
            estimate=estimate,
            **frame,
        )

    # --- adoptions

    async def adoption_review(
        self, visit: Visit, review_id: str, *, form: Form | None = None, event_key: str = "", error: str = ""
    ) -> str:
        """What a request made now would cover, to the message, and the form that asks for it."""
        review = await show_review(self.services, visit.actor, review_id)
        frame = await self._outer(visit, current=review.branch.id, back=f"/reviews/{review_id}")
        if review.draft is None:
            return self.renderer.page(
                "review_waiting",
                visit.reader,
                fragment=visit.fragment,
                review=review,
                error=error,
                poll_s=POLL_S,
                **frame,
            )
        return self.renderer.page(
            "adoption_review",
            visit.reader,
            fragment=visit.fragment,
            review_id=review_id,
            review=review,
            branch=review.branch,
            covered=review.messages,
            texts=review.draft.texts if form is None else texts_in(form.fields),
            names=TEXTS,
            held=form.fields if form is not None else {"reason": _reason(review)},
            pins=await list_pins(self.services, visit.actor, review.branch.id),
            choices=tuple(Choice),
            reason_chars=REASON_CHARS,
            event_key=event_key,
            error=error,
            **frame,
        )

    async def reject(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form that asks why a request is rejected."""
        changes = await show_changes(self.services, visit.actor, typed.ref)
        return await self._sheet(visit, "reject", thread_id, typed, error, changes=changes)

    async def changes(self, visit: Visit, thread_id: str, ref: str) -> str:
        """What a request covers, to the message."""
        changes = await show_changes(self.services, visit.actor, ref)
        return await self._sheet(
            visit,
            "changes",
            thread_id,
            NOTHING,
            "",
            changes=changes,
            branch=changes.branch,
            covered=changes.messages,
            texts=ReviewTexts.from_json(changes.adoption.review),
            names=TEXTS,
        )

    async def adoptions(self, visit: Visit, thread_id: str) -> str:
        """The requests from a thread and into it, newest first."""
        found = await list_adoptions(self.services, visit.actor, thread_id)
        return await self._sheet(visit, "adoptions", thread_id, NOTHING, "", adoptions=found)


def _reason(review: AdoptionReview) -> str:
    """The reason that was given before there was a form for it."""
    return review.form.reason if review.form else ""
