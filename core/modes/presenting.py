"""Structured output as people read it: Markdown in the thread's language, with model names where AI input had letters.

Which contributions are missing and which stances were taken comes from what is stored, never from a model's account.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.ai_input.compare import ForcedDifference, answers_to_compare
from core.ai_input.debate import absences, rounds_of_run, stances
from core.ai_input.material import words
from core.ai_input.workflow import answers_under_review, inner_turn
from core.domain.artifact import Change, DiffRow, diff
from core.domain.compare import CompareSetup
from core.domain.debate import DebateSetup, RoundKind
from core.domain.review import Aggregate, Judged, ReviewSetup, letters_of
from core.domain.setup import Json
from core.domain.thread import Mode
from core.domain.view import Phrase
from core.domain.workflow import ReviewStep, Workflow
from core.i18n import text
from core.ports import Turn

Names = Mapping[str, str]
"""Letter → what people read in its place: a model's name, or “Model A” while a Compare is blind."""

Data = Mapping[str, Any]


def present_comparison(data: Data, turn: Turn, *, setup: CompareSetup, locale: str) -> str:
    """Agreements, differences, what only one saw, what none covers, and who did not answer."""
    page, names = _Page(locale), candidate_names(setup, locale)
    page.listed("agreements", data["agreements"])
    page.heading("differences")
    page.views(data["differences"], "answer", names)
    page.listed("only_one", [f"**{names[one['answer']]}**: {one['point']}" for one in data["only_one"]])
    page.listed("not_covered", data["missing"])
    _, missing = answers_to_compare(turn)
    for candidate in missing:
        page.lines += ["", page.say("missing_answer", model=names[candidate.letter])]
    return page.text()


def forced_notes(differences: Sequence[ForcedDifference], names: Names) -> tuple[Phrase, ...]:
    """What had to differ between the AI inputs of one question; `names` are what people call those it is told of."""
    return tuple(
        Phrase(
            key=f"forced.{one.what}",
            fields={
                "name": one.name,
                "values": ", ".join(f"{names[line]}: {value:g}" for line, value in one.values.items()),
            },
        )
        for one in differences
    )


def present_differences(differences: Sequence[ForcedDifference], names: Names, locale: str) -> str:
    return "\n".join(
        f"- {text(locale, note.key, **note.fields)}" for note in forced_notes(differences, names)
    )


def candidate_names(setup: CompareSetup, locale: str) -> dict[str, str]:
    """The candidates' names by letter, or names that give nothing away while the Compare is blind."""
    return {
        c.letter: text(locale, "present.blind_name", letter=c.letter) if setup.blind else c.name
        for c in setup.candidates
    }


def present_debate(data: Data, turn: Turn, *, setup: DebateSetup, kind: RoundKind, locale: str) -> str:
    """A structured contribution to a Debate, of whichever round."""
    names = {
        p.letter: text(
            locale, "present.participant", model=p.model, role=text(locale, f"debate_role.{p.role}")
        )
        for p in setup.participants
    }
    if kind is RoundKind.PROBLEM_FRAMING:
        return _problem_framing(data, names, locale)
    if kind is RoundKind.SYNTHESIS:
        return _synthesis(data, turn, setup, names, locale)
    return f"{text(locale, 'present.stance', stance=_line(data['stance']))}\n\n{data['text'].strip()}"


def _problem_framing(data: Data, names: Names, locale: str) -> str:
    page = _Page(locale)
    page.listed("issues", [f"**{_line(one['question'])}** {one['stakes']}" for one in data["issues"]])
    page.listed("constraints", data["constraints"])
    page.listed("open_questions", data["open_questions"])
    page.legend(names)
    return page.text()


def _synthesis(data: Data, turn: Turn, setup: DebateSetup, names: Names, locale: str) -> str:
    page = _Page(locale)
    page.heading("recommendation")
    page.lines.append(data["recommendation"].strip())
    page.listed("agreed", data["agreed"])
    page.heading("unresolved")
    page.views(data["unresolved"], "participant", names)
    page.listed("dissent", [f"**{names[one['participant']]}**: {one['view']}" for one in data["dissent"]])
    page.listed("constraints_checked", [page.constraint(one) for one in data["constraints"]])
    reasons = {one["participant"]: one for one in data["changes"]}
    page.listed(
        "stances",
        [
            page.stance_change(names[letter], taken, reasons.get(letter))
            for letter, taken in stances(turn.spoken).items()
        ],
    )
    for letter, round_ in absences(turn, setup, rounds_of_run(turn, setup)):
        page.lines += ["", page.absence(names[letter], round_)]
    page.legend(names)
    return page.text()


def present_critique(data: Data, _turn: Turn, *, locale: str) -> str:
    page = _Page(locale)
    page.listed("points", [page.point(one) for one in data["points"]])
    page.listed("keep", data["keep"])
    return page.text()


