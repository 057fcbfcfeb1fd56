"""The forms of a handover: where to, and every field of it as a person can edit it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.slack.block import actions, button, divider, field, header, modal, option, section, select
from bot.slack.box import boxed, boxes, room
from bot.slack.form import View
from bot.slack.markdown import escape, units
from bot.slack.sheet import Sheet, warned
from bot.slack.start_form import ABOUT_MODELS, MODELS, TEXT, Wish, estimate_blocks, mode_fields, setup_of
from core import i18n
from core.domain.drafting import HandoverDraft, draft_notes, from_lines, to_lines
from core.domain.errors import Refusal
from core.domain.handover import LISTS, Field, HandoverFields, sent_fields
from core.domain.prior_context import FIRST_REQUEST_CHARS, ITEM_CHARS, ITEMS, OVERVIEW_CHARS
from core.domain.thread import Mode
from core.domain.view import EstimateView
from core.domain.workflow import Workflow

TARGET: Final = "form.handover_target"
HANDOVER_FORM: Final = "form.handover"
TARGET_FIELD: Final = "target"
MODEL_FIELD: Final = "model"
MORE_ROOM: Final = "carry.more"
MOST_BOXES: Final = 3
ROOM_UNITS: Final = 35_000
"""Of all fields together: a view may have 250 kB, and Slack is sent up to six bytes a unit."""

BLAME: Final = {
    "handover_overview_too_long": Field.SUMMARY,
    "handover_empty": Field.SUMMARY,
    "handover_first_request_too_long": Field.FIRST_REQUEST,
    "handover_too_many_open_questions": Field.OPEN_QUESTIONS,
    "handover_open_question_too_long": Field.OPEN_QUESTIONS,
    "handover_too_many_constraints": Field.CONSTRAINTS,
    "handover_constraint_too_long": Field.CONSTRAINTS,
    "handover_too_many_conclusions": Field.CONCLUSIONS,
    "handover_conclusion_too_long": Field.CONCLUSIONS,
}
"""Where a refusal is said in the form; others are said at the models or at how the target begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What the target's part of the form offers."""

    models: Sequence[str]
    workflows: Mapping[str, Workflow]


def target_form(locale: str, about: Sheet, targets: Sequence[Mode], *, quoted: str, chosen: str) -> View:
    """Which mode the work goes on in; `quoted` is the answer in the centre, where one was picked."""
    blocks = [section(escape(_t(locale, "handover_means")))]
    if quoted:
        blocks.append(warned(_t(locale, "handover_centre", quote=quoted)))
    options = [option(i18n.text(locale, f"slack_modes.{mode.value}"), mode.value) for mode in targets]
    menu = select(TARGET_FIELD, options, placeholder=_t(locale, "handover_target"), chosen=chosen)
    blocks.append(field(TARGET_FIELD, _t(locale, "handover_target"), menu, optional=False))
    return modal(
        title=_t(locale, "handover_title"),
        callback=TARGET,
        blocks=blocks,
        close=i18n.text(locale, "slack.cancel"),
        submit=_t(locale, "handover_draft"),
        metadata=about.dump(),
    )


def carry(name: Field) -> str:
    """The name of a field's boxes."""
    return f"carry.{name.value}"


def fields_in(values: Mapping[str, str], source_mode: Mode) -> HandoverFields:
    """The structure that a form holds; what a cap allows is checked when it is sent."""
    texts = {one: boxed(values, carry(one)).strip() for one in Field}
    return HandoverFields(
        source_mode=source_mode,
        summary=texts[Field.SUMMARY],
        background=texts[Field.BACKGROUND],
        first_request=texts[Field.FIRST_REQUEST],
        open_questions=from_lines(texts[Field.OPEN_QUESTIONS]),
        constraints=from_lines(texts[Field.CONSTRAINTS]),
        conclusions=from_lines(texts[Field.CONCLUSIONS]),
    )


