"""What is said of a model that is not, or will not stay, what its id says."""

import pytest

from bot.model_outline import model_notes
from tests.examples.records import MODELS

BY_ALIAS = {model.alias: model for model in MODELS}


@pytest.mark.parametrize(
    ("alias", "locale", "said"),
    [
        ("demo-careful", "en", []),
        ("gpt-large", "en", ["its id names no fixed version: another model can stand behind it tomorrow"]),
        ("gpt-large", "ja", ["IDが特定の版を指していません。明日には別のモデルになっていることがあります"]),
    ],
)
def test_a_floating_id_is_said_to_be_one(alias: str, locale: str, said: list[str]) -> None:
    assert list(model_notes(BY_ALIAS[alias], locale)) == said


@pytest.mark.parametrize(("locale", "words"), [("en", "before that"), ("ja", "以前は")])
def test_a_change_is_told_with_its_day_and_both_ids(locale: str, words: str) -> None:
    (note,) = model_notes(BY_ALIAS["claude-sonnet"], locale)
    assert words in note
    for part in ("2026-03-", "claude-sonnet-4-5-20260220", "claude-sonnet-4-5-20250929"):
        assert part in note
