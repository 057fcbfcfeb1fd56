from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.i18n import LOCALES, phrase
from core.prompts.growth import Saved, growth_warnings
from core.prompts.registry import load_library
from core.prompts.version import PromptVersion
from tests.prompts.sample import parse

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BASE = """\
You add numbers for a team. {{tone}}
Keep every date and name of the material.
Answer in at most 300 words.
表を使うこと。
"""


def version(system: str, number: str = "1.2.0") -> PromptVersion:
    return replace(parse({"system.md": system}), version=number)


def warnings(after: PromptVersion, *earlier: tuple[PromptVersion, int]) -> list[str]:
    """Keys of the warnings; earlier versions come with the days since they were saved."""
    saved = [Saved(version=one, saved_at=NOW - timedelta(days=days)) for one, days in earlier]
    found = growth_warnings(saved[-1].version, after, saved, now=NOW)
    assert all(phrase(locale, one) for one in found for locale in LOCALES)
    return [one.key.removeprefix("growth.") for one in found]


# --- growth ---------------------------------------------------------------------------------------------------------

MORE = "Begin with the sum.\nName the unit.\nShow the way to it.\nRound to cents.\n"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BASE + MORE, ["only_grew"]),
        (BASE + "Begin with the sum.\n", []),
        (BASE.replace("Answer in at most 300 words.\n", "") + MORE, []),
        (BASE.replace("in at most 300 words", "briefly"), []),
    ],
)
def test_instructions_that_grew_by_a_third_with_nothing_taken_out_are_pointed_at(
    after: str, expected: list[str]
) -> None:
    assert warnings(version(after, "1.3.0"), (version(BASE), 90)) == expected


def test_growth_counts_from_the_last_minor_version_on() -> None:
    half = BASE + MORE[: len(MORE) // 2]
    assert warnings(version(BASE + MORE, "1.2.2"), (version(BASE), 90), (version(half, "1.2.1"), 60)) == [
        "only_grew"
    ]
    assert warnings(version(BASE + MORE, "1.3.1"), (version(BASE), 90), (version(half, "1.3.0"), 60)) == []


def test_growth_is_told_in_percent_with_the_version_it_counts_from() -> None:
    saved = [Saved(version=version("{{tone}} " + "a" * 200), saved_at=NOW)]
    (found,) = growth_warnings(
        saved[0].version, version("{{tone}} " + "a" * 200 + "\n" + "b" * 223), saved, now=NOW
    )
    assert found.fields == {"percent": 100, "version": "1.2.0"}


# --- patches --------------------------------------------------------------------------------------------------------


def patches(*days: int) -> list[tuple[PromptVersion, int]]:
    return [(version(BASE, f"1.2.{n}"), ago) for n, ago in enumerate((100, *days))]


def test_the_fourth_patch_within_two_weeks_is_pointed_at() -> None:
    assert warnings(version(BASE, "1.2.4"), *patches(14, 9, 1)) == ["many_patches"]
    assert warnings(version(BASE, "1.2.4"), *patches(15, 9, 1)) == []
    assert warnings(version(BASE, "1.2.3"), *patches(9, 1)) == []


def test_a_greater_step_is_no_patch() -> None:
    assert warnings(version(BASE, "1.3.0"), *patches(9, 8, 7, 6, 5)) == []


# --- repetition and contradiction -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("Keep every name and date of the material.", "repeats"),
        ("Always keep the dates and names of the material!", "repeats"),
        ("Do not keep names and dates of the material.", "contradicts"),
        ("Never answer in at most 300 words.", "contradicts"),
        ("表は使わないこと。", "contradicts"),
        ("表の使用は禁止。", ""),  # said in other words, which is not seen
        ("表は必ず使ってください。", ""),
        ("Answer in at most 200 words.", ""),
        ("Do not keep what is small talk.", ""),
        ("Keep every constraint.", ""),
        ("図を使わないこと。", ""),
        ("Name the people.", ""),
        ("Say so.", ""),
        ("Answer without a heading.", ""),
    ],
)
def test_a_sentence_that_repeats_or_contradicts_another_is_pointed_at(added: str, expected: str) -> None:
    found = warnings(version(BASE + added + "\n", "1.3.0"), (version(BASE), 90))
    assert [one for one in found if one != "only_grew"] == ([expected] if expected else [])


def test_both_sentences_are_quoted() -> None:
    saved = [Saved(version=version(BASE), saved_at=NOW)]
    (found,) = growth_warnings(saved[0].version, version(BASE + "表は使わないこと。\n"), saved, now=NOW)
    assert found.fields == {"one": "表を使うこと。", "other": "表は使わないこと。"}


def test_what_stood_there_before_is_not_complained_about_again() -> None:
    twice = BASE + "表は使わないこと。\n"
    assert warnings(version(twice + "Be kind.\n", "1.3.0"), (version(twice), 90)) == []
    fresh = version(twice + "Use tables here.\nDo not use tables here.\n", "1.3.0")
    assert warnings(fresh, (version(twice), 90)).count("contradicts") == 1


def test_fragments_are_not_held_against_each_other() -> None:
    before = parse({"fragments.yaml": "a: Use a table here.\n"})
    after = parse({"fragments.yaml": "a: Use a table here.\nb: Do not use a table here.\n"})
    assert growth_warnings(before, after, [], now=NOW) == ()


def test_no_prompt_of_the_library_repeats_or_contradicts_itself() -> None:
    for one in load_library().versions.values():
        nothing = replace(one, parts=replace(one.parts, system="", task="", fragments={}))
        assert growth_warnings(nothing, one, [], now=NOW) == (), one.name


def test_a_text_of_the_greatest_size_is_judged() -> None:
    long = "\n".join(f"Keep line {n} as it is." for n in range(5_000))
    found = growth_warnings(version(BASE), version(BASE + long), [], now=NOW)
    assert {one.key for one in found} <= {"growth.repeats"}
