"""Example data for the views of handovers and adoptions: plain ones, hostile ones, the largest that is allowed."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from core.domain.adoption import EXPIRES_AFTER, AdoptionStatus, Choice, ReviewTexts
from core.domain.handover import SENT, DeliveryState, Field, FieldDelivery
from core.domain.message import AuthorKind
from core.domain.prior_context import ITEM_CHARS, ITEMS, OVERVIEW_CHARS, PriorCap
from core.domain.receipt import CapApplied
from core.domain.thread import Mode
from core.domain.view import (
    AdoptedLineView,
    AdoptedMessageView,
    AdoptionCardView,
    AdoptionReviewView,
    ConflictItem,
    DeliveryView,
    HandoverHeaderView,
    LinkItem,
    ModelDelivery,
    Phrase,
    PostView,
    Quote,
)
from tests.examples.views import HOSTILE, PLACE, START, message_id, receipt_id, thread_id

SOURCE: Final = LinkItem(label="Which supplier?", thread_id=thread_id(1), place=PLACE)
_LONGEST: Final = tuple(f"{number}: ".ljust(ITEM_CHARS, "長") for number in range(1, ITEMS + 1))

HEADER: Final = HandoverHeaderView(
    thread_id=thread_id(2),
    target=Mode.DEBATE,
    source=SOURCE,
    source_mode=Mode.CHAT,
    summary="Two suppliers are left, Kita and Minami.",
    open_questions=("Who carries the cost of a late delivery?",),
    constraints=("customer names stay in-house", "at most 30,000 EUR"),
    more=(
        (Field.BACKGROUND, "The old contract ends in March."),
        (Field.FIRST_REQUEST, "Help us choose a supplier."),
        (Field.CONCLUSIONS, "- Minami is faster"),
    ),
    sent=SENT[Mode.DEBATE],
    links=(LinkItem(label="Terms of Kita", url="https://example.com/terms"),),
)
HEADER_LARGEST: Final = HandoverHeaderView(
    thread_id=thread_id(2),
    target=Mode.CHAT,
    source=LinkItem(label="見" * 80, thread_id=thread_id(1), place=PLACE),
    source_mode=Mode.WORKFLOW,
    summary="要" * OVERVIEW_CHARS,
    open_questions=_LONGEST,
    constraints=_LONGEST,
    more=((Field.FIRST_REQUEST, "初" * 4_000), (Field.CONCLUSIONS, "\n".join(f"- {i}" for i in _LONGEST))),
    sent=SENT[Mode.CHAT],
    caps=(CapApplied(name="handover_items_chars", limit=5_000, had=6_000, kept=4_800),),
    left_out=_LONGEST[6:],
    links=tuple(LinkItem(label=f"{number} ".ljust(120, "参")) for number in range(20)),
)
HEADER_HOSTILE: Final = HandoverHeaderView(
    thread_id=thread_id(2),
    target=Mode.COMPARE,
    source=LinkItem(label=HOSTILE, thread_id=thread_id(1), place=PLACE),
    source_mode=Mode.COMPARE,
    summary=HOSTILE,
    open_questions=(HOSTILE,),
    constraints=(HOSTILE,),
    more=((Field.CONCLUSIONS, HOSTILE),),
    sent=SENT[Mode.COMPARE],
    links=(LinkItem(label=HOSTILE, url="javascript:alert(1)"),),
)
HEADERS: Final = (HEADER, HEADER_LARGEST, HEADER_HOSTILE)

_CUT: Final = CapApplied(name=PriorCap.OVERVIEW, limit=4_000, had=4_400, kept=4_000)


def _fields(**states: DeliveryState) -> tuple[FieldDelivery, ...]:
    return tuple(
        FieldDelivery(
            field=field,
            state=(state := states.get(field.value, DeliveryState.NOT_CARRIED)),
            caps=(_CUT,) if state is DeliveryState.CUT else (),
        )
        for field in Field
    )


_RECEIVED: Final = _fields(
    summary=DeliveryState.FOUND, open_questions=DeliveryState.EMPTY, constraints=DeliveryState.FOUND
)
DELIVERED: Final = DeliveryView(
    thread_id=thread_id(2),
    target=Mode.COMPARE,
    models=tuple(
        ModelDelivery(model=f"model-{number}", receipt_id=receipt_id(number), fields=_RECEIVED)
        for number in range(1, 7)
    ),
)
DELIVERY_CUT: Final = DeliveryView(
    thread_id=thread_id(2),
    target=Mode.DEBATE,
    models=(
        ModelDelivery(
            model="moderator",
            receipt_id=receipt_id(9),
            fields=_fields(
                summary=DeliveryState.CUT,
                background=DeliveryState.CUT,
                open_questions=DeliveryState.FOUND,
                constraints=DeliveryState.FOUND,
                first_request=DeliveryState.FOUND,
                conclusions=DeliveryState.FOUND,
            ),
        ),
    ),
)
NOT_DELIVERED: Final = DeliveryView(
    thread_id=thread_id(2),
    target=Mode.CHAT,
    models=(
        ModelDelivery(
            model="alpha",
            receipt_id=receipt_id(9),
            fields=_fields(
                summary=DeliveryState.FOUND,
                open_questions=DeliveryState.FOUND,
                constraints=DeliveryState.MISSING,
            ),
        ),
    ),
)
DELIVERIES: Final = (DELIVERED, DELIVERY_CUT, NOT_DELIVERED)

TEXTS: Final = ReviewTexts(
    about="What a contract with Minami would look like.",
    concluded="Minami accepts our terms.",
    next_steps="Ask legal for the final wording.",
    sources="Offer of 2 March.",
)
TEXTS_LARGEST: Final = ReviewTexts(
    about="概" * 4_000, concluded="結" * 4_000, next_steps="次" * 4_000, sources="典" * 4_000
)
CONFLICTS: Final = (
    ConflictItem(artifact_id="a1", name="offer", branch_version=3, parent_version=2),
    ConflictItem(
        artifact_id="a2",
        name="plan",
        branch_version=1,
        parent_version=1,
        choice=Choice.KEEP_BOTH,
        new_name="plan (Minami)",
    ),
)


def _message(number: int, text: str, kind: AuthorKind = AuthorKind.PERSON) -> AdoptedMessageView:
    return AdoptedMessageView(
        message_id=message_id(number),
        author="Aki" if kind is AuthorKind.PERSON else "alpha",
        author_kind=kind,
        text=text,
        created_at=START + timedelta(minutes=number),
    )


REVIEW: Final = AdoptionReviewView(
    branch_id=thread_id(3),
    branch_name="Minami",
    parent_id=thread_id(1),
    parent_title="Which supplier?",
    texts=TEXTS,
    constraints=("customer names stay in-house",),
    conclusions=("Minami it is",),
    open_questions=("Who signs?",),
    links=(LinkItem(label="Offer", url="https://example.com/offer"),),
    lines=(
        AdoptedLineView(
            line="",
            whole=False,
            messages=(_message(1, "And with Minami?"), _message(2, "They accept.", AuthorKind.MODEL)),
        ),
    ),
    artifacts=2,
    conflicts=CONFLICTS,
    contradictions=("The parent holds that Kita is faster.",),
    notes=(Phrase(key="draft_note.repaired"),),
)
REVIEW_LARGEST: Final = AdoptionReviewView(
    branch_id=thread_id(3),
    branch_name="名" * 80,
    parent_id=thread_id(1),
    parent_title="親" * 80,
    texts=TEXTS_LARGEST,
    constraints=_LONGEST,
    conclusions=_LONGEST,
    open_questions=_LONGEST,
    links=tuple(LinkItem(label=f"{number} ".ljust(120, "参")) for number in range(20)),
    lines=tuple(
        AdoptedLineView(
            line=f"model-{line}",
            whole=line > 1,
            messages=tuple(_message(number, "本" * 2_000) for number in range(1, 40)),
        )
        for line in range(1, 7)
    ),
    artifacts=40,
    conflicts=CONFLICTS * 20,
)
REVIEW_HOSTILE: Final = AdoptionReviewView(
    branch_id=thread_id(3),
    branch_name=HOSTILE,
    parent_id=thread_id(1),
    parent_title=HOSTILE,
    texts=ReviewTexts(about=HOSTILE, concluded=HOSTILE, next_steps=HOSTILE, sources=HOSTILE),
    constraints=(HOSTILE,),
    conclusions=(HOSTILE,),
    open_questions=(HOSTILE,),
    links=(LinkItem(label=HOSTILE, url="javascript:alert(1)"),),
    lines=(AdoptedLineView(line=HOSTILE, whole=True, messages=(_message(1, HOSTILE),)),),
    artifacts=1,
    conflicts=(ConflictItem(artifact_id="a1", name=HOSTILE, branch_version=1, parent_version=1),),
    contradictions=(HOSTILE,),
)
REVIEWS: Final = (REVIEW, REVIEW_LARGEST, REVIEW_HOSTILE)


def card(status: AdoptionStatus, *, texts: ReviewTexts = TEXTS, hostile: bool = False) -> AdoptionCardView:
    """The card of a request in this state."""
    closed = status is not AdoptionStatus.PENDING
    by_person = closed and status is not AdoptionStatus.EXPIRED
    return AdoptionCardView(
        adoption_id="0195e000-0000-7000-c000-000000000001",
        status=status,
        branch=LinkItem(label=HOSTILE if hostile else "Minami", thread_id=thread_id(3), place=PLACE),
        parent_id=thread_id(1),
        requester=HOSTILE if hostile else "Aki",
        reason=HOSTILE if hostile else "Their terms are better.",
        texts=texts,
        messages=12,
        artifacts=2,
        conflicts=CONFLICTS,
        created_at=START,
        expires_at=START + EXPIRES_AFTER,
        decided_by=(HOSTILE if hostile else "Bo") if by_person else "",
        decided_at=START + timedelta(hours=2) if closed else None,
        decision_reason="Legal has to look first." if status is AdoptionStatus.REJECTED else "",
        newer=0 if closed else 3,
        open_conflicts=() if closed else ("plan",),
        quotes=(Quote(author="Aki", text="And with Minami?"),) if status is AdoptionStatus.APPROVED else (),
        transcript="# Minami\n" if status is AdoptionStatus.APPROVED else "",
    )


CARDS: Final = (
    *(card(status) for status in AdoptionStatus),
    card(AdoptionStatus.PENDING, texts=TEXTS_LARGEST),
    card(AdoptionStatus.REJECTED, hostile=True),
)

POSTS: Final[Mapping[str, PostView]] = {
    **{f"handover_header_{number}": view for number, view in enumerate(HEADERS)},
    **{f"delivery_{number}": view for number, view in enumerate(DELIVERIES)},
    **{f"adoption_card_{number}": view for number, view in enumerate(CARDS)},
}
"""Everything of these that a platform posts."""
