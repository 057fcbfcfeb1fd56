"""Reading eval sets: what is accepted, and every refusal with its place."""

import pytest

from core.domain.view import Phrase
from core.prompts.eval_check import CheckKind, SchemaCheck, TextsCheck
from core.prompts.eval_set import CaseKind, CaseOrigin, OriginType, warnings
from tests.prompts.eval_sample import CASE, FILES, SET, parse, problems, with_check


def test_a_set_is_read_with_its_cases_and_defaults() -> None:
    eval_set = parse()
    (case,) = eval_set.cases
    assert (eval_set.id, eval_set.version, eval_set.prompts) == ("sample-set", 3, ("compare.summary",))
    assert (case.id, case.prompt, case.kind) == ("S1", "compare.summary", CaseKind.TYPICAL)
    assert case.origin == CaseOrigin(type=OriginType.SYNTHETIC)
    assert case.checks == (
        SchemaCheck(kind=CheckKind.JSON_SCHEMA),
        TextsCheck(kind=CheckKind.CONTAINS_ALL, at="differences", texts=("28 euros",)),
    )
    assert case.human == ("The differences are real",)
    assert case.is_hard
    assert case.source.answers == ("Lease, 28 euros a month.", "Buy, 900 euros each.")
    assert "Lease or buy?" in case.source_text


def test_a_masked_log_says_who_masked_it_and_when() -> None:
    origin = "{type: masked_log, masked_by: U1, masked_at: '2026-11-30'}"
    case = parse({"cases/one.yaml": CASE.replace("origin: synthetic", f"origin: {origin}")}).cases[0]
    assert case.origin == CaseOrigin(type=OriginType.MASKED_LOG, masked_by="U1", masked_at="2026-11-30")


