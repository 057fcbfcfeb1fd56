"""A prompt's form and rows as plain data."""

import pytest

from bot.console.prompted import changed_parts, raised, rollback_reason, rows
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
    away = rows(page(PromptState.NOT_LIVE, versions=(page().versions[0],)))
    assert [row.can_promote for row in away] == [True]
    nobody = rows(page(can_promote=False, can_verify=False))
    assert not any(row.can_promote or row.can_roll_back or row.can_verify for row in nobody)
