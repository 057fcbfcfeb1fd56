"""A document may name a file, a command or a setting only when it is there."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from bot.cli import COMMANDS
from tests.tree import ROOT, project_files

DOCUMENTS = ("README.md", "CHANGELOG.md", "core/DECISIONS.md")

OF_THE_USER = {".env", "promptflow.toml", ".venv"}
"""Names of what people make or get on their machine."""

FILE_ENDINGS = {file.suffix for file in project_files() if file.suffix}


def code_in(document: str) -> list[str]:
    """Code spans and the lines of code blocks."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", prose)


def names_in(document: str, pattern: str) -> set[str]:
    return {name for code in code_in(document) for name in re.findall(pattern, code)}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_is_there(document: str) -> None:
    named = {
        code
        for code in code_in(document)
        if re.fullmatch(r"[A-Za-z0-9_.\-]+(/[A-Za-z0-9_.\-]*)*", code)
        and ("/" in code or Path(code).suffix in FILE_ENDINGS)
    }
    base = (ROOT / document).parent
    missing = [n for n in named - OF_THE_USER if not (ROOT / n).exists() and not (base / n).exists()]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_inside_the_project_leads_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = set(re.findall(r"\]\(([^)\s]+)\)", text)) | set(re.findall(r"(?:src|href)=\"([^\"]+)\"", text))
    files = {
        target.partition("#")[0] for target in targets if "://" not in target and not target.startswith("#")
    }
    assert [target for target in files if not ((ROOT / document).parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_a_document_names_is_there(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert names_in(document, r"\bmake ([a-z]+)") - targets == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_that_a_document_names_is_there(document: str) -> None:
    assert names_in(document, r"\bpromptflow ([a-z][a-z-]*)") - set(COMMANDS) == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_setting_that_a_document_names_is_read(document: str) -> None:
    source = (ROOT / "bot/settings.py").read_text()
    named = names_in(document, r"\b((?:PROMPTFLOW|SLACK|DISCORD)_[A-Z_]+|(?:[A-Z]+_)?DATABASE_URL)\b")
    assert [name for name in named if f'"{name}"' not in source] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_module_that_a_document_names_is_there(document: str) -> None:
    named = names_in(document, r"(?<![\w/.])((?:bot|core)(?:\.[a-z_]+)+)(?![\w/.])")
    modules = {name for name in named if Path(name).suffix not in FILE_ENDINGS}
    assert [name for name in modules if find_spec(name) is None] == []


def test_the_documents_say_how_to_start_and_how_to_test() -> None:
    assert {"run", "test"} <= names_in("README.md", r"\bmake ([a-z]+)")


def test_the_changelog_names_every_command() -> None:
    assert names_in("CHANGELOG.md", r"\bpromptflow ([a-z][a-z-]*)") == set(COMMANDS)
