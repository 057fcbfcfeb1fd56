"""Conditions of an eval set as they stand in a file: read, and refused where they can never hold.

```yaml
checks:
  - min_items: 2
    at: openQuestions
  - keeps:
      - {id: budget, all_of: [[30万円, 300000円], [以内, 上限]], none_of: [30万円以上]}
  - regex: 'INC-\\d+'                     # or {pattern: …, least: 2} for ids_exist
  - canary_present: {text: MARK-1, in: request, times: 1}
  - similarity: {to: text, percent: 98}
```
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import regex

from core.domain.view import Phrase
from core.prompts import eval_check as check
from core.prompts.eval_check import Check, CheckKind
from core.prompts.eval_text import plain
from core.prompts.strict_yaml import Node

PATTERN_CHARS = 500
LANGUAGES = ("en", "ja")
PLACES = ("output", "request")

Problem = Callable[[Phrase, int], None]
"""Takes a reason, of the catalogue, and a line."""


class Wrong(ValueError):
    """A value that a condition cannot take; `problem.check_<code>` of the catalogue says what it takes."""

    def __init__(self, code: str, **fields: str | int) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields


def read_check(node: Node, problem: Problem) -> Check | None:
    """The condition at a node; None when it cannot be read, which is then noted."""
    table = node.value if isinstance(node.value, Mapping) else {}
    kinds = [key for key in table if key != "at"]
    if len(kinds) != 1 or kinds[0] not in set(CheckKind):
        known = ", ".join(CheckKind)
        named = ", ".join(kinds) or "–"
        problem(Phrase(key="problem.check_unknown", fields={"named": named, "known": known}), node.line)
        return None
    kind = CheckKind(kinds[0])
    try:
        at = _place(kind, table)
        return _READERS[kind](kind, at, table[kind.value])
    except Wrong as wrong:
        fields = {"kind": kind.value, **wrong.fields}
        problem(Phrase(key=f"problem.check_{wrong.code}", fields=fields), table[kind.value].line)
        return None


_PATH = regex.compile(r"[A-Za-z_]\w*(?:\[\d{0,3}\])*(?:\.[A-Za-z_]\w*(?:\[\d{0,3}\])*)*")
_WHOLE = frozenset(
    {
        CheckKind.JSON_SCHEMA,
        CheckKind.CANARY_ABSENT,
        CheckKind.CANARY_PRESENT,
        CheckKind.MAX_LATENCY_MS,
        CheckKind.MAX_COST_USD,
    }
)
_NEED_AT = frozenset({CheckKind.JSON_EQUALS, CheckKind.MIN_ITEMS, CheckKind.MAX_ITEMS})


def _place(kind: CheckKind, table: Mapping[str, Node]) -> str:
    at = _text(table["at"]) if "at" in table else ""
    if at and not _PATH.fullmatch(at):
        raise Wrong("at")
    if at and kind in _WHOLE:
        raise Wrong("no_at")
    if not at and kind in _NEED_AT:
        raise Wrong("needs_at")
    return at


# --- values ---------------------------------------------------------------------------------------------------------


def _text(node: Node) -> str:
    if not isinstance(node.value, str) or not node.value.strip():
        raise Wrong("text")
    return node.value


def _exactly(node: Node, value: str) -> None:
    if node.value != value:
        raise Wrong("value", value=value)


def _amount(node: Node) -> float:
    try:
        amount = float(_text(node))
    except ValueError:
        raise Wrong("number") from None
    if not 0 <= amount < 10**9:
        raise Wrong("number_range")
    return amount


def _count(node: Node) -> int:
    amount = _amount(node)
    if amount != int(amount):
        raise Wrong("whole_number")
    return int(amount)


def _items(node: Node) -> tuple[Node, ...]:
    if not isinstance(node.value, tuple) or not node.value:
        raise Wrong("list")
    return node.value


def _list(node: Node) -> tuple[str, ...]:
    return tuple(_text(item) for item in _items(node))


def _table(node: Node, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Node]:
    table = node.value if isinstance(node.value, Mapping) else {}
    if not set(required) <= table.keys() <= {*required, *optional}:
        raise Wrong("table", names=", ".join((*required, *(f"({name})" for name in optional))))
    return table


def _choice(node: Node, allowed: Sequence[str]) -> str:
    if node.value not in allowed:
        raise Wrong("choice", allowed=", ".join(allowed))
    return str(node.value)


_ESCAPED = regex.compile(r"\\.")
_CALLS_ITSELF = regex.compile(r"\(\?(?:R|[+-]?\d|&|P>)")


def _pattern(node: Node) -> str:
    pattern = _text(node)
    if len(pattern) > PATTERN_CHARS:
        raise Wrong("pattern_long", limit=PATTERN_CHARS)
    if _CALLS_ITSELF.search(_ESCAPED.sub("", pattern)):
        raise Wrong("pattern_calls")
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise Wrong("pattern", detail=str(error)) from error
    return pattern


# --- conditions -----------------------------------------------------------------------------------------------------

Reader = Callable[[CheckKind, str, Node], Check]


def _schema(kind: CheckKind, at: str, node: Node) -> Check:
    _exactly(node, "$output")
    return check.SchemaCheck(kind=kind, at=at)


def _subset(kind: CheckKind, at: str, node: Node) -> Check:
    _exactly(node, "source")
    return check.SubsetCheck(kind=kind, at=at)


def _personal(kind: CheckKind, at: str, node: Node) -> Check:
    _exactly(node, "true")
    return check.PersonalCheck(kind=kind, at=at)


def _matching(kind: CheckKind, at: str, node: Node) -> Check:
    if kind is CheckKind.IDS_EXIST and isinstance(node.value, Mapping):
        table = _table(node, ("pattern",), ("least",))
        least = _count(table["least"]) if "least" in table else 0
        return check.PatternCheck(kind=kind, at=at, pattern=_pattern(table["pattern"]), least=least)
    return check.PatternCheck(kind=kind, at=at, pattern=_pattern(node))


def _keeps(kind: CheckKind, at: str, node: Node) -> Check:
    return check.KeepsCheck(kind=kind, at=at, keeps=tuple(_keep(item) for item in _items(node)))


def _keep(node: Node) -> check.Keep:
    table = _table(node, ("id", "all_of"), ("none_of",))
    keep = check.Keep(
        id=_text(table["id"]),
        all_of=tuple(_list(group) for group in _items(table["all_of"])),
        none_of=_list(table["none_of"]) if "none_of" in table else (),
    )
    for group in keep.all_of:
        if all(any(check.holds(plain(word), bad) for bad in keep.none_of) for word in group):
            raise Wrong("keep", keep=keep.id, words=", ".join(group))
    return keep


def _alike(kind: CheckKind, at: str, node: Node) -> Check:
    table = _table(node, ("to", "percent"))
    percent = _count(table["percent"])
    if not 1 <= percent <= 100:
        raise Wrong("percent")
    return check.LikenessCheck(kind=kind, at=at, to=_text(table["to"]), percent=percent)


def _canary(kind: CheckKind, at: str, node: Node) -> Check:
    may = () if kind is CheckKind.CANARY_ABSENT else ("times",)
    table = _table(node, ("text", "in"), may)
    return check.CanaryCheck(
        kind=kind,
        at=at,
        text=_text(table["text"]),
        in_request=_choice(table["in"], PLACES) == "request",
        times=_count(table["times"]) if "times" in table else 0,
    )


_READERS: Mapping[CheckKind, Reader] = {
    CheckKind.JSON_SCHEMA: _schema,
    CheckKind.JSON_EQUALS: lambda kind, at, node: check.ValueCheck(kind=kind, at=at, wanted=_text(node)),
    **dict.fromkeys(
        (
            CheckKind.MIN_ITEMS,
            CheckKind.MAX_ITEMS,
            CheckKind.MIN_CHARS,
            CheckKind.MAX_CHARS,
            CheckKind.MIN_BULLETS,
        ),
        lambda kind, at, node: check.CountCheck(kind=kind, at=at, limit=_count(node)),
    ),
    **dict.fromkeys(
        (
            CheckKind.CONTAINS_ALL,
            CheckKind.CONTAINS_ANY,
            CheckKind.NOT_CONTAINS,
            CheckKind.UNCHANGED_SPANS,
            CheckKind.SECTIONS_EQUAL,
        ),
        lambda kind, at, node: check.TextsCheck(kind=kind, at=at, texts=_list(node)),
    ),
    **dict.fromkeys((CheckKind.REGEX, CheckKind.NOT_REGEX, CheckKind.IDS_EXIST), _matching),
    CheckKind.LANGUAGE: lambda kind, at, node: check.LanguageCheck(
        kind=kind, at=at, wanted=_choice(node, LANGUAGES)
    ),
    CheckKind.KEEPS: _keeps,
    **dict.fromkeys(
        (
            CheckKind.NUMBERS_SUBSET,
            CheckKind.DATES_SUBSET,
            CheckKind.URLS_SUBSET,
            CheckKind.MENTIONS_SUBSET,
            CheckKind.QUOTES_SUBSET,
        ),
        _subset,
    ),
    CheckKind.SIMILARITY: _alike,
    CheckKind.NO_PII: _personal,
    **dict.fromkeys((CheckKind.CANARY_ABSENT, CheckKind.CANARY_PRESENT), _canary),
    **dict.fromkeys(
        (CheckKind.MAX_LATENCY_MS, CheckKind.MAX_COST_USD),
        lambda kind, at, node: check.CeilingCheck(kind=kind, at=at, limit=_amount(node)),
    ),
}

# --- conditions that contradict each other --------------------------------------------------------------------------


def contradictions(case: str, checks: Sequence[Check]) -> Iterator[Phrase]:
    """Why no output satisfies all of these conditions, as far as two of them on the same part show it."""
    for number, one in enumerate(checks):
        for other in checks[number + 1 :]:
            if one.at == other.at and (reason := _clash(one, other) or _clash(other, one)):
                fields = {"case": case, "one": one.name, "other": other.name, "detail": reason}
                yield Phrase(key="problem.case_contradiction", fields=fields)


_RANGES = {CheckKind.MIN_ITEMS: CheckKind.MAX_ITEMS, CheckKind.MIN_CHARS: CheckKind.MAX_CHARS}


def _clash(one: Check, other: Check) -> str:
    match one, other:
        case check.CountCheck(), check.CountCheck() if _RANGES.get(one.kind) is other.kind:
            return f"≥ {one.limit}, ≤ {other.limit}" if one.limit > other.limit else ""
        case check.TextsCheck(), check.TextsCheck() if other.kind is CheckKind.NOT_CONTAINS:
            return _clash_of_texts(one, other)
        case check.LanguageCheck(), check.LanguageCheck() if one.wanted != other.wanted:
            return f"{one.wanted}, {other.wanted}"
        case check.ValueCheck(), check.ValueCheck() if one.wanted != other.wanted:
            return f"{one.wanted}, {other.wanted}"
        case check.PatternCheck(kind=CheckKind.REGEX), check.PatternCheck(kind=CheckKind.NOT_REGEX):
            return one.pattern if one.pattern == other.pattern else ""
        case check.CanaryCheck(kind=CheckKind.CANARY_PRESENT), check.CanaryCheck(
            kind=CheckKind.CANARY_ABSENT
        ):
            same = one.in_request == other.in_request and other.text in one.text
            return one.text if same else ""
        case check.KeepsCheck(), check.TextsCheck(kind=CheckKind.NOT_CONTAINS):
            return _clash_of_keeps(one, other)
    return ""


def _unwanted(text: str, other: check.TextsCheck) -> bool:
    return any(check.holds(plain(text), bad) for bad in other.texts)


def _clash_of_texts(one: check.TextsCheck, other: check.TextsCheck) -> str:
    bad = [text for text in one.texts if _unwanted(text, other)]
    if one.kind in (CheckKind.CONTAINS_ALL, CheckKind.UNCHANGED_SPANS, CheckKind.SECTIONS_EQUAL):
        return ", ".join(bad)
    return ", ".join(bad) if one.kind is CheckKind.CONTAINS_ANY and len(bad) == len(one.texts) else ""


def _clash_of_keeps(one: check.KeepsCheck, other: check.TextsCheck) -> str:
    groups = [group for keep in one.keeps for group in keep.all_of]
    return ", ".join("/".join(group) for group in groups if all(_unwanted(text, other) for text in group))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What conditions of a case can look at."""

    is_json: bool
    texts: frozenset[str]
    """Names of the parts of the source that a text can be compared with."""


def misplaced(case: str, one: Check, target: Target) -> Phrase | None:
    """Why a condition can never say anything in this case; None when it can."""
    if (one.at or one.kind is CheckKind.JSON_SCHEMA) and not target.is_json:
        return Phrase(key="problem.case_check_free_text", fields={"case": case, "check": one.name})
    if isinstance(one, check.LikenessCheck) and one.to not in target.texts:
        has = ", ".join(sorted(target.texts)) or "–"
        return Phrase(
            key="problem.case_check_no_source",
            fields={"case": case, "check": one.name, "to": one.to, "has": has},
        )
    return None
