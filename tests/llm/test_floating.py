"""Which models of a catalogue can be another one tomorrow."""

import logging

import pytest

from core.llm.catalogue import Catalogue, load_catalogue
from core.llm.floating import floating, report_floating
from core.prompts.pinned import load_pinned


def catalogue(**ids: str) -> Catalogue:
    tables = {alias: {"id": model_id} for alias, model_id in ids.items()}
    return load_catalogue(tables, {}, file="test.toml", line_of=lambda path: 1, env={}, local=True)


def test_a_date_or_the_reviewed_list_fixes_an_id_and_what_comes_with_the_product_is_fixed() -> None:
    models = catalogue(
        dated="openai/gpt-5.4-2026-03-05",
        reviewed="anthropic/claude-opus-4-7",
        bare="openai/gpt-5.4",
        latest="mistral/mistral-large-latest",
    )
    assert [model.alias for model in floating(models, load_pinned())] == ["bare", "latest"]


def test_the_start_names_each_floating_id_in_one_sentence_and_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    models = catalogue(dated="openai/gpt-5.4-2026-03-05", latest="mistral/mistral-large-latest")
    with caplog.at_level(logging.WARNING):
        report_floating(models, load_pinned())
    assert caplog.messages == [
        "the id of model latest (mistral/mistral-large-latest) names no fixed version: another model can stand behind "
        "it tomorrow, and no prompt written for it can go live; choose an id with a date, or one on the reviewed list"
    ]
