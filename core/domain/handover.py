"""Handover: the same work goes on in a fresh thread, which gets a structure of fields and nothing else (spec §9).

What a mode is sent of the fields is `SENT`; the caps of `priorContext` hold for every target.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.domain.errors import Refusal
from core.domain.pin import Pin, PinKind
from core.domain.policy import Policy
from core.domain.prior_context import (
    FIRST_REQUEST_CHARS,
    ITEM_CHARS,
    ITEMS,
    OVERVIEW_CHARS,
    PriorCap,
    PriorContext,
    capped,
    capped_items,
)
from core.domain.receipt import CapApplied
from core.domain.setup import Fields, Json
from core.domain.thread import Mode

FIELD_CHARS = 100_000
"""More than any field may hold in the end; what a draft brings is read whole, so that a person can shorten it."""

# --- routes ---------------------------------------------------------------------------------------------------------

_EVERY_MODE = (Mode.CHAT, Mode.COMPARE, Mode.DEBATE, Mode.CODRAFT, Mode.WORKFLOW)
ROUTES: Mapping[Mode, tuple[Mode, ...]] = {
    Mode.CHAT: _EVERY_MODE,
    Mode.COMPARE: _EVERY_MODE,
    Mode.DEBATE: _EVERY_MODE,
    Mode.CODRAFT: (),
    Mode.WORKFLOW: (Mode.DEBATE, Mode.CHAT),
}
"""Where work of a mode may go on (spec §9)."""


def routes(source: Mode, policy: Policy) -> tuple[Mode, ...]:
    """The targets of a source, as far as the workspace's policy allows them."""
    if policy.handover_routes is None:
        return ROUTES[source]
    allowed = {"".join(route.split()).casefold() for route in policy.handover_routes}
    return tuple(target for target in ROUTES[source] if f"{source}>{target}" in allowed)


def check_route(source: Mode, target: Mode, policy: Policy) -> None:
    """Raises Refusal `handover_route`, or `handover_no_route` where nothing can be handed over from the source."""
    allowed = routes(source, policy)
    if not allowed:
        raise Refusal("handover_no_route", source=source.value)
    if target not in allowed:
        raise Refusal("handover_route", source=source.value, target=target.value, allowed=", ".join(allowed))


def read_target(given: str) -> Mode:
    """The mode that a person named. Raises Refusal `handover_unknown_mode`."""
    word = re.sub(r"[\s_-]", "", given).casefold()
    mode = _MODE_WORDS.get(word)
    if mode is None:
        raise Refusal("handover_unknown_mode", mode=given.strip(), allowed=", ".join(Mode))
    return mode


_MODE_WORDS = {
    **{mode.value: mode for mode in Mode},
    "通常チャット": Mode.CHAT,
    "チャット": Mode.CHAT,
    "比較検討": Mode.COMPARE,
    "比較": Mode.COMPARE,
    "ai会議": Mode.DEBATE,
    "会議": Mode.DEBATE,
    "ai推敲": Mode.CODRAFT,
    "推敲": Mode.CODRAFT,
    "ワークフロー": Mode.WORKFLOW,
}

# --- fields ---------------------------------------------------------------------------------------------------------


class Field(StrEnum):
    """A field of the structure; people read it as `handover_field.<value>` of the catalogue."""

    SUMMARY = "summary"
    BACKGROUND = "background"
    OPEN_QUESTIONS = "open_questions"
    CONSTRAINTS = "constraints"
    FIRST_REQUEST = "first_request"
    CONCLUSIONS = "conclusions"


LISTS = (Field.OPEN_QUESTIONS, Field.CONSTRAINTS, Field.CONCLUSIONS)
"""Fields that hold items; the others hold one text."""

JSON_NAMES: Mapping[Field, str] = {
    Field.SUMMARY: "summary",
    Field.BACKGROUND: "background",
    Field.OPEN_QUESTIONS: "openQuestions",
    Field.CONSTRAINTS: "constraints",
    Field.FIRST_REQUEST: "firstRequest",
    Field.CONCLUSIONS: "conclusions",
}
"""What fields are called where they are stored."""

