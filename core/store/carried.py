"""What people are shown of work that was carried into a thread, drawn from its rows whenever it is needed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from core.ai_input.handover import Words, content_of, cuts
from core.domain.handover import Field, HandoverFields, sent_fields
from core.domain.pin import PinKind
from core.domain.thread import AWAITS_START, Thread
from core.domain.view import (
    Button,
    ButtonAction,
    DeliveryView,
    HandoverHeaderView,
    LinkItem,
    ModelDelivery,
)
from core.store.handover import handover_into
from core.store.page import hidden_name
from core.store.pin import pins
from core.store.thread import find_thread


async def load_carried(
    session: AsyncSession, thread: Thread, words: Words
) -> tuple[HandoverHeaderView, DeliveryView | None] | None:
    """The header of a thread that came by handover and, once its first calls were looked at, what reached them."""
    if thread.source_thread_id is None:
        return None
    handover = await handover_into(session, thread.workspace_id, thread.id)
    source = await find_thread(session, thread.workspace_id, thread.source_thread_id) if handover else None
    if handover is None or source is None:
        return None
    references = [
        pin.text
        for pin in await pins(session, thread.workspace_id, source.id)
        if pin.kind is PinKind.REFERENCE
    ]
    header = _header_view(thread, source, handover.fields, references, words)
    return header, delivery_view(thread, handover.delivery) if handover.delivery else None


def _header_view(
    thread: Thread, source: Thread, stored: Mapping[str, Any], references: list[str], words: Words
) -> HandoverHeaderView:
    """What is carried into a thread, as its first post and its page show it."""
    fields = HandoverFields.from_json(stored)
    cut = cuts(fields, thread.mode, words)
    headed = (Field.SUMMARY, Field.OPEN_QUESTIONS, Field.CONSTRAINTS)
    waiting = AWAITS_START in thread.setup
    return HandoverHeaderView(
        thread_id=thread.id,
        target=thread.mode,
        source=LinkItem(label=source.title, thread_id=source.id, place=source.place),
        source_mode=fields.source_mode,
        summary=fields.summary,
        open_questions=fields.open_questions,
        constraints=fields.constraints,
        more=tuple(
            (field, content_of(fields, field))
            for field in Field
            if field not in headed and fields.holds(field)
        ),
        sent=sent_fields(thread.mode, fields),
        caps=cut.caps,
        left_out=cut.left_out,
        links=tuple(LinkItem(label=each) for each in references),
        buttons=(Button(action=ButtonAction.START, ref=thread.id),) if waiting else (),
    )


def delivery_view(thread: Thread, stored: Mapping[str, Any]) -> DeliveryView:
    """The delivery line as it was found; a blind Compare keeps the names of its models to itself here too."""
    return DeliveryView(
        thread_id=thread.id,
        target=thread.mode,
        models=tuple(
            replace(
                one, model=hidden_name(thread, thread.mode.value, raw["step"].partition(":")[2]) or one.model
            )
            for raw in stored["models"]
            for one in (ModelDelivery.from_json(raw),)
        ),
    )
