import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ai_input.estimate import estimate_message_tokens, estimate_tokens

ASCII_WHITESPACE = " \t\n\r\x0b\x0c"


def weight(char: str) -> Fraction:
    """The formula spelled out for one character, slowly."""
    code = ord(char)
    if code >= 0x10000:
        return Fraction(3)
    if code >= 0x800:
        return Fraction("1.05")
    if code >= 0x80:
        return Fraction("0.65")
    if char.isalpha():
        return Fraction("0.28")
    if char in ASCII_WHITESPACE:
        return Fraction("0.15")
    return Fraction("1.2") if char.isdigit() else Fraction("0.7")


@given(st.text())
def test_the_estimate_is_the_weighted_sum_of_character_classes_rounded_up(text: str) -> None:
    assert estimate_tokens(text) == math.ceil(sum((weight(char) for char in text), Fraction(0)))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("a" * 100, 28),
        (" " * 100, 15),
        ("\n" * 100, 15),
        ("7" * 100, 120),
        ("," * 100, 70),
        ("\x00" * 100, 70),
        ("é" * 100, 65),
        ("я" * 100, 65),
        ("漢" * 100, 105),
        ("한" * 100, 105),
        ("\u3000" * 100, 105),
        ("😀" * 100, 300),
        ("\ud800" * 100, 105),
    ],
)
def test_each_character_class_has_its_weight(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_message_costs_four_tokens_more_than_its_text() -> None:
    assert estimate_message_tokens("") == 4
    assert estimate_message_tokens("a" * 100) == 32


@given(st.text(), st.text())
def test_adding_text_never_lowers_the_estimate(head: str, tail: str) -> None:
    assert estimate_tokens(head + tail) >= estimate_tokens(head)