_FIVE = (
    Field.SUMMARY,
    Field.BACKGROUND,
    Field.OPEN_QUESTIONS,
    Field.CONSTRAINTS,
    Field.FIRST_REQUEST,
)
SENT: Mapping[Mode, tuple[Field, ...]] = {
    Mode.CHAT: (Field.SUMMARY, Field.OPEN_QUESTIONS, Field.CONSTRAINTS),
    Mode.COMPARE: (Field.SUMMARY, Field.OPEN_QUESTIONS, Field.CONSTRAINTS),
    Mode.DEBATE: _FIVE,
    Mode.WORKFLOW: _FIVE,
    Mode.CODRAFT: (Field.CONCLUSIONS, Field.OPEN_QUESTIONS, Field.CONSTRAINTS),
}
"""What each mode is sent (spec §9)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverFields:
    """What is stored of a handover. Texts have no blanks around them, items are never empty."""

    source_mode: Mode
    summary: str = ""
    background: str = ""
    open_questions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    first_request: str = ""
    """The source's first request, copied and not summarised."""
    conclusions: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> "HandoverFields":
        """Raises Refusal for an unknown name or a wrong type. Empty items are left out; caps are `checked` apart."""
        fields = Fields(raw)
        fields.only("sourceMode", *JSON_NAMES.values())
        return cls(
            source_mode=read_target(fields.text("sourceMode", limit=200)),
            summary=fields.text("summary", limit=FIELD_CHARS),
            background=fields.text("background", limit=FIELD_CHARS),
            open_questions=_items(fields, "openQuestions"),
            constraints=_items(fields, "constraints"),
            first_request=fields.text("firstRequest", limit=FIELD_CHARS),
            conclusions=_items(fields, "conclusions"),
        )

    def to_json(self) -> Json:
        return {
            "sourceMode": self.source_mode.value,
            "summary": self.summary,
            "background": self.background,
            "openQuestions": list(self.open_questions),
            "constraints": list(self.constraints),
            "firstRequest": self.first_request,
            "conclusions": list(self.conclusions),
        }

    def text(self, field: Field) -> str:
        """A field of one text."""
        return str(getattr(self, field))

    def items(self, field: Field) -> tuple[str, ...]:
        """A field of items."""
        return tuple(getattr(self, field))

    def holds(self, field: Field) -> bool:
        return bool(getattr(self, field))


def _items(fields: Fields, name: str) -> tuple[str, ...]:
    values = fields.items(name)
    texts = tuple(value.strip() for value in values if isinstance(value, str))
    if len(texts) != len(values):
        raise Refusal("setting_not_list", name=name)
    return tuple(text for text in texts if text)


def sent_fields(target: Mode, fields: HandoverFields) -> tuple[Field, ...]:
    """What the target must receive of these fields.

    Co-Draft gets the summary where there are no conclusions; Debate and Workflow get the conclusions too, because
    they are written into the summary (spec §4).
    """
    if target is Mode.CODRAFT and not fields.conclusions:
        return (Field.SUMMARY, Field.OPEN_QUESTIONS, Field.CONSTRAINTS)
    if target in (Mode.DEBATE, Mode.WORKFLOW) and fields.conclusions:
        return (*SENT[target], Field.CONCLUSIONS)
    return SENT[target]


# --- caps -----------------------------------------------------------------------------------------------------------

_TOO_MANY = {
    Field.OPEN_QUESTIONS: "handover_too_many_open_questions",
    Field.CONSTRAINTS: "handover_too_many_constraints",
    Field.CONCLUSIONS: "handover_too_many_conclusions",
}
_TOO_LONG = {
    Field.OPEN_QUESTIONS: "handover_open_question_too_long",
    Field.CONSTRAINTS: "handover_constraint_too_long",
    Field.CONCLUSIONS: "handover_conclusion_too_long",
}


def check(fields: HandoverFields, target: Mode) -> None:
    """What stands between the form and the target thread. Raises Refusal that says what the person must do.

    Nothing is cut here: items beyond a cap may be pins, and only a person may shorten those.
    """
    overview = len(fields.summary) + len(fields.background)
    if overview > OVERVIEW_CHARS:
        raise Refusal("handover_overview_too_long", had=overview, limit=OVERVIEW_CHARS)
    if len(fields.first_request) > FIRST_REQUEST_CHARS:
        raise Refusal(
            "handover_first_request_too_long", had=len(fields.first_request), limit=FIRST_REQUEST_CHARS
        )
    for field in LISTS:
        items = fields.items(field)
        for number, item in enumerate(items, start=1):
            if len(item) > ITEM_CHARS:
                raise Refusal(_TOO_LONG[field], number=number, had=len(item), limit=ITEM_CHARS)
        if len(items) > ITEMS:
            raise Refusal(_TOO_MANY[field], had=len(items), limit=ITEMS)
    if not any(fields.holds(field) for field in sent_fields(target, fields)):
        raise Refusal("handover_empty", target=target.value)


