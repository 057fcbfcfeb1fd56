"""The machine's conditions of an eval set: each looks at one output, or at its request, and says what it found.

A condition passes or fails; it ends in an error only when it could not be worked out, and is skipped when there was
nothing to look at. `at` narrows a condition to a part of a JSON output: names joined by dots, `[]` for every item and
`[0]` for one, such as `answers.A.errors[].quote`. Without it, a JSON output is read as the texts that it holds.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import regex

from core.domain.evaluation import CheckResult, CheckStatus
from core.domain.setup import Json
from core.domain.view import Phrase
from core.prompts import eval_text
from core.prompts.masking import find_personal

CHECKS_VERSION = 1
"""Part of an evaluation's conditions: goes up whenever a condition can come to another result on the same output."""

PATTERN_LIMIT_S = 0.5
"""For all matches of one pattern in one text."""
SHOWN_ITEMS, SHOWN_CHARS = 3, 60


class CheckKind(StrEnum):
    """What a set calls a condition."""

    JSON_SCHEMA = "json_schema"
    JSON_EQUALS = "json_equals"
    MIN_ITEMS = "min_items"
    MAX_ITEMS = "max_items"
    MIN_CHARS = "min_chars"
    MAX_CHARS = "max_chars"
    MIN_BULLETS = "min_bullets"
    CONTAINS_ALL = "contains_all"
    CONTAINS_ANY = "contains_any"
    NOT_CONTAINS = "not_contains"
    UNCHANGED_SPANS = "unchanged_spans"
    SECTIONS_EQUAL = "sections_equal"
    REGEX = "regex"
    NOT_REGEX = "not_regex"
    IDS_EXIST = "ids_exist"
    LANGUAGE = "language"
    KEEPS = "keeps"
    NUMBERS_SUBSET = "numbers_subset"
    DATES_SUBSET = "dates_subset"
    URLS_SUBSET = "urls_subset"
    MENTIONS_SUBSET = "mentions_subset"
    QUOTES_SUBSET = "quotes_subset"
    SIMILARITY = "similarity"
    NO_PII = "no_pii"
    CANARY_ABSENT = "canary_absent"
    CANARY_PRESENT = "canary_present"
    MAX_LATENCY_MS = "max_latency_ms"
    MAX_COST_USD = "max_cost_usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the conditions of a case look at."""

    output: str
    data: Json | None = None
    """The output as JSON; None for free text and for what does not satisfy the schema."""
    problem: str = ""
    """Why the output does not satisfy the prompt's schema."""
    request: str = ""
    """The rendered request, all parts of it."""
    source: str = ""
    """All that the case gives the model to work with."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Parts of the source by name."""
    latency_ms: int | None = None
    cost_usd: float | None = None

    def values(self, at: str) -> list[object]:
        """What stands at a path, in order; empty when nothing does."""
        found: list[object] = [] if self.data is None or not at else [self.data]
        for step in _steps(at):
            found = [inner for value in found for inner in _below(value, step)]
        return found

    def text(self, at: str) -> str:
        """The text that a condition reads, a line for each value; LookupError when the path leads nowhere.

        Of a list without items it is empty.
        """
        if not at:
            return self.output if self.data is None else "\n".join(_strings(self.data))
        values = self.values(at)
        if not values and not self.values(at.rpartition("[]")[0]):
            raise LookupError(at)
        return "\n".join(text for value in values for text in _strings(value))


def _steps(at: str) -> list[str]:
    return [step for step in at.replace("[", ".[").split(".") if step]


def _below(value: object, step: str) -> list[object]:
    if step.startswith("["):
        items = value if isinstance(value, list) else []
        place = step[1:-1]
        return items[int(place) : int(place) + 1] if place else list(items)
    return [value[step]] if isinstance(value, Mapping) and step in value else []


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif value is not None:
        yield json.dumps(value)


Found = tuple[CheckStatus, Phrase]
Fields = dict[str, str | int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(ABC):
    kind: CheckKind
    at: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind}@{self.at}" if self.at else self.kind.value

    @abstractmethod
    def judge(self, seen: Seen) -> Found:
        """Raises LookupError when there is nothing at the path, TimeoutError for a pattern that takes too long."""


def run_checks(checks: Sequence[Check], seen: Seen) -> tuple[CheckResult, ...]:
    """Every condition's result, in order."""
    return tuple(_result(check, seen) for check in checks)


def _result(check: Check, seen: Seen) -> CheckResult:
    try:
        status, reason = check.judge(seen)
    except LookupError:
        status, reason = _failed(Phrase(key="eval_check.nothing_at", fields={"path": check.at}))
    except TimeoutError:
        limit = round(PATTERN_LIMIT_S * 1000)
        status, reason = CheckStatus.ERROR, Phrase(key="eval_check.too_slow", fields={"limit": limit})
    return CheckResult(name=check.name, status=status, reason=reason)


def _failed(reason: Phrase) -> Found:
    return CheckStatus.FAIL, reason


def _judged(passed: object, reason: Phrase) -> Found:
    return (CheckStatus.PASS if passed else CheckStatus.FAIL), reason


