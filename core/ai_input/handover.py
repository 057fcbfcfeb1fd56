"""How a handover enters the AI input of each mode (spec §4).

Only the fields travel, as data in the user's role: in Chat and Compare as one message at the very top, in a Debate as
`priorContext`, in Co-Draft inside the first request, in a Workflow as inputs of the first step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.ai_input.caps import Cap
from core.ai_input.material import Material
from core.ai_input.window import FIRST_MESSAGE_CHARS
from core.domain.debate import BACKGROUND_CHARS
from core.domain.handover import (
    LISTS,
    Field,
    HandoverFields,
    sent_fields,
    within_caps,
)
from core.domain.prior_context import PriorCap, capped, read_prior_context
from core.domain.receipt import CapApplied, InputPart, Origin, Role
from core.domain.setup import Json
from core.domain.thread import Mode
from core.domain.workflow import Workflow
from core.ports import Turn

ITEMS_CHARS = 5_000
"""Constraints and open questions together, their headings included (spec §4)."""

_HEADED = (Field.CONSTRAINTS, Field.OPEN_QUESTIONS)
_LABELS = {
    Field.SUMMARY: "prior_summary",
    Field.CONSTRAINTS: "prior_constraints",
    Field.OPEN_QUESTIONS: "prior_open_questions",
    Field.CONCLUSIONS: "carried_conclusions",
}


def handover_of(turn: Turn) -> HandoverFields | None:
    """What the turn's thread came by, within the caps of every target; None when it came by no handover."""
    if turn.handover is None:
        return None
    return within_caps(HandoverFields.from_json(turn.handover))[0]


def listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def content_of(fields: HandoverFields, field: Field) -> str:
    """A field as it is put into a fence."""
    return listed(fields.items(field)) if field in LISTS else fields.text(field)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words around carried fields, with headings in the thread's language."""

    material: Material
    locale: str

    def heading(self, name: str) -> str:
        return self.material.say(f"carried_{name}_{'ja' if self.locale == 'ja' else 'en'}")

    def section(self, field: Field, content: str) -> str:
        """A heading and the field in a fence."""
        return f"## {self.heading(field)}\n{self.material.fenced(_LABELS[field], content)}"

    def plain(self, field: Field, content: str) -> str:
        """A heading and the field, for a text that is fenced as a whole."""
        return f"## {self.heading(field)}\n{content}"


# --- Chat and Compare -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The one message that carries a handover into Chat and Compare."""

    text: str
    caps: tuple[CapApplied, ...]
    left_out: tuple[str, ...]
    """Open questions that had no room."""


def block(fields: HandoverFields, words: Words) -> Block:
    """Constraints, open questions, then the summary in what is left of 6,000 characters; empty without any of them."""
    fields, caps = within_caps(fields)
    if not any(fields.holds(field) for field in (*_HEADED, Field.SUMMARY)):
        return Block(text="", caps=(), left_out=())
    pieces = [f"# {words.heading('title')}", words.material.say("carried")]
    questions = _questions_with_room(fields, words)
    left_out = fields.open_questions[questions:]
    items = [words.section(Field.CONSTRAINTS, listed(fields.constraints))] if fields.constraints else []
    if questions:
        items.append(words.section(Field.OPEN_QUESTIONS, listed(fields.open_questions[:questions])))
    if left_out:
        items.append(words.material.say("carried_left_out", count=str(len(left_out))))
        had = sum(len(item) for item in (*fields.constraints, *fields.open_questions))
        kept = had - sum(len(item) for item in left_out)
        caps = (*caps, CapApplied(name=Cap.HANDOVER_ITEMS_CHARS, limit=ITEMS_CHARS, had=had, kept=kept))
    pieces += items
    room = FIRST_MESSAGE_CHARS - len("\n".join(pieces)) - 1
    summary, cut = _summary_with_room(fields.summary, words, room)
    return Block(
        text="\n".join([*pieces, *summary]),
        caps=(*_of_sent(caps), *cut),
        left_out=left_out,
    )


def _of_sent(caps: Sequence[CapApplied]) -> tuple[CapApplied, ...]:
    """Caps on fields that are not sent here tell nothing about this message."""
    other = (PriorCap.FIRST_REQUEST, PriorCap.CONCLUSIONS, PriorCap.CONCLUSION_CHARS)
    return tuple(cap for cap in caps if cap.name not in other)


def _questions_with_room(fields: HandoverFields, words: Words) -> int:
    """How many open questions fit beside the constraints, in order."""
    constraints = (
        len(words.section(Field.CONSTRAINTS, listed(fields.constraints))) + 1 if fields.constraints else 0
    )
    total = len(fields.open_questions)
    for count in range(total, 0, -1):
        size = constraints + len(words.section(Field.OPEN_QUESTIONS, listed(fields.open_questions[:count])))
        if count < total:
            size += 1 + len(words.material.say("carried_left_out", count=str(total - count)))
        if size <= ITEMS_CHARS:
            return count
    return 0


def _summary_with_room(summary: str, words: Words, room: int) -> tuple[list[str], tuple[CapApplied, ...]]:
    if not summary:
        return [], ()
    whole = words.section(Field.SUMMARY, summary)
    if len(whole) <= room:
        return [whole], ()

    def note(kept: int) -> str:
        return words.material.say("carried_cut", kept=str(kept), had=str(len(summary)))

    kept = room - len(words.section(Field.SUMMARY, "")) - len(note(len(summary))) - 1
    cap = CapApplied(name=Cap.HANDOVER_BLOCK_CHARS, limit=FIRST_MESSAGE_CHARS, had=len(summary), kept=kept)
    return [words.section(Field.SUMMARY, summary[:kept]), note(kept)], (cap,)


