from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.artifact import Artifact, ArtifactVersion, Change, DiffRow, artifact_name, diff, name_key
from core.domain.errors import Refusal
from core.domain.ids import ThreadId


def version(number: int) -> ArtifactVersion:
    return ArtifactVersion(
        number=number,
        text=f"text {number}",
        person_id=None,
        model="alpha",
        reason="",
        created_at=datetime(2026, 11, 30, tzinfo=UTC),
    )


def test_the_newest_version_is_the_last() -> None:
    artifact = Artifact(id="a", thread_id=ThreadId("t"), name="memo", versions=(version(1), version(2)))
    assert artifact.newest.number == 2


def test_a_name_is_one_line_in_one_normal_form() -> None:
    assert artifact_name("  plan \n v2 ") == "plan v2"
    assert artifact_name("が") == "が"
    assert name_key("Plan") == name_key("plan")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (" ", "artifact_name_empty"),
        ("..", "artifact_name_empty"),
        ("n" * 121, "artifact_name_too_long"),
        ("a/b", "artifact_name_characters"),
        ("a\u202eb", "artifact_name_characters"),
    ],
)
def test_a_name_that_cannot_name_a_file_is_refused(name: str, code: str) -> None:
    with pytest.raises(Refusal, match=code):
        artifact_name(name)


def test_invisible_characters_are_named_by_their_code_point() -> None:
    with pytest.raises(Refusal) as caught:
        artifact_name("a\u202eb:c")
    assert caught.value.fields["characters"] == ": U+202E"


def test_a_difference_shows_changes_with_what_is_around_them() -> None:
    old = "\n".join(f"line {n}" for n in range(1, 12))
    rows = diff(old, old.replace("line 6", "line six"), context=1)
    assert rows == (
        DiffRow(change=Change.SKIPPED, text="", old_line=1, new_line=1, count=4),
        DiffRow(change=Change.SAME, text="line 5", old_line=5, new_line=5),
        DiffRow(change=Change.REMOVED, text="line 6", old_line=6, new_line=0),
        DiffRow(change=Change.ADDED, text="line six", old_line=0, new_line=6),
        DiffRow(change=Change.SAME, text="line 7", old_line=7, new_line=7),
        DiffRow(change=Change.SKIPPED, text="", old_line=8, new_line=8, count=4),
    )


@pytest.mark.parametrize("lines", [1_500, 60_000])
def test_long_texts_of_like_lines_are_compared_in_no_time(lines: int) -> None:
    old, new = "a\nb\n" * lines, "a\nb\n" * (lines // 2) + "c\n" + "a\nb\n" * (lines // 2)
    rows = diff(old, new)
    added = [row for row in rows if row.change is Change.ADDED]
    assert "c" in [row.text for row in added]
    assert sum(row.count for row in rows if row.change is not Change.ADDED) == 2 * lines


def test_the_same_text_has_no_difference() -> None:
    assert diff("a\nb", "a\nb\n") == ()


lines = st.lists(st.sampled_from(["a", "b", "c", "", "long line"]), max_size=25)


@given(lines, lines, st.integers(min_value=0, max_value=4))
def test_rows_give_back_both_texts(old: list[str], new: list[str], context: int) -> None:
    rows = diff("\n".join(old), "\n".join(new), context=context)
    before, after = "\n".join(old).splitlines(), "\n".join(new).splitlines()
    if not rows:
        assert before == after
        return
    assert rebuilt(rows, before, Change.REMOVED) == before
    assert rebuilt(rows, after, Change.ADDED) == after


def rebuilt(rows: tuple[DiffRow, ...], lines: list[str], own: Change) -> list[str]:
    """One side of a difference, its skipped lines taken from `lines`."""
    text: list[str] = []
    for row in rows:
        number = row.old_line if own is Change.REMOVED else row.new_line
        if row.change is Change.SKIPPED:
            text += lines[number - 1 : number - 1 + row.count]
        elif row.change in {Change.SAME, own}:
            assert number == len(text) + 1
            text.append(row.text)
    return text