def listed(items: Sequence[str]) -> str:
    """The first few items, cut short, for a sentence."""
    shown = [
        item if len(item) <= SHOWN_CHARS else item[: SHOWN_CHARS - 1] + "…" for item in items[:SHOWN_ITEMS]
    ]
    return "; ".join([*shown, *(["…"] if len(items) > SHOWN_ITEMS else [])]) or "–"


# --- JSON -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCheck(Check):
    """The output satisfies the prompt's own schema, as the request narrowed it."""

    def judge(self, seen: Seen) -> Found:
        if seen.problem or seen.data is None:
            return _failed(Phrase(key="eval_check.schema_bad", fields={"problem": listed([seen.problem])}))
        return CheckStatus.PASS, Phrase(key="eval_check.schema_ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck(Check):
    """Everything at the path is this value, compared as text: `true`, `3`, `sound`."""

    wanted: str

    def judge(self, seen: Seen) -> Found:
        values = seen.values(self.at)
        if not values:
            raise LookupError(self.at)
        found = [
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values
        ]
        reason = Phrase(key="eval_check.json_equals", fields={"found": listed(found), "wanted": self.wanted})
        return _judged(all(value == self.wanted for value in found), reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCheck(Check):
    """At least or at most so many items, characters or bullets."""

    limit: int

    def judge(self, seen: Seen) -> Found:
        had = self._had(seen)
        least = self.kind in (CheckKind.MIN_ITEMS, CheckKind.MIN_CHARS, CheckKind.MIN_BULLETS)
        reason = Phrase(key=f"eval_check.{self.kind}", fields={"had": had, "limit": self.limit})
        return _judged(had >= self.limit if least else had <= self.limit, reason)

    def _had(self, seen: Seen) -> int:
        if self.kind in (CheckKind.MIN_ITEMS, CheckKind.MAX_ITEMS):
            values = seen.values(self.at)
            if not values:
                raise LookupError(self.at)
            return sum(len(value) if isinstance(value, list) else 1 for value in values)
        text = seen.text(self.at)
        return eval_text.bullets(text) if self.kind is CheckKind.MIN_BULLETS else len(text)


# --- texts ----------------------------------------------------------------------------------------------------------


def holds(text: str, wanted: str) -> bool:
    """Whether a text that was made plain holds another; a number is held only whole."""
    needle = eval_text.plain(wanted)
    at = text.find(needle)
    while at >= 0:
        before, behind = text[at - 1 : at], text[at + len(needle) : at + len(needle) + 1]
        cut_before = needle[:1].isdigit() and (before.isdigit() or before == ".")
        if not cut_before and not (needle[-1:].isdigit() and behind.isdigit()):
            return True
        at = text.find(needle, at + 1)
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsCheck(Check):
    """Texts that are there, or are not. Spans and headings to the letter, the others in plain width."""

    texts: tuple[str, ...]

    def judge(self, seen: Seen) -> Found:
        text = seen.text(self.at)
        if self.kind is CheckKind.SECTIONS_EQUAL:
            found = eval_text.sections(text)
            headings: Fields = {"found": listed(found), "wanted": listed(self.texts)}
            return _judged(found == self.texts, Phrase(key="eval_check.sections_equal", fields=headings))
        there = [one for one in self.texts if self._holds(text, one)]
        missing = [one for one in self.texts if one not in there]
        passed = {
            CheckKind.CONTAINS_ANY: bool(there),
            CheckKind.NOT_CONTAINS: not there,
        }.get(self.kind, not missing)
        fields: Fields = {
            "count": len(there),
            "all": len(self.texts),
            "found": listed(there),
            "missing": listed(missing),
        }
        return _judged(passed, Phrase(key=f"eval_check.{self.kind}", fields=fields))

    def _holds(self, text: str, one: str) -> bool:
        if self.kind is CheckKind.UNCHANGED_SPANS:
            return one in text
        return holds(eval_text.plain(text), one)


def matches(pattern: str, text: str) -> list[str]:
    """All matches, with `^` and `$` at every line; raises TimeoutError when they take too long to find."""
    found = regex.compile(pattern, regex.MULTILINE).finditer(text, timeout=PATTERN_LIMIT_S, concurrent=True)
    return [str(match[0]) for match in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternCheck(Check):
    """A pattern that matches, or does not; for `ids_exist` every match stands in the source, `least` of them."""

    pattern: str
    least: int = 0

    def judge(self, seen: Seen) -> Found:
        found = matches(self.pattern, seen.text(self.at))
        if self.kind is CheckKind.IDS_EXIST:
            known = set(matches(self.pattern, seen.source))
            unknown = [one for one in dict.fromkeys(found) if one not in known]
            fields: Fields = {"count": len(found), "least": self.least, "unknown": listed(unknown)}
            return _judged(
                not unknown and len(found) >= self.least, Phrase(key="eval_check.ids_exist", fields=fields)
            )
        reason = Phrase(
            key=f"eval_check.{self.kind}", fields={"count": len(found), "first": listed(found[:1])}
        )
        return _judged(bool(found) is (self.kind is CheckKind.REGEX), reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageCheck(Check):
    wanted: str

    def judge(self, seen: Seen) -> Found:
        found = eval_text.language(seen.text(self.at), seen.source)
        if not found:
            return CheckStatus.SKIPPED, Phrase(key="eval_check.language_none")
        return _judged(
            found == self.wanted,
            Phrase(key="eval_check.language", fields={"found": found, "wanted": self.wanted}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Something that must survive: of each group of `all_of` one wording, and none of the inversions."""

    id: str
    all_of: tuple[tuple[str, ...], ...]
    none_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepsCheck(Check):
    keeps: tuple[Keep, ...]

    def judge(self, seen: Seen) -> Found:
        text = eval_text.plain(seen.text(self.at))
        lost = [one.id for one in self.keeps if not all(any(holds(text, w) for w in g) for g in one.all_of)]
        inverted = [word for one in self.keeps for word in one.none_of if holds(text, word)]
        fields: Fields = {"lost": listed(lost), "inverted": listed(inverted), "all": len(self.keeps)}
        return _judged(not lost and not inverted, Phrase(key="eval_check.keeps", fields=fields))


# --- only what the source says --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetCheck(Check):
    """Nothing of its kind that the source does not hold. At a path, each text there is a quote."""

    def judge(self, seen: Seen) -> Found:
        found, strange = _SUBSETS[self.kind](self, seen)
        fields: Fields = {"count": found, "strange": listed(strange)}
        return _judged(not strange, Phrase(key=f"eval_check.{self.kind}", fields=fields))


Subset = tuple[int, list[str]]


def _numbers(check: Check, seen: Seen) -> Subset:
    found = eval_text.numbers(seen.text(check.at))
    strange = found - eval_text.given_numbers(seen.source)
    return len(found), [f"{number:f}" for number in sorted(strange)]


def _dates(check: Check, seen: Seen) -> Subset:
    found, given = eval_text.dates(seen.text(check.at)), eval_text.dates(seen.source)
    return len(found), sorted(eval_text.written(day) for day in found if not eval_text.is_given(day, given))


def _urls(check: Check, seen: Seen) -> Subset:
    found = eval_text.urls(seen.text(check.at))
    return len(found), sorted(found - eval_text.urls(seen.source))


def _mentions(check: Check, seen: Seen) -> Subset:
    found = eval_text.mentions(seen.text(check.at))
    return len(found), sorted(found - eval_text.mentions(seen.source))


def _quotes(check: Check, seen: Seen) -> Subset:
    """At a path that holds nothing there is no quote, and so none that is wrong."""
    source = eval_text.plain(seen.source)
    if check.at:
        found = tuple(text for value in seen.values(check.at) for text in _strings(value) if text)
    else:
        found = eval_text.quotes(seen.text(""))
    return len(found), [quote for quote in found if eval_text.plain(quote) not in source]


_SUBSETS: Mapping[CheckKind, Callable[[Check, Seen], Subset]] = {
    CheckKind.NUMBERS_SUBSET: _numbers,
    CheckKind.DATES_SUBSET: _dates,
    CheckKind.URLS_SUBSET: _urls,
    CheckKind.MENTIONS_SUBSET: _mentions,
    CheckKind.QUOTES_SUBSET: _quotes,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LikenessCheck(Check):
    """As alike as this to a text of the source, in hundredths."""

    to: str
    percent: int

    def judge(self, seen: Seen) -> Found:
        had = round(eval_text.likeness(seen.text(self.at), seen.texts[self.to]) * 100)
        fields: Fields = {"had": had, "limit": self.percent}
        return _judged(had >= self.percent, Phrase(key="eval_check.similarity", fields=fields))


# --- safety, request, cost ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalCheck(Check):
    """No personal data that a pattern can find. What was found is named by kind only."""

    def judge(self, seen: Seen) -> Found:
        found = sorted({span.kind.value for span in find_personal(seen.text(self.at))})
        return _judged(not found, Phrase(key="eval_check.no_pii", fields={"found": listed(found)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryCheck(Check):
    """A marker that must reach the rendered request or the output, or must not."""

    text: str
    in_request: bool
    times: int = 0
    """Exactly so often; 0 for any number, at least one."""

    def judge(self, seen: Seen) -> Found:
        count = (seen.request if self.in_request else seen.output).count(self.text)
        absent = self.kind is CheckKind.CANARY_ABSENT
        passed = count == self.times if absent or self.times else count > 0
        wanted = str(self.times) if absent or self.times else "1+"
        place = "request" if self.in_request else "output"
        return _judged(
            passed, Phrase(key=f"eval_check.canary_{place}", fields={"count": count, "wanted": wanted})
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingCheck(Check):
    """Not slower or dearer than this."""

    limit: float

    def judge(self, seen: Seen) -> Found:
        had = seen.latency_ms if self.kind is CheckKind.MAX_LATENCY_MS else seen.cost_usd
        if had is None:
            return CheckStatus.SKIPPED, Phrase(key="eval_check.not_measured")
        reason = Phrase(key=f"eval_check.{self.kind}", fields={"had": f"{had:g}", "limit": f"{self.limit:g}"})
        return _judged(had <= self.limit, reason)