def handover_form(
    locale: str,
    about: Sheet,
    draft: HandoverDraft,
    fields: HandoverFields,
    target: Wish,
    offer: Offer,
    *,
    estimate: EstimateView | None = None,
) -> View:
    """The form as it is filled in, with the estimate above it where one was made."""
    blocks: list[dict[str, Any]] = []
    if estimate is not None:
        then = "handover_then" if target.text else "handover_waits"
        setup = setup_of(target)
        blocks += [
            *estimate_blocks(locale, target.mode, setup, estimate, then=_t(locale, then)),
            divider(),
        ]
    blocks.append(section(escape(_t(locale, "handover_check"))))
    blocks += [warned(i18n.phrase(locale, note)) for note in draft_notes(draft)]
    blocks += [
        warned(i18n.text(locale, f"cap.{cap.name}", limit=cap.limit, had=cap.had, kept=cap.kept))
        for cap in draft.caps
    ]
    blocks += _carried(locale, about, target.mode, fields)
    mode = i18n.text(locale, f"slack_modes.{target.mode.value}")
    blocks += [divider(), header(_t(locale, "handover_begins", mode=mode))]
    blocks += _target(locale, target, offer)
    blocks.append(actions("carry", [button(_t(locale, "more_room"), MORE_ROOM, about.ref)]))
    seen = estimate is not None or target.mode is Mode.CHAT
    return modal(
        title=_t(locale, "handover_title"),
        callback=HANDOVER_FORM,
        blocks=blocks,
        close=i18n.text(locale, "slack.cancel"),
        submit=_t(locale, "handover_send") if seen else i18n.text(locale, "slack_modes.to_estimate"),
        metadata=about.dump(),
    )


def _carried(locale: str, about: Sheet, target: Mode, fields: HandoverFields) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    sent, left = sent_fields(target, fields), ROOM_UNITS
    for one in Field:
        text = to_lines(fields.items(one)) if one in LISTS else fields.text(one)
        most = max(1, min(MOST_BOXES, left // 3_000))
        held = room(text, most)
        left -= units(held)
        label = i18n.text(locale, f"handover_field.{one.value}")
        goes = _t(locale, "sent") if one in sent else i18n.text(locale, "delivery_state.not_carried")
        if len(held) < len(text):
            cut = _t(locale, "handover_no_room", field=label, shown=len(held), chars=len(text))
            blocks.append(section(f":warning: {escape(cut)}"))
        blocks += boxes(
            carry(one), f"{label} · {goes}", held, most=most, hint=_hint(locale, one), more=about.more
        )
    return blocks


def _hint(locale: str, one: Field) -> str:
    if one in LISTS:
        return _t(locale, "items_hint", items=ITEMS, limit=ITEM_CHARS)
    if one is Field.FIRST_REQUEST:
        return _t(locale, "first_request_hint", limit=f"{FIRST_REQUEST_CHARS:,}")
    return _t(locale, "overview_hint", limit=f"{OVERVIEW_CHARS:,}")


def _target(locale: str, target: Wish, offer: Offer) -> list[dict[str, Any]]:
    """How the target begins: the next question or topic, and the settings of its mode."""
    fields = mode_fields(locale, target, offer.models, offer.workflows, starts=False)
    if target.mode is not Mode.CHAT:
        return fields
    menu = select(
        MODEL_FIELD,
        [option(alias, alias) for alias in offer.models],
        placeholder=i18n.text(locale, "slack.other_choose"),
        chosen=target.values.get(MODEL_FIELD, ""),
    )
    return [*fields, field(MODEL_FIELD, i18n.text(locale, "slack.other_model"), menu, optional=True)]


def blamed(values: Mapping[str, str], problem: BaseException) -> str:
    """The block at which a refusal of the form is said."""
    code = problem.code if isinstance(problem, Refusal) else ""
    if code in BLAME and carry(BLAME[code]) in values:
        return carry(BLAME[code])
    return MODELS if code in ABOUT_MODELS and MODELS in values else TEXT


def _t(locale: str, name: str, **fields: str | float) -> str:
    return i18n.text(locale, f"slack_carry.{name}", **fields)
