"""Documents of an evaluation: whole, in both languages, and nothing in them becomes markup."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from bot.eval_report import EvalReport, html_report, markdown_report
from core.domain.evaluation import CaseRuns, CheckResult, CheckStatus, Quarantine, Sample, compare
from core.domain.view import Phrase
from core.i18n import LOCALES
from tests.domain.test_evaluation import CONDITIONS, TODAY

HOSTILE = "<script>alert(1)</script> **bold** ```\n# heading\n| cell | [link](javascript:x) </pre> {{ x }}"


def sample(status: CheckStatus, output: str, found: str = "a word") -> Sample:
    reason = Phrase(key="eval_check.regex", fields={"count": 0, "first": found})
    return Sample(
        output=output, checks=(CheckResult(name="regex", status=status, reason=reason),), latency_ms=900
    )


def report() -> EvalReport:
    good, bad = CheckStatus.PASS, CheckStatus.FAIL
    runs = [
        CaseRuns(
            case_id="same", baseline=(sample(good, "unchanged"),), candidate=(sample(good, "unchanged"),)
        ),
        CaseRuns(
            case_id="broken",
            baseline=tuple(sample(good, "the old answer") for _ in range(8)),
            candidate=tuple(sample(bad, "the new answer", HOSTILE) for _ in range(8)),
            hard=True,
            human=("real points", HOSTILE),
            shown_input=HOSTILE,
        ),
        CaseRuns(case_id="fixed", baseline=(sample(bad, "x"),), candidate=(sample(good, HOSTILE),)),
        CaseRuns(
            case_id="shaky",
            baseline=(sample(bad, "a"), sample(good, "b")),
            candidate=(sample(bad, "a"), sample(good, "b")),
        ),
        CaseRuns(
            case_id="gone",
            baseline=(sample(good, "y"),),
            candidate=(
                Sample(
                    output="",
                    checks=(),
                    failure=Phrase(key="model_failure.timeout_total", fields={"model": "m"}),
                ),
            ),
        ),
    ]
    comparison = compare(
        runs,
        baseline=CONDITIONS,
        candidate=CONDITIONS,
        quarantine=[Quarantine(case_id="shaky", owner="Ann", until=TODAY)],
        today=TODAY,
    )
    closed = [Phrase(key="eval_gate.broken", fields={"count": 1, "cases": "broken"})]
    return EvalReport(
        prompt="handover.draft", baseline="1.0.0", candidate="1.1.0", comparison=comparison, closed=closed
    )


class Page(HTMLParser):
    """Tags that were opened, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.marked: dict[str, list[str]] = {"del": [], "ins": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.tags[-1:] and self.tags[-1] in self.marked:
            self.marked[self.tags[-1]].append(data)


@pytest.mark.parametrize("locale", LOCALES)
def test_the_page_tells_all_and_holds_nothing_but_its_own_markup(locale: str) -> None:
    page = Page(html_report(report(), locale))
    assert "script" not in page.tags
    assert "a" not in page.tags
    assert page.text.count("<script>alert(1)</script>") >= 3
    for expected in ("handover.draft", "1.1.0", "broken", "8/8", "0/8", "1/2", "real points", "900"):
        assert expected in page.text
    assert "{{ x }}" in page.text


def test_the_page_marks_what_changed_on_either_side() -> None:
    marked = Page(html_report(report(), "en")).marked
    assert "old" in marked["del"]
    assert "new" in marked["ins"]


def test_what_needs_a_look_comes_first_and_unchanged_cases_stand_in_the_table_only() -> None:
    text = html_report(report(), "en")
    assert (
        text.index("<h2>broken") < text.index("<h2>gone") < text.index("<h2>shaky") < text.index("<h2>fixed")
    )
    assert "<h2>same" not in text
    assert '<th scope="row">same</th>' in text
    assert "1 unchanged cases are not shown one by one." in text


def test_a_missing_answer_is_told_with_its_reason() -> None:
    for text in (html_report(report(), "en"), markdown_report(report(), "en").replace("\\", "")):
        assert "There is no output. " in text


@pytest.mark.parametrize("locale", LOCALES)
def test_markdown_tells_the_same_and_nothing_in_it_becomes_markup(locale: str) -> None:
    text = markdown_report(report(), locale)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    assert not [t for t in (*tokens, *inner) if t.type in {"html_block", "html_inline", "link_open", "image"}]
    headings = [tokens[place + 1].content for place, t in enumerate(tokens) if t.type == "heading_open"]
    assert len(headings) == 5
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert HOSTILE + "\n" in blocks
    assert "the new answer\n" in blocks
    for expected in ("8/8", "0/8", "1/2"):
        assert expected in text


def test_reports_say_when_the_conditions_differ_and_when_the_gate_is_open() -> None:
    first = report()
    unequal = replace(first.comparison, candidate=replace(CONDITIONS, repeats=9))
    text = markdown_report(replace(first, comparison=unequal, closed=()), "en").replace("\\", "")
    assert "cannot be compared" in text
    assert "Nothing stands in the way" in text
    assert "What keeps the gate shut" in markdown_report(first, "en")


def test_outputs_that_are_too_long_stand_side_by_side_as_they_are() -> None:
    long = CaseRuns(
        case_id="long",
        baseline=(sample(CheckStatus.PASS, "x"),),
        candidate=(sample(CheckStatus.PASS, "あ" * 5_000),),
    )
    comparison = compare([long], baseline=CONDITIONS, candidate=CONDITIONS, today=TODAY)
    text = html_report(replace(report(), comparison=comparison), "en")
    assert "too long to be compared" in text
    assert "あ" * 5_000 in text
