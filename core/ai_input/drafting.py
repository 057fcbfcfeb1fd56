"""The AI input of drafting a handover or a pre-adoption review: a thread as data, its pins, fields to fill (§6, §9).

The turn of a drafting run is read differently from one that answers: `request` is the first message of a person in the
thread, the window reaches to the end of the conversation, `spoken` holds all contributions of a Debate or Workflow, and
in a Compare the answers to the last question with their comparison.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.ai_input.caps import Cap, Left
from core.ai_input.debate import contribution
from core.ai_input.estimate import estimate_message_tokens, estimate_parts
from core.ai_input.framing import FRAGMENTS_PROMPT, Framing
from core.ai_input.handover import handover_part, listed
from core.ai_input.material import MODE_FRAGMENTS, Material, compose
from core.ai_input.thread_order import said_in
from core.ai_input.window import FIRST_MESSAGE_CHARS, Selection, select
from core.ai_input.workflow import place_of
from core.domain.compare import SUMMARY, CompareSetup
from core.domain.debate import DebateSetup
from core.domain.drafting import draftable
from core.domain.errors import Refusal
from core.domain.handover import PINNED
from core.domain.message import Message
from core.domain.pin import Pin
from core.domain.receipt import AiInput, CapApplied, InputPart, Omission, Origin, Role
from core.domain.thread import Mode
from core.domain.workflow import FOLLOW_UP, Workflow
from core.ports import Spoken, Turn
from core.prompts.registry import PromptLibrary
from core.prompts.render import render_task

DRAFT_PROMPT = "handover.draft"
REPAIR_PROMPT = "handover.repair"
REVIEW_PROMPT = "adoption.review"
PROMPT_NAMES = (DRAFT_PROMPT, REPAIR_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""The prompts that the drafting of a handover works with."""
REVIEW_PROMPT_NAMES = (REVIEW_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""The prompts that the drafting of a pre-adoption review works with."""


def build_handover_draft(
    turn: Turn,
    prompts: PromptLibrary,
    *,
    target: Mode,
    centre: str | None = None,
    workflow: Workflow | None = None,
) -> AiInput:
    """What the drafting model is sent; `centre` is the id of the answer that the work goes on with.

    `workflow` is the one that a thread of this mode runs, None where there is no such file any more.

    Raises Refusal `answer_not_found` when the centre is no longer there, `request_too_large`.
    """
    material = Material.of(prompts)
    carried, caps = handover_part(turn, material)
    parts, more, omissions = _source(turn, material, centre, workflow)
    return compose(
        turn,
        prompts,
        DRAFT_PROMPT,
        data=[*carried, *parts, *_pinned(draftable(turn.pins), material)],
        task={"target": target.value},
        files=False,
        caps=(*caps, *more),
        omissions=omissions,
    )


def build_pin_repair(
    turn: Turn,
    prompts: PromptLibrary,
    *,
    target: Mode,
    centre: str | None = None,
    workflow: Workflow | None = None,
    draft: Mapping[str, Any],
    missing: Sequence[str],
) -> AiInput:
    """The same once more, with the draft and the pins (root ids) that it left out at the end."""
    first = build_handover_draft(turn, prompts, target=target, centre=centre, workflow=workflow)
    material, prompt = Material.of(prompts), prompts.get(REPAIR_PROMPT)
    pins = [part.text for part in _pinned([p for p in turn.pins if p.root_id in missing], material)]
    task = {
        "draft": material.fenced("bad_output", json.dumps(draft, ensure_ascii=False, indent=1)),
        "missing": "\n".join(pins),
    }
    asked = InputPart(role=Role.USER, origin=Origin.INSTRUCTION, text=render_task(prompt, task))
    parts = (*first.parts, asked)
    return replace(
        first,
        parts=parts,
        prompts=(*first.prompts, prompt.ref),
        estimate_tokens=estimate_parts(parts),
    )


def build_adoption_review(turn: Turn, prompts: PromptLibrary, *, workflow: Workflow | None = None) -> AiInput:
    """What the model that drafts a pre-adoption review is sent: the branch's conversation, nothing of its parent's.

    What the branch inherited is told apart from its own; `spoken` holds the answers of its own runs only.
    """
    material = Material.of(prompts)
    carried, caps = handover_part(turn, material)
    parts, more, omissions = _source(turn, material, None, workflow)
    called = "\n".join(text for text in (turn.thread.branch_name, turn.thread.branch_reason) if text)
    name = [material.data(Origin.REQUEST, "branch_of", called)] if called else []
    return compose(
        turn,
        prompts,
        REVIEW_PROMPT,
        data=[*name, *carried, *_with_beginning(turn, material, parts), *_pinned(turn.pins, material)],
        files=False,
        caps=(*caps, *more),
        omissions=omissions,
    )


def _with_beginning(turn: Turn, material: Material, parts: list[InputPart]) -> list[InputPart]:
    """The parts with a note where the branch's own begin; what was said in its own runs is its own."""
    count = turn.conversation.inherited
    seen = (*turn.window.recent, *([turn.window.first] if turn.window.first else []))
    inherited = {entry.message.id for entry in seen if entry.position <= count}
    if count and turn.request.id not in {entry.message.id for entry in seen}:
        inherited.add(turn.request.id)
    old = [place for place, part in enumerate(parts) if part.message_id in inherited]
    begins = old[-1] + 1 if old else 0
    return [*parts[:begins], material.note("branch_begins"), *parts[begins:]]


def _pinned(pins: Sequence[Pin], material: Material) -> list[InputPart]:
    parts = []
    for kind, field in PINNED.items():
        texts = [pin.text for pin in pins if pin.kind is kind]
        if texts:
            parts.append(material.data(Origin.HANDOVER, f"pinned_{field}", listed(texts)))
    return parts


# --- the source -----------------------------------------------------------------------------------------------------

Source = tuple[list[InputPart], tuple[CapApplied, ...], tuple[Omission, ...]]


def _source(turn: Turn, material: Material, centre: str | None, workflow: Workflow | None) -> Source:
    if turn.thread.mode in (Mode.CHAT, Mode.COMPARE):
        parts, caps, omissions = _conversation(turn, material)
    else:
        parts, caps, omissions = _contributions(turn, material, workflow)
    if turn.thread.mode is Mode.COMPARE:
        return [*parts, *_answers(turn, material, centre)], caps, omissions
    if centre is not None:
        parts = [*parts, _centre(turn, material, centre)]
    return parts, caps, omissions


def _centre(turn: Turn, material: Material, centre: str) -> InputPart:
    for one in turn.spoken:
        if one.message_id == centre:
            return material.spoken(one, "centre")
    for entry in turn.window.recent:
        if entry.message.id == centre and not entry.message.erased:
            return material.data(Origin.SPOKEN, "centre", entry.message.text, entry.message.id)
    raise Refusal("answer_not_found")


def _conversation(turn: Turn, material: Material) -> Source:
    """The window of the conversation, as wherever history is sent, with the first request ahead."""
    framing = Framing(fragments=material.shared, vision=False, images=frozenset())
    compares = turn.thread.mode is Mode.COMPARE

    def parts_of(message: Message) -> list[InputPart]:
        if message.is_answer:
            label = material.data(Origin.HISTORY, "message_of_model", message.text, message.id)
            return [] if compares else [label]
        return [material.message(message), *framing.request_files(message)]

    shown = {entry.message.id: parts_of(entry.message) for entry in turn.window.recent}
    selection = select(
        turn.window,
        lambda message: sum(estimate_message_tokens(part.text) for part in shown[message.id]),
    )
    opening, caps = _opening(turn, material)
    first = selection.first
    apart = parts_of(first) if first and first.id != turn.request.id else []
    history = [
        part
        for entry in selection.history
        if entry.message.id != turn.request.id
        for part in shown[entry.message.id]
    ]
    omitted = selection.omitted - _opening_left_behind(turn, selection)
    note = [material.omitted(omitted)] if omitted > 0 else []
    counts = {Left.MESSAGES: omitted, Left.ERASED_MESSAGES: selection.erased}
    left = tuple(Omission(what=what, count=count) for what, count in counts.items() if count > 0)
    return [opening, *apart, *note, *history], (*selection.caps, *caps), left


def _opening(turn: Turn, material: Material) -> tuple[InputPart, tuple[CapApplied, ...]]:
    text = turn.request.text
    caps: tuple[CapApplied, ...] = ()
    if len(text) > FIRST_MESSAGE_CHARS:
        cut = CapApplied(
            name=Cap.FIRST_MESSAGE_CHARS,
            limit=FIRST_MESSAGE_CHARS,
            had=len(text),
            kept=FIRST_MESSAGE_CHARS,
        )
        caps, text = (cut,), text[:FIRST_MESSAGE_CHARS]
    return material.data(Origin.FIRST_MESSAGE, "opening", text, turn.request.id), caps


def _opening_left_behind(turn: Turn, selection: Selection) -> int:
    """1 when the first request counts as left out by the window, though it is sent."""
    kept = {entry.message.id for entry in selection.history}
    if selection.first is not None:
        kept.add(selection.first.id)
    return int(turn.request.id not in kept and turn.window.total_before_request > len(kept))


def _answers(turn: Turn, material: Material, centre: str | None) -> list[InputPart]:
    """The answers to the last question and how they compare; beside a centre only the differences found."""
    by_step = {one.step: one for one in turn.spoken}
    came = [(c, by_step[c.step]) for c in CompareSetup.from_json(turn.setup).candidates if c.step in by_step]
    compared = by_step.get(SUMMARY)
    if centre is None:
        answers = [material.spoken(one, "answer", letter=candidate.letter) for candidate, one in came]
        return [*answers, *([_differences(compared, material)] if compared and compared.data else [])]
    chosen = [(c.letter, one) for c, one in came if one.message_id == centre]
    if not chosen:
        raise Refusal("answer_not_found")
    letter, picked = chosen[0]
    if compared is None or compared.data is None:
        return [material.spoken(picked, "centre")]
    note = material.note("centre_letter", letter=letter)
    return [material.spoken(picked, "centre"), note, _differences(compared, material)]


def _differences(compared: Spoken, material: Material) -> InputPart:
    """What a comparison found to differ, without the answers themselves."""
    data = compared.data or {}
    lines = []
    for one in data["differences"]:
        lines.append(f"- {one['point']}")
        lines += [f"  - {view['answer']}: {view['view']}" for view in one["views"]]
    lines += [f"- {one['answer']}: {one['point']}" for one in data["only_one"]]
    return material.data(Origin.SPOKEN, "differences", "\n".join(lines), compared.message_id)


def _contributions(turn: Turn, material: Material, workflow: Workflow | None) -> Source:
    """All that was said in a Debate or Workflow, with what it was started with ahead."""
    said = said_in(turn)
    parts = _started_with(turn, material)
    parts += [material.omitted(said.omitted)] if said.omitted else []
    for one in said.before:
        if isinstance(one, Message):
            parts.append(material.said(one))
        elif turn.thread.mode is Mode.DEBATE:
            parts.append(contribution(one, material))
        else:
            parts.append(_result(turn, material, workflow, one))
    counts = {Left.MESSAGES: said.omitted, Left.ERASED_MESSAGES: said.erased}
    return parts, (), tuple(Omission(what=what, count=count) for what, count in counts.items() if count)


def _result(turn: Turn, material: Material, workflow: Workflow | None, one: Spoken) -> InputPart:
    if one.step == FOLLOW_UP:
        return material.spoken(one, "message_of_model")
    step, title, letter = place_of(turn, workflow, one)
    if letter:
        return material.spoken(one, "result_answer", step=step, title=title, letter=letter)
    return material.spoken(one, "result", step=step, title=title)


def _started_with(turn: Turn, material: Material) -> list[InputPart]:
    if turn.thread.mode is Mode.DEBATE:
        setup = DebateSetup.from_json(turn.setup)
        parts = [material.data(Origin.REQUEST, "topic", setup.topic, turn.request.id)]
        if setup.background:
            parts.append(material.data(Origin.BACKGROUND, "premises", setup.background, turn.request.id))
        return parts
    inputs: Mapping[str, str] = turn.setup["inputs"]
    return [
        material.data(Origin.REQUEST, "input", text, turn.request.id, input=name)
        for name, text in inputs.items()
    ]
