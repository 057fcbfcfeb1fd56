"""Every text that people read, in English and Japanese.

The catalogue is one folder a language with TOML files; a key is `table.name`, and `{field}` is filled on use. A test
keeps both languages to the same keys and the same fields.
"""

import tomllib
from functools import cache
from pathlib import Path

from core.domain.errors import ConfigurationError, Refusal
from core.domain.view import Phrase

LOCALES = ("en", "ja")
DEFAULT_LOCALE = "en"
CENT = 0.01


@cache
def catalogue(locale: str) -> dict[str, str]:
    """All texts of one language by key; raises KeyError for a language that is not ours."""
    if locale not in LOCALES:
        raise KeyError(locale)
    texts: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / locale).glob("*.toml")):
        for table, entries in tomllib.loads(file.read_text(encoding="utf-8")).items():
            for name, text in entries.items():
                texts[f"{table}.{name}"] = text
    return texts


def text(locale: str, key: str, **fields: str | float) -> str:
    """The sentence for `key` with its fields filled in. Field values are data: braces in them stay as they are."""
    return catalogue(locale)[key].format_map(fields)


def phrase(locale: str, value: Phrase) -> str:
    """A neutral phrase in the reader's language."""
    return text(locale, value.key, **value.fields)


def refusal(locale: str, value: Refusal) -> str:
    """What a person reads when a request is refused: what, why, what is allowed."""
    return text(locale, f"refusal.{value.code}", **value.fields)


def reason(locale: str, value: ConfigurationError) -> str:
    """Why a file cannot be used, without its place; in English where it has no sentence of the catalogue."""
    return text(locale, f"problem.{value.code}", **value.fields) if value.code else value.reason


def nearest(locale: str) -> str:
    """Our language for a platform locale such as `ja-JP` or `en_GB`; English when it is neither."""
    base = locale.replace("_", "-").split("-")[0].lower()
    return base if base in LOCALES else DEFAULT_LOCALE


def money(usd: float) -> str:
    """US dollars; more digits below a cent, where answers usually cost."""
    return f"${usd:,.2f}" if usd >= CENT or usd == 0 else f"${usd:.4f}"
