"""The draft of a handover: pins and first request put in, the plain extract, items as lines of a form."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.drafting import (
    EXTRACT_CHARS,
    QUOTE_CHARS,
    DraftOrigin,
    HandoverDraft,
    completed,
    draftable,
    extract,
    from_lines,
    to_lines,
)
from core.domain.handover import HandoverFields, check
from core.domain.pin import PinKind
from core.domain.prior_context import PriorCap
from core.domain.thread import Mode
from tests.domain.test_handover import FULL, pin

DRAFT = HandoverDraft(fields=FULL, origin=DraftOrigin.MODEL)


def test_a_draft_comes_back_as_it_was_stored() -> None:
    draft = completed(replace(DRAFT, repaired=True), [pin("x" * 10, number=4)], "f" * 5_000)
    assert draft.missed == ("p4",)
    assert draft.caps
    assert HandoverDraft.from_json(json.loads(json.dumps(draft.to_json()))) == draft


def test_the_first_request_is_copied_and_not_what_a_model_made_of_it() -> None:
    draft = completed(
        replace(DRAFT, fields=replace(FULL, first_request="a summary of it")), [], " Help us.\n"
    )
    assert draft.fields.first_request == "Help us."
    assert draft.caps == ()


def test_a_first_request_beyond_its_cap_is_cut_and_the_draft_says_so() -> None:
    whole = completed(DRAFT, [], "f" * 4_000)
    cut = completed(DRAFT, [], "f" * 4_001)
    assert whole.caps == ()
    assert len(cut.fields.first_request) == 4_000
    assert [(cap.name, cap.had, cap.kept) for cap in cut.caps] == [(PriorCap.FIRST_REQUEST, 4_001, 4_000)]


def test_a_draft_that_misses_a_pin_is_repaired_and_flagged() -> None:
    kept, lost = pin("c", number=1), pin("customer names stay in-house", number=2)
    draft = completed(DRAFT, [kept, lost], "f")
    assert draft.fields.constraints == ("c", "customer names stay in-house")
    assert draft.missed == ("p2",)


def test_an_extract_holds_the_pins_and_flags_none() -> None:
    draft = completed(replace(DRAFT, origin=DraftOrigin.EXTRACT), [pin("x", number=2)], "f")
    assert draft.fields.constraints[0] == "x"
    assert draft.missed == ()


def test_only_pins_that_fit_a_draft_are_expected_of_one() -> None:
    long, reference = pin("x" * 301, number=50), pin("https://x.example", PinKind.REFERENCE, 51)
    short = [pin(f"c{number}", number=number) for number in range(12)]
    question = pin("Who?", PinKind.OPEN_QUESTION, 52)
    assert draftable([long, reference, *short, question]) == (*short[:10], question)
    draft = completed(DRAFT, [long], "f")
    assert draft.missed == ()
    assert draft.fields.constraints == ("x" * 301, "c")


# --- extract --------------------------------------------------------------------------------------------------------


def test_an_extract_quotes_the_last_messages_in_order() -> None:
    fields = extract(Mode.CHAT, [("Aki", "Which\nsupplier?"), ("AI", "Minami.")], None)
    assert fields == HandoverFields(source_mode=Mode.CHAT, summary="Aki: Which supplier?\nAI: Minami.")


def test_an_extract_cuts_long_messages_and_leaves_out_the_oldest() -> None:
    fields = extract(Mode.CHAT, [("Aki", f"{number} " + "x" * 500) for number in range(20)], None)
    lines = fields.summary.splitlines()
    assert len(fields.summary) <= EXTRACT_CHARS
    assert lines[-1].startswith("Aki: 19 ")
    assert all(len(line) == len("Aki: ") + QUOTE_CHARS for line in lines)
    assert len(lines) == 6
    check(fields, Mode.CHAT)


def test_an_extract_of_a_debate_takes_over_its_points() -> None:
    outcome: dict[str, Any] = {
        "recommendation": "Take Minami.",
        "agreed": ["Both deliver", "Take Minami."],
        "unresolved": [{"point": "Who pays?", "views": []}],
        "dissent": [],
        "constraints": [{"constraint": "at most 30,000 EUR", "status": "kept", "reason": "r"}],
        "changes": [],
    }
    fields = extract(Mode.DEBATE, [], outcome)
    assert fields.conclusions == ("Take Minami.", "Both deliver")
    assert fields.open_questions == ("Who pays?",)
    assert fields.constraints == ("at most 30,000 EUR",)


# --- lines of a form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "items"),
    [
        ("- one\n- two", ("one", "two")),
        ("one\n\n two ", ("one", "two")),
        ("・一つ\n・二つ", ("一つ", "二つ")),
        ("* one\n• two\n- three", ("one", "two", "three")),
        ("- one\n  and more\n- two", ("one\nand more", "two")),
        ("- one\nloose", ("one", "loose")),
        ("loose\n- one", ("loose", "one")),
        ("- one\r\n- two\r\n", ("one", "two")),
        ("- \n-  ", ()),
        ("", ()),
    ],
)
def test_items_are_read_from_lines(lines: str, items: tuple[str, ...]) -> None:
    assert from_lines(lines) == items


items_of = st.lists(
    st.text(alphabet="ab-*・• \n一", min_size=1, max_size=20).map(str.strip).filter(bool), max_size=6
).map(tuple)


@given(items_of)
def test_items_that_nobody_edited_come_back_the_same(items: tuple[str, ...]) -> None:
    assert from_lines(to_lines(items)) == items
