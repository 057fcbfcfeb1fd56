from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from core.ai_input.compare import forced_differences
from core.domain.artifact import diff
from core.domain.compare import CompareSetup
from core.domain.debate import DebateSetup, RoundKind
from core.domain.ids import MessageId
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.domain.review import Judged, ReviewSetup, Verdict, aggregate
from core.domain.thread import Mode
from core.i18n import phrase
from core.modes.presenting import (
    forced_notes,
    present_comparison,
    present_critique,
    present_debate,
    present_diff,
    present_in_step,
    present_result,
    present_revision,
    present_verdict,
)
from core.ports import Turn
from tests.ai_input.test_workflow import DEBATE, FLOW, VIEWS, flow
from tests.ai_input.voices import said, take, voices

COMPARE = CompareSetup(models=("alpha", "beta", "alpha"))
COMPARISON = {
    "agreements": ["Both\nwork"],
    "differences": [
        {"point": "Price", "views": [{"answer": "A", "view": "cheap"}, {"answer": "C", "view": "dear"}]}
    ],
    "only_one": [{"answer": "C", "point": "backups"}],
    "missing": [],
}
DEBATE_SETUP = DebateSetup.from_json(
    {
        "topic": "t",
        "participants": [{"model": "alpha"}, {"model": "beta"}, {"model": "gamma"}],
        "moderator": "m",
    }
)


def compared(setup: CompareSetup, locale: str = "en") -> str:
    turn = voices(setup.to_json(), said("answer:alpha"), said("answer:alpha#2"))
    return present_comparison(COMPARISON, turn, setup=setup, locale=locale)


def test_a_comparison_names_models_and_the_one_that_is_missing() -> None:
    assert compared(COMPARE) == (
        "### All agree\n- Both work\n\n"
        "### They differ\n- Price\n  - **alpha**: cheap\n  - **alpha#2**: dear\n\n"
        "### Only one saw\n- **alpha#2**: backups\n\n"
        "### None covers\nNothing.\n\n"
        "beta did not answer and is not part of this comparison."
    )


def test_a_blind_comparison_names_nobody() -> None:
    shown = compared(replace(COMPARE, blind=True))
    assert "**Model C**: backups" in shown
    assert "Model B did not answer" in shown
    assert "alpha" not in shown
    assert "beta" not in shown
    assert "**モデル C**: backups" in compared(replace(COMPARE, blind=True), "ja")


def test_no_difference_is_said() -> None:
    turn = voices(COMPARE.to_json())
    shown = present_comparison({**COMPARISON, "differences": []}, turn, setup=COMPARE, locale="en")
    assert "### They differ\nNothing." in shown


def test_what_had_to_differ_is_told_with_the_names_that_people_may_see() -> None:
    question = InputPart(role=Role.USER, origin=Origin.REQUEST, text="Which?")
    inputs = {
        line: AiInput(parts=(question,), prompts=(), estimate_tokens=1, params={"temperature": value})
        for line, value in (("alpha", 0.5), ("beta", 1.0))
    }
    (note,) = forced_notes(forced_differences(inputs), {"alpha": "Model A", "beta": "Model B"})
    assert phrase("en", note) == "Had to differ: temperature (Model A: 0.5, Model B: 1)"
    assert phrase("ja", note) == "揃えられなかった条件: temperature(Model A: 0.5, Model B: 1)"
    same = dict.fromkeys(inputs, inputs["alpha"])
    assert forced_notes(forced_differences(same), {}) == ()


def debate(data: dict[str, Any], kind: RoundKind, *spoken: Any) -> str:
    turn = voices(DEBATE_SETUP.to_json(), *spoken)
    return present_debate(data, turn, setup=DEBATE_SETUP, kind=kind, locale="en")


def test_framing_shows_issues_and_who_is_called_what() -> None:
    data = {
        "issues": [{"question": "Which?", "stakes": "Money."}],
        "constraints": ["300 EUR"],
        "open_questions": [],
    }
    assert debate(data, RoundKind.PROBLEM_FRAMING) == (
        "### What has to be settled\n- **Which?** Money.\n\n### Constraints\n- 300 EUR\n\n"
        "### Open questions\nNothing.\n\n"
        "In the texts of this debate: A = alpha (proponent), B = beta (skeptic), C = gamma (analyst)."
    )


@pytest.mark.parametrize("kind", [RoundKind.POSITIONS, RoundKind.REBUTTALS])
def test_a_stance_stands_on_the_first_line(kind: RoundKind) -> None:
    shown = debate(take("For\nit", "  Because.\n\nReally. "), kind)
    assert shown == "**Stance: For it**\n\nBecause.\n\nReally."