def test_the_hash_changes_with_a_condition_and_not_with_the_layout() -> None:
    other_layout = CASE.replace("inputs: {}", "inputs: {}\n  # a remark")
    assert parse({"cases/one.yaml": other_layout}).sha256 == parse().sha256
    assert parse({"cases/one.yaml": None, "cases/two.yaml": CASE}).sha256 == parse().sha256
    for changed in (
        CASE.replace('28 euros"]', '29 euros"]'),
        CASE.replace("real", "true"),
        CASE.replace("each", "a piece"),
    ):
        assert parse({"cases/one.yaml": changed}).sha256 != parse().sha256
    assert parse({"set.yaml": SET.replace("version: 3", "version: 4")}).sha256 != parse().sha256
    assert (
        parse({"set.yaml": SET.replace("  - json_schema: $output", "  - max_chars: 9")}).sha256
        != parse().sha256
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"set.yaml": None}, "sample-set/set.yaml: is missing"),
        (
            {"notes.txt": "x"},
            "sample-set/notes.txt: is no part of an eval set; parts are set.yaml and cases/*.yaml",
        ),
        ({"set.yaml": SET + "extra: 1\n"}, "sample-set/set.yaml:6: the file has an unknown key: extra"),
        ({"set.yaml": SET.replace("version: 3\n", "")}, "sample-set/set.yaml:1: the file lacks version"),
        (
            {"set.yaml": SET.replace("3", "1.5")},
            "sample-set/set.yaml:2: version must be a whole number from 1",
        ),
        (
            {"set.yaml": SET.replace("sample-set", "other")},
            "sample-set/set.yaml:1: id must be lower-case words",
        ),
        (
            {"set.yaml": SET.replace("compare.summary", "no.such")},
            "sample-set/set.yaml:3: there is no prompt no.such",
        ),
        (
            {"set.yaml": SET.replace("[compare.summary]", "compare.summary")},
            "sample-set/set.yaml:3: prompts must be a list",
        ),
        (
            {"set.yaml": SET.replace("[compare.summary]", "[compare.summary, compare.summary]")},
            "sample-set/set.yaml:3: prompts must be different names",
        ),
        ({"cases/one.yaml": None}, "sample-set/set.yaml: has 0 cases; a set has 1 to 200, best 20 to 50"),
        ({"cases/one.yaml": "id: S1\n"}, "sample-set/cases/one.yaml:1: the file must be a list"),
        (
            {"cases/one.yaml": "- text\n"},
            "sample-set/cases/one.yaml:1: a case must be a table of keys and values",
        ),
        ({"cases/one.yaml": b"- id: \xff\n"}, "sample-set/cases/one.yaml:1: is not UTF-8"),
        ({"cases/one.yaml": "- {a: 1, a: 2}\n"}, "sample-set/cases/one.yaml:1: key given twice: a"),
        ({"cases/one.yaml": "#" * 200_001}, "sample-set/cases/one.yaml: is larger than 200000 bytes"),
        (
            {"cases/two.yaml": CASE},
            "sample-set/cases/two.yaml:1: case S1 is there twice, first in cases/one.yaml:1",
        ),
        (
            {"cases/one.yaml": CASE.replace("kind: typical", "kind: odd")},
            "one.yaml:2: kind must be one of typical, boundary",
        ),
        ({"cases/one.yaml": CASE.replace("  kind: typical\n", "")}, "one.yaml:1: a case lacks kind"),
        (
            {"cases/one.yaml": CASE.replace("id: S1", "id: S 1")},
            "one.yaml:1: id of case S 1 must be letters and digits",
        ),
        (
            {"cases/one.yaml": CASE.replace("synthetic", "found")},
            "one.yaml:3: origin must be synthetic, or a table",
        ),
        (
            {
                "cases/one.yaml": CASE.replace(
                    "synthetic", "{type: masked_log, masked_by: U1, masked_at: soon}"
                )
            },
            "one.yaml:3: masked_at must be a date",
        ),
        ({"cases/one.yaml": CASE.replace("tags:", "mood:")}, "one.yaml:11: a case has an unknown key: mood"),
        ({"cases/one.yaml": CASE.replace("tags: [hard]", "tags: hard")}, "one.yaml:11: tags must be a list"),
        ({"cases/one.yaml": CASE.replace("tags: [hard]", "tags: [[hard]]")}, "tags must be a list of texts"),
        (
            {"cases/one.yaml": CASE.replace("inputs: {}", "inputs: {letters: A}")},
            "one.yaml:4: case S1: inputs must hold exactly: nothing (the product fills rules, schema, letters)",
        ),
        (
            {"cases/one.yaml": CASE.replace("  source:", "  prompt: review.verdict\n  source:")},
            "case S1: prompt review.verdict is none of the set's",
        ),
        (
            {"set.yaml": SET.replace("[compare.summary]", "[compare.summary, review.verdict]")},
            "one.yaml:1: a case lacks prompt",
        ),
        (
            {"cases/one.yaml": CASE.replace("    question", "    topic")},
            "one.yaml:5: case S1: source lacks question",
        ),
        (
            {"cases/one.yaml": CASE.replace("    question", "    topic")},
            "one.yaml:6: case S1: source of compare.summary has an unknown key: topic; it may hold question, answers",
        ),
        (
            {"cases/one.yaml": CASE.replace('"Buy, 900 euros each."', '""')},
            "case S1: source needs two answers that came",
        ),
        (
            {"cases/one.yaml": CASE.replace("Lease or buy?", "Lease? Call 090-1234-5678")},
            "one.yaml:1: case S1 holds personal data (phone): mask it first",
        ),
        (
            {
                "cases/one.yaml": CASE.split("  checks:")[0] + "  tags: [hard]\n",
                "set.yaml": SET.split("defaults")[0],
            },
            "case S1: hard needs a check",
        ),
    ],
)
def test_a_broken_set_is_refused_with_its_place(changes: dict[str, str | bytes | None], reason: str) -> None:
    assert any(reason in problem for problem in problems(changes)), problems(changes)


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("{nonsense: 1}", "unknown here: nonsense; known: json_schema"),
        ("{max_chars: 5, min_chars: 4}", "a check names one condition"),
        ("just a text", "a check names one condition"),
        ("max_chars: many", "max_chars: a number is wanted"),
        ("max_chars: '1.5'", "max_chars: a whole number is wanted"),
        ("max_chars: '-1'", "max_chars: the number must be from 0"),
        ("max_chars: [1]", "max_chars: a number is wanted"),
        ("{max_items: 2}", "max_items: it needs an at"),
        ("{max_chars: 2, at: 'a b'}", "max_chars: at must be names joined by dots"),
        ("{json_schema: $output, at: differences}", "json_schema: it looks at the whole, so it has no at"),
        ("json_schema: other", "json_schema: its value is $output"),
        ("numbers_subset: all", "numbers_subset: its value is source"),
        ("no_pii: yes", "no_pii: its value is true"),
        ("language: fr", "language: one of en, ja is wanted"),
        ("regex: '(a'", "regex: the pattern cannot be read"),
        (f"regex: '{'a' * 501}'", "regex: a pattern has at most 500 characters"),
        ("regex: '(?R)a'", "regex: a pattern cannot call itself or a group"),
        ("not_regex: '((?1))+'", "not_regex: a pattern cannot call itself or a group"),
        ("{regex: '(?P<x>a)(?&x)*', at: missing}", "regex: a pattern cannot call itself or a group"),
        ("contains_all: []", "contains_all: a list is wanted, with at least one item"),
        ("contains_all: text", "contains_all: a list is wanted"),
        ("contains_all: ['']", "contains_all: a text is wanted"),
        ("keeps: [{id: a}]", "keeps: a table is wanted of id, all_of, (none_of)"),
        (
            "keeps: [{id: a, all_of: [[30万円以上]], none_of: [30万円]}]",
            "keeps: a: every wording of 30万円以上 holds one of none_of",
        ),
        ("similarity: {to: question, percent: 0}", "similarity: percent must be from 1 to 100"),
        (
            "similarity: {to: text, percent: 90}",
            "similarity: the case's source has no text; it has answers, question",
        ),
        ("canary_absent: {text: X, in: sky}", "canary_absent: one of output, request is wanted"),
        ("canary_absent: {text: X, in: output, times: 2}", "canary_absent: a table is wanted of text, in"),
        ("ids_exist: {least: 1}", "ids_exist: a table is wanted of pattern, (least)"),
    ],
)
def test_a_broken_condition_is_refused_with_what_it_takes(check: str, reason: str) -> None:
    found = problems(with_check(check))
    assert any("cases/one.yaml:10: " in problem and reason in problem for problem in found), found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("min_chars: 10", "max_chars: 9"),
        ("{min_items: 3, at: missing}", "{max_items: 2, at: missing}"),
        ("contains_all: [30万円以上]", "not_contains: [30万円]"),
        ("contains_any: [a, ab]", "not_contains: [a]"),
        ("unchanged_spans: [left alone]", "not_contains: [alone]"),
        ("language: ja", "language: en"),
        ("{json_equals: a, at: missing}", "{json_equals: b, at: missing}"),
        ("regex: 'a+'", "not_regex: 'a+'"),
        ("canary_present: {text: MARK-1, in: output}", "canary_absent: {text: MARK, in: output}"),
        ("keeps: [{id: k, all_of: [[up to 5]]}]", "not_contains: [up to]"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_conditions_that_nothing_meets_together_are_refused(first: str, second: str, turned: bool) -> None:
    one, other = (second, first) if turned else (first, second)
    found = problems({"cases/one.yaml": with_check(f"{one}\n    - {other}")["cases/one.yaml"]})
    assert any("contradict each other" in problem for problem in found), found


def test_conditions_on_different_parts_do_not_contradict_each_other() -> None:
    checks = "{min_items: 3, at: missing}\n    - {max_items: 2, at: agreements}"
    assert len(parse(with_check(checks)).cases[0].checks) == 4


def test_a_path_into_free_text_is_refused() -> None:
    changes: dict[str, str | bytes | None] = {
        "set.yaml": SET.replace("compare.summary", "codraft.draft"),
        "cases/one.yaml": (
            "- {id: S1, kind: typical, origin: synthetic, source: {task: Write.}, "
            "checks: [{max_chars: 5, at: text}]}\n"
        ),
    }
    assert [p.split(": ", 1)[1] for p in problems(changes)] == [
        "case S1: json_schema: the prompt's output is free text",
        "case S1: max_chars@text: the prompt's output is free text",
    ]


REBUTTAL = """\
- id: R1
  kind: typical
  origin: synthetic
  inputs: {letter: A, round: rebuttals.1}
  source:
    topic: Tabs?
    participants: [proponent, skeptic]
    said:
      - {step: "positions:A", stance: "Yes", text: "Because."}
"""
HANDOVER = """\
- id: R1
  kind: typical
  origin: synthetic
  inputs: {target: chat}
  source:
    mode: chat
    messages:
      - {by: Ann, text: Please help.}
    pins:
      - {kind: constraint, text: By Friday.}
"""


@pytest.mark.parametrize(
    ("prompt", "case", "old", "new", "reason"),
    [
        (
            "debate.rebuttals",
            REBUTTAL,
            "letter: A",
            "letter: C",
            "4: case R1: letter must be one of the participants' A, B",
        ),
        (
            "debate.rebuttals",
            REBUTTAL,
            "rebuttals.1}",
            "rebuttals.4}",
            "4: case R1: round must be rebuttals.1, rebuttals.2",
        ),
        (
            "debate.rebuttals",
            REBUTTAL,
            "[proponent, skeptic]",
            "[judge, skeptic]",
            "7: case R1: participants must be 2 to 4",
        ),
        (
            "debate.rebuttals",
            REBUTTAL,
            "[proponent, skeptic]",
            "[skeptic]",
            "7: case R1: participants must be 2 to 4",
        ),
        (
            "debate.rebuttals",
            REBUTTAL,
            "positions:A",
            "positions:Z",
            "9: case R1: step must be problem_framing",
        ),
        (
            "debate.rebuttals",
            REBUTTAL,
            ', text: "Because."',
            "",
            "9: case R1: a contribution has either a text or data",
        ),
        (
            "debate.rebuttals",
            REBUTTAL,
            "stance:",
            "mood:",
            "9: case R1: a contribution has an unknown key: mood",
        ),
        ("debate.rebuttals", REBUTTAL, "topic: Tabs?", "topic: [Tabs]", "6: case R1: topic must be a text"),
        (
            "handover.draft",
            HANDOVER,
            "target: chat",
            "target: mail",
            "4: case R1: target must be one of chat",
        ),
        (
            "handover.draft",
            HANDOVER,
            "mode: chat",
            "mode: codraft",
            "6: case R1: mode must be one of chat, compare, debate",
        ),
        (
            "handover.draft",
            HANDOVER,
            "mode: chat",
            "mode: debate",
            "5: case R1: a debate needs topic and participants",
        ),
        ("handover.draft", HANDOVER, "by: Ann, ", "", "5: case R1: messages must begin with one of a person"),
        ("handover.draft", HANDOVER, "by: Ann", "from: Ann", "8: case R1: a message is a table of text, by"),
        (
            "handover.draft",
            HANDOVER,
            "kind: constraint",
            "kind: wish",
            "10: case R1: kind of a pin must be one of",
        ),
        (
            "handover.draft",
            HANDOVER,
            "    messages:\n      - {by: Ann, text: Please help.}",
            "    messages: none",
            "7: case R1: messages must be a list",
        ),
        (
            "chat.answer",
            HANDOVER,
            "  inputs: {target: chat}\n",
            "  inputs: {}\n",
            "source of chat.answer has an unknown key: mode",
        ),
    ],
)
def test_a_source_that_no_builder_reads_is_refused_with_its_place(
    prompt: str, case: str, old: str, new: str, reason: str
) -> None:
    files = {"set.yaml": f"id: sample-set\nversion: 1\nprompts: [{prompt}]\n", "cases/one.yaml": case}
    if prompt != "chat.answer":
        assert parse(files).cases
    found = problems({**files, "cases/one.yaml": case.replace(old, new)})
    assert any(reason in problem for problem in found), found


def test_people_read_every_part_of_a_case_under_its_name() -> None:
    assert (
        parse().cases[0].shown
        == "question:\nLease or buy?\n\nanswers:\nLease, 28 euros a month.\nBuy, 900 euros each."
    )


def test_all_problems_are_told_at_once() -> None:
    broken = CASE.replace("kind: typical", "kind: odd").replace("tags: [hard]", "mood: good")
    assert len(problems({"cases/one.yaml": broken, "set.yaml": SET.replace("3", "x")})) == 3


def test_a_set_of_a_strange_size_or_mix_is_warned_of() -> None:
    found = warnings(
        parse(
            {
                "set.yaml": SET.replace("[compare.summary]", "[compare.summary, review.verdict]"),
                "cases/one.yaml": CASE + "  prompt: compare.summary\n",
            }
        )
    )
    assert found == (
        Phrase(key="eval_warning.size", fields={"had": 1, "least": 20, "most": 50}),
        Phrase(key="eval_warning.share", fields={"kind": "boundary", "had": 0, "all": 1, "least": 20}),
        Phrase(key="eval_warning.share", fields={"kind": "past_failure", "had": 0, "all": 1, "least": 20}),
        Phrase(key="eval_warning.prompt_without_case", fields={"prompts": "review.verdict"}),
    )


def test_the_sample_is_as_the_tests_take_it() -> None:
    assert parse(FILES).cases


def test_a_pattern_may_name_what_looks_like_a_call() -> None:
    assert parse(with_check(r"regex: '\(\?R\)|(?i)a|(?:b)|(?P<x>c)'")).cases[0].checks
