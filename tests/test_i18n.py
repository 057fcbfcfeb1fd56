"""Both languages hold the same texts, and every text that the code asks for is there with the fields it is given."""

import ast
import re
import string
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest

from core.domain.errors import FailureKind, Refusal
from core.domain.prompt import PromptEventKind, PromptSource, PromptState
from core.domain.receipt import Origin
from core.domain.view import ButtonAction, Phrase
from core.i18n import LOCALES, catalogue, nearest, phrase, refusal, text
from tests.tree import ROOT, project_files, python_files, text_files, tree_of

KEY = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def fields_of(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_both_languages_have_the_same_keys() -> None:
    english, japanese = (set(catalogue(locale)) for locale in LOCALES)
    assert english - japanese == set()
    assert japanese - english == set()


def test_a_text_has_the_same_fields_in_both_languages() -> None:
    english, japanese = (catalogue(locale) for locale in LOCALES)
    unlike = [key for key in english if fields_of(english[key]) != fields_of(japanese.get(key, english[key]))]
    assert unlike == []


def test_every_language_has_the_same_files_and_no_key_twice() -> None:
    files = {
        locale: sorted(p.name for p in (ROOT / "core/i18n" / locale).glob("*.toml")) for locale in LOCALES
    }
    assert files["en"] == files["ja"]
    for locale in LOCALES:
        keys = [
            f"{table}.{name}"
            for file in files[locale]
            for table, entries in tomllib.loads(
                (ROOT / "core/i18n" / locale / file).read_text("utf-8")
            ).items()
            for name in entries
        ]
        assert sorted(keys) == sorted(set(keys))


def test_no_text_is_empty_or_has_a_field_without_a_name() -> None:
    for locale in LOCALES:
        for key, sentence in catalogue(locale).items():
            assert sentence.strip(), key
            assert all(re.fullmatch(r"[a-z_]+", name) for name in fields_of(sentence)), key


def test_japanese_texts_are_japanese() -> None:
    """A text without any Japanese character is only right where it says the same in every language."""
    japanese = re.compile(r"[ぁ-んァ-ヶ一-龠々。、]")
    english = catalogue("en")
    left = [
        key
        for key, sentence in catalogue("ja").items()
        if not japanese.search(sentence) and re.search(r"[A-Za-z]{2}.* .*[A-Za-z]{2}", sentence)
        if sentence == english[key]
    ]
    assert left == []


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        ("model_failure", FailureKind),
        ("origin", Origin),
        ("button", ButtonAction),
        ("prompt_source", PromptSource),
        ("prompt_event", PromptEventKind),
        ("prompt_state", PromptState),
    ],
)
def test_every_kind_has_its_text(locale: str, table: str, kinds: type[StrEnum]) -> None:
    texts = catalogue(locale)
    assert [kind.value for kind in kinds if f"{table}.{kind.value}" not in texts] == []


# --- what the code asks for ---------------------------------------------------------------------------------------


def asked() -> Iterator[tuple[str, str, set[str] | None]]:
    """Place, key and given fields of every call with a literal key; None where the fields are not literal either."""
    for file in python_files("bot", "core"):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Call):
                key, given = _request(node)
                if key is not None:
                    yield f"{file.as_posix()}:{node.lineno}", key, given


def _request(call: ast.Call) -> tuple[str | None, set[str] | None]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    given = None if None in keywords else {str(word) for word in keywords}
    match name:
        case "Refusal" if call.args:
            code = _literal(call.args[0])
            return (f"refusal.{code}" if code else None), given
        case "text" if len(call.args) == 2:
            key = _literal(call.args[1])
            return (key if key and KEY.fullmatch(key) else None), given
        case "Phrase":
            return _literal(keywords.get("key")), _keys(keywords.get("fields"))
    return None, None


def _literal(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _keys(node: ast.expr | None) -> set[str] | None:
    if node is None:
        return set()
    if not isinstance(node, ast.Dict) or None in node.keys:
        return None
    return {_literal(key) or "" for key in node.keys}


def test_every_text_that_the_code_names_is_there() -> None:
    requests = list(asked())
    assert len(requests) > 30
    assert [f"{place} {key}" for place, key, _ in requests if key not in catalogue("en")] == []


def test_every_text_that_the_code_names_is_given_its_fields() -> None:
    texts = catalogue("en")
    missing = [
        f"{place} {key}: {sorted(fields_of(texts[key]) - given)}"
        for place, key, given in asked()
        if given is not None and key in texts and fields_of(texts[key]) - given
    ]
    assert missing == []


def test_every_text_has_a_place_where_it_is_used() -> None:
    """A key counts as used when the code holds it, its name, or a literal with its beginning."""
    files = [(f, t) for f, t in text_files() if f.parts[0] in {"bot", "core"} and f.suffix != ".toml"]
    source = "\n".join(t for _, t in files)
    words = set(re.findall(r"[a-z][a-z0-9_]*", source))
    beginnings = tuple(
        set(re.findall(r"[\"'`]([a-z_]+\.(?:[a-z_]*(?=\{)|[a-z_]*_(?=[\"'])|(?=[\"'])))", source))
    )
    assert beginnings
    unused = [
        key
        for key in catalogue("en")
        if key not in source and not key.startswith(beginnings) and key.partition(".")[2] not in words
    ]
    assert unused == []


# --- using it -----------------------------------------------------------------------------------------------------


def test_fields_are_filled_and_braces_in_them_stay() -> None:
    value = Refusal("request_too_large", model="{model}", needed=9, allowed=8)
    assert "{model}" in refusal("en", value)
    assert "9" in refusal("ja", value)


def test_a_missing_field_is_an_error_and_not_a_gap() -> None:
    with pytest.raises(KeyError, match="model"):
        phrase("en", Phrase(key="model_failure.empty"))


@pytest.mark.parametrize(
    ("platform", "ours"),
    [
        ("ja-JP", "ja"),
        ("ja", "ja"),
        ("JA_jp", "ja"),
        ("en_GB", "en"),
        ("fr-FR", "en"),
        ("", "en"),
        ("C", "en"),
    ],
)
def test_a_platform_s_locale_becomes_one_of_ours(platform: str, ours: str) -> None:
    assert nearest(platform) == ours


def test_an_unknown_language_or_key_is_an_error() -> None:
    with pytest.raises(KeyError, match="fr"):
        catalogue("fr")
    with pytest.raises(KeyError, match="nothing"):
        text("en", "no.nothing")


def test_every_catalogue_file_lies_in_the_folder_of_a_language() -> None:
    tables = [
        file for file in project_files() if file.is_relative_to(Path("core/i18n")) and file.suffix == ".toml"
    ]
    assert {file.parts[2] for file in tables} == set(LOCALES)


def test_japanese_calls_an_adoption_request_by_one_name() -> None:
    words = ("依頼", "決定待ち", "採用の申請", "採用の承認待ち", "採用を承認", "採用を却下")
    mixed = {
        key: text
        for key, text in catalogue("ja").items()
        if "採用" in text and any(word in text for word in words)
    }
    assert mixed == {}
