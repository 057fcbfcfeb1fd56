"""Drafting a handover or a pre-adoption review: a model fills the fields, pins go in to the letter (spec §6, §9)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from core.ai_input.drafting import (
    PROMPT_NAMES,
    REVIEW_PROMPT_NAMES,
    build_adoption_review,
    build_handover_draft,
    build_pin_repair,
)
from core.ai_input.material import words
from core.ai_input.structured import REPAIR_PROMPT as STRUCTURED_REPAIR
from core.ai_input.thread_order import said_in
from core.ai_input.workflow import place_of
from core.domain.adoption import ReviewDraft, ReviewTexts, plain_review
from core.domain.compare import CompareSetup
from core.domain.debate import SYNTHESIS
from core.domain.drafting import DraftOrigin, HandoverDraft, completed, draftable, extract
from core.domain.handover import HandoverFields, missing_pins, read_target
from core.domain.message import Message
from core.domain.pin import Pin
from core.domain.thread import Mode
from core.domain.workflow import Workflow
from core.i18n import text
from core.modes.context import Ask, HandoverContext
from core.ports import Spoken, Turn

KIND = "handover_draft"
DRAFT = "draft"
PIN_REPAIR = "pin_repair"
PROMPTS = (*PROMPT_NAMES, STRUCTURED_REPAIR)

REVIEW_KIND = "adoption_review"
REVIEW = "review"
REVIEW_PROMPTS = (*REVIEW_PROMPT_NAMES, STRUCTURED_REPAIR)


async def draft_handover(run: HandoverContext) -> None:
    """Leave a draft for the form, whatever happens: drafted by the run's model, or a plain extract that says so.

    The run's arguments name the `target` mode and, where one answer was picked, the `centre`. A draft that misses a
    pin is asked for once more; what is missing even then is put in and flagged.
    """
    target, centre = read_target(str(run.args["target"])), run.args.get("centre")
    pins = draftable(await run.pins())
    work = _workflow(run)
    build = partial(build_handover_draft, target=target, centre=centre, workflow=work)
    drafted = await run.consult(Ask(step=DRAFT, model=run.model, line=None, build=build))
    data, repaired = drafted.data, False
    missing = _missing(data, pins)
    if data is not None and missing and not await run.stopped():
        again = partial(
            build_pin_repair, target=target, centre=centre, workflow=work, draft=data, missing=missing
        )
        mended = await run.consult(Ask(step=PIN_REPAIR, model=run.model, line=None, build=again))
        data, repaired = _better(data, mended.data, pins), True
    failure = drafted.failure or drafted.finish.value
    await run.keep_draft(
        partial(
            finish_draft,
            data=data,
            repaired=repaired,
            failure=failure,
            centre=centre,
            workflow=work,
            locale=run.locale,
        )
    )


def _workflow(run: HandoverContext) -> Workflow | None:
    """The workflow that the run's thread goes through; None in another mode, and where its file is gone."""
    return run.workflows.get(str(run.setup.get("workflow", "")))


def _missing(data: Mapping[str, Any] | None, pins: Sequence[Pin]) -> tuple[str, ...]:
    """Root ids of the pins that a draft left out."""
    if data is None:
        return ()
    fields = HandoverFields.from_json({"sourceMode": Mode.CHAT.value, **data})
    return tuple(pin.root_id for pin in missing_pins(fields, pins))


def _better(
    first: Mapping[str, Any], second: Mapping[str, Any] | None, pins: Sequence[Pin]
) -> Mapping[str, Any]:
    """The draft that misses fewer pins; the mended one where both miss as many."""
    if second is None:
        return first
    return second if len(_missing(second, pins)) <= len(_missing(first, pins)) else first


def finish_draft(
    turn: Turn,
    *,
    data: Mapping[str, Any] | None,
    repaired: bool,
    failure: str,
    centre: str | None,
    workflow: Workflow | None,
    locale: str,
) -> HandoverDraft:
    """The draft as the form begins with it, from what the model gave (None when nothing came) and what is stored."""
    mode = turn.thread.mode
    if data is None:
        fields = extract(mode, _quotes(turn, centre, workflow, locale), _outcome(turn))
        draft = HandoverDraft(fields=fields, origin=DraftOrigin.EXTRACT, failure=failure)
    else:
        fields = HandoverFields.from_json({"sourceMode": mode.value, **data})
        draft = HandoverDraft(fields=fields, origin=DraftOrigin.MODEL, repaired=repaired)
    return completed(draft, turn.pins, turn.request.text)


# --- the review of a branch -----------------------------------------------------------------------------------------


async def draft_review(run: HandoverContext) -> None:
    """Leave a review for the requester to edit, whatever happens: drafted by the run's model, or a plain one."""
    build = partial(build_adoption_review, workflow=_workflow(run))
    drafted = await run.consult(Ask(step=REVIEW, model=run.model, line=None, build=build))
    await run.keep_review(partial(finish_review, data=drafted.data))


def finish_review(turn: Turn, *, data: Mapping[str, Any] | None) -> ReviewDraft:
    """The review as the requester first sees it, from what the model gave (None when nothing came)."""
    if data is None:
        count = turn.conversation.inherited
        own = [entry.message for entry in turn.window.recent if entry.position > count]
        return plain_review(turn.thread, own)
    texts = {name: value for name, value in data.items() if name != "contradictions"}
    return ReviewDraft(
        texts=ReviewTexts.from_json(texts), contradictions=tuple(data["contradictions"]), by_model=True
    )


# --- what an extract is made of -------------------------------------------------------------------------------------


def _outcome(turn: Turn) -> Mapping[str, Any] | None:
    """The newest synthesis of a Debate."""
    found = [one.data for one in turn.spoken if one.step == SYNTHESIS and one.data is not None]
    return found[-1] if turn.thread.mode is Mode.DEBATE and found else None


def _quotes(turn: Turn, centre: str | None, workflow: Workflow | None, locale: str) -> list[tuple[str, str]]:
    """Who said what, oldest first; models by the letters they go by, never by name."""
    if turn.thread.mode is Mode.CHAT:
        return [_quote(entry.message, locale) for entry in turn.window.recent if not entry.message.erased]
    if turn.thread.mode is Mode.COMPARE:
        return _compared(turn, centre, locale)
    return [
        _quote(one, locale) if isinstance(one, Message) else (_speaker(turn, workflow, one), words(one))
        for one in said_in(turn).before
        if isinstance(one, Message) or one.step != SYNTHESIS or one.data is None
    ]


def _speaker(turn: Turn, workflow: Workflow | None, one: Spoken) -> str:
    """The letter of a participant in a Debate, the title of a step in a Workflow."""
    if turn.thread.mode is not Mode.WORKFLOW:
        return one.step.partition(":")[2] or one.step
    _, title, letter = place_of(turn, workflow, one)
    return f"{title} {letter}".strip()


def _quote(message: Message, locale: str) -> tuple[str, str]:
    return text(locale, "draft_note.model") if message.is_answer else message.author.name, message.text


def _compared(turn: Turn, centre: str | None, locale: str) -> list[tuple[str, str]]:
    """People's messages, then the answers to the last question, or only the one that was picked."""
    asked = [
        _quote(entry.message, locale)
        for entry in turn.window.recent
        if not entry.message.is_answer and not entry.message.erased
    ]
    by_step = {one.step: one for one in turn.spoken}
    answers = [
        (candidate.letter, words(by_step[candidate.step]))
        for candidate in CompareSetup.from_json(turn.setup).candidates
        if candidate.step in by_step and centre in (None, by_step[candidate.step].message_id)
    ]
    return [*asked, *answers]
