"""Evaluations as a title and plain lines; each chat platform adds its own marks. Pure."""

from collections.abc import Iterator

from bot.outline import Outline
from core import i18n
from core.domain.eval_run import EvalEstimate, EvalItem, EvalQuestion
from core.domain.evaluation import Outcome
from core.domain.view import EvalCardView, EvalQuestionView, Said


def eval_page(eval_id: str) -> str:
    """The console's page on which an evaluation is looked at side by side."""
    return f"/evals/{eval_id}"


def eval_outline(view: EvalCardView | EvalQuestionView, locale: str) -> Outline:
    """The card in a language."""
    return _card(view, locale) if isinstance(view, EvalCardView) else _question(view, locale)


# --- the evaluation -------------------------------------------------------------------------------------------------


def _card(view: EvalCardView, locale: str) -> Outline:
    title = _t(locale, "card_title", name=view.prompt, before=view.baseline, after=view.candidate)
    return Outline(
        title=title,
        lines=tuple((label, text) for label, text in _card_lines(view, locale) if text),
        alarm=view.failure is not None,
        buttons=view.buttons,
    )


def _card_lines(view: EvalCardView, locale: str) -> Iterator[tuple[str, str]]:
    status = i18n.text(locale, f"eval_run_status.{view.status}")
    yield (
        _t(locale, "status"),
        _t(locale, "progress", status=status, done=f"{view.done:,}", all=f"{view.expected:,}"),
    )
    yield "", i18n.phrase(locale, view.failure) if view.failure else ""
    models = " / ".join(view.models)
    yield _t(locale, "compared"), _t(locale, "set_and_model", eval_set=view.eval_set, models=models)
    yield _t(locale, "spent" if view.running else "spent_all"), i18n.money(view.cost_usd)
    if view.running:
        return
    yield _t(locale, "cases"), counts_line(dict(view.counts), locale)
    yield _t(locale, "gate"), i18n.text(locale, "console.eval_closed" if view.closed else "console.eval_open")
    # A line each: of the lines of one text a platform shows the first ones only.
    yield from (("", f"• {i18n.phrase(locale, reason)}") for reason in view.closed)
    if view.waiting:
        yield _t(locale, "for_a_person"), _t(locale, "waiting", count=view.waiting)
    yield _t(locale, "whole"), _t(locale, "whole_at", page=eval_page(view.eval_id))


def counts_line(counts: dict[str, int], locale: str) -> str:
    """How many cases had each outcome, what needs a look first."""
    return " · ".join(
        f"{i18n.text(locale, f'eval_outcome.{outcome.value}')} {counts.get(outcome.value, 0)}"
        for outcome in Outcome
        if counts.get(outcome.value, 0) or outcome is not Outcome.SUSPECTED
    )


def item_line(item: EvalItem, locale: str) -> str:
    """An evaluation in a list, on one line."""
    status = i18n.text(locale, f"eval_run_status.{item.status.value}")
    facts = [
        f"{item.started_at:%Y-%m-%d %H:%M} UTC",
        f"{item.baseline.version} → {item.candidate.version}",
        _t(locale, "progress", status=status, done=f"{item.done:,}", all=f"{item.expected:,}"),
    ]
    if item.compares_models:
        facts.append(f"{item.baseline_model} → {item.candidate_model}")
    if item.counts:
        facts.append(counts_line({one.value: count for one, count in item.counts.items()}, locale))
    return " · ".join(facts)


# --- questions ------------------------------------------------------------------------------------------------------


def _question(view: EvalQuestionView, locale: str) -> Outline:
    title = f"{view.case_id}: {criterion(view.criterion, locale)}"
    lines = [(_t(locale, "prompt"), view.prompt)]
    if view.disputed:
        lines.append(("", _t(locale, "disputed")))
    lines += [(one.who, _said(one, locale)) for one in view.said]
    said = (
        (i18n.text(locale, "eval_report.input"), view.shown_input),
        (i18n.text(locale, "eval_report.baseline"), view.baseline or _t(locale, "empty")),
        (i18n.text(locale, "eval_report.candidate"), view.candidate or _t(locale, "empty")),
    )
    texts = tuple((label, text) for label, text in said if text)
    return Outline(
        title=title,
        lines=tuple(lines),
        alarm=view.disputed,
        texts=texts,
        buttons=view.buttons,
        document="\n\n".join((f"# {title}", *(f"## {label}\n\n{text}" for label, text in texts))) + "\n",
        document_name=f"{view.case_id}.md",
    )


def _said(one: Said, locale: str) -> str:
    judgement = i18n.text(locale, f"eval_judgement.{one.judgement}")
    return f"{judgement}: {one.comment}" if one.comment else judgement


def criterion(criterion: str, locale: str) -> str:
    """What a person is asked about an output."""
    return criterion or i18n.text(locale, "console.eval_criterion_none")


def asked_line(question: EvalQuestion, locale: str) -> str:
    """What a person is about to fail."""
    return f"{question.case_id}: {criterion(question.criterion, locale)}"


# --- before anything leaves -----------------------------------------------------------------------------------------


def estimate_lines(estimate: EvalEstimate, before: str, after: str, locale: str) -> list[str]:
    """What an evaluation would do and cost, where its cases would go, and what was masked in them."""
    cost = _t(locale, "cost_unknown") if estimate.cost_usd is None else i18n.money(estimate.cost_usd)
    lines = [
        _t(
            locale,
            "would_do",
            before=before,
            after=after,
            cases=estimate.cases,
            eval_set=estimate.eval_set,
            calls=f"{estimate.calls:,}",
            most=f"{estimate.most_calls:,}",
        ),
        _t(locale, "would_cost", cost=cost, tokens=f"{estimate.input_tokens:,}"),
        _t(locale, "leaves"),
    ]
    for model in estimate.models:
        trains = i18n.text(locale, f"eval_trains.{model.trains_on_data}")
        lines.append(f"• {model.alias} ({model.id}): {trains}")
        if not model.pinned:
            lines.append(f"  ⚠️ {i18n.text(locale, 'console.eval_floating')}")
    if estimate.from_logs:
        lines.append(i18n.text(locale, "console.eval_from_logs", count=estimate.from_logs))
    if estimate.masked:
        counts = [f"{i18n.text(locale, kind)}: {count}" for kind, count in estimate.masked.items()]
        lines += [i18n.text(locale, "console.eval_masked"), *(f"• {one}" for one in counts)]
    blind = ("address", "names", "context", "files")
    lines += [
        f"{i18n.text(locale, 'console.eval_unseen')}:",
        *(f"• {i18n.text(locale, f'personal_blind.{one}')}" for one in blind),
    ]
    return [*lines, *(f"⚠️ {i18n.phrase(locale, one)}" for one in estimate.warnings)]


def _t(locale: str, name: str, /, **fields: str | float) -> str:
    return i18n.text(locale, f"chat_evals.{name}", **fields)
