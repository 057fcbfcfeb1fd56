"""Cards and forms of evaluations on Discord: within its limits at their largest, inert, and read back as written."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.discord.card import Card, Form, check
from bot.discord.component import FormModal
from bot.discord.eval_card import (
    choose_form,
    chosen,
    document,
    estimate_card,
    fail_form,
    list_card,
    read_request,
    report_card,
)
from bot.eval_act import Choices, Estimated
from core.domain.errors import Refusal
from core.domain.eval_run import EvalStatus
from core.i18n import LOCALES
from tests.bot.discord.test_prompt_card import FULL, ITEM, NAME, VERSIONS
from tests.examples import eval_views, records
from tests.examples.views import HOSTILE

REF = f"{eval_views.EVAL_ID}/{'f' * 20}"
OPENING = "1577130608314810477"


def everything(locale: str) -> Iterator[Card | Form]:
    models = tuple(replace(records.MODELS[0], alias=f"model-{number}") for number in range(60))
    full = Choices(page=replace(FULL, item=ITEM), models=models, candidate=VERSIONS[0].version_id)
    yield choose_form(full, locale)
    yield choose_form(replace(full, models=(), candidate="other"), locale)
    for number, estimate in enumerate(eval_views.ESTIMATES):
        crowded = replace(estimate, models=estimate.models * number, warnings=estimate.warnings * 20)
        found = Estimated(request=eval_views.REQUEST, estimate=crowded, before="1.0.0", after=HOSTILE)
        yield estimate_card(found, OPENING, locale)
    items = tuple(
        replace(eval_views.item(status), run_id=f"{eval_views.EVAL_ID[:-1]}{number}")
        for number, status in enumerate(EvalStatus)
    )
    many = tuple(
        replace(one, run_id=f"{one.run_id[:-2]}{n:02}", prompt=NAME) for n, one in enumerate(items * 8)
    )
    yield list_card(NAME, many, locale, HOSTILE)
    yield list_card("", items, locale)
    yield list_card("", (), locale)
    for question in eval_views.QUESTIONS:
        yield fail_form(REF, question, locale)


@pytest.mark.parametrize("locale", LOCALES)
def test_everything_is_within_discord_s_limits(locale: str) -> None:
    for made in everything(locale):
        check(made)
        if isinstance(made, Form):
            FormModal(made)


@pytest.mark.parametrize("locale", LOCALES)
def test_nothing_that_people_wrote_is_a_mention_or_markup(locale: str) -> None:
    for made in everything(locale):
        if isinstance(made, Card):
            assert "<!channel>" not in made.content
            assert "**bold**" not in made.content


def test_what_was_chosen_is_read_back_from_the_card_but_not_that_it_was_accepted() -> None:
    fields = {"candidate": "id", "baseline": "-", "model": "alpha", "other_model": "-", "repeats": " 4 "}
    request = chosen("compare.summary", fields, "C1")
    assert (request.baseline_id, request.candidate_model, request.repeats) == (None, "", 4)
    assert read_request(document(request).text.encode()) == request
    accepted = replace(request, acknowledged=True)
    assert read_request(document(accepted).text.encode()) == request
    with pytest.raises(TypeError, match="other"):
        read_request(b'{"other": 1}')


@pytest.mark.parametrize("typed", ["", "0", "11", "1.5", "three", "-1", "99999999999"])
def test_what_is_no_number_of_runs_is_refused(typed: str) -> None:
    with pytest.raises(Refusal) as caught:
        chosen("compare.summary", {"candidate": "id", "repeats": typed}, "C1")
    assert caught.value.code == "eval_number"


def test_a_report_that_discord_would_not_take_is_in_the_console() -> None:
    with pytest.raises(Refusal) as caught:
        report_card("Report", "eval.html", "x" * 4_000_000, "/evals/1")
    assert (caught.value.code, caught.value.fields) == ("eval_report_large", {"page": "/evals/1"})
    check(report_card("Report", "eval.html", "x" * 3_000_000, "/evals/1"))
