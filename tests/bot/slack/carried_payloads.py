"""The forms and cards of pins, handovers and adoptions, as full as they can be."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.slack.adoption_form import MOST_CONFLICTS, Meeting, changes_form, reject_form, review_form
from bot.slack.handover_form import Offer, handover_form, target_form
from bot.slack.picking import PICKING, pick_form
from bot.slack.pin import history_form, pin_form, pins_card, pins_form
from bot.slack.render import SlackMessage
from bot.slack.sending import send_form
from bot.slack.sheet import HANDOVER, REVIEW, Sheet, waiting
from bot.slack.start_form import Wish
from core.commands.adoption import AdoptionChanges, AdoptionReview
from core.domain.adoption import AdoptionStatus, Conflict, ReviewDraft, ReviewTexts
from core.domain.artifact import diff
from core.domain.drafting import DraftOrigin, HandoverDraft
from core.domain.handover import HandoverFields
from core.domain.ids import MessageId, PersonId, ThreadId, WorkspaceId
from core.domain.message import Author, AuthorKind, Message
from core.domain.pin import MOST_PINS, Pin, PinKind
from core.domain.prior_context import PriorCap
from core.domain.receipt import CapApplied
from core.domain.thread import Mode, Place, Thread, top_level_thread
from core.domain.view import EstimateView
from core.domain.workflow import Workflow
from core.store.adoption import Adoption
from tests.examples import records, views

WHEN = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SHEET = Sheet(
    thread=views.thread_id(1),
    ref=views.thread_id(2),
    channel="C0123456789",
    root="1796087219.981730",
    kind=HANDOVER,
    seen="0" * 16,
    more=2,
)
LETTERS = {"latin": "Words & <b>", "japanese": "日本語の文。", "emoji": "👩‍👩‍👧"}


def filled(letters: str, chars: int) -> str:
    return (letters * (chars // len(letters) + 1))[:chars]


def fields(letters: str) -> HandoverFields:
    """Every field as full as its cap allows."""
    items = tuple(filled(f"{number}{letters}", 300) for number in range(10))
    return HandoverFields(
        source_mode=Mode.CHAT,
        summary=filled(letters, 4_000),
        background=filled(letters, 4_000),
        open_questions=items,
        constraints=items,
        first_request=filled(letters, 4_000),
        conclusions=items,
    )


def overflowing() -> HandoverFields:
    """As many pins of a kind as a thread can have, each as long as it can be."""
    pinned = tuple(filled(f"{number} 制約。", 4_000) for number in range(MOST_PINS))
    return replace(fields(LETTERS["japanese"]), constraints=pinned, open_questions=pinned)


def draft(carried: HandoverFields) -> HandoverDraft:
    caps = tuple(CapApplied(name=name, limit=10, had=100, kept=10) for name in PriorCap)
    return HandoverDraft(
        fields=carried, origin=DraftOrigin.EXTRACT, failure="overloaded", missed=("a",), caps=caps
    )


def thread(number: int, **more: Any) -> Thread:
    made = top_level_thread(
        thread_id=views.thread_id(number),
        workspace_id=WorkspaceId("w"),
        place=Place(platform="slack", channel="C1", thread="1.1"),
        mode=Mode.CHAT,
        title=filled(views.HOSTILE, 200),
        owner_id=PersonId("p"),
        locale="en",
        created_at=WHEN,
    )
    return replace(made, **more)


BRANCH = thread(2, parent_id=views.thread_id(1), depth=1, branch_name=filled(views.HOSTILE, 120))
PARENT = thread(1)


def messages(text: str, count: int) -> dict[str, tuple[Message, ...]]:
    author = Author(kind=AuthorKind.PERSON, name=filled(views.HOSTILE, 200))
    one = Message(id=MessageId("m"), thread_id=BRANCH.id, author=author, text=text, created_at=WHEN)
    return {"main": (one,) * count, "other": (one,) * count}


def review(text: str, count: int, conflicts: tuple[Conflict, ...]) -> AdoptionReview:
    texts = {name: filled(text, 4_000) for name in ("about", "concluded", "next_steps", "sources")}
    return AdoptionReview(
        branch=BRANCH,
        parent=PARENT,
        messages=messages(text, count),
        artifacts=40,
        conflicts=conflicts,
        draft=ReviewDraft(texts=ReviewTexts(**texts), contradictions=(filled(text, 900),) * 20),
    )


def meetings(text: str) -> list[Meeting]:
    lines = "\n".join(f"{number} {text}"[:500] for number in range(80))
    return [
        Meeting(
            conflict=Conflict(
                name=filled(views.HOSTILE, 120),
                branch_artifact=views.thread_id(100 + number),
                branch_version=2,
                parent_artifact=views.thread_id(200 + number),
                parent_version=1,
            ),
            changes=diff(lines, lines.upper()),
        )
        for number in range(MOST_CONFLICTS)
    ]


def changes(text: str) -> AdoptionChanges:
    decided = {"choice": "keep_both", "new_name": filled(views.HOSTILE, 120)}
    artifact = {"name": filled(views.HOSTILE, 120), "version": 3, "decided": decided}
    adoption = Adoption(
        id=views.thread_id(9),
        workspace_id=WorkspaceId("w"),
        branch_id=BRANCH.id,
        parent_id=PARENT.id,
        top_id=PARENT.id,
        status=AdoptionStatus.PENDING,
        requested_by=PersonId("p"),
        reason=filled(text, 1_000),
        review={name: filled(text, 4_000) for name in ("about", "concluded", "next_steps", "sources")},
        messages={},
        artifacts=(artifact,) * 30,
        created_at=WHEN,
        expires_at=WHEN + timedelta(days=30),
    )
    return AdoptionChanges(adoption=adoption, branch=BRANCH, parent=PARENT, messages=messages(text, 200))


def pins(text: str) -> list[Pin]:
    whole = filled(text, 4_000)
    return [
        Pin(
            id=views.thread_id(300 + number),
            root_id=views.thread_id(300 + number),
            kind=PinKind.OPEN_QUESTION,
            text=whole,
            message_id=None,
            author=filled(views.HOSTILE, 100),
            created_at=WHEN,
            removed=True,
        )
        for number in range(MOST_PINS)
    ]


def forms(
    locale: str, targets: Mapping[Mode, Wish], workflows: Mapping[str, Workflow], estimate: EstimateView
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every form by name; `targets` are the settings of each mode as full as they can be."""
    offer = Offer(models=tuple(f"model-{number}" for number in range(60)), workflows=workflows)
    for kind in (HANDOVER, REVIEW):
        yield f"waiting_{kind}", waiting(locale, replace(SHEET, kind=kind))
    yield "handover_target", target_form(locale, SHEET, tuple(Mode), quoted=views.HOSTILE * 9, chosen="chat")
    cases = {name: fields(letters) for name, letters in LETTERS.items()}
    for mode, target in targets.items():
        carried = fields(LETTERS["japanese"])
        made = handover_form(locale, SHEET, draft(carried), carried, target, offer, estimate=estimate)
        yield f"handover_{mode.value}", made
    for name, carried in {**cases, "overflowing": overflowing()}.items():
        debate = targets[Mode.DEBATE]
        made = handover_form(locale, SHEET, draft(carried), carried, debate, offer, estimate=estimate)
        yield f"handover_{name}", made
    empty = HandoverFields(source_mode=Mode.CHAT)
    chat = Wish(id="i", mode=Mode.CHAT, channel="C1", values={})
    yield "handover_empty", handover_form(locale, Sheet(), draft(empty), empty, chat, offer)
    for name, letters in LETTERS.items():
        found = meetings(letters)
        long = review(filled(letters, 40_000), 100, tuple(one.conflict for one in found))
        yield f"adoption_{name}", review_form(locale, SHEET, long, found, pins(letters))
        yield f"changes_{name}", changes_form(locale, changes(filled(letters, 40_000)))
        yield f"pin_{name}", pin_form(locale, SHEET, pinned=pins(letters)[0])
        yield f"pins_{name}", pins_form(locale, SHEET, pins(letters))
        yield f"pin_history_{name}", history_form(locale, pins(letters))
    yield "pin", pin_form(locale, SHEET, quoted=views.HOSTILE)
    yield "pins_none", pins_form(locale, SHEET, [])
    yield "reject", reject_form(locale, SHEET, views.HOSTILE * 20)
    threads = [one for channel in records.CHANNELS for one in channel.threads]
    many = [replace(threads[0], thread_id=views.thread_id(number)) for number in range(150)]
    channel = records.CHANNELS[0]
    for name, count in (("none", 0), ("one", 1), ("many", 150)):
        to = [(one, channel) for one in many[:count]]
        yield f"send_{name}", send_form(locale, replace(SHEET, ref=views.HOSTILE[:120]), views.HOSTILE, 3, to)
    for word in PICKING:
        yield f"pick_{word.value}", pick_form(locale, replace(SHEET, kind=word.value), many)


def cards(locale: str) -> Iterator[tuple[str, SlackMessage]]:
    """Every private card by name."""
    for name, letters in LETTERS.items():
        yield f"pins_{name}", pins_card(locale, ThreadId(SHEET.thread), pins(letters))
    yield "pins_none", pins_card(locale, ThreadId(SHEET.thread), [])
