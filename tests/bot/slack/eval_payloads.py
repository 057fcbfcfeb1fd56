"""The forms of evaluations, as full as they can be."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bot.eval_act import Choices, Estimated
from bot.slack.eval_form import Trial, choose_form, confirm_form, eval_message, fail_form, list_form
from bot.slack.render import SlackMessage
from core.domain.eval_run import EvalStatus
from tests.bot.slack.prompt_payloads import ID, ITEM, NAME, VERSIONS
from tests.examples import eval_views, prompt_views, records
from tests.examples.views import HOSTILE

FULL = Trial(
    name=NAME,
    candidate=ID,
    baseline=ID,
    model="m" * 100,
    other_model="m" * 100,
    repeats=10,
    channel="C0123456789",
    ref=f"{ID}/{'f' * 20}",
    key=ID,
)


def cards(locale: str) -> Iterator[tuple[str, SlackMessage]]:
    """Every card by name."""
    yield "eval_asked", eval_message(locale, NAME)
    yield "evals_asked", eval_message(locale, "")


def forms(locale: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every form by name."""
    page = prompt_views.page(item=ITEM, versions=VERSIONS, shown=VERSIONS[0])
    models = tuple(replace(records.MODELS[0], alias=f"model-{number}") for number in range(200))
    full = Choices(page=page, models=models, candidate=VERSIONS[0].version_id)
    yield "eval_choose", choose_form(locale, FULL, full)
    yield "eval_choose_new", choose_form(locale, Trial(name=NAME), replace(full, models=()))
    for number, estimate in enumerate(eval_views.ESTIMATES):
        crowded = replace(estimate, models=estimate.models * number, warnings=estimate.warnings * 20)
        found = Estimated(request=eval_views.REQUEST, estimate=crowded, before="1.0.0", after=HOSTILE)
        yield f"eval_confirm_{number}", confirm_form(locale, FULL, found)
    items = tuple(eval_views.item(status) for status in EvalStatus)
    yield "evals", list_form(locale, Trial(name=NAME), items, HOSTILE)
    yield "evals_many", list_form(locale, Trial(), items * 20)
    yield "evals_none", list_form(locale, Trial(), ())
    for number, question in enumerate(eval_views.QUESTIONS):
        yield f"eval_fail_{number}", fail_form(locale, FULL, question)
