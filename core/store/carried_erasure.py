"""Blanking what a person put into pins, handovers and adoptions, and what others carried of their words (spec §13)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.handover import same
from core.domain.ids import PersonId, WorkspaceId
from core.domain.receipt import Origin
from core.domain.thread import AWAITS_START, Mode
from core.store.tables import (
    AdoptionReviewRow,
    AdoptionRow,
    HandoverRow,
    MessageRow,
    NoticeRow,
    PinRow,
    ReceiptPartRow,
    ReceiptRow,
    ThreadRow,
)

ERASED_NAME = "—"
IN_BULK = {"synchronize_session": False}

TYPED_IN = frozenset({"topic", "background", "task", "inputs", "prior_context", "priorContext"})
"""Fields of a thread's setup that hold what a person wrote."""

STRUCTURE = "handover"
"""Step of the one message that holds a target's structure."""

CARRIED = (Origin.HANDOVER, Origin.PRIOR_CONTEXT, Origin.BACKGROUND)
"""Parts of an AI input that are made of a handover; in Co-Draft it stands inside the request."""

QUOTED_FROM = 20
"""A shorter text counts as a quotation only where it is the whole of a field: two people may both have said "yes"."""
QUOTED_CHARS = 200
"""Of a longer text; drafts without a model cut what they quote."""


def blanked(value: Any) -> Any:
    """The same shape without what was written in it, so that whoever reads it still can."""
    if isinstance(value, str):
        return ERASED_NAME if value else ""
    if isinstance(value, list):
        return [blanked(item) for item in value]
    return {key: blanked(item) for key, item in value.items()} if isinstance(value, dict) else value


def blanked_setup(setup: Mapping[str, Any]) -> dict[str, Any]:
    """A thread's setup, also of one that waits, without what was typed; choices such as models stay."""
    blank = {name: blanked(value) if name in TYPED_IN else value for name, value in setup.items()}
    return blank | ({AWAITS_START: blanked_setup(setup[AWAITS_START])} if AWAITS_START in setup else {})


Quotes = Callable[[str], bool]


def quotes_any(texts: Sequence[str]) -> Quotes:
    """Whether a text repeats one of these to the letter, whole or cut; line breaks make no difference."""
    whole = {same(text) for text in texts if text.strip()}
    pieces = [text[: QUOTED_CHARS - 1] for text in whole if len(text) >= QUOTED_FROM]

    def quotes(text: str) -> bool:
        line = same(text)
        return line in whole or any(piece in line for piece in pieces)

    return quotes


def _unquoted(value: Any, quotes: Quotes) -> Any:
    """The same without the texts that quote."""
    if isinstance(value, str):
        return ERASED_NAME if quotes(value) else value
    if isinstance(value, list):
        return [_unquoted(item, quotes) for item in value]
    return {k: _unquoted(v, quotes) for k, v in value.items()} if isinstance(value, dict) else value


async def do_blank_carried(
    session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId, texts: Sequence[str]
) -> None:
    """Blank what a person wrote in pins, handovers and adoptions, and in those of others what repeats `texts` or pins.

    `texts` are what the person's messages and titles said.
    """
    mine = (PinRow.workspace_id == workspace_id, PinRow.author_id == person_id)
    marked = await session.scalars(select(PinRow.text).where(*mine))
    quotes = quotes_any([*texts, *marked])
    written = select(MessageRow.id).where(
        MessageRow.workspace_id == workspace_id, MessageRow.author_id == person_id
    )
    for change in (
        update(PinRow).where(*mine).values(text=ERASED_NAME, author_name=ERASED_NAME),
        update(PinRow)
        .where(PinRow.workspace_id == workspace_id, PinRow.message_id.in_(written))
        .values(text=ERASED_NAME),
    ):
        await session.execute(change.execution_options(**IN_BULK))
    pinned = select(PinRow.thread_id).where(
        PinRow.workspace_id == workspace_id,
        (PinRow.author_id == person_id) | PinRow.message_id.in_(written),
    )
    # Drafts are sent the pins of their thread together, as parts that are made of no one message.
    together = (ReceiptPartRow.origin == Origin.HANDOVER.value, ReceiptPartRow.message_id.is_(None))
    await _do_blank_parts(session, workspace_id, pinned, *together)
    await _do_blank_adoptions(session, workspace_id, person_id, quotes)
    for handover in await session.scalars(
        select(HandoverRow).where(HandoverRow.workspace_id == workspace_id)
    ):
        await _do_blank_handover(session, handover, quotes, own=handover.person_id == person_id)


