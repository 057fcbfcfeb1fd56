"""Whether a model id means the same model tomorrow (spec §10): production refuses one that floats.

A date in the id pins it. Without one, only an entry in the reviewed list does, because nothing in an id's shape tells
a fixed name from one that its provider moves on.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from core.domain.errors import ConfigurationError, ConfigurationErrors
from core.prompts.strict_yaml import Node, read_yaml

PINNED_FILE = Path(__file__).with_name("pinned_models.yaml")

_KEYS = ("provider", "id", "statement", "checked_on")
_FLOATING = re.compile(r"(?:^|[-_.:/@])(?:latest|exp|experimental)(?:$|[-_.:@])")
"""Says of itself that it moves; Google swaps experimental models without notice even where they carry a date."""

_DATE = re.compile(
    r"(?<![0-9])(?:"
    r"(?P<y>20[0-9]{2})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
    r"|(?P<y8>20[0-9]{2})(?P<m8>[0-9]{2})(?P<d8>[0-9]{2})"
    r")(?![0-9])"
)
_SHORT_DATE = re.compile(
    r"-(?:"
    r"(?:2[3-9]|3[0-9])(?:0[1-9]|1[0-2])"  # 2411: year and month, as Mistral has it
    r"|(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"  # 0613: month and day, as OpenAI and xAI had it
    r"|preview-(?:0[1-9]|1[0-2])-(?:20[0-9]{2}|0[1-9]|[12][0-9]|3[01])"  # 09-2025 and 05-20, as Google has it
    r")(?:$|-preview$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedModel:
    """An entry of the reviewed list: an id without a date that its provider says is fixed."""

    provider: str
    id: str
    statement: str
    """Address of the provider's page that says so."""
    checked_on: date

    @property
    def model_id(self) -> str:
        """As the catalogue of models writes it."""
        return f"{self.provider}/{self.id}"


def pinned(model_id: str, listed: Iterable[PinnedModel]) -> bool:
    """Whether `model_id`, as the catalogue of models has it, always means the same model."""
    if any(one.model_id == model_id for one in listed):
        return True
    name = model_id.lower()
    return not _FLOATING.search(name) and (_dated(name) or _SHORT_DATE.search(name) is not None)


def _dated(name: str) -> bool:
    for found in _DATE.finditer(name):
        try:
            date(*(int(found[key] or found[f"{key}8"]) for key in "ymd"))
        except ValueError:
            continue
        return True
    return False


@cache
def load_pinned() -> tuple[PinnedModel, ...]:
    """The reviewed list of this release. The first call reads a file, so it does not belong on the event loop.

    Raises ConfigurationErrors with every problem of the file.
    """
    return parse_pinned(PINNED_FILE.name, PINNED_FILE.read_text(encoding="utf-8"))


def parse_pinned(file: str, text: str) -> tuple[PinnedModel, ...]:
    """The entries in `text`; raises ConfigurationErrors, naming `file`, with everything that is wrong."""
    try:
        root = read_yaml(file, text)
    except ConfigurationError as error:
        raise ConfigurationErrors([error]) from error
    if not isinstance(root.value, tuple):
        raise ConfigurationErrors([ConfigurationError(file, "must be a list of models", line=root.line)])
    entries: list[PinnedModel] = []
    problems: list[ConfigurationError] = []
    for node in root.value:
        try:
            entry = _entry(node)
        except ValueError as error:
            problems.append(ConfigurationError(file, str(error), line=node.line))
            continue
        if any(one.model_id == entry.model_id for one in entries):
            problems.append(ConfigurationError(file, f"{entry.model_id} is listed twice", line=node.line))
        entries.append(entry)
    if problems:
        raise ConfigurationErrors(problems)
    return tuple(entries)


def _entry(node: Node) -> PinnedModel:
    table = node.value if isinstance(node.value, Mapping) else {}
    given = {
        key: item.value for key, item in table.items() if isinstance(item.value, str) and item.value.strip()
    }
    if given.keys() != set(_KEYS) or table.keys() != given.keys():
        raise ValueError(f"an entry has exactly {', '.join(_KEYS)}, each a text")
    if not given["statement"].startswith("https://"):
        raise ValueError("statement must be the https address of the provider's page")
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", given["checked_on"]):
        raise ValueError("checked_on must be a date, such as 2026-01-31")
    try:
        checked_on = date.fromisoformat(given["checked_on"])
    except ValueError:
        raise ValueError("checked_on must be a date, such as 2026-01-31") from None
    return PinnedModel(
        provider=given["provider"], id=given["id"], statement=given["statement"], checked_on=checked_on
    )