SYNTHESIS: dict[str, Any] = {
    "agreed": [],
    "unresolved": [{"point": "Cost", "views": [{"participant": "A", "view": "low"}]}],
    "dissent": [{"participant": "B", "view": "Too risky"}],
    "recommendation": "Wait.",
    "constraints": [{"constraint": "300 EUR", "status": "broken", "reason": "costs 400"}],
    "changes": [
        {"participant": "A", "changed": True, "reason": "B's argument"},
        {"participant": "C", "changed": True, "reason": "made up"},
    ],
}


def test_a_synthesis_keeps_dissent_and_takes_stances_and_absences_from_what_is_stored() -> None:
    shown = debate(
        SYNTHESIS,
        RoundKind.SYNTHESIS,
        said("positions:A", data=take("for", "x")),
        said("positions:B", data=take("against", "x")),
        said("rebuttals.1:A", data=take("for, later", "x")),
        said("rebuttals.1:B", data=take("against", "x")),
    )
    for line in (
        "### Recommendation\nWait.",
        "### Dissent\n- **beta (skeptic)**: Too risky",
        "- **broken**: 300 EUR — costs 400",
        "- **alpha (proponent)** changed: “for” → “for, later”. B's argument",
        "- **beta (skeptic)** stayed: “against” → “against”. The moderator gives no reason.",
        "gamma (analyst) is missing from: Positions.",
        "gamma (analyst) is missing from: Rebuttals 1.",
    ):
        assert line in shown
    assert "made up" not in shown


def test_a_single_stance_is_not_called_a_change() -> None:
    shown = debate(SYNTHESIS, RoundKind.SYNTHESIS, said("positions:A", data=take("for", "x")))
    assert "**alpha (proponent)** took one stance: “for”" in shown
    assert "alpha (proponent) is missing from: Rebuttals 1." in shown


def test_a_changed_stance_without_a_reason_is_found_by_its_words() -> None:
    shown = debate(
        {**SYNTHESIS, "changes": []},
        RoundKind.SYNTHESIS,
        said("positions:A", data=take("for", "x")),
        said("rebuttals.1:A", data=take("against", "x")),
    )
    assert "changed: “for” → “against”. The moderator gives no reason." in shown


TURN = voices({})


def test_a_critique_quotes_where_there_is_something_to_quote() -> None:
    data = {
        "points": [
            {"quote": "teh", "problem": "typo", "suggestion": "the"},
            {"quote": " ", "problem": "no date", "suggestion": "add it"},
        ],
        "keep": ["the tone"],
    }
    assert present_critique(data, TURN, locale="en") == (
        "### What needs a change\n- “teh”: typo — the\n- no date — add it\n\n### What should stay\n- the tone"
    )


def test_a_revision_shows_why_and_the_difference() -> None:
    data = {"text": "one\n2\nthree", "changes": [{"change": "a digit", "reason": "shorter"}]}
    assert present_revision(data, TURN, before="one\ntwo\nthree", locale="en") == (
        "### What changed, and why\n- a digit — shorter\n\n```diff\n  one\n- two\n+ 2\n  three\n```"
    )
    unchanged = present_revision(data, TURN, before="one\n2\nthree", locale="en")
    assert unchanged.endswith("The text did not change.")


def test_no_line_of_a_text_can_close_the_fence_of_a_difference() -> None:
    shown = present_diff(diff("a", "```\n````\nb"), "en")
    assert shown.splitlines()[0] == "`````diff"
    assert shown.splitlines()[-1] == "`````"


def test_lines_left_out_are_counted() -> None:
    old = "\n".join(map(str, range(20)))
    assert "@@ unchanged lines: 17 @@\n  17" in present_diff(diff(old, old + "\nnew"), "en")


VERDICT = {
    "answers": {
        "A": {
            "strengths": ["short"],
            "errors": [
                {"quote": "2 + 2 = 5", "problem": "wrong sum"},
                {"quote": "never said", "problem": "x"},
            ],
            "verdict": "unsound",
            "reason": "sums",
        },
        "B": {"strengths": [], "errors": [], "verdict": "sound", "reason": "fine"},
    },
    "ranking": ["B", "A"],
    "reason": "B is right",
}


