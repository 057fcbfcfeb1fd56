import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.prior_context import (
    KEYS,
    Admitted,
    PriorCap,
    PriorContext,
    PriorWarning,
    admit,
    capped,
    read_prior_context,
)
from core.domain.receipt import CapApplied


def cut(prior: PriorContext) -> dict[str, tuple[int, int, int]]:
    return {cap.name: (cap.limit, cap.had, cap.kept) for cap in capped(prior)[1]}


def test_the_five_names_are_those_of_the_spec() -> None:
    assert KEYS == ("summary", "background", "openQuestions", "constraints", "firstRequest")


def test_text_and_lists_of_text_are_taken_for_every_field() -> None:
    prior, warnings = read_prior_context(
        {
            "summary": ["one", " two "],
            "background": "b",
            "openQuestions": "only one",
            "constraints": ["30万円以内", " "],
            "firstRequest": "r",
        }
    )
    assert warnings == ()
    assert prior == PriorContext(
        summary="one\ntwo",
        background="b",
        open_questions=("only one",),
        constraints=("30万円以内",),
        first_request="r",
    )


def test_other_names_are_skipped_without_a_word() -> None:
    assert read_prior_context({"conclusions": "x", "sourceMode": 3}) == (PriorContext(), ())


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (None, "null"),
        (True, "boolean"),
        (3, "number"),
        (1.5, "number"),
        ({"a": "b"}, "object"),
        (["fine", 3], "list with values that are not text"),
        (b"bytes", "list with values that are not text"),
    ],
)
def test_a_wrong_type_is_dropped_with_a_warning(value: object, got: str) -> None:
    prior, warnings = read_prior_context({"constraints": value, "summary": "kept"})
    assert prior == PriorContext(summary="kept")
    assert warnings == (PriorWarning(field="constraints", got=got),)


@pytest.mark.parametrize("length", [3_999, 4_000])
def test_summary_and_background_within_4000_together_stay_whole(length: int) -> None:
    prior = PriorContext(summary="s" * 1_000, background="b" * (length - 1_000), first_request="r" * length)
    assert capped(prior) == (prior, ())


def test_at_4001_the_background_and_the_first_request_lose_one_character_each() -> None:
    prior = PriorContext(summary="s" * 1_000, background="b" * 3_001, first_request="r" * 4_001)
    within, caps = capped(prior)
    assert (len(within.summary), len(within.background), len(within.first_request)) == (1_000, 3_000, 4_000)
    assert caps == (
        CapApplied(name=PriorCap.OVERVIEW, limit=4_000, had=4_001, kept=4_000),
        CapApplied(name=PriorCap.FIRST_REQUEST, limit=4_000, had=4_001, kept=4_000),
    )


def test_a_long_summary_leaves_no_room_for_the_background() -> None:
    within, _ = capped(PriorContext(summary="s" * 5_000, background="b"))
    assert (len(within.summary), within.background) == (4_000, "")


def test_ten_items_of_300_characters_stay_whole() -> None:
    items = tuple("x" * 300 for _ in range(10))
    assert capped(PriorContext(open_questions=items, constraints=items))[1] == ()


def test_the_eleventh_item_and_the_301st_character_are_cut_and_counted() -> None:
    items = ("y" * 301, *("x" * 300 for _ in range(10)))
    prior = PriorContext(open_questions=items, constraints=items[:1])
    within, _ = capped(prior)
    assert len(within.open_questions) == 10
    assert within.open_questions[0] == "y" * 300
    assert cut(prior) == {
        PriorCap.OPEN_QUESTIONS: (10, 11, 10),
        PriorCap.OPEN_QUESTION_CHARS: (300, 301, 300),
        PriorCap.CONSTRAINT_CHARS: (300, 301, 300),
    }


def test_eleven_constraints_are_ten() -> None:
    assert cut(PriorContext(constraints=tuple(map(str, range(11))))) == {PriorCap.CONSTRAINTS: (10, 11, 10)}


texts = st.text(max_size=5_000)
lists = st.lists(st.text(max_size=400), max_size=14).map(tuple)


@given(
    st.builds(
        PriorContext,
        summary=texts,
        background=texts,
        first_request=texts,
        open_questions=lists,
        constraints=lists,
    )
)
def test_what_is_capped_is_within_the_caps_is_a_beginning_and_is_not_cut_again(prior: PriorContext) -> None:
    within, caps = capped(prior)
    assert len(within.summary) + len(within.background) <= 4_000
    assert len(within.first_request) <= 4_000
    assert prior.summary.startswith(within.summary)
    assert prior.background.startswith(within.background)
    assert prior.first_request.startswith(within.first_request)
    for before, after in (
        (prior.open_questions, within.open_questions),
        (prior.constraints, within.constraints),
    ):
        assert len(after) == min(len(before), 10)
        assert [item[:300] for item in before[:10]] == list(after)
    assert capped(within) == (within, ())
    assert bool(caps) == (within != prior)


def test_what_the_entry_point_admits_survives_the_way_through_json() -> None:
    admitted = admit({"summary": "s" * 4_001, "constraints": 3, "openQuestions": ["q"], "other": "x"})
    assert [cap.name for cap in admitted.caps] == [PriorCap.OVERVIEW]
    assert admitted.warnings == (PriorWarning(field="constraints", got="number"),)
    assert Admitted.from_json(admitted.to_json()) == admitted
    assert not admitted.context.is_empty
    assert PriorContext().is_empty
