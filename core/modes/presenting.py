"""Structured output as people read it: Markdown in the thread's language, with model names where AI input had letters.

Which contributions are missing and which stances were taken comes from what is stored, never from a model's account.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from core.domain.artifact import Change, DiffRow
from core.domain.debate import DebateSetup
from core.domain.review import Aggregate, Judged
from core.i18n import text

Names = Mapping[str, str]
"""Letter → what people read in its place: a model's name, or “Model A” while a Compare is blind."""

Data = Mapping[str, Any]


def blind_names(letters: Sequence[str], locale: str) -> dict[str, str]:
    """Names that give nothing away."""
    return {letter: text(locale, "present.blind_name", letter=letter) for letter in letters}


def debate_names(setup: DebateSetup, locale: str) -> dict[str, str]:
    """Model and role of each participant."""
    return {
        p.letter: text(
            locale, "present.participant", model=p.model, role=text(locale, f"debate_role.{p.role}")
        )
        for p in setup.participants
    }


def present_comparison(data: Data, names: Names, locale: str, *, missing: Sequence[str] = ()) -> str:
    """Agreements, differences, what only one saw, what none covers; `missing`: letters of answers that did not come."""
    page = _Page(locale)
    page.listed("agreements", data["agreements"])
    page.heading("differences")
    page.views(data["differences"], "answer", names)
    page.listed(
        "only_one", [f"**{names[one['answer']]}**: {_line(one['point'])}" for one in data["only_one"]]
    )
    page.listed("not_covered", data["missing"])
    page.lines += [page.say("missing_answer", model=names[letter]) for letter in missing]
    return page.text()


def present_problem_framing(data: Data, names: Names, locale: str) -> str:
    """The issues, the constraints, the open questions, and who is called what in this debate."""
    page = _Page(locale)
    page.listed("issues", [f"**{_line(one['question'])}** {_line(one['stakes'])}" for one in data["issues"]])
    page.listed("constraints", data["constraints"])
    page.listed("open_questions", data["open_questions"])
    page.legend(names)
    return page.text()


def present_stance(data: Data, locale: str) -> str:
    """A position or last rebuttal: its stance on the first line, then its text."""
    return f"{text(locale, 'present.stance', stance=_line(data['stance']))}\n\n{data['text'].strip()}"


def present_synthesis(
    data: Data,
    names: Names,
    locale: str,
    *,
    stances: Mapping[str, Sequence[str]],
    absent: Sequence[tuple[str, str]] = (),
) -> str:
    """The moderator's summary; `stances` by letter, oldest first, `absent` as (letter, round)."""
    page = _Page(locale)
    page.heading("recommendation")
    page.lines.append(data["recommendation"].strip())
    page.listed("agreed", data["agreed"])
    page.heading("unresolved")
    page.views(data["unresolved"], "participant", names)
    page.listed(
        "dissent", [f"**{names[one['participant']]}**: {_line(one['view'])}" for one in data["dissent"]]
    )
    page.listed("constraints_checked", [page.constraint(one) for one in data["constraints"]])
    reasons = {one["participant"]: one for one in data["changes"]}
    page.listed(
        "stances",
        [page.stance_change(names[letter], taken, reasons.get(letter)) for letter, taken in stances.items()],
    )
    page.lines += [page.absence(names[letter], round_) for letter, round_ in absent]
    page.legend(names)
    return page.text()


def present_critique(data: Data, locale: str) -> str:
    page = _Page(locale)
    page.listed("points", [page.point(one) for one in data["points"]])
    page.listed("keep", data["keep"])
    return page.text()


def present_changes(data: Data, rows: Sequence[DiffRow], locale: str) -> str:
    """What a revision changed and why, and the difference line by line; the text itself is a version of its own."""
    page = _Page(locale)
    page.listed("changes", [f"{_line(one['change'])} — {_line(one['reason'])}" for one in data["changes"]])
    page.lines.append("")
    page.lines.append(present_diff(rows, locale))
    return page.text()


def present_diff(rows: Sequence[DiffRow], locale: str) -> str:
    """A difference in a code fence that no line of it can close; one sentence when nothing changed."""
    if not rows:
        return text(locale, "present.no_change")
    marks = {Change.SAME: " ", Change.REMOVED: "-", Change.ADDED: "+"}
    lines = [
        f"@@ {text(locale, 'present.lines_skipped', count=row.count)} @@"
        if row.change is Change.SKIPPED
        else f"{marks[row.change]} {row.text}"
        for row in rows
    ]
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return "\n".join([f"{fence}diff", *lines, fence])


