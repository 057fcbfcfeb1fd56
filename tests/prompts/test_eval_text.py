"""Numbers, dates, links, quotes, bullets and languages as conditions read them."""

from decimal import Decimal

import pytest

from core.prompts.eval_text import (
    bullets,
    dates,
    given_numbers,
    is_given,
    language,
    likeness,
    mentions,
    numbers,
    plain,
    quotes,
    sections,
    urls,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("三十万円", {300_000}),
        ("30万円", {300_000}),
        ("300,000円以内", {300_000}),
        ("３００，０００円", {300_000}),
        ("300k yen", {300_000}),
        ("1億2000万", {120_000_000}),
        ("1.5億円", {150_000_000}),
        ("二千五百人", {2_500}),
        ("2.5 million", {2_500_000}),
        ("50%と0.5", {50, Decimal("0.5")}),
        ("五人で十分、一方で千葉", {5}),
        ("1. first\n2. 30万円まで", {300_000}),
        ("1. 2025 plan\n2) 40", {2025, 40}),
        ("2.5 is a number", {Decimal("2.5")}),
        ("① 費用\n② 期間は3ヶ月", {3}),
        ("until 2026-03-31, 3月31日, March 31", set()),
        ("at 10:30", {10, 30}),
        ("十万", {100_000}),
        ("no number at all", set()),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, found: set[Decimal]) -> None:
    assert numbers(text) == {Decimal(value).normalize() for value in found}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-03-31", (2026, 3, 31)),
        ("2026/3/31", (2026, 3, 31)),
        ("2026年3月31日", (2026, 3, 31)),
        ("令和8年3月31日", (2026, 3, 31)),
        ("March 31, 2026", (2026, 3, 31)),
        ("31st March 2026", (2026, 3, 31)),
        ("３月３１日", (None, 3, 31)),
        ("3/31まで", (None, 3, 31)),
        ("Mar 31", (None, 3, 31)),
        ("3月中", (None, 3, None)),
    ],
)
def test_a_date_is_the_same_in_every_notation(text: str, found: tuple[int | None, ...]) -> None:
    assert dates(text) == {found}


def test_a_date_may_say_less_than_the_source_and_never_more() -> None:
    given = dates("by 2026-03-31")
    assert is_given((None, 3, 31), given)
    assert is_given((2026, 3, 31), given)
    assert not is_given((2026, 4, 1), given)
    assert not is_given((2026, 3, 31), dates("by March 31"))


def test_a_source_gives_numbers_as_words_and_in_dates_too() -> None:
    given = given_numbers("five people, 二つの案、一方は 2026-03-31 まで")
    assert given == {Decimal(value) for value in (5, 2, 1, 2026, 3, 31)}


def test_what_cannot_be_a_date_is_a_number() -> None:
    assert dates("99/99") == set()


@pytest.mark.parametrize(
    ("text", "source", "found"),
    [
        ("GPT-4oとClaude Sonnetを比較しました", "GPT-4o と Claude Sonnet", "ja"),
        ("これは日本語の文章です。", "", "ja"),
        ("这是中文句子。", "", "other"),
        ("This is an English sentence about Kyoto.", "", "en"),
        ("The team decided on the budget.", "The team decided on the budget.", "en"),
        ("Bonjour à tous, éléphant où été naïve çà", "", "other"),
        ("https://example.com `code`", "", ""),
        ("", "", ""),
        ("The answer is 「はい、できます」 and we will do all of that", "", "other"),
    ],
)
def test_the_language_is_told_without_links_code_and_names(text: str, source: str, found: str) -> None:
    assert language(text, source) == found


def test_links_mentions_and_quotes_are_found_without_what_stands_around_them() -> None:
    assert urls("see https://example.com/a?b=1). and（https://例.jp/x）。") == {
        "https://example.com/a?b=1",
        "https://例.jp/x",
    }
    assert mentions("ask @aoi, <@U024BE7LH> or [PHONE_e088]; mail a@b.c") == {
        "@aoi",
        "<@U024BE7LH>",
        "[PHONE_e088]",
    }
    assert quotes("he said “not now” and 「後で決める」, never ‘x’") == ("not now", "後で決める")


def test_bullets_of_every_form_are_counted() -> None:
    assert bullets("- a\n* b\n• c\n・d\n① e\n1. f\n２）g\n--- \ntext - no\n**bold** line") == 7


def test_headings_are_told_in_order() -> None:
    assert sections("# One\ntext\n## Two ##\n") == ("One", "Two")


def test_texts_are_compared_in_plain_width_and_without_commas() -> None:
    assert plain("３００，０００円 ＡＢＣ\n def") == "300000円 abc def"


SLOW = [
    "“",
    "「",
    "1",
    "1,",
    "a",
    "@",
    "[A_",
    "`",
    "- ",
    "http://",
    "三",
    "3月",
    '"',
    "A-",
    "1.",
    "# ",
    "mar ",
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", SLOW)
def test_a_text_made_to_be_slow_is_read_all_the_same(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    for read in (numbers, given_numbers, dates, urls, mentions, quotes, bullets, sections, plain):
        read(text)
    language(text, text)


def test_likeness_runs_from_nothing_in_common_to_the_same_text() -> None:
    assert likeness("the same text", "the same text") == 1.0
    assert likeness("abcdef", "uvwxyz") == 0.0
    assert 0.5 < likeness("the budget is fixed for now", "the budget is open for now") < 1.0
    assert likeness("", "") == 1.0
    assert likeness("a", "b") == 0.0
