"""What cards of evaluations say: every reason of the gate, every outcome, and whole outputs in the file."""

from dataclasses import replace

import pytest

from bot.eval_outline import counts_line, estimate_lines, eval_outline, item_line
from core.domain.eval_run import EvalStatus
from core.domain.evaluation import Outcome
from core.domain.view import Phrase
from core.i18n import LOCALES
from tests.examples import eval_views


@pytest.mark.parametrize("locale", LOCALES)
def test_a_card_names_every_reason_that_keeps_the_gate_shut(locale: str) -> None:
    reasons = tuple(
        Phrase(key="eval_gate.broken", fields={"count": n, "cases": f"case-{n}"}) for n in range(14)
    )
    card = eval_outline(replace(eval_views.card(EvalStatus.DONE), closed=reasons), locale)
    said = [text for _, text in card.lines]
    assert all(any(f"case-{n}" in line for line in said) for n in range(14))
    assert all("\n" not in line for line in said)


@pytest.mark.parametrize("status", EvalStatus)
def test_a_card_says_what_was_found_only_once_it_has_ended(status: EvalStatus) -> None:
    labels = [label for label, _ in eval_outline(eval_views.card(status), "en").lines]
    ended = status not in (EvalStatus.QUEUED, EvalStatus.RUNNING)
    assert ("Gate" in labels, "Cases" in labels, "Cost so far" in labels) == (ended, ended, not ended)


def test_counts_name_every_outcome_but_one_that_no_evaluation_ends_with() -> None:
    line = counts_line({Outcome.FIXED.value: 3}, "en")
    assert line == "broken 0 · error 0 · flaky 0 · fixed 3 · different output 0 · unchanged 0"
    assert "to be confirmed 2" in counts_line({Outcome.SUSPECTED.value: 2}, "en")


def test_a_question_holds_both_outputs_whole_in_its_file() -> None:
    view = replace(eval_views.question(eval_views.LONG_OUTPUT), candidate="")
    card = eval_outline(view, "en")
    assert card.document.count(eval_views.LONG_OUTPUT) == 2
    assert "There is no output." in card.document
    assert card.document_name == "case-with-a-long-name.md"
    assert card.title.endswith("Does the output do what is asked?")


def test_an_estimate_says_where_the_cases_go_and_that_a_price_is_not_known() -> None:
    known, unknown = (estimate_lines(one, "1.0.0", "1.1.0", "en") for one in eval_views.ESTIMATES)
    assert any("may train on what is sent" in line for line in known)
    assert any("$0.42" in line for line in known)
    assert any("mail addresses: 2" in line for line in known)
    assert any("a price is not known" in line for line in unknown)
    assert any("Postal addresses are not found" in line for line in unknown)


def test_a_line_of_the_list_names_versions_models_and_outcomes() -> None:
    line = item_line(eval_views.item(EvalStatus.DONE), "en")
    for words in ("1.0.0 → 1.1.0", "done; 12 of 120", "→ other", "broken 1"):
        assert words in line
