"""Handovers as values: routes, fields, caps, pins."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import Refusal
from core.domain.handover import (
    LISTS,
    PINNED,
    ROUTES,
    SENT,
    Field,
    HandoverFields,
    check,
    check_route,
    missing_pins,
    read_target,
    routes,
    sent_fields,
    with_pins,
    within_caps,
)
from core.domain.pin import Pin, PinKind
from core.domain.policy import Policy
from core.domain.prior_context import PriorCap
from core.domain.thread import Mode
from core.i18n import LOCALES, refusal, text

ALL = set(Mode)
FULL = HandoverFields(
    source_mode=Mode.CHAT,
    summary="s",
    background="b",
    open_questions=("q",),
    constraints=("c",),
    first_request="f",
    conclusions=("k",),
)


def pin(text: str, kind: PinKind = PinKind.CONSTRAINT, number: int = 1) -> Pin:
    return Pin(
        id=f"p{number}",
        root_id=f"p{number}",
        kind=kind,
        text=text,
        message_id=None,
        author="Aki",
        created_at=datetime(2026, 3, 2, tzinfo=UTC),
    )


# --- routes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", list(Mode))
@pytest.mark.parametrize("target", list(Mode))
def test_the_routes_are_those_of_the_product(source: Mode, target: Mode) -> None:
    allowed = {
        Mode.CHAT: ALL,
        Mode.COMPARE: ALL,
        Mode.DEBATE: ALL,
        Mode.CODRAFT: set(),
        Mode.WORKFLOW: {Mode.DEBATE, Mode.CHAT},
    }[source]
    if target in allowed:
        check_route(source, target, Policy())
    else:
        with pytest.raises(Refusal):
            check_route(source, target, Policy())


def test_a_wrong_route_is_refused_with_those_allowed() -> None:
    with pytest.raises(Refusal, match="handover_route") as refused:
        check_route(Mode.WORKFLOW, Mode.COMPARE, Policy())
    for locale in LOCALES:
        sentence = refusal(locale, refused.value)
        assert "debate, chat" in sentence
        assert "compare" in sentence


def test_nothing_goes_on_from_co_draft() -> None:
    with pytest.raises(Refusal, match="handover_no_route") as refused:
        check_route(Mode.CODRAFT, Mode.CHAT, Policy())
    assert "codraft" in refusal("en", refused.value)


def test_a_policy_narrows_the_routes() -> None:
    policy = Policy(handover_routes=("chat>debate", "Chat > compare", "workflow>codraft"))
    assert routes(Mode.CHAT, policy) == (Mode.COMPARE, Mode.DEBATE)
    assert routes(Mode.DEBATE, policy) == ()
    with pytest.raises(Refusal, match="handover_route") as refused:
        check_route(Mode.CHAT, Mode.CHAT, policy)
    assert refused.value.fields["allowed"] == "compare, debate"
    with pytest.raises(Refusal, match="handover_no_route"):
        check_route(Mode.DEBATE, Mode.CHAT, policy)


def test_a_policy_does_not_open_a_route_that_the_product_lacks() -> None:
    assert routes(Mode.WORKFLOW, Policy(handover_routes=("workflow>codraft",))) == ()


@pytest.mark.parametrize(
    ("given_word", "mode"),
    [
        ("debate", Mode.DEBATE),
        ("Co-Draft", Mode.CODRAFT),
        ("AI 会議", Mode.DEBATE),
        ("通常チャット", Mode.CHAT),
    ],
)
def test_a_target_is_read_as_people_write_it(given_word: str, mode: Mode) -> None:
    assert read_target(given_word) is mode


def test_an_unknown_mode_is_refused_with_the_modes_there_are() -> None:
    with pytest.raises(Refusal, match="handover_unknown_mode") as refused:
        read_target("telepathy")
    assert all(mode in refusal("en", refused.value) for mode in Mode)


# --- fields ---------------------------------------------------------------------------------------------------------


def test_fields_come_back_as_they_were_stored() -> None:
    assert FULL.to_json() == {
        "sourceMode": "chat",
        "summary": "s",
        "background": "b",
        "openQuestions": ["q"],
        "constraints": ["c"],
        "firstRequest": "f",
        "conclusions": ["k"],
    }
    assert HandoverFields.from_json(FULL.to_json()) == FULL


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"extra": "x"}, "setting_unknown"),
        ({"summary": ["x"]}, "setting_not_text"),
        ({"firstRequest": None}, "setting_not_text"),
        ({"constraints": "x"}, "setting_not_list"),
        ({"openQuestions": ["x", 1]}, "setting_not_list"),
        ({"conclusions": {"a": "b"}}, "setting_not_list"),
        ({"sourceMode": "seance"}, "handover_unknown_mode"),
    ],
)
def test_unknown_and_wrong_typed_fields_are_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal, match=code):
        HandoverFields.from_json({**FULL.to_json(), **change})


def test_blanks_around_texts_and_empty_items_are_left_out() -> None:
    raw = {**FULL.to_json(), "summary": " s \n", "constraints": [" c ", "", "  "]}
    assert HandoverFields.from_json(raw) == FULL


@pytest.mark.parametrize("locale", LOCALES)
def test_every_field_has_a_name_for_people(locale: str) -> None:
    assert len({text(locale, f"handover_field.{field}") for field in Field}) == len(Field)


def test_each_mode_is_sent_the_fields_of_the_table() -> None:
    three = {Field.SUMMARY, Field.OPEN_QUESTIONS, Field.CONSTRAINTS}
    five = {*three, Field.BACKGROUND, Field.FIRST_REQUEST}
    assert {mode: set(fields) for mode, fields in SENT.items()} == {
        Mode.CHAT: three,
        Mode.COMPARE: three,
        Mode.DEBATE: five,
        Mode.WORKFLOW: five,
        Mode.CODRAFT: {Field.CONCLUSIONS, Field.OPEN_QUESTIONS, Field.CONSTRAINTS},
    }
    assert set(SENT) == {target for targets in ROUTES.values() for target in targets}


def test_conclusions_go_into_the_summary_of_a_debate_and_give_way_to_it_in_co_draft() -> None:
    none = replace(FULL, conclusions=())
    assert Field.CONCLUSIONS in sent_fields(Mode.DEBATE, FULL)
    assert Field.CONCLUSIONS not in sent_fields(Mode.DEBATE, none)
    assert Field.SUMMARY not in sent_fields(Mode.CODRAFT, FULL)
    assert set(sent_fields(Mode.CODRAFT, none)) == {Field.SUMMARY, Field.OPEN_QUESTIONS, Field.CONSTRAINTS}


# --- caps -----------------------------------------------------------------------------------------------------------

LARGEST = HandoverFields(
    source_mode=Mode.CHAT,
    summary="s" * 2_500,
    background="b" * 1_500,
    open_questions=("q" * 300,) * 10,
    constraints=("c" * 300,) * 10,
    first_request="f" * 4_000,
    conclusions=("k" * 300,) * 10,
)


def test_what_lies_within_every_cap_passes_whole() -> None:
    check(LARGEST, Mode.CHAT)
    assert within_caps(LARGEST) == (LARGEST, ())


@pytest.mark.parametrize(
    ("change", "code", "number"),
    [
        ({"summary": "s" * 2_501}, "handover_overview_too_long", "4001"),
        ({"background": "b" * 1_501}, "handover_overview_too_long", "4001"),
        ({"first_request": "f" * 4_001}, "handover_first_request_too_long", "4001"),
        ({"constraints": ("c",) * 11}, "handover_too_many_constraints", "11"),
        ({"open_questions": ("q",) * 11}, "handover_too_many_open_questions", "11"),
        ({"conclusions": ("k",) * 11}, "handover_too_many_conclusions", "11"),
        ({"constraints": ("c", "c" * 301)}, "handover_constraint_too_long", "2"),
        ({"open_questions": ("q" * 301,)}, "handover_open_question_too_long", "301"),
        ({"conclusions": ("k" * 301,)}, "handover_conclusion_too_long", "301"),
    ],
)
def test_the_form_refuses_one_more_and_says_what_to_do(
    change: dict[str, Any], code: str, number: str
) -> None:
    with pytest.raises(Refusal, match=code) as refused:
        check(replace(LARGEST, **change), Mode.DEBATE)
    assert number in refusal("en", refused.value)
    assert any(word in refusal("en", refused.value) for word in ("Shorten", "Merge"))
    assert any(word in refusal("ja", refused.value) for word in ("短く", "まとめる"))


def test_a_handover_without_anything_for_its_target_is_refused() -> None:
    fields = HandoverFields(source_mode=Mode.CHAT, background="b", first_request="f")
    check(fields, Mode.DEBATE)
    with pytest.raises(Refusal, match="handover_empty"):
        check(fields, Mode.CHAT)


items = st.lists(st.text(max_size=320), max_size=13).map(tuple)
many_fields = st.builds(
    HandoverFields,
    source_mode=st.just(Mode.CHAT),
    summary=st.text(max_size=50).map(lambda t: t * 100),
    background=st.text(max_size=50).map(lambda t: t * 60),
    open_questions=items,
    constraints=items,
    first_request=st.text(max_size=50).map(lambda t: t * 100),
    conclusions=items,
)


@given(many_fields)
def test_caps_hold_for_any_fields_and_tell_what_they_cut(fields: HandoverFields) -> None:
    within, caps = within_caps(fields)
    assert len(within.summary) + len(within.background) <= 4_000
    assert len(within.first_request) <= 4_000
    for field in LISTS:
        assert len(within.items(field)) <= 10
        assert all(len(item) <= 300 for item in within.items(field))
        assert all(
            whole.startswith(item)
            for whole, item in zip(fields.items(field), within.items(field), strict=False)
        )
    assert (within == fields) == (caps == ())
    assert all(cap.kept < cap.had for cap in caps)
    assert within_caps(within) == (within, ())


# --- pins -----------------------------------------------------------------------------------------------------------


def test_pins_go_where_their_kind_belongs_to_the_letter() -> None:
    pins = [
        pin("customer names\nstay in-house"),
        pin("Who pays?", PinKind.OPEN_QUESTION, 2),
        pin("Minami it is", PinKind.DECISION, 3),
        pin("https://example.com", PinKind.REFERENCE, 4),
    ]
    fields, caps = with_pins(FULL, pins)
    assert fields.constraints == ("customer names\nstay in-house", "c")
    assert fields.open_questions == ("Who pays?", "q")
    assert fields.conclusions == ("Minami it is", "k")
    assert "https://example.com" not in str(fields.to_json())
    assert caps == ()
    assert missing_pins(fields, pins) == ()


def test_a_reworded_pin_counts_as_missing_and_a_newly_broken_line_does_not() -> None:
    pins = [pin("at most 30,000 EUR"), pin("customer names\nstay in-house", number=2)]
    fields = replace(FULL, constraints=("at most 30,000 EUR unless agreed", "customer names stay in-house"))
    assert missing_pins(fields, pins) == (pins[0],)
    assert with_pins(fields, pins)[0].constraints == (
        "at most 30,000 EUR",
        "customer names\nstay in-house",
        "at most 30,000 EUR unless agreed",
    )


def test_a_pin_in_the_wrong_list_counts_as_missing() -> None:
    assert missing_pins(replace(FULL, open_questions=("x",)), [pin("x")]) == (pin("x"),)


def test_other_items_make_room_for_pins_and_the_cap_says_so() -> None:
    fields = replace(FULL, constraints=tuple(f"c{number}" for number in range(10)))
    merged, caps = with_pins(fields, [pin("one"), pin("two", number=2)])
    assert merged.constraints == ("one", "two", *(f"c{number}" for number in range(8)))
    assert [(cap.name, cap.had, cap.kept) for cap in caps] == [(PriorCap.CONSTRAINTS, 12, 10)]


def test_an_eleventh_pin_stays_for_a_person_to_decide() -> None:
    pins = [pin(f"pin {number}", number=number) for number in range(11)]
    merged, _ = with_pins(FULL, pins)
    assert merged.constraints == tuple(p.text for p in pins)
    with pytest.raises(Refusal, match="handover_too_many_constraints"):
        check(merged, Mode.CHAT)


pins_of = st.lists(
    st.builds(
        pin,
        st.text(min_size=1, max_size=30).map(str.strip).filter(bool),
        st.sampled_from(list(PinKind)),
        st.integers(0, 10**6),
    ),
    max_size=15,
)


@given(many_fields, pins_of)
def test_no_pin_is_ever_lost(fields: HandoverFields, pins: list[Pin]) -> None:
    merged, _ = with_pins(fields, pins)
    assert missing_pins(merged, pins) == ()
    for kind, field in PINNED.items():
        assert all(
            " ".join(p.text.split()) in {" ".join(item.split()) for item in merged.items(field)}
            for p in pins
            if p.kind is kind
        )
