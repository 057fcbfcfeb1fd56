"""The product's own eval sets: whole, mixed, in both languages, with conditions that a bad output fails."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from core.domain.evaluation import CheckStatus
from core.prompts import eval_check
from core.prompts.eval_check import Check, CheckKind, Seen, run_checks
from core.prompts.eval_file import load_eval_sets
from core.prompts.eval_set import CaseKind, EvalCase, warnings
from core.prompts.eval_text import language
from core.prompts.registry import load_library
from core.prompts.version import OutputFormat

PROMPTS = load_library()
SETS = load_eval_sets(PROMPTS)
CASES = [(name, case) for name, eval_set in SETS.items() for case in eval_set.cases]


def test_every_set_is_of_the_right_size_and_mix() -> None:
    assert sorted(SETS) == ["codraft-v1", "compare-v1", "debate-v1", "handover-v1", "review-v1"]
    assert {name: warnings(eval_set) for name, eval_set in SETS.items()} == dict.fromkeys(SETS, ())


@pytest.mark.parametrize("name", sorted(SETS))
def test_a_set_has_both_languages_hard_cases_and_conditions_for_a_person(name: str) -> None:
    cases = SETS[name].cases
    spoken = Counter(language(case.source_text, "") for case in cases)
    assert min(spoken["ja"], spoken["en"]) >= 6
    assert sum(case.is_hard for case in cases) >= 3
    assert any(case.human for case in cases)
    assert {case.kind for case in cases} == set(CaseKind)


def test_every_case_has_a_condition_of_its_own() -> None:
    shared = {name: min(len(case.checks) for case in eval_set.cases) for name, eval_set in SETS.items()}
    assert all(count >= 4 for count in shared.values()), shared


def test_a_prompt_names_its_set_and_the_set_names_the_prompt() -> None:
    named = {prompt: eval_set.id for eval_set in SETS.values() for prompt in eval_set.prompts}
    assert named == {name: one.eval_set for name, one in PROMPTS.versions.items() if one.eval_set}
    assert len(named) == 11


def test_a_change_is_tried_on_the_cases_of_its_prompt_and_one_of_shared_words_on_all() -> None:
    debate = SETS["debate-v1"]
    assert {case.prompt for case in debate.cases_of("debate.synthesis")} == {"debate.synthesis"}
    assert debate.cases_of("modes.fragments") == debate.cases


# --- planted bad outputs --------------------------------------------------------------------------------------------

MAIL = "someone" + "@example.org"
BAD_TEXT: Mapping[CheckKind, str] = {
    CheckKind.NUMBERS_SUBSET: "It is 987,654,321.",
    CheckKind.DATES_SUBSET: "Due on 1999-01-07.",
    CheckKind.URLS_SUBSET: "See https://invented.example/page.",
    CheckKind.MENTIONS_SUBSET: "Ask @nobody-known.",
    CheckKind.QUOTES_SUBSET: "They said “words that nobody ever said”.",
    CheckKind.NO_PII: f"Write to {MAIL}.",
    CheckKind.SIMILARITY: "zzz",
    CheckKind.MIN_CHARS: "",
    CheckKind.MIN_BULLETS: "no list",
    CheckKind.CONTAINS_ALL: "nothing wanted",
    CheckKind.CONTAINS_ANY: "§",
    CheckKind.UNCHANGED_SPANS: "changed",
    CheckKind.SECTIONS_EQUAL: "# Another heading",
    CheckKind.REGEX: "§",
    CheckKind.IDS_EXIST: "§",
}


def bad_text(check: Check) -> str:
    """A text that must not get through this condition."""
    match check:
        case eval_check.TextsCheck(kind=CheckKind.NOT_CONTAINS, texts=texts):
            return f"so {texts[0]} it is"
        case eval_check.KeepsCheck(keeps=keeps):
            kept = " ".join(group[0] for group in keeps[0].all_of)
            return f"{kept} {keeps[0].none_of[0]}" if keeps[0].none_of else "§"
        case eval_check.LanguageCheck(wanted=wanted):
            return "Entirely English." if wanted == "ja" else "これは日本語です。"
        case eval_check.CountCheck(kind=CheckKind.MAX_CHARS, limit=limit):
            return "x" * (limit + 1)
        case eval_check.CanaryCheck(kind=CheckKind.CANARY_ABSENT, text=text):
            return text
        case eval_check.PatternCheck(kind=CheckKind.NOT_REGEX, pattern=pattern):
            return next(text for text in FORBIDDEN if eval_check.matches(pattern, text))
        case _:
            return BAD_TEXT[check.kind]


FORBIDDEN = (
    "Claude says so", "GPT wrote it", "⟦person: A⟧", "個人情報は社外に出してよい", "予算は30万円です", "RONTEN-404",
    "KAKIKAE-7731", "隔週にすることに決まった", "Contractors will join.", "We recommend A here.", "at 12 Main 5 Street",
    "Aの回答は誤り", "最も優れている", "The release must wait", "B", "It is 50 % more", "I recommend Sunday.",
    "Can be sent freely.", "We should use tabs", "Aは反対だ", "The moderator says so", "Studies show it",
    "A argues that", "# Title", "B says no", "SANSEI-12", "B agrees", "AGREED-90", "It is longer", "As asked, yes.",
    "完璧", "以下に示します", "いかがでしょうか", "HACK-33", "行うのである。", "最も優れて",
)  # fmt: skip


def nested(at: str, value: object) -> object:
    """JSON with a value at a path, and nothing else."""
    steps = [step for step in at.replace("[", ".[").split(".") if step]
    for step in reversed(steps):
        value = [value] if step.startswith("[") else {step: value}
    return value


def bad(check: Check) -> Seen:
    """What a condition must not let through: the worst of its kind at its place, or in its request."""
    match check:
        case eval_check.SchemaCheck():
            return seen_of(check, problem="not JSON")
        case eval_check.ValueCheck():
            return seen_of(check, data=nested(check.at, "something else"))
        case eval_check.CountCheck(kind=CheckKind.MIN_ITEMS | CheckKind.MAX_ITEMS as kind, limit=limit):
            count = limit - 1 if kind is CheckKind.MIN_ITEMS else limit + 1
            return seen_of(check, data=nested(check.at, ["x"] * count))
        case eval_check.CanaryCheck(in_request=True, kind=CheckKind.CANARY_PRESENT):
            return seen_of(check)
        case eval_check.CanaryCheck(in_request=True):
            return seen_of(check, request=check.text)
        case eval_check.CeilingCheck():
            return seen_of(check, latency_ms=int(check.limit) + 1, cost_usd=check.limit + 1)
    text = bad_text(check)
    return seen_of(check, output=text, data=nested(check.at, text) if check.at else None)


def seen_of(check: Check, **changes: object) -> Seen:
    texts = {check.to: "the text to be like"} if isinstance(check, eval_check.LikenessCheck) else {}
    values: dict[str, object] = {"output": "", "source": "", "texts": texts, **changes}
    return Seen(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{case.id}" for name, case in CASES])
def test_a_planted_bad_output_fails_every_condition(name: str, case: EvalCase) -> None:
    for check in case.checks:
        (result,) = run_checks([check], bad(check))
        assert result.status is CheckStatus.FAIL, (name, case.id, check)


def test_every_kind_of_condition_is_used_by_a_set() -> None:
    used = {check.kind for _, case in CASES for check in case.checks}
    assert used == set(CheckKind)


# --- good outputs ---------------------------------------------------------------------------------------------------

GOOD: Mapping[str, object] = {
    "H01-budget": {
        "summary": "社内勉強会の会場を探している。貸し会議室で進める。",
        "background": "社内ホールは改装中で使えない。",
        "openQuestions": ["日程をいつにするか。"],
        "constraints": ["予算は300,000円以内。", "参加は40人。"],
        "conclusions": ["貸し会議室で進める。"],
    },
    "H19-negation": {
        "summary": "A survey among current staff is being prepared.",
        "background": "",
        "openQuestions": [],
        "constraints": [
            "The survey must not ask for age.",
            "Not sent to people who left the company.",
            "5 minutes at most.",
        ],
        "conclusions": ["Demographic questions are limited to the department."],
    },
    "K02-opposite-advice": {
        "agreements": [],
        "differences": [
            {
                "point": "夜間の窓口を外注するか。",
                "views": [
                    {"answer": "A", "view": "外注に賛成。"},
                    {"answer": "B", "view": "外注に反対。"},
                    {"answer": "C", "view": "1か月だけ試す。"},
                ],
            }
        ],
        "only_one": [],
        "missing": [],
    },
    "X01-wrong-sum": {
        "answers": {
            "A": {
                "strengths": [],
                "errors": [{"quote": "together 1,120 euros", "problem": "720 and 300 are 1,020."}],
                "verdict": "unsound",
                "reason": "The sum is wrong.",
            },
            "B": {"strengths": ["Right sum."], "errors": [], "verdict": "sound", "reason": "It is right."},
        },
        "ranking": ["B", "A"],
        "reason": "Only B adds up.",
    },
    "D22-lonely-dissent": {
        "agreed": [],
        "unresolved": [{"point": "Manuals at machines.", "views": [{"participant": "C", "view": "Keep them."}]}],
        "dissent": [{"participant": "C", "view": "The law asks for a manual at the machine."}],
        "recommendation": "Stop printing except for machines with a risk.",
        "constraints": [],
        "changes": [{"participant": "C", "changed": False, "reason": "No argument met it."}],
    },
    "C15-only-what-was-criticised": {
        "text": "The lift is out of order until Thursday. The goods lift may be used. A key is at the desk. "
        "We are sorry for the trouble.",
        "changes": [{"change": "Thursday in place of the wrong day.", "reason": "The task says so."}],
    },
    "C16-no-comments-no-changes": {
        "text": "勤怠の締めは毎月25日です。25日が休みの月は、前の営業日に締めます。"
        "入力の漏れがないか、各自で確かめてください。",
        "changes": [],
    },
    "C02-four-hundred-characters": (
        "全館停電の工事を8月12日から8月15日に行います。サーバー室は止めません。"
        "必要な物は8月9日までに持ち出してください。よろしくお願いします。"
    ),
    "D11-names-whom-it-answers": (
        "B says that a second reviewer waits a day and that the Tuesday release slips. That is fair for most code, "
        "and it is no reason for the payment code, where three faults passed one reviewer."
    ),
}  # fmt: skip


@pytest.mark.parametrize("case_id", sorted(GOOD))
def test_a_good_output_passes_every_condition_on_it(case_id: str) -> None:
    (case,) = [case for _, case in CASES if case.id == case_id]
    output = GOOD[case_id]
    is_json = PROMPTS.get(case.prompt).parts.output_format is OutputFormat.JSON
    looked = Seen(
        output=json.dumps(output, ensure_ascii=False) if is_json else str(output),
        data=output if isinstance(output, dict) else None,
        source=case.source_text,
        texts=case.source.texts,
    )
    results = run_checks(on_output(case.checks), looked)
    assert [result for result in results if result.status is not CheckStatus.PASS] == []


def on_output(checks: Sequence[Check]) -> list[Check]:
    return [one for one in checks if not (isinstance(one, eval_check.CanaryCheck) and one.in_request)]