def present_verdict(data: Data, names: Names, locale: str, *, answers: Mapping[str, str]) -> str:
    """One reviewer's result with the letters revealed. `answers` holds the texts that were reviewed, by letter: a
    quote that is not in its answer is marked."""
    page = _Page(locale)
    for letter, one in data["answers"].items():
        page.lines += ["", f"### {names[letter]}"]
        verdict = text(locale, f"verdict.{one['verdict']}")
        page.lines.append(page.say("verdict", verdict=verdict, reason=_line(one["reason"])))
        page.listed("strengths", one["strengths"], level=4)
        page.listed("errors", [page.error(error, answers[letter]) for error in one["errors"]], level=4)
    ranking = " > ".join(names[letter] for letter in data["ranking"])
    page.lines += ["", page.say("ranking", ranking=ranking, reason=_line(data["reason"]))]
    page.lines.append(
        page.say("read_as", mapping=", ".join(f"{letter} = {names[letter]}" for letter in data["answers"]))
    )
    return page.text()


def present_aggregate(
    whole: Aggregate, results: Sequence[Judged], names: Sequence[str], locale: str, *, asked: int
) -> str:
    """All reviewers together: a table, agreement, order effect. `names` are those of the answers, in their order."""
    page = _Page(locale)
    titles = [page.say("place"), page.say("answer"), *(result.reviewer for result in results)]
    page.lines.append("| " + " | ".join(_cell(title) for title in titles) + " |")
    page.lines.append("|" + " --- |" * len(titles))
    for standing in whole.standings:
        verdicts = [
            page.say("rank_cell", rank=rank, verdict=text(locale, f"verdict.{verdict}"))
            for rank, verdict in zip(standing.ranks, standing.verdicts, strict=True)
        ]
        cells = [str(standing.place), names[standing.answer], *verdicts]
        page.lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    page.lines += ["", text(locale, f"agreement.{whole.agreement}")]
    page.lines += [
        page.say("split_pair", one=names[one], other=names[other]) for one, other in whole.split_pairs
    ]
    page.lines.append(text(locale, f"order_effect.{whole.order_effect}"))
    if len(results) < asked:
        page.lines.append(page.say("fewer_reviewers", had=len(results), asked=asked))
    return page.text()


class _Page:
    """Markdown that grows line by line."""

    def __init__(self, locale: str) -> None:
        self.locale = locale
        self.lines: list[str] = []

    def say(self, name: str, **fields: str | int) -> str:
        return text(self.locale, f"present.{name}", **fields)

    def text(self) -> str:
        return "\n".join(self.lines).strip()

    def heading(self, name: str, *, level: int = 3) -> None:
        self.lines += ["", f"{'#' * level} {self.say(name)}"]

    def listed(self, name: str, items: Sequence[str], *, level: int = 3) -> None:
        """A heading with its points; a heading without points says so."""
        self.heading(name, level=level)
        self.lines += [f"- {_line(item)}" for item in items] or [self.say("nothing")]

    def views(self, items: Sequence[Data], who: str, names: Names) -> None:
        for one in items:
            self.lines.append(f"- {_line(one['point'])}")
            self.lines += [f"  - **{names[view[who]]}**: {_line(view['view'])}" for view in one["views"]]
        if not items:
            self.lines.append(self.say("nothing"))

    def legend(self, names: Names) -> None:
        who = ", ".join(f"{letter} = {name}" for letter, name in names.items())
        self.lines += ["", self.say("legend", who=who)]

    def constraint(self, one: Data) -> str:
        status = self.say(f"constraint_{one['status']}")
        return f"**{status}**: {_line(one['constraint'])} — {_line(one['reason'])}"

    def stance_change(self, name: str, taken: Sequence[str], given: Data | None) -> str:
        before, after = _line(taken[0]), _line(taken[-1])
        if len(taken) == 1:
            return self.say("stance_once", who=name, stance=before)
        reason = _line(given["reason"]) if given else self.say("no_reason")
        changed = given["changed"] if given else before != after
        return self.say(
            "stance_changed" if changed else "stance_kept",
            who=name,
            before=before,
            after=after,
            reason=reason,
        )

    def absence(self, name: str, round_: str) -> str:
        kind, _, number = round_.partition(".")
        title = f"{text(self.locale, f'round.{kind}')} {number}".rstrip()
        return self.say("absent", who=name, round=title)

    def point(self, one: Data) -> str:
        quote = self.say("quoted", quote=_line(one["quote"])) if one["quote"].strip() else ""
        return f"{quote}{_line(one['problem'])} — {_line(one['suggestion'])}"

    def error(self, one: Data, answer: str) -> str:
        quote = _line(one["quote"])
        known = quote in _line(answer)
        return self.say("quoted" if known else "quoted_not_found", quote=quote) + _line(one["problem"])


def _line(value: str) -> str:
    """On one line, so that a list or table stays one."""
    return " ".join(value.split())


def _cell(value: str) -> str:
    return _line(value).replace("|", "\\|")
