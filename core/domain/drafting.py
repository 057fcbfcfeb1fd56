"""The draft of a handover: what a model, or failing that a plain extract, puts into the form for a person to edit."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from core.domain.handover import FIELD_CHARS, PINNED, HandoverFields, missing_pins, same, with_pins
from core.domain.pin import Pin
from core.domain.prior_context import FIRST_REQUEST_CHARS, ITEM_CHARS, ITEMS, PriorCap
from core.domain.receipt import CapApplied
from core.domain.setup import Fields, Json
from core.domain.thread import Mode
from core.domain.view import Phrase

QUOTE_CHARS = 300
EXTRACT_CHARS = 2_000


class DraftOrigin(StrEnum):
    MODEL = "model"
    EXTRACT = "extract"
    """Drafting failed; the last messages stand in place of a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverDraft:
    """What the form begins with, and what it has to say about itself."""

    fields: HandoverFields
    origin: DraftOrigin
    failure: str = ""
    """Code of why drafting failed, for an extract."""
    repaired: bool = False
    """The model left pins out and was asked once more."""
    missed: tuple[str, ...] = ()
    """Root ids of the pins that it left out all the same; they were put in."""
    caps: tuple[CapApplied, ...] = ()

    def to_json(self) -> Json:
        return {
            "fields": self.fields.to_json(),
            "origin": self.origin.value,
            "failure": self.failure,
            "repaired": self.repaired,
            "missed": list(self.missed),
            "caps": [asdict(cap) for cap in self.caps],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "HandoverDraft":
        """What `to_json` wrote."""
        return cls(
            fields=HandoverFields.from_json(raw["fields"]),
            origin=DraftOrigin(raw["origin"]),
            failure=raw["failure"],
            repaired=raw["repaired"],
            missed=tuple(raw["missed"]),
            caps=tuple(CapApplied(**cap) for cap in raw["caps"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetForm:
    """How the target is to begin, as far as a person has filled it in; what is allowed is checked when it is sent."""

    start: str = ""
    """The next question, topic or task."""
    model: str = ""
    setup: Json = field(default_factory=dict)
    """As the target's mode takes it; what is not given is as usual."""

    def to_json(self) -> Json:
        return {"start": self.start, "model": self.model, "setup": self.setup}

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> "TargetForm":
        """Raises Refusal for an unknown name or a wrong type."""
        fields = Fields(raw)
        fields.only("start", "model", "setup")
        return cls(
            start=fields.text("start", limit=FIELD_CHARS),
            model=fields.text("model", limit=FIELD_CHARS),
            setup=dict(fields.table("setup").raw) if "setup" in raw else {},
        )


def draftable(pins: Sequence[Pin]) -> tuple[Pin, ...]:
    """The pins that a draft can be expected to repeat: of each kind those that fit its ten items of 300 characters."""
    kept: list[Pin] = []
    for pin in pins:
        same_kind = sum(other.kind is pin.kind for other in kept)
        if pin.kind in PINNED and len(pin.text) <= ITEM_CHARS and same_kind < ITEMS:
            kept.append(pin)
    return tuple(kept)


def completed(draft: HandoverDraft, pins: Sequence[Pin], first_request: str) -> HandoverDraft:
    """The draft with the pins and the copied first request put in, each within its caps."""
    missed = () if draft.origin is DraftOrigin.EXTRACT else missing_pins(draft.fields, draftable(pins))
    copied = first_request.strip()
    fields, caps = with_pins(replace(draft.fields, first_request=copied[:FIRST_REQUEST_CHARS]), pins)
    if len(copied) > FIRST_REQUEST_CHARS:
        cut = CapApplied(
            name=PriorCap.FIRST_REQUEST,
            limit=FIRST_REQUEST_CHARS,
            had=len(copied),
            kept=FIRST_REQUEST_CHARS,
        )
        caps = (*caps, cut)
    return replace(
        draft, fields=fields, missed=tuple(pin.root_id for pin in missed), caps=(*draft.caps, *caps)
    )


def extract(
    source_mode: Mode, quotes: Sequence[tuple[str, str]], outcome: Mapping[str, Any] | None
) -> HandoverFields:
    """A plain extract where no model could draft: the last quotes (who, what; oldest first), cut short.

    `outcome` is the structured synthesis of a Debate, whose points are taken over as they are.
    """
    lines: list[str] = []
    left = EXTRACT_CHARS
    for who, what in reversed(quotes):
        line = f"{who}: {_short(what)}"
        if len(line) + 1 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    fields = HandoverFields(source_mode=source_mode, summary="\n".join(reversed(lines)))
    if outcome is None:
        return fields
    return replace(
        fields,
        conclusions=_points([outcome["recommendation"], *outcome["agreed"]]),
        open_questions=_points([one["point"] for one in outcome["unresolved"]]),
        constraints=_points([one["constraint"] for one in outcome["constraints"]]),
    )


def _short(text: str) -> str:
    line = same(text)
    return line if len(line) <= QUOTE_CHARS else line[: QUOTE_CHARS - 1] + "…"


def _points(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_short(text) for text in texts if text.strip()))[:ITEMS]


# --- items in a form ------------------------------------------------------------------------------------------------

_MARKS = ("- ", "* ", "・", "• ")


def to_lines(items: Sequence[str]) -> str:
    """Items as one text for a form: each after a dash, further lines of an item moved in."""
    return "\n".join("- " + "\n  ".join(item.split("\n")) for item in items)


def from_lines(text: str) -> tuple[str, ...]:
    """The items in such a text as a person left it. Without any mark, every line that is not blank is an item."""
    lines = text.replace("\r\n", "\n").split("\n")
    if not any(line.startswith(_MARKS) for line in lines):
        return tuple(line.strip() for line in lines if line.strip())
    items: list[list[str]] = []
    for line in lines:
        mark = next((mark for mark in _MARKS if line.startswith(mark)), None)
        if mark is not None:
            items.append([line.removeprefix(mark)])
        elif items and (line.startswith("  ") or not line.strip()):
            items[-1].append(line.removeprefix("  "))
        else:
            items.append([line])
    texts = ("\n".join(item).strip() for item in items)
    return tuple(text for text in texts if text)


def draft_notes(draft: HandoverDraft) -> tuple[Phrase, ...]:
    """What the form says of its draft before a person edits it."""
    notes: list[Phrase] = []
    if draft.origin is DraftOrigin.EXTRACT:
        notes.append(Phrase(key="draft_note.extract"))
    if draft.missed:
        notes.append(Phrase(key="draft_note.missed", fields={"count": len(draft.missed)}))
    elif draft.repaired:
        notes.append(Phrase(key="draft_note.repaired"))
    return tuple(notes)