def reviewed(*, blind: bool = False, mode: Mode = Mode.COMPARE) -> Turn:
    setup = CompareSetup(models=("alpha", "beta"), blind=blind, lettered=blind)
    words = ("All is well", "So 2 + 2\n= 5")
    answers = tuple(
        said(c.step, text, model=c.model) for c, text in zip(setup.candidates, words, strict=True)
    )
    turn = voices(setup.to_json())
    return replace(turn, reviewed=answers, thread=replace(turn.thread, mode=mode))


def test_a_verdict_reveals_its_letters_and_marks_quotes_that_are_not_there() -> None:
    shown = present_verdict(VERDICT, reviewed(), order=(1, 0), locale="en")
    assert "### Answer 2 (beta)\nVerdict: **unsound**. sums" in shown
    assert "- “2 + 2 = 5”: wrong sum" in shown
    assert "- “never said” (not found in the answer word for word): x" in shown
    assert "Ranking: Answer 1 (alpha) > Answer 2 (beta). B is right" in shown
    assert shown.endswith("under these letters: A = Answer 2 (beta), B = Answer 1 (alpha)")


def test_a_verdict_on_a_blind_compare_names_nobody() -> None:
    shown = present_verdict(VERDICT, reviewed(blind=True), order=(1, 0), locale="en")
    assert "Answer 2 (Model B)" in shown
    assert "beta" not in shown
    assert "alpha" not in shown


def test_a_verdict_on_one_answer_has_no_ranking() -> None:
    turn = reviewed(mode=Mode.DEBATE)
    data = {**VERDICT, "answers": {"A": VERDICT["answers"]["B"]}, "ranking": ["A"]}  # type: ignore[index]
    shown = present_verdict(data, replace(turn, reviewed=turn.reviewed[:1]), order=(0,), locale="en")
    assert "Ranking" not in shown
    assert "Answer 1 (alpha)" in shown


def judgement(reviewer: str, order: tuple[int, ...], *ranking: int) -> Judged:
    return Judged(
        reviewer=reviewer,
        order=order,
        ranking=ranking,
        verdicts=tuple(Verdict.SOUND for _ in ranking),
    )


def test_a_result_is_a_table_with_agreement_order_effect_and_everything_as_data() -> None:
    setup = ReviewSetup(
        answers=(MessageId("m1"), MessageId("m2")), reviewers=("r|1", "s", "t"), asked=4, seed="x"
    )
    results = [judgement("r|1", (0, 1), 0, 1), judgement("s", (1, 0), 1, 0)]
    shown, data = present_result(setup, aggregate(results), results, locale="en")
    assert shown.splitlines()[:4] == [
        "| Place | Answer | r\\|1 | s |",
        "| --- | --- | --- | --- |",
        "| 1 | Answer 1 | 1: sound | 2: sound |",
        "| 1 | Answer 2 | 2: sound | 1: sound |",
    ]
    for line in (
        "The reviewers do not agree on the best answer.",
        "They differ on Answer 1 and Answer 2.",
        "The order of reading may have mattered",
        "Only 3 of 4 reviewers",
        "2 of 3 reviewers gave a result.",
    ):
        assert line in shown
    assert data["best"] is None
    assert data["orders"] == [
        {"reviewer": "r|1", "letters": {"A": 0, "B": 1}},
        {"reviewer": "s", "letters": {"A": 1, "B": 0}},
    ]
    assert (data["agreement"], data["order_effect"]) == ("different_best", "likely")


def test_a_complete_panel_is_not_called_incomplete() -> None:
    setup = ReviewSetup(answers=(MessageId("m1"),), reviewers=("r",), asked=1, seed="x")
    results = [judgement("r", (0,), 0)]
    shown, data = present_result(setup, aggregate(results), results, locale="ja")
    assert data["best"] == 0
    assert "人" in shown
    assert "希望" not in shown


def test_inside_a_workflow_presenters_see_the_step_as_their_own_run() -> None:
    turn = flow(*VIEWS, *DEBATE)
    setup = DebateSetup.from_json(
        {"topic": "t", "participants": [{"model": "beta"}, {"model": "alpha"}], "moderator": "alpha"}
    )
    present = partial(present_debate, setup=setup, kind=RoundKind.SYNTHESIS, locale="en")
    shown = present_in_step(SYNTHESIS, turn, workflow=FLOW, step_id="debate", present=present)
    assert "**beta (proponent)** took one stance: “for”" in shown
    assert "alpha (skeptic) is missing from: Positions." in shown
    assert "beta (proponent) is missing from: Positions." not in shown
    verdict = present_in_step(
        VERDICT,
        turn,
        workflow=FLOW,
        step_id="check",
        present=partial(present_verdict, order=(1, 0), locale="en"),
    )
    assert "A = Answer 2" in verdict