def within_caps(fields: HandoverFields) -> tuple[HandoverFields, tuple[CapApplied, ...]]:
    """The fields within the caps, and what each cap cut; what is within already comes back equal."""
    prior, caps = capped(
        PriorContext(
            summary=fields.summary,
            background=fields.background,
            open_questions=fields.open_questions,
            constraints=fields.constraints,
            first_request=fields.first_request,
        )
    )
    conclusions, more = capped_items(fields.conclusions, PriorCap.CONCLUSIONS, PriorCap.CONCLUSION_CHARS)
    within = replace(
        fields,
        summary=prior.summary,
        background=prior.background,
        open_questions=prior.open_questions,
        constraints=prior.constraints,
        first_request=prior.first_request,
        conclusions=conclusions,
    )
    return within, (*caps, *more)


# --- pins -----------------------------------------------------------------------------------------------------------

PINNED: Mapping[PinKind, Field] = {
    PinKind.CONSTRAINT: Field.CONSTRAINTS,
    PinKind.OPEN_QUESTION: Field.OPEN_QUESTIONS,
    PinKind.DECISION: Field.CONCLUSIONS,
}
"""Where pins go; references become links in the header."""

_COUNTS = {
    Field.OPEN_QUESTIONS: PriorCap.OPEN_QUESTIONS,
    Field.CONSTRAINTS: PriorCap.CONSTRAINTS,
    Field.CONCLUSIONS: PriorCap.CONCLUSIONS,
}


def same(text: str) -> str:
    """What makes two items the same: the letters, however the lines are broken."""
    return " ".join(text.split())


def missing_pins(fields: HandoverFields, pins: Iterable[Pin]) -> tuple[Pin, ...]:
    """Pins that no item of their field repeats to the letter, in the order given. References are never missing."""
    have = {field: {same(item) for item in fields.items(field)} for field in LISTS}
    return tuple(pin for pin in pins if pin.kind in PINNED and same(pin.text) not in have[PINNED[pin.kind]])


def with_pins(fields: HandoverFields, pins: Sequence[Pin]) -> tuple[HandoverFields, tuple[CapApplied, ...]]:
    """The fields with every pin in its place, to the letter and ahead of other items.

    Other items make room within the ten of a field, which the caps tell. Pins beyond the ten stay: a person decides.
    """
    caps: list[CapApplied] = []
    changes: dict[str, tuple[str, ...]] = {}
    for kind, field in PINNED.items():
        pinned = {same(pin.text): pin.text for pin in pins if pin.kind is kind}
        others = tuple(item for item in fields.items(field) if same(item) not in pinned)
        kept = others[: max(ITEMS - len(pinned), 0)]
        if len(kept) < len(others):
            had, left = len(pinned) + len(others), len(pinned) + len(kept)
            caps.append(CapApplied(name=_COUNTS[field], limit=ITEMS, had=had, kept=left))
        changes[field.value] = (*pinned.values(), *kept)
    merged = replace(
        fields,
        open_questions=changes[Field.OPEN_QUESTIONS],
        constraints=changes[Field.CONSTRAINTS],
        conclusions=changes[Field.CONCLUSIONS],
    )
    return merged, tuple(caps)


# --- delivery -------------------------------------------------------------------------------------------------------


class DeliveryState(StrEnum):
    """What became of a field; people read it as `delivery_state.<value>` of the catalogue."""

    FOUND = "found"
    CUT = "cut"
    """Found up to where a cap cut it."""
    MISSING = "missing"
    """A failure: the mode must receive it and did not."""
    EMPTY = "empty"
    """The mode would receive it, and it holds nothing."""
    NOT_CARRIED = "not_carried"
    """This mode is not sent it, by design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDelivery:
    """One field of a handover as it was looked up in a recorded AI input."""

    field: Field
    state: DeliveryState
    caps: tuple[CapApplied, ...] = ()
    """The caps that cut it."""
