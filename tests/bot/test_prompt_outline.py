"""A prompt's form and rows as plain data."""

import pytest

from bot.prompt_outline import (
    RELOAD,
    STATUS,
    Asked,
    asked,
    changed_parts,
    parts_document,
    raised,
    rollback_reason,
    rows,
    typed_part,
)
from core.domain.errors import Refusal
from core.domain.prompt import DraftCheck, PromptState
from tests.examples.prompt_views import page, version


@pytest.mark.parametrize(
    ("bump", "greater"),
    [
        ("patch", (("minor", "1.11.0"), ("major", "2.0.0"))),
        ("minor", (("major", "2.0.0"),)),
        ("major", ()),
        ("", ()),
    ],
)
def test_only_greater_steps_than_the_change_needs_are_offered(
    bump: str, greater: tuple[tuple[str, str], ...]
) -> None:
    known = page(versions=(version("1.9.3"), version("1.10.0"), version("3.0.0", shipped=True)))
    assert raised(DraftCheck(bump=bump), known, "id-1.9.3") == greater
    assert raised(DraftCheck(bump="minor"), known, "id-3.0.0") == (("major", "4.0.0"),)


def test_version_and_date_are_no_difference_in_the_settings_alone() -> None:
    before = {"prompt.yaml": 'version: "1"\nlast_updated: "x"\nname: a\n', "task.md": "version: 1\n"}
    after = {"prompt.yaml": 'version: "2"\nlast_updated: "y"\nname: a\n', "task.md": "version: 2\n"}
    assert [one.file for one in changed_parts(before, after)] == ["task.md"]


@pytest.mark.parametrize(
    "typed", ["", "   ", "v1.1.0 → v1.0.0: ", "v1.1.0 → v1.0.0:", "v1.1.0 → v1.0.0: bad "]
)
def test_a_rollback_needs_more_than_its_opening(typed: str) -> None:
    with pytest.raises(Refusal) as refused:
        rollback_reason(typed)
    assert refused.value.code == "prompt_reason_missing"
    assert rollback_reason("v1.1.0 → v1.0.0: dates were lost") == "v1.1.0 → v1.0.0: dates were lost"


def test_what_is_newer_than_the_live_version_is_promoted_and_what_is_older_rolled_back_to() -> None:
    found = [(row.version.version, row.can_promote, row.can_roll_back) for row in rows(page())]
    assert found == [
        ("1.3.0", True, False),
        ("1.2.0", True, False),
        ("1.1.0", False, False),
        ("1.0.0", False, True),
    ]
    released = version("1.5.0", shipped=True, of_release=True)
    earlier = version("1.4.0", shipped=True)
    newer = rows(page(versions=(released, earlier, *page().versions)))
    assert [(row.can_promote, row.can_roll_back) for row in newer[:2]] == [(True, False), (False, False)]
    away = rows(page(PromptState.NOT_LIVE, versions=(page().versions[0],)))
    assert [row.can_promote for row in away] == [True]
    nobody = rows(page(can_promote=False, can_verify=False))
    assert not any(row.can_promote or row.can_roll_back or row.can_verify for row in nobody)


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("", Asked()),
        (" Status ", Asked(word=STATUS)),
        ("reload", Asked(word=RELOAD)),
        ("chat.answer", Asked(name="chat.answer")),
        ("team.weekly_report v1.10.0", Asked(name="team.weekly_report", version="1.10.0")),
        ("are great", None),
        ("chat.answer is good", None),
        ("../../etc", None),
        ("chat", None),
    ],
)
def test_only_a_name_with_perhaps_a_version_or_one_of_two_words_is_asked_for(
    typed: str, means: Asked | None
) -> None:
    assert asked(typed) == means


@pytest.mark.parametrize(
    ("typed", "before", "kept"),
    [
        ("Be brief.", "Be brief.\n", "Be brief.\n"),
        ("Be brief.\r\nAlways.", "Be brief.\n\n", "Be brief.\nAlways.\n\n"),
        ("Be brief.\n\n\n", "Be brief.", "Be brief."),
        ("new", "", "new\n"),
        (" \n ", "Be brief.\n", ""),
    ],
)
def test_a_typed_part_ends_as_it_did_before_and_an_emptied_one_is_taken_away(
    typed: str, before: str, kept: str
) -> None:
    assert typed_part(typed, before) == kept


def test_a_document_of_parts_keeps_fences_within_them_apart_from_its_own() -> None:
    document = parts_document("chat.answer 1.0.0", {"task.md": "b", "system.md": "````\na\n````"})
    assert document == (
        "# chat.answer 1.0.0\n\n## system.md\n\n`````\n````\na\n````\n`````\n\n## task.md\n\n```\nb\n```\n"
    )
