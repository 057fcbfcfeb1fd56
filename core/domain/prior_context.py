"""What a handover brings into a Debate or Workflow, and its caps (spec §4).

The entry point reads and caps it; the builder of `problem_framing` caps it once more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from core.domain.receipt import CapApplied
from core.domain.setup import Json

OVERVIEW_CHARS = 4_000
"""Summary and background together."""
FIRST_REQUEST_CHARS = 4_000
ITEMS = 10
"""Open questions and constraints, each."""
ITEM_CHARS = 300


class PriorCap(StrEnum):
    """`cap.<value>` of the catalogue."""

    OVERVIEW = "prior_overview_chars"
    FIRST_REQUEST = "prior_first_request_chars"
    OPEN_QUESTIONS = "prior_open_questions"
    CONSTRAINTS = "prior_constraints"
    OPEN_QUESTION_CHARS = "prior_open_question_chars"
    CONSTRAINT_CHARS = "prior_constraint_chars"
    CONCLUSIONS = "prior_conclusions"
    CONCLUSION_CHARS = "prior_conclusion_chars"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorContext:
    summary: str = ""
    background: str = ""
    open_questions: tuple[str, ...] = field(default=(), metadata={"key": "openQuestions"})
    constraints: tuple[str, ...] = ()
    first_request: str = field(default="", metadata={"key": "firstRequest"})

    @property
    def is_empty(self) -> bool:
        return self == PriorContext()

    def to_json(self) -> Json:
        """Under the names that every program uses for it."""
        return {
            "summary": self.summary,
            "background": self.background,
            "openQuestions": list(self.open_questions),
            "constraints": list(self.constraints),
            "firstRequest": self.first_request,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorWarning:
    """A field of `priorContext` that was dropped because its type was wrong; the receipt shows it."""

    field: str
    got: str
    """Kind of value that came, as JSON calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What came in through the entry point, within the caps, and what did not come in."""

    context: PriorContext
    caps: tuple[CapApplied, ...] = ()
    warnings: tuple[PriorWarning, ...] = ()

    def to_json(self) -> Json:
        return {
            "context": self.context.to_json(),
            "caps": [asdict(cap) for cap in self.caps],
            "warnings": [asdict(warning) for warning in self.warnings],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Admitted":
        """What `to_json` wrote. What comes from anywhere else goes through `admit`."""
        return cls(
            context=read_prior_context(raw["context"])[0],
            caps=tuple(CapApplied(**cap) for cap in raw["caps"]),
            warnings=tuple(PriorWarning(**warning) for warning in raw["warnings"]),
        )


def admit(raw: Mapping[str, object]) -> Admitted:
    """The Debate entry point for `priorContext`: read, then capped; nothing is lost without a trace."""
    prior, warnings = read_prior_context(raw)
    within, caps = capped(prior)
    return Admitted(context=within, caps=caps, warnings=warnings)


KEYS = tuple(f.metadata.get("key", f.name) for f in fields(PriorContext))
"""The names that are read; any other is skipped."""

_LISTS = ("openQuestions", "constraints")


def read_prior_context(raw: Mapping[str, object]) -> tuple[PriorContext, tuple[PriorWarning, ...]]:
    """The five fields out of `raw`. Takes text or a list of text for each.

    Text where a list belongs is a list of one; a list where text belongs is joined by line ends. Nothing is cut.
    """
    texts: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    warnings: list[PriorWarning] = []
    for key in KEYS:
        items = _items(raw.get(key, ""))
        if items is None:
            warnings.append(PriorWarning(field=key, got=_kind(raw[key])))
            items = ()
        if key in _LISTS:
            lists[key] = items
        else:
            texts[key] = "\n".join(items)
    prior = PriorContext(
        summary=texts["summary"],
        background=texts["background"],
        open_questions=lists["openQuestions"],
        constraints=lists["constraints"],
        first_request=texts["firstRequest"],
    )
    return prior, tuple(warnings)


def _items(value: object) -> tuple[str, ...] | None:
    """Texts that are not blank; None for a value of another type."""
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, Sequence) or isinstance(value, bytes | bytearray):
        return None
    texts = tuple(item.strip() for item in value if isinstance(item, str))
    return tuple(text for text in texts if text) if len(texts) == len(value) else None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "object" if isinstance(value, Mapping) else "list with values that are not text"


def capped(prior: PriorContext) -> tuple[PriorContext, tuple[CapApplied, ...]]:
    """Within the caps, and what each cap cut. What is within them already comes back equal, without a cap."""
    caps: list[CapApplied] = []
    summary = prior.summary[:OVERVIEW_CHARS]
    background = prior.background[: OVERVIEW_CHARS - len(summary)]
    had, kept = len(prior.summary) + len(prior.background), len(summary) + len(background)
    first_request = prior.first_request[:FIRST_REQUEST_CHARS]
    for name, limit, before, after in (
        (PriorCap.OVERVIEW, OVERVIEW_CHARS, had, kept),
        (PriorCap.FIRST_REQUEST, FIRST_REQUEST_CHARS, len(prior.first_request), len(first_request)),
    ):
        if after < before:
            caps.append(CapApplied(name=name, limit=limit, had=before, kept=after))
    questions, question_caps = capped_items(
        prior.open_questions, PriorCap.OPEN_QUESTIONS, PriorCap.OPEN_QUESTION_CHARS
    )
    constraints, constraint_caps = capped_items(
        prior.constraints, PriorCap.CONSTRAINTS, PriorCap.CONSTRAINT_CHARS
    )
    within = PriorContext(
        summary=summary,
        background=background,
        open_questions=questions,
        constraints=constraints,
        first_request=first_request,
    )
    return within, (*caps, *question_caps, *constraint_caps)


def capped_items(
    items: tuple[str, ...], count: PriorCap, chars: PriorCap
) -> tuple[tuple[str, ...], list[CapApplied]]:
    """The first ten items, each up to 300 characters, and what each of the two caps cut."""
    kept = tuple(item[:ITEM_CHARS] for item in items[:ITEMS])
    caps = []
    if len(items) > ITEMS:
        caps.append(CapApplied(name=count, limit=ITEMS, had=len(items), kept=ITEMS))
    caps += [
        CapApplied(name=chars, limit=ITEM_CHARS, had=len(item), kept=ITEM_CHARS)
        for item in items[:ITEMS]
        if len(item) > ITEM_CHARS
    ]
    return kept, caps