async def _do_blank_adoptions(
    session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId, quotes: Quotes
) -> None:
    for adoption in await session.scalars(
        select(AdoptionRow).where(AdoptionRow.workspace_id == workspace_id)
    ):
        if adoption.decided_by == person_id:
            await _do_blank_decision(session, adoption)
            adoption.decision_reason = blanked(adoption.decision_reason)
        mine = adoption.requested_by == person_id
        adoption.reason = blanked(adoption.reason) if mine else adoption.reason
        adoption.review = blanked(adoption.review) if mine else _unquoted(adoption.review, quotes)
    for review in await session.scalars(
        select(AdoptionReviewRow).where(AdoptionReviewRow.workspace_id == workspace_id)
    ):
        mine = review.person_id == person_id
        review.draft = blanked(review.draft) if mine else _unquoted(review.draft, quotes)
        if review.form is not None:
            left = {**review.form, "choices": {}}
            review.form = blanked(left) if mine else _unquoted(review.form, quotes)


async def _do_blank_decision(session: AsyncSession, adoption: AdoptionRow) -> None:
    """The lines in both threads that say who decided, and why."""
    for notice in await session.scalars(
        select(NoticeRow).where(
            NoticeRow.workspace_id == adoption.workspace_id,
            NoticeRow.thread_id.in_((adoption.branch_id, adoption.parent_id)),
            NoticeRow.link_id.in_((adoption.branch_id, adoption.parent_id)),
            NoticeRow.key == f"notice.adoption_{adoption.status}",
        )
    ):
        if notice.fields["reason"] == adoption.decision_reason:
            notice.fields = {**notice.fields, "who": ERASED_NAME, "reason": blanked(notice.fields["reason"])}


async def _do_blank_handover(
    session: AsyncSession, handover: HandoverRow, quotes: Quotes, *, own: bool
) -> None:
    """The fields of a handover and, where they change, what was made of them in the thread it went into."""
    fields = _blanked_fields(handover.fields) if own else _unquoted(handover.fields, quotes)
    draft = dict(handover.draft)
    if draft:
        drafted = draft["fields"]
        draft["fields"] = _blanked_fields(drafted) if own else _unquoted(drafted, quotes)
    if handover.form is not None:
        left = {**handover.form, "start": blanked(handover.form["start"])}
        left["setup"] = blanked_setup(left["setup"])
        handover.form = left if own else _unquoted(handover.form, quotes)
    changed = fields != handover.fields
    handover.fields, handover.draft = fields, draft
    if changed and handover.target_thread_id is not None:
        await _do_blank_target(session, handover, quotes)


def _blanked_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Blank fields of a handover that still say which mode they came from."""
    return {name: value if name == "sourceMode" else blanked(value) for name, value in fields.items()}


async def _do_blank_target(session: AsyncSession, handover: HandoverRow, quotes: Quotes) -> None:
    for message in await session.scalars(
        select(MessageRow).where(
            MessageRow.workspace_id == handover.workspace_id,
            MessageRow.thread_id == handover.target_thread_id,
            MessageRow.step == STRUCTURE,
            MessageRow.erased.is_(False),
        )
    ):
        # Rows of messages change only where they are erased.
        message.text, message.erased = "", True
        message.data = {**handover.fields, "source_thread_id": handover.source_thread_id}
    for thread in await session.scalars(
        select(ThreadRow).where(
            ThreadRow.workspace_id == handover.workspace_id, ThreadRow.top_id == handover.target_thread_id
        )
    ):
        thread.setup = blanked_setup(thread.setup)
        thread.title = ERASED_NAME if quotes(thread.title) else thread.title
    for notice in await session.scalars(
        select(NoticeRow).where(
            NoticeRow.workspace_id == handover.workspace_id, NoticeRow.link_id == handover.target_thread_id
        )
    ):
        notice.fields = _unquoted(notice.fields, quotes)
    threads = select(ThreadRow.id).where(
        ThreadRow.workspace_id == handover.workspace_id, ThreadRow.top_id == handover.target_thread_id
    )
    origins = [*CARRIED, *([Origin.REQUEST] if handover.target_mode == Mode.CODRAFT.value else [])]
    await _do_blank_parts(
        session,
        WorkspaceId(handover.workspace_id),
        threads,
        ReceiptPartRow.origin.in_([each.value for each in origins]),
    )


async def _do_blank_parts(
    session: AsyncSession, workspace_id: WorkspaceId, threads: Any, *which: ColumnElement[bool]
) -> None:
    """Blank parts of the receipts of some threads, and mark those receipts."""
    parts = (
        ReceiptPartRow.workspace_id == workspace_id,
        ReceiptPartRow.receipt_id.in_(select(ReceiptRow.id).where(ReceiptRow.thread_id.in_(threads))),
        *which,
    )
    for change in (
        update(ReceiptRow)
        .where(
            ReceiptRow.workspace_id == workspace_id,
            ReceiptRow.id.in_(select(ReceiptPartRow.receipt_id).where(*parts)),
        )
        .values(erased=True, reasoning=""),
        update(ReceiptPartRow).where(*parts).values(text="", images=[]),
    ):
        await session.execute(change.execution_options(**IN_BULK))
