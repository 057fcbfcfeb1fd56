"""Private cards and forms of handovers, adoptions, pins and reviews: within Discord's limits at their largest."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.discord import adoption_card, handover_card, handover_form, pin, reply, review_card, sending_card
from bot.discord.card import Card, Form, TextFile, check, read_custom_id
from bot.discord.component import FormModal
from bot.discord.difference import block, difference
from bot.discord.limit import FIELD_VALUE, size
from bot.discord.pieces import apart, together
from core.commands.adoption import AdoptionReview
from core.commands.handover import Sending
from core.commands.review import ReviewRequest
from core.domain.adoption import (
    REASON_CHARS,
    TEXT_CHARS,
    AdoptionStatus,
    Choice,
    Conflict,
    ReviewDraft,
    ReviewForm,
    ReviewTexts,
)
from core.domain.artifact import NAME_CHARS, diff
from core.domain.drafting import DraftOrigin, HandoverDraft, TargetForm
from core.domain.errors import Refusal
from core.domain.handover import HandoverFields
from core.domain.ids import ThreadId
from core.domain.pin import MOST_PINS, PIN_CHARS, Pin, PinKind
from core.domain.prior_context import PriorCap
from core.domain.receipt import CapApplied
from core.domain.review import FOCUS_CHARS
from core.domain.thread import Mode
from core.domain.view import EstimateView, Phrase
from tests.ai_input.conversation import THREAD, message
from tests.examples import records

UUID = "0195e000-0000-7000-c000-000000000001"
OPENING = "1577130608314810477"
LETTERS = [("ja", "長"), ("en", "👩‍👩‍👧"), ("en", "*`"), ("ja", "- a\n")]
"""Wide, outside the basic plane and joined, marks, lines; both languages."""


def filled(letters: str, count: int) -> str:
    return (letters * (count // len(letters) + 1))[:count]


def fields_of(letters: str) -> HandoverFields:
    items = tuple(f"{n}{filled(letters, 4_000)}" for n in range(12))
    return HandoverFields(
        source_mode=Mode.CHAT,
        summary=filled(letters, 9_000),
        background=filled(letters, 30_000),
        open_questions=items,
        constraints=items,
        conclusions=items,
        first_request=filled(letters, 30_000),
    )


def review_of(letters: str) -> tuple[AdoptionReview, ReviewForm, list[Pin]]:
    parent, branch = THREAD, replace(THREAD, branch_name=filled(letters, 100))
    texts = dict.fromkeys(("about", "concluded", "next_steps", "sources"), filled(letters, TEXT_CHARS))
    conflicts = tuple(
        Conflict(
            name=f"{n}{filled(letters, NAME_CHARS - 3)}",
            branch_artifact=f"{UUID[:-2]}{n:02}",
            branch_version=100_000,
            parent_artifact=UUID,
            parent_version=100_000,
        )
        for n in range(40)
    )
    draft = ReviewDraft(
        texts=ReviewTexts(**texts), contradictions=tuple(filled(letters, 2_000) for _ in range(20))
    )
    said = tuple(message(n, filled(letters, 2_000)) for n in range(1, 8))
    review = AdoptionReview(
        branch=branch,
        parent=replace(parent, title=filled(letters, 200)),
        messages={"one": said, "other": said[:2]},
        artifacts=40,
        conflicts=conflicts,
        draft=draft,
    )
    chosen = {"choice": Choice.KEEP_BOTH.value, "new_name": filled(letters, NAME_CHARS)}
    form = ReviewForm(texts=texts, reason=filled("理", REASON_CHARS), choices={f"{UUID[:-2]}03": chosen})
    return review, form, pins_of(letters)


def pins_of(letters: str) -> list[Pin]:
    return [
        Pin(
            id=f"{UUID[:-3]}{n:03}",
            root_id=UUID,
            kind=list(PinKind)[n % 4],
            text=filled(letters, PIN_CHARS) if n else f"x{filled(letters, PIN_CHARS - 1)}",
            message_id=None,
            author=filled(letters, 200),
            created_at=datetime(2026, 12, 1, tzinfo=UTC),
        )
        for n in range(MOST_PINS)
    ]


def handover_views(letters: str, locale: str) -> Iterator[Card | Form]:
    fields = fields_of(letters)
    caps = tuple(CapApplied(name=cap, limit=10, had=10_000, kept=10) for cap in PriorCap)
    draft = HandoverDraft(
        fields=fields, origin=DraftOrigin.EXTRACT, missed=("1", "2"), repaired=True, caps=caps
    )
    many = [f"model-{n}-{filled('m', 90)}" for n in range(24)]
    form = TargetForm(
        start=filled(letters, 30_000), model=many[0], setup={"background": filled(letters, 30_000)}
    )
    setups: dict[Mode, dict[str, Any]] = {
        Mode.CHAT: {},
        Mode.COMPARE: {"models": many[:6], "blind": True},
        Mode.DEBATE: {
            "participants": [{"model": one, "role": "skeptic"} for one in many[:4]],
            "moderator": many[0],
            "rebuttal_rounds": 3,
            "background": filled(letters, 8_000),
        },
        Mode.CODRAFT: {"models": many[:6], "passes": 5},
        Mode.WORKFLOW: {"models": many[:6], "workflow": many[0]},
    }
    waiting = [(f"{UUID[:-1]}{n}", mode) for n, mode in enumerate(Mode)]
    yield handover_card.targets_card(tuple(Mode), f"{UUID}:{OPENING}", waiting, locale, centre=True)
    yield handover_card.waiting_card(UUID, locale)
    estimate = EstimateView(
        calls=99,
        input_tokens=10**9,
        output_tokens=10**9,
        cost_usd=10**6,
        unpriced=tuple(many),
        notes=(Phrase(key="mode_notice.same_model_twice", fields={"models": ", ".join(many)}),),
        models=tuple(many),
    )
    sending = Sending(handover_id=UUID, fields=fields.to_json(), start=form.start, setup=form.setup)
    yield handover_card.confirm_card(sending, estimate, locale)
    focus = filled("理", FOCUS_CHARS)
    yield review_card.offer(ReviewRequest(answers=(UUID,) * 6, focus=focus), estimate, OPENING, locale)
    for group in handover_form.FIELDS:
        yield handover_form.fields_form(f"{UUID}:{group.value}:{OPENING}", group, fields, locale)
    choices = handover_form.Choices(models=tuple(many), workflows={})
    for mode, setup in setups.items():
        yield handover_card.draft_card(UUID, mode, draft, fields, form, setup, locale)
        yield handover_form.start_form(f"{UUID}:start:{OPENING}", mode, form, locale)
        yield handover_form.setup_form(f"{UUID}:setup:{OPENING}", mode, form, setup, choices, locale)


def adoption_views(letters: str, locale: str) -> Iterator[Card | Form]:
    review, form, pins = review_of(letters)
    yield adoption_card.review_card(UUID, review, form, pins, locale)
    yield adoption_card.waiting_card(UUID, locale)
    for group in adoption_card.GROUPS:
        yield adoption_card.texts_form(UUID, group, form, OPENING, locale)
    rows = diff(filled(letters, 3_000), filled(letters + "y\n", 3_000))
    yield adoption_card.conflict_card(UUID, review.conflicts[0], rows, form, locale)
    yield adoption_card.name_form(f"{UUID}:{UUID}:n", filled(letters, NAME_CHARS), locale)
    for action in (adoption_card.REQUEST, adoption_card.WHY):
        yield adoption_card.reason_form(action, f"{UUID}:{OPENING}", form.reason, locale)
    asked = [
        adoption_card.Asked(
            adoption_id=f"{UUID[:-2]}{n:02}",
            status=list(AdoptionStatus)[n % 5],
            day="2026-12-01",
            reason=filled(letters, REASON_CHARS),
        )
        for n in range(60)
    ]
    yield adoption_card.adoptions_card(asked, "ad_changes", locale)
    yield adoption_card.adoptions_card([], "ad_changes", locale)
    for page in range(4):
        yield pin.pins_card(UUID, pins, page, locale)
    yield pin.pins_card(UUID, [], 0, locale)
    yield pin.pin_card(UUID, pins, locale)
    for one in pins[:4]:
        yield pin.edit_form(one, f"{UUID}:{OPENING}", locale)
    yield pin.new_form(pin.AT, f"{OPENING}:{OPENING}", locale)


def sending_views(letters: str, locale: str) -> Iterator[Card | Form]:
    items = [
        replace(records.SAVED[0], artifact_id=f"{UUID[:-2]}{n:02}", name=filled(letters, NAME_CHARS))
        for n in range(60)
    ]
    yield reply.artifacts(items, locale)
    thread = records.CHANNELS[0].threads[0]
    threads = [
        (
            filled(letters, 200),
            replace(thread, thread_id=ThreadId(f"{UUID[:-2]}{n:02}"), title=filled(letters, 200)),
        )
        for n in range(60)
    ]
    for page in range(4):
        yield sending_card.threads_card(items[0], 99_999, threads, page, locale)
    ref = f"{UUID}:99999:{UUID}"
    yield sending_card.taken_card(ref, filled(letters, 3_000), locale)
    yield sending_card.name_form(ref, filled(letters, NAME_CHARS), locale)


@pytest.mark.parametrize(("locale", "letters"), LETTERS)
def test_every_private_card_and_form_is_within_the_limits_at_its_largest(locale: str, letters: str) -> None:
    for made in (
        *handover_views(letters, locale),
        *adoption_views(letters, locale),
        *sending_views(letters, locale),
    ):
        check(made)
        if isinstance(made, Form):
            assert read_custom_id(made.custom_id) == (made.action, made.ref)
            assert FormModal(made).to_dict()["components"]


TEXTS = [
    "",
    "one line",
    "x" * FIELD_VALUE,
    "x" * (FIELD_VALUE + 1),
    "word " * 3_000,
    "長い行。\n" * 2_000,
    "👩‍👩‍👧" * 2_000,
    "\n" * 9_000,
    " " * 9_000,
    "a" * 25_000 + "\nend",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_a_text_taken_apart_is_put_together_again_to_the_letter(text: str, inputs: int) -> None:
    parts = apart(text, inputs)
    assert 1 <= len(parts.pieces) <= inputs
    assert all(size(words) <= FIELD_VALUE for _, words in parts.pieces)
    fields = {f"t.{number}{joint}": words for number, (joint, words) in enumerate(parts.pieces)}
    assert together("t", fields, parts.mark, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "- input:\n    request: |\n      some words\n" * 300,
        "{\n" + '  "a": [\n    1\n  ],\n' * 900 + "}",
        "one paragraph of some words\n\n\nand one more\n\n" * 300,
    ],
)
@pytest.mark.parametrize("full", [FIELD_VALUE, 3_000])
def test_no_input_begins_or_ends_with_a_blank_that_could_be_lost(text: str, full: int) -> None:
    text = text.strip()
    parts = apart(text, 5, full=full)
    assert len(parts.pieces) > 2
    assert all(size(words) <= full and words == words.strip() for _, words in parts.pieces)
    fields = {f"t.{number}{joint}": words for number, (joint, words) in enumerate(parts.pieces)}
    assert together("t", fields, parts.mark, text) == text


def test_a_rest_is_never_put_behind_another_text() -> None:
    parts = apart("x" * 9_000, 1)
    fields = {"t.0n": "new"}
    assert together("t", fields, parts.mark, "x" * 9_000) == "new" + "x" * 5_000
    with pytest.raises(Refusal, match="form_outdated"):
        together("t", fields, parts.mark, "y" * 9_000)
    with pytest.raises(Refusal, match="form_outdated"):
        together("t", fields, parts.mark, "")


def test_a_file_ends_where_discord_takes_no_more() -> None:
    short = "x" * (adoption_card.DOCUMENT // 2)
    assert adoption_card.fitting(short, "en") == short
    cut = adoption_card.fitting("👩" * 2_000_000, "en")
    assert cut.endswith("[The file ends here: Discord takes no longer one. The console shows all of it.]\n")
    check(Card(content="x", file=TextFile(name="f", text=cut)))


def test_a_difference_cannot_leave_its_block() -> None:
    lines = difference(diff("a\n```\nb", "a\n```\n```diff\nc"), "en")
    shown = block(lines, 500)
    assert shown.count("```") == 2
    assert block(["x" * 600], 500) == ""
    far = difference(diff("1\n" * 40 + "a", "1\n" * 40 + "b"), "en")
    assert far[0] == "@@ 37 lines unchanged @@"
