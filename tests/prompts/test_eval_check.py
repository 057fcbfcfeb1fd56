"""Each condition passes what it should, fails what it should, and says what it found in both languages."""

import json

import pytest

from core.domain.evaluation import CheckStatus, Sample
from core.domain.view import Phrase
from core.i18n import LOCALES, phrase
from core.prompts.eval_check import Check, CheckKind, matches, run_checks
from core.prompts.eval_check_file import read_check
from core.prompts.strict_yaml import read_yaml
from tests.prompts.eval_sample import looking_at

PASS, FAIL = CheckStatus.PASS, CheckStatus.FAIL
DATA = {
    "summary": "予算は30万円以内です。",
    "items": ["a budget of 300,000 yen", "a date"],
    "nested": {"list": [{"quote": "the old text", "ok": False}, {"quote": "new words", "ok": False}]},
    "count": 47,
    "empty": [],
}
SOURCE = "予算は三十万円以内。期日は2026年3月31日。the old text https://example.com/a @aoi INC-7"


def check(text: str) -> Check:
    problems: list[str] = []

    def noted(reason: Phrase, line: int) -> None:
        problems.append(phrase("en", reason))

    read = read_check(read_yaml("check", text), noted)
    assert read is not None, problems
    return read


def status(text: str, output: str, **seen: object) -> CheckStatus:
    (result,) = run_checks([check(text)], looking_at(output, source=SOURCE, **seen))
    for locale in LOCALES:
        assert phrase(locale, result.reason)
    assert type(result).from_json(json.loads(json.dumps(result.to_json()))) == result
    return result.status


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("min_chars: 3", "abc", "ab"),
        ("max_chars: 3", "abc", "abcd"),
        ("min_bullets: 2", "- a\n- b", "- a\nb"),
        ("contains_all: [３０万円, ABC]", "30万円 abc", "130万円 abc"),
        ("contains_all: ['300000']", "300,000円", "3,300,000円"),
        ("contains_any: [x, y]", "only y", "z"),
        ("not_contains: ['5 days']", "15 days", "5  days"),
        ("unchanged_spans: ['Left  As-is']", "so Left  As-is it", "left as-is"),
        ("sections_equal: [One, Two]", "# One\ntext\n## Two", "# Two\n# One"),
        ("regex: 'a{2}'", "aa", "a"),
        ("not_regex: '^x'", "ax", "xa"),
        ("ids_exist: {pattern: 'INC-\\d+', least: 1}", "see INC-7", "see INC-8 and INC-7"),
        ("ids_exist: {pattern: 'INC-\\d+', least: 1}", "INC-7", "none"),
        ("language: ja", "これは日本語です", "This is English"),
        ("language: en", "This is English", "これは日本語です"),
        (
            "keeps: [{id: k, all_of: [[30万円, 300000円], [以内, まで]], none_of: [30万円以上]}]",
            "予算は300,000円まで",
            "予算は30万円です",
        ),
        ("keeps: [{id: k, all_of: [[30万円]], none_of: [30万円以上]}]", "30万円以内", "30万円以上"),
        ("numbers_subset: source", "1. 300,000円まで\n2. 期日は3月", "2. 310,000円"),
        ("dates_subset: source", "3月31日まで", "4月1日まで"),
        ("urls_subset: source", "see https://example.com/a.", "see https://example.com/b"),
        ("mentions_subset: source", "ask @aoi", "ask @ken"),
        ("quotes_subset: source", "“the old text” is", "“the older text” is"),
        ("no_pii: 'true'", "[PHONE_e088] か 30万円", "090-1234-5678"),
        ("canary_absent: {text: MARK, in: output}", "nothing", "a MARK"),
        ("canary_present: {text: MARK, in: output}", "MARK MARK", "mark"),
        ("canary_present: {text: MARK, in: output, times: 1}", "MARK", "MARK MARK"),
    ],
)
def test_a_condition_on_text_tells_good_from_bad(text: str, good: str, bad: str) -> None:
    assert status(text, good) is PASS
    assert status(text, bad) is FAIL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{json_equals: 'false', at: 'nested.list[].ok'}", PASS),
        ("{json_equals: '47', at: count}", PASS),
        ("{json_equals: 'the old text', at: 'nested.list[].quote'}", FAIL),
        ("{json_equals: 'the old text', at: 'nested.list[0].quote'}", PASS),
        ("{min_items: 2, at: items}", PASS),
        ("{min_items: 3, at: items}", FAIL),
        ("{max_items: 0, at: empty}", PASS),
        ("{max_items: 1, at: items}", FAIL),
        ("{contains_all: ['300000 yen'], at: items}", PASS),
        ("{contains_all: ['300000 yen'], at: 'items[1]'}", FAIL),
        ("{max_chars: 13, at: summary}", PASS),
        ("{quotes_subset: source, at: 'nested.list[].quote'}", FAIL),
        ("{quotes_subset: source, at: 'nested.list[0].quote'}", PASS),
        ("{quotes_subset: source, at: 'empty[].quote'}", PASS),
        ("{max_chars: 5, at: nowhere}", FAIL),
        ("{min_items: 0, at: nowhere}", FAIL),
        ("{max_items: 9, at: 'items[7]'}", FAIL),
        ("{json_equals: x, at: summary.deeper}", FAIL),
        ("numbers_subset: source", FAIL),
        ("{not_regex: 'new', at: 'nested.list[].quote'}", FAIL),
        ("{regex: '^the old text$', at: 'nested.list[].quote'}", PASS),
        ("{not_regex: 'x', at: 'empty[].quote'}", PASS),
        ("{not_regex: 'x', at: 'nowhere[].quote'}", FAIL),
        ("{regex: 'x', at: 'empty[].quote'}", FAIL),
        ("json_schema: $output", PASS),
    ],
)
def test_a_condition_looks_at_its_part_of_a_json_output(text: str, expected: CheckStatus) -> None:
    assert status(text, json.dumps(DATA), data=DATA) is expected


