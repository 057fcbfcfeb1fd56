"""What a thread or run was started with, read strictly from JSON: each wrong value has a refusal of its own.

Forms, text commands and the store all give plain JSON; a setup that was read once is written back the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.domain.errors import Refusal

LETTERS = ("A", "B", "C", "D", "E", "F")
"""What participants, candidates and answers are called in AI input, where no model may know another's name."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The values of one table. Every method raises Refusal for a value of another type or beyond its limits."""

    raw: Mapping[str, object]

    def only(self, *names: str) -> None:
        """Refuse a table that holds any other name."""
        for name in self.raw:
            if name not in names:
                raise Refusal("setting_unknown", name=str(name), allowed=", ".join(names))

    def text(self, name: str, *, limit: int, too_long: str = "setting_too_long") -> str:
        """Text without blanks around it; empty when there is none."""
        value = self.raw.get(name, "")
        if not isinstance(value, str):
            raise Refusal("setting_not_text", name=name)
        text = value.strip()
        if len(text) > limit:
            raise Refusal(too_long, name=name, had=len(text), limit=limit)
        return text

    def number(self, name: str, *, least: int, most: int, default: int) -> int:
        value = self.raw.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refusal("setting_not_number", name=name, least=least, most=most)
        if not least <= value <= most:
            raise Refusal("setting_out_of_range", name=name, had=value, least=least, most=most)
        return value

    def flag(self, name: str) -> bool:
        """False when it is not given."""
        value = self.raw.get(name, False)
        if not isinstance(value, bool):
            raise Refusal("setting_not_flag", name=name)
        return value

    def items(self, name: str) -> Sequence[object]:
        """A list; empty when it is not given."""
        value = self.raw.get(name, ())
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise Refusal("setting_not_list", name=name)
        return value

    def names(self, name: str, *, least: int, most: int, code: str) -> tuple[str, ...]:
        """A list of texts, none empty; Refusal `code` when there are too few or too many."""
        values = self.items(name)
        names = tuple(value.strip() for value in values if isinstance(value, str) and value.strip())
        if len(names) != len(values):
            raise Refusal("setting_not_list", name=name)
        if not least <= len(names) <= most:
            raise Refusal(code, had=len(names), least=least, most=most)
        return names

    def table(self, name: str) -> "Fields":
        value = self.raw.get(name)
        if not isinstance(value, Mapping):
            raise Refusal("setting_not_table", name=name)
        return Fields(value)


def repeated(models: Sequence[str]) -> tuple[str, ...]:
    """Models that are named more than once, in order. Allowed; people are told so."""
    return tuple(dict.fromkeys(model for model in models if models.count(model) > 1))


def models_in(setup: Mapping[str, Any]) -> tuple[str, ...]:
    """Every model that a thread's setup names, whichever its mode, also those that have not spoken yet."""
    tables = (table for table in setup.get("participants", ()) if isinstance(table, Mapping))
    named = [*setup.get("models", ()), setup.get("moderator", ""), *(table["model"] for table in tables)]
    return tuple(dict.fromkeys(model for model in named if model))


def spread(aliases: Sequence[str], count: int) -> tuple[str, ...]:
    """`count` models out of `aliases`, different ones first; none when there are none."""
    distinct = tuple(dict.fromkeys(aliases))
    return tuple(distinct[place % len(distinct)] for place in range(count)) if distinct else ()


Json = dict[str, Any]