def handover_part(turn: Turn, material: Material) -> tuple[tuple[InputPart, ...], tuple[CapApplied, ...]]:
    """The message that stands at the very top of the history, and the caps that cut it; nothing without a handover."""
    if turn.handover is None:
        return (), ()
    words = Words(material=material, locale=turn.thread.locale)
    carried = block(HandoverFields.from_json(turn.handover), words)
    if not carried.text:
        return (), ()
    part = InputPart(role=Role.USER, origin=Origin.HANDOVER, text=carried.text, message_id=turn.handover_id)
    return (part,), carried.caps


# --- Debate and Workflow --------------------------------------------------------------------------------------------


def prior_context(fields: HandoverFields, words: Words) -> Json:
    """What a Debate takes under `priorContext`: the five fields, the conclusions written into the summary."""
    return {
        "summary": _with_conclusions(fields, words),
        "background": fields.background,
        "openQuestions": list(fields.open_questions),
        "constraints": list(fields.constraints),
        "firstRequest": fields.first_request,
    }


def _with_conclusions(fields: HandoverFields, words: Words) -> str:
    """Conclusions come first, because what a cap cuts is the end."""
    if not fields.conclusions:
        return fields.summary
    conclusions = words.plain(Field.CONCLUSIONS, listed(fields.conclusions))
    if not fields.summary:
        return conclusions
    return f"{conclusions}\n\n{words.plain(Field.SUMMARY, fields.summary)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """Debate's own background field as a handover leaves it."""

    text: str
    auto: bool
    """The handover wrote it, and nobody edited it."""
    caps: tuple[CapApplied, ...] = ()


def premises(given: str, fields: HandoverFields, words: Words) -> Premises:
    """What a person wrote into the background field; where they left it blank or as it was filled, what fills it."""
    filled = _filled_premises(fields, words)
    if not given.strip() or given.strip() == filled.text:
        return filled
    return Premises(text=given.strip(), auto=False)


def _filled_premises(fields: HandoverFields, words: Words) -> Premises:
    fields, _ = within_caps(fields)
    items = [words.plain(field, listed(fields.items(field))) for field in _HEADED if fields.holds(field)]
    summary = _with_conclusions(fields, words)
    if not items and not summary:
        return Premises(text="", auto=False)
    if summary and not fields.conclusions:
        summary = words.plain(Field.SUMMARY, summary)
    text = "\n\n".join(piece for piece in (*items, summary) if piece).strip()
    if len(text) <= BACKGROUND_CHARS:
        return Premises(text=text, auto=True)
    kept = text[:BACKGROUND_CHARS].strip()
    cap = CapApplied(name=Cap.HANDOVER_PREMISES_CHARS, limit=BACKGROUND_CHARS, had=len(text), kept=len(kept))
    return Premises(text=kept, auto=True, caps=(cap,))


def workflow_inputs(fields: HandoverFields, words: Words) -> tuple[dict[str, str], tuple[CapApplied, ...]]:
    """The inputs of a Workflow's first step by the names of `priorContext`, those that hold something; and the caps."""
    prior, caps = capped(read_prior_context(prior_context(fields, words))[0])
    inputs = {
        "summary": prior.summary,
        "background": prior.background,
        "openQuestions": listed(prior.open_questions),
        "constraints": listed(prior.constraints),
        "firstRequest": prior.first_request,
    }
    return {name: text for name, text in inputs.items() if text}, caps


def declared_inputs(fields: HandoverFields, workflow: Workflow, words: Words) -> dict[str, str]:
    """Of the carried inputs those that the workflow declares, so that its later steps can use them too."""
    inputs, _ = workflow_inputs(fields, words)
    return {one.name: inputs[one.name] for one in workflow.inputs if one.name in inputs}


# --- Co-Draft -------------------------------------------------------------------------------------------------------


def carried_request(turn: Turn, material: Material, task: InputPart) -> InputPart:
    """The task with conclusions, open questions and constraints under headings before it, in one message."""
    fields = handover_of(turn)
    if fields is None:
        return task
    words = Words(material=material, locale=turn.thread.locale)
    order = [field for field in sent_fields(Mode.CODRAFT, fields) if fields.holds(field)]
    sections = [words.section(field, content_of(fields, field)) for field in order]
    if not sections:
        return task
    head = [f"# {words.heading('title')}", material.say("carried"), *sections]
    return replace(task, text="\n".join([*head, task.text]))


# --- what is cut ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """What of a handover does not reach the target because of a cap."""

    caps: tuple[CapApplied, ...]
    left_out: tuple[str, ...] = ()
    """Items that are left out whole."""


def cuts(fields: HandoverFields, target: Mode, words: Words) -> Cuts:
    """What a cap cuts on the way to the target, for the header of its thread."""
    if target in (Mode.CHAT, Mode.COMPARE):
        carried = block(fields, words)
        return Cuts(caps=carried.caps, left_out=carried.left_out)
    if target is Mode.CODRAFT:
        return Cuts(caps=within_caps(fields)[1])
    return Cuts(caps=workflow_inputs(fields, words)[1])