def test_texts_of_a_json_output_are_read_without_its_escapes() -> None:
    assert status("contains_all: [30万円以内]", json.dumps(DATA), data=DATA) is PASS


def test_what_does_not_satisfy_the_schema_fails_it_with_the_reason() -> None:
    (result,) = run_checks(
        [check("json_schema: $output")], looking_at("nonsense", problem="not JSON: line 1")
    )
    assert result.status is FAIL
    assert result.reason == Phrase(key="eval_check.schema_bad", fields={"problem": "not JSON: line 1"})
    assert status("{max_chars: 5, at: summary}", "nonsense", problem="not JSON") is FAIL


def test_a_marker_is_looked_for_in_the_rendered_request() -> None:
    once = "canary_present: {text: MARK, in: request, times: 1}"
    assert status(once, "", request="a MARK") is PASS
    assert status(once, "MARK", request="MARK and MARK") is FAIL
    assert status("canary_absent: {text: MARK, in: request}", "MARK", request="none") is PASS


def test_likeness_is_measured_against_a_text_of_the_source() -> None:
    near = "similarity: {to: text, percent: 90}"
    assert (
        status(near, "The lift is out of order today.", texts={"text": "The lift is out of order today!"})
        is PASS
    )
    assert status(near, "Something else", texts={"text": "The lift is out of order today!"}) is FAIL


def test_latency_and_cost_are_skipped_where_nobody_knows_them() -> None:
    assert status("max_latency_ms: 500", "", latency_ms=500) is PASS
    assert status("max_latency_ms: 500", "", latency_ms=501) is FAIL
    assert status("max_latency_ms: 500", "") is CheckStatus.SKIPPED
    assert status("max_cost_usd: 0.01", "", cost_usd=0.02) is FAIL
    assert status("max_cost_usd: 0.01", "", cost_usd=None) is CheckStatus.SKIPPED


def test_a_text_without_words_has_no_language() -> None:
    assert status("language: en", "12345") is CheckStatus.SKIPPED


def test_a_pattern_made_to_be_slow_is_an_error_and_neither_passes_nor_fails() -> None:
    with pytest.raises(TimeoutError):
        matches("(a|aa)+$", "a" * 5_000 + "b")
    assert status("regex: '(a|aa)+$'", "a" * 5_000 + "b") is CheckStatus.ERROR


def test_a_reason_names_what_was_found_cut_short() -> None:
    (result,) = run_checks(
        [check("numbers_subset: source")], looking_at("1 and 22 and 333 and 4444", source="")
    )
    assert phrase("en", result.reason) == "4 numbers; not in the source: 1; 22; 333; …."
    assert phrase("ja", result.reason) == "数値は4件です。元の文にないもの：1; 22; 333; …。"


def test_what_personal_data_was_found_is_named_by_kind_and_not_repeated() -> None:
    (result,) = run_checks([check("no_pii: 'true'")], looking_at("090-1234-5678"))
    assert phrase("en", result.reason) == "Personal data found: phone."


@pytest.mark.parametrize(
    ("statuses", "failure", "expected"),
    [
        ([PASS, PASS], "", PASS),
        ([PASS, FAIL], "", FAIL),
        ([FAIL, CheckStatus.ERROR], "", CheckStatus.ERROR),
        ([PASS, CheckStatus.SKIPPED], "", PASS),
        ([CheckStatus.SKIPPED], "", CheckStatus.NEEDS_HUMAN),
        ([], "", CheckStatus.NEEDS_HUMAN),
        ([PASS], "timeout_total", CheckStatus.ERROR),
    ],
)
def test_an_error_is_no_failure_and_a_case_without_condition_is_for_a_person(
    statuses: list[CheckStatus], failure: str, expected: CheckStatus
) -> None:
    (made,) = run_checks([check("min_chars: 0")], looking_at(""))
    checks = tuple(type(made)(name="x", status=one, reason=made.reason) for one in statuses)
    assert (
        Sample(
            output="", checks=checks, failure=Phrase(key=f"model_failure.{failure}") if failure else None
        ).status
        is expected
    )


def test_every_kind_of_condition_can_be_read() -> None:
    values = {
        "json_schema": "$output", "json_equals": "x", "keeps": "[{id: k, all_of: [[a]]}]", "language": "en",
        "similarity": "{to: text, percent: 5}", "no_pii": "'true'", "ids_exist": "'a'", "regex": "'a'",
        "not_regex": "'a'", "canary_absent": "{text: X, in: output}", "canary_present": "{text: X, in: output}",
    }  # fmt: skip
    at = {"json_equals", "min_items", "max_items"}
    for kind in CheckKind:
        usual = "source" if kind.endswith("_subset") else "5" if kind.startswith(("min_", "max_")) else "[a]"
        place = ", at: a" if kind in at else ""
        assert check(f"{{{kind}: {values.get(kind, usual)}{place}}}").kind is kind
