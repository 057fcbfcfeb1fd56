import json
from pathlib import Path

import pytest

from core.domain.errors import ConfigurationErrors
from core.prompts.registry import LIBRARY_FOLDER, LOCK_FILE, load_library
from tests.prompts.sample import FILES, NAME


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")


def test_the_library_of_the_product_loads_and_is_named_by_its_folders() -> None:
    library = load_library()
    assert set(library.versions) == {path.name for path in LIBRARY_FOLDER.iterdir() if path.is_dir()}
    for name, version in library.versions.items():
        assert library.get(name) is version
        assert version.name == name


def test_no_text_of_the_library_changed_without_a_new_version() -> None:
    """After a change: raise the version in prompt.yaml and add the new line to the lock; old lines stay."""
    lock = json.loads((LIBRARY_FOLDER / LOCK_FILE).read_text(encoding="utf-8"))
    versions = load_library().versions
    assert lock.keys() == versions.keys()
    assert {name: lock[name].get(v.version) for name, v in versions.items()} == {
        name: v.sha256 for name, v in versions.items()
    }


def test_a_run_holds_on_to_the_versions_it_asks_for() -> None:
    library = load_library()
    assert library.refs("shared.fragments", "chat.answer") == (
        library.get("shared.fragments").ref,
        library.get("chat.answer").ref,
    )


def test_an_unknown_prompt_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="nobody"):
        load_library().get("nobody")


def test_a_folder_of_prompts_is_read_and_hidden_files_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / NAME, {**FILES, ".DS_Store": "x"})
    write(tmp_path / ".git", {"config": "x"})
    (tmp_path / "README.md").write_text("x", encoding="utf-8")
    assert set(load_library(tmp_path).versions) == {NAME}


def test_the_problems_of_all_prompts_are_reported_together(tmp_path: Path) -> None:
    write(tmp_path / NAME, {**FILES, "task.md": "{{numbers}} {%"})
    write(tmp_path / "demo.other", dict(FILES))
    with pytest.raises(ConfigurationErrors) as error:
        load_library(tmp_path)
    assert [(problem.file, problem.line) for problem in error.value.problems] == [
        ("demo.other/prompt.yaml", 1),
        (f"{NAME}/task.md", 1),
    ]


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_prompts_is_refused(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path if exists else tmp_path / "missing"
    with pytest.raises(ConfigurationErrors, match="holds no prompt"):
        load_library(folder)
