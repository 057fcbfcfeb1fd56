"""Differences word by word."""

from hypothesis import given
from hypothesis import strategies as st

from core.domain.word_diff import MOST_WORDS, DiffPiece, Piece, word_diff


def test_a_changed_word_stands_beside_the_old_one() -> None:
    assert word_diff("the budget is open", "the budget is fixed") == (
        DiffPiece(piece=Piece.SAME, text="the budget is "),
        DiffPiece(piece=Piece.REMOVED, text="open"),
        DiffPiece(piece=Piece.ADDED, text="fixed"),
    )


def test_in_japanese_a_character_is_a_word() -> None:
    pieces = word_diff("残すこと", "残さないこと")
    assert pieces is not None
    assert [one.text for one in pieces if one.piece is Piece.ADDED] == ["さない"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_both_texts_can_be_read_back(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert pieces is not None
    assert "".join(one.text for one in pieces if one.piece is not Piece.ADDED) == before
    assert "".join(one.text for one in pieces if one.piece is not Piece.REMOVED) == after


def test_what_is_too_long_is_not_compared() -> None:
    assert word_diff("x", "あ" * (MOST_WORDS + 1)) is None
