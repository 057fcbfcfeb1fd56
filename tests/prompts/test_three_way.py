from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.artifact import Change, diff
from core.prompts.folder import to_texts
from core.prompts.three_way import Side, part_diffs, side, three_way, word_diff
from tests.prompts.sample import METADATA, NAME, parse, problems

BASE = "You add.\nKeep dates.\nBe short.\nSay what you assume.\n"


def merge(mine: str, theirs: str, base: str = BASE) -> tuple[Side, str, int]:
    (part,) = three_way({"system.md": base}, {"system.md": mine}, {"system.md": theirs})
    assert (part.file, part.base, part.mine, part.theirs) == ("system.md", base, mine, theirs)
    return side(part), part.merged, part.conflicts


def test_what_nobody_changed_is_left_out() -> None:
    texts = {"system.md": BASE, "task.md": "x"}
    assert three_way(texts, texts, dict(texts)) == ()
    assert [one.file for one in three_way(texts, {**texts, "task.md": "y"}, texts)] == ["task.md"]


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (BASE.replace("short", "brief"), BASE, Side.MINE),
        (BASE, BASE.replace("short", "brief"), Side.THEIRS),
        (BASE.replace("short", "brief"), BASE.replace("short", "brief"), Side.BOTH_ALIKE),
        (BASE, "", Side.THEIRS),
        ("", "", Side.BOTH_ALIKE),
    ],
)
def test_a_change_of_one_side_or_of_both_alike_is_taken(mine: str, theirs: str, expected: Side) -> None:
    assert merge(mine, theirs) == (expected, mine if theirs == BASE else theirs, 0)


def test_changes_in_different_places_are_both_taken() -> None:
    mine, theirs = (
        BASE.replace("Keep dates.\n", "Keep dates.\nKeep names.\n"),
        BASE.replace("assume", "guess"),
    )
    both = "You add.\nKeep dates.\nKeep names.\nBe short.\nSay what you guess.\n"
    assert merge(mine, theirs) == (Side.MERGED, both, 0)


def test_where_both_changed_the_same_line_both_texts_stand_between_marks() -> None:
    kind, merged, conflicts = merge(BASE.replace("dates", "all dates"), BASE.replace("dates", "names"))
    assert (kind, conflicts) == (Side.CONFLICT, 1)
    between = "<<<<<<< mine\nKeep all dates.\n=======\nKeep names.\n>>>>>>> theirs\n"
    assert merged == BASE.replace("Keep dates.\n", between)
    assert (
        merge(
            BASE.replace("dates", "a").replace("assume", "b"),
            BASE.replace("dates", "c").replace("assume", "d"),
        )[2]
        == 2
    )


@pytest.mark.parametrize("file", ["system.md", "task.md", "fragments.yaml", "few_shot.yaml", "prompt.yaml"])
def test_a_prompt_with_marks_of_a_conflict_is_refused_with_their_line(file: str) -> None:
    beginning = METADATA if file == "prompt.yaml" else "note: x\n"
    text = beginning + "<<<<<<< mine\na: b\n=======\na: c\n>>>>>>> theirs\n"
    line = text[: text.index("<")].count("\n") + 1
    assert (
        f"{NAME}/{file}:{line}: holds marks of a conflict: keep one of the two texts and take the marks out"
        in problems({file: text})
    )


def test_a_part_taken_away_and_changed_is_a_conflict_and_nothing_is_lost() -> None:
    kind, merged, _ = merge("", BASE.replace("short", "brief"))
    assert kind is Side.CONFLICT
    assert "Be brief." in merged


def test_number_and_date_are_no_change() -> None:
    base = to_texts(parse())
    later = to_texts(replace(parse(), version="9.0.0", last_updated=date(2030, 1, 1)))
    assert three_way(base, later, base) == ()
    assert part_diffs(base, later) == ()


@settings(max_examples=50)
@given(*[st.lists(st.sampled_from("abcd"), max_size=6)] * 3)
def test_merging_takes_every_line_from_one_of_the_texts(
    base: list[str], mine: list[str], theirs: list[str]
) -> None:
    texts = ["".join(f"{line}\n" for line in one) for one in (base, mine, theirs)]
    for one in three_way(*({"system.md": text} for text in texts)):
        if one.conflicts == 0:
            assert set(one.merged.split()) <= {*mine, *theirs}
        (other,) = three_way(*({"system.md": text} for text in (texts[0], texts[2], texts[1])))
        assert other.conflicts == one.conflicts


def test_the_parts_that_differ_come_with_both_texts_in_the_order_of_the_files() -> None:
    before = to_texts(parse())
    after = to_texts(
        parse({"task.md": "Sum:\n{{numbers}}", "few_shot.yaml": "- {input: {numbers: 1}, output: '1'}"})
    )
    changes = part_diffs(before, after)
    assert [(one.file, one.before, one.after) for one in changes] == [
        ("task.md", "Add:\n{{ numbers }}\n", "Sum:\n{{numbers}}\n"),
        ("few_shot.yaml", "", '- input:\n    numbers: "1"\n  output: "1"\n'),
    ]
    assert [row.text for row in diff(changes[0].before, changes[0].after) if row.change is Change.ADDED] == [
        "Sum:",
        "{{numbers}}",
    ]


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        (
            "Keep all dates.",
            "Keep the dates.",
            [("same", "Keep "), ("removed", "all"), ("added", "the"), ("same", " dates.")],
        ),
        (
            "残すこと",
            "残さないこと",
            [("same", "残"), ("removed", "す"), ("added", "さない"), ("same", "こと")],
        ),
        ("same", "same", [("same", "same")]),
        ("", "new", [("added", "new")]),
        ("old", "", [("removed", "old")]),
    ],
)
def test_what_changed_within_a_line(before: str, after: str, runs: list[tuple[str, str]]) -> None:
    assert [(change.value, text) for change, text in word_diff(before, after)] == runs
