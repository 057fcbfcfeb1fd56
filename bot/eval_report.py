"""A comparison of two versions of a prompt as a document: a whole HTML page without scripts, or Markdown. Pure.

Everything that people and models wrote is in it as text: nothing of it can become markup.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from core import i18n
from core.domain.evaluation import CaseComparison, CheckStatus, Comparison, Outcome, Sample
from core.domain.view import Phrase
from core.domain.word_diff import word_diff

SHA_CHARS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalReport:
    """What a document tells of an evaluation."""

    prompt: str
    baseline: str
    """How people call the version, such as `1.0.0`."""
    candidate: str
    comparison: Comparison
    closed: Sequence[Phrase]
    """What keeps the gate shut."""


def html_report(report: EvalReport, locale: str) -> str:
    """A page that stands alone: counts, the gate, every case, and outputs side by side where they differ."""
    environment = Environment(
        loader=PackageLoader("bot", "reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words = _Words(report, locale)
    return environment.get_template("eval.html").render(
        locale=locale, words=words, report=report, cases=_sorted(report.comparison), word_diff=word_diff
    )


def markdown_report(report: EvalReport, locale: str) -> str:
    """The same as Markdown, with outputs in code blocks."""
    words = _Words(report, locale)
    lines = [f"# {_inline(words.title)}", "", _inline(words.versions), "", _inline(words.conditions), ""]
    lines += [line for note in words.notes for line in (_inline(note), "")]
    lines += [f"- {_inline(reason)}" for reason in words.closed] + [""] * bool(words.closed)
    lines += [f"| {words.say('outcome')} | {words.say('cases')} |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in words.counts] + [""]
    heads = [words.say(name) for name in ("case", "outcome", "baseline", "candidate")]
    lines += [f"| {' | '.join(heads)} |", "|---|---|---|---|"]
    lines += [
        f"| {_inline(case.runs.case_id)} | {words.outcome(case)} | {case.baseline} | {case.candidate} |"
        for case in _sorted(report.comparison)
    ]
    for case in _sorted(report.comparison):
        if case.outcome is not Outcome.UNCHANGED:
            lines += ["", *_case_lines(case, words)]
    if words.left_out:
        lines += ["", _inline(words.left_out)]
    return "\n".join(lines) + "\n"


def _case_lines(case: CaseComparison, words: "_Words") -> Iterator[str]:
    yield f"## {_inline(case.runs.case_id)}: {words.outcome(case)}"
    if case.runs.shown_input:
        yield from ("", f"**{words.say('input')}**", "", _block(case.runs.shown_input))
    pair = case.telling
    for name, sample in zip(("baseline", "candidate"), pair or (), strict=False):
        yield from ("", f"**{words.say(name)}**", "")
        yield _inline(words.no_output(sample.failure)) if sample.failure else _block(sample.output)
        yield from ("", *(f"- {_inline(line)}" for line in words.checks(sample)))
    if case.runs.human:
        yield from ("", f"**{words.say('human')}**", "", *(f"- {_inline(one)}" for one in case.runs.human))


def _sorted(comparison: Comparison) -> list[CaseComparison]:
    """What needs a look first; within an outcome in the order of the set."""
    order = list(Outcome)
    return sorted(comparison.cases, key=lambda case: order.index(case.outcome))


class _Words:
    """The sentences of a report, in the reader's language."""

    def __init__(self, report: EvalReport, locale: str) -> None:
        self._report = report
        self._locale = locale
        comparison, candidate = report.comparison, report.comparison.candidate
        self.title = self.say("title", prompt=report.prompt)
        self.versions = self.say(
            "versions",
            baseline=report.baseline,
            candidate=report.candidate,
            model=" / ".join(candidate.models) or self.say("unknown"),
        )
        self.conditions = self.say(
            "conditions",
            set=candidate.set_name,
            sha=candidate.set_sha256[:SHA_CHARS],
            repeats=candidate.repeats,
        )
        self.closed = [i18n.phrase(locale, reason) for reason in report.closed]
        self.counts = [
            (i18n.text(locale, f"eval_outcome.{outcome}"), count)
            for outcome, count in comparison.counts.items()
        ]
        unchanged = comparison.counts[Outcome.UNCHANGED]
        self.left_out = self.say("left_out", count=unchanged) if unchanged else ""
        self.notes = list(self._notes())

    def say(self, name: str, **fields: str | float) -> str:
        return i18n.text(self._locale, f"eval_report.{name}", **fields)

    def _notes(self) -> Iterator[str]:
        comparison = self._report.comparison
        if not comparison.is_comparable:
            yield self.say("not_comparable")
        before, after = (self._duration(value) for value in comparison.median_latency_ms())
        yield self.say("latency", baseline=before, candidate=after)
        before, after = (self._money(value) for value in comparison.mean_cost_usd())
        yield self.say("cost", baseline=before, candidate=after)
        yield self.say("gate_shut") if self.closed else self.say("gate_open")

    def _duration(self, value: float | None) -> str:
        return self.say("unknown") if value is None else self.say("milliseconds", ms=round(value))

    def _money(self, value: float | None) -> str:
        return self.say("unknown") if value is None else i18n.money(value)

    def outcome(self, case: CaseComparison) -> str:
        marks = [i18n.text(self._locale, f"eval_outcome.{case.outcome}")]
        marks += [self.say("quarantined")] * case.quarantined + [self.say("hard")] * case.runs.hard
        return ", ".join(marks)

    def no_output(self, failure: Phrase) -> str:
        return self.say("no_output", reason=i18n.phrase(self._locale, failure))

    def checks(self, sample: Sample) -> list[str]:
        """Every condition that did not pass."""
        return [
            f"{check.name}: {i18n.text(self._locale, f'eval_status.{check.status}')}. "
            f"{i18n.phrase(self._locale, check.reason)}"
            for check in sample.checks
            if check.status is not CheckStatus.PASS
        ]


_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def _inline(text: str) -> str:
    """One line in which nothing is Markdown."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def _block(text: str) -> str:
    """A code block whose fence is longer than any within."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{text}\n{fence}"