def present_revision(data: Data, _turn: Turn, *, before: str, locale: str) -> str:
    """What a revision changed and why, and the difference line by line; the text itself is a version of its own."""
    page = _Page(locale)
    page.listed("changes", [f"{_line(one['change'])} — {one['reason']}" for one in data["changes"]])
    page.lines += ["", present_diff(diff(before, data["text"]), locale)]
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


def present_verdict(data: Data, turn: Turn, *, order: Sequence[int], locale: str) -> str:
    """One reviewer's result with its letters revealed. A quote that is not in its answer is marked."""
    page = _Page(locale)
    by_place = _reviewed_names(turn, locale)
    names = {letter: by_place[place] for letter, place in letters_of(order).items()}
    texts = {letter: words(turn.reviewed[place]) for letter, place in letters_of(order).items()}
    for letter, one in data["answers"].items():
        page.lines += ["", f"### {names[letter]}"]
        verdict = text(locale, f"verdict.{one['verdict']}")
        page.lines.append(page.say("verdict", verdict=verdict, reason=_line(one["reason"])))
        page.listed("strengths", one["strengths"], level=4)
        page.listed("errors", [page.error(error, texts[letter]) for error in one["errors"]], level=4)
    ranking = " > ".join(names[letter] for letter in data["ranking"])
    if len(names) > 1:
        page.lines += ["", page.say("ranking", ranking=ranking, reason=_line(data["reason"]))]
    mapping = ", ".join(f"{letter} = {name}" for letter, name in names.items())
    page.lines += ["", page.say("read_as", mapping=mapping)]
    return page.text()


def present_in_step(
    data: Data, turn: Turn, *, workflow: Workflow, step_id: str, present: Callable[[Data, Turn], str]
) -> str:
    """As `present` shows it, for a step of a workflow that compares, debates, drafts or reviews."""
    step = workflow.step(step_id)
    if isinstance(step, ReviewStep):
        return present(data, replace(turn, reviewed=answers_under_review(turn, workflow, step_id)))
    return present(data, inner_turn(turn, step))


def _reviewed_names(turn: Turn, locale: str) -> list[str]:
    """What the answers under review are called, in the order in which they were named."""
    by_step: dict[str, str] = {}
    if turn.thread.mode is Mode.COMPARE:
        setup = CompareSetup.from_json(turn.setup)
        names = candidate_names(setup, locale)
        by_step = {c.step: names[c.letter] for c in setup.candidates}
    return [
        text(locale, "present.numbered_answer", number=number, model=by_step.get(one.step, one.model))
        for number, one in enumerate(turn.reviewed, start=1)
    ]


def present_result(
    setup: ReviewSetup, whole: Aggregate, results: Sequence[Judged], *, locale: str
) -> tuple[str, Json]:
    """All reviewers together: a table, agreement, order effect; and the same as data, orders included."""
    page = _Page(locale)
    titles = [page.say("place"), page.say("answer"), *(result.reviewer for result in results)]
    page.lines += [_row(titles), "|" + " --- |" * len(titles)]
    for standing in whole.standings:
        cells = [
            page.say("rank_cell", rank=rank, verdict=text(locale, f"verdict.{verdict}"))
            for rank, verdict in zip(standing.ranks, standing.verdicts, strict=True)
        ]
        page.lines.append(_row([str(standing.place), page.answer(standing.answer), *cells]))
    page.lines += ["", text(locale, f"agreement.{whole.agreement}")]
    page.lines += [
        page.say("split_pair", one=page.answer(one), other=page.answer(other))
        for one, other in whole.split_pairs
    ]
    page.lines.append(text(locale, f"order_effect.{whole.order_effect}"))
    if len(setup.reviewers) < setup.asked:
        page.lines.append(
            text(locale, "mode_notice.fewer_reviewers", had=len(setup.reviewers), asked=setup.asked)
        )
    if len(results) < len(setup.reviewers):
        page.lines.append(page.say("fewer_results", had=len(results), asked=len(setup.reviewers)))
    return page.text(), _result_data(setup, whole, results)


def _result_data(setup: ReviewSetup, whole: Aggregate, results: Sequence[Judged]) -> Json:
    return {
        "answers": list(setup.answers),
        "standings": [
            {
                "answer": one.answer,
                "place": one.place,
                "ranks": list(one.ranks),
                "verdicts": list(one.verdicts),
            }
            for one in whole.standings
        ],
        "best": whole.best,
        "agreement": whole.agreement.value,
        "order_effect": whole.order_effect.value,
        "orders": [{"reviewer": one.reviewer, "letters": letters_of(one.order)} for one in results],
    }


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

    def answer(self, answer: int) -> str:
        return self.say("answer_number", number=answer + 1)

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


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_line(cell).replace("|", "\\|") for cell in cells) + " |"
