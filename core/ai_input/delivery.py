"""Proof of delivery: what became of every field of a handover, found by looking into a recorded AI input (spec §9)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.ai_input.caps import Cap
from core.ai_input.fencing import inert
from core.ai_input.handover import content_of
from core.domain.handover import (
    DeliveryState,
    Field,
    FieldDelivery,
    HandoverFields,
    sent_fields,
    within_caps,
)
from core.domain.prior_context import PriorCap
from core.domain.receipt import AiInput, CapApplied, Origin, Role
from core.domain.thread import Mode

_CARRIERS: Mapping[Mode, Origin] = {
    Mode.CHAT: Origin.HANDOVER,
    Mode.COMPARE: Origin.HANDOVER,
    Mode.DEBATE: Origin.PRIOR_CONTEXT,
    Mode.CODRAFT: Origin.REQUEST,
    Mode.WORKFLOW: Origin.HANDOVER,
}
"""The parts in which a mode carries a handover; the same words elsewhere prove nothing."""

_CAPS: Mapping[Field, tuple[str, ...]] = {
    Field.SUMMARY: (PriorCap.OVERVIEW, Cap.HANDOVER_BLOCK_CHARS),
    Field.BACKGROUND: (PriorCap.OVERVIEW,),
    Field.OPEN_QUESTIONS: (
        PriorCap.OPEN_QUESTIONS,
        PriorCap.OPEN_QUESTION_CHARS,
        Cap.HANDOVER_ITEMS_CHARS,
    ),
    Field.CONSTRAINTS: (PriorCap.CONSTRAINTS, PriorCap.CONSTRAINT_CHARS),
    Field.FIRST_REQUEST: (PriorCap.FIRST_REQUEST,),
    Field.CONCLUSIONS: (PriorCap.CONCLUSIONS, PriorCap.CONCLUSION_CHARS, PriorCap.OVERVIEW),
}
"""What can cut a field."""


def delivery(fields: HandoverFields, target: Mode, ai_input: AiInput) -> tuple[FieldDelivery, ...]:
    """What became of every field in the AI input that was recorded for the target's first call.

    A field counts as received only when its whole content stands in the parts that carry a handover, and as cut only
    when its beginning stands there and a recorded cap says that it was cut. Anything else is missing.
    """
    within, before = within_caps(fields)
    carried = _Carried(
        texts=[
            part.text
            for part in ai_input.parts
            if part.role is Role.USER and part.origin is _CARRIERS[target]
        ],
        caps=(*before, *ai_input.caps),
    )
    # The longest first, and what is found is used up: a constraint that the summary quotes is not delivered by that.
    must = sorted(sent_fields(target, fields), key=lambda field: -len(content_of(within, field)))
    found = {field: carried.look_for(field, content_of(within, field)) for field in must}
    return tuple(
        found.get(field, FieldDelivery(field=field, state=DeliveryState.NOT_CARRIED)) for field in Field
    )


@dataclass(slots=True)
class _Carried:
    """The parts of one AI input that carry a handover, as far as nothing was found in them yet."""

    texts: list[str]
    caps: tuple[CapApplied, ...]

    def look_for(self, field: Field, content: str) -> FieldDelivery:
        if not content:
            return FieldDelivery(field=field, state=DeliveryState.EMPTY)
        sought = inert(content)
        number, start, length = max(self._places(sought), key=lambda place: place[2], default=(0, 0, 0))
        caps = tuple(dict.fromkeys(cap for cap in self.caps if cap.name in _CAPS[field]))
        if length < len(sought) and not _explained(field, sought, length, caps):
            return FieldDelivery(field=field, state=DeliveryState.MISSING)
        if length:
            text = self.texts[number]
            self.texts[number] = text[:start] + text[start + length :]
        # A cap that two fields share may have cut the other one only.
        shared = all(cap.name in (PriorCap.OVERVIEW, Cap.HANDOVER_ITEMS_CHARS) for cap in caps)
        if not caps or (shared and length == len(sought)):
            return FieldDelivery(field=field, state=DeliveryState.FOUND)
        return FieldDelivery(field=field, state=DeliveryState.CUT, caps=caps)

    def _places(self, sought: str) -> Iterator[tuple[int, int, int]]:
        """Text, start and length of every beginning of `sought` that stands on lines of its own."""
        for number, text in enumerate(self.texts):
            for line in re.finditer(r"^", text, re.MULTILINE):
                length = _alike(sought, text[line.start() : line.start() + len(sought)])
                if text[line.start() + length : line.start() + length + 1] not in ("", "\n"):
                    length = max(sought.rfind("\n", 0, length), 0)
                if length:
                    yield number, line.start(), length


def _explained(field: Field, sought: str, length: int, caps: Sequence[CapApplied]) -> bool:
    """Whether recorded caps account for all that is not there."""
    if not length:
        # The summary alone can fill the cap that it shares with the background.
        return field is Field.BACKGROUND and any(cap.had - len(sought) >= cap.limit for cap in caps)
    return bool(caps) and all(cap.kept == length for cap in caps if cap.name == Cap.HANDOVER_BLOCK_CHARS)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
