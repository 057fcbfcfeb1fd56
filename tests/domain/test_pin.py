"""Pins: kinds in either language, texts to the letter."""

import pytest

from core.domain.errors import Refusal
from core.domain.pin import PIN_CHARS, PinKind, pin_text
from core.i18n import LOCALES, refusal


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("constraint", PinKind.CONSTRAINT),
        (" Decision ", PinKind.DECISION),
        ("open question", PinKind.OPEN_QUESTION),
        ("open-question", PinKind.OPEN_QUESTION),
        ("question", PinKind.OPEN_QUESTION),
        ("制約", PinKind.CONSTRAINT),
        ("未解決", PinKind.OPEN_QUESTION),
        ("参照", PinKind.REFERENCE),
    ],
)
def test_a_kind_is_read_in_either_language(given: str, kind: PinKind) -> None:
    assert PinKind.read(given) is kind


def test_an_unknown_kind_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(Refusal, match="unknown_pin_kind") as refused:
        PinKind.read("wish")
    for locale in LOCALES:
        sentence = refusal(locale, refused.value)
        assert "wish" in sentence
        assert all(kind in sentence for kind in PinKind)


def test_a_pin_keeps_its_text_to_the_letter() -> None:
    assert pin_text("  at  most 30,000 EUR\n\nnot more ⟦x⟧\n") == "at  most 30,000 EUR\n\nnot more ⟦x⟧"


@pytest.mark.parametrize("given", ["", "  \n "])
def test_a_pin_without_text_is_refused(given: str) -> None:
    with pytest.raises(Refusal, match="pin_empty"):
        pin_text(given)


def test_a_pin_ends_at_its_limit() -> None:
    assert len(pin_text("x" * PIN_CHARS)) == PIN_CHARS
    with pytest.raises(Refusal, match="pin_too_long") as refused:
        pin_text("x" * (PIN_CHARS + 1))
    assert str(PIN_CHARS) in refusal("ja", refused.value)
