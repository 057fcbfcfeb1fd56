"""The forms of a handover: what they begin with, and what a person left in them. Pure.

A handover has more fields than a form of Discord has inputs, so each group of them has a form of its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from bot.discord.card import Field, Form, Option
from bot.discord.limit import FIELD_LABEL, FORM_TITLE, OPTION_TEXT, OPTIONS, head
from bot.discord.pieces import Entry, form_of, left_in
from bot.discord.plan import names_in, number_in
from core.domain import codraft, debate
from core.domain.drafting import TargetForm, from_lines, to_lines
from core.domain.handover import LISTS, HandoverFields
from core.domain.handover import Field as Carried
from core.domain.thread import Mode
from core.domain.workflow import Workflow
from core.i18n import text

FORM: Final = "ho_form"
"""Action of a form that is sent; its ref is handover, group, opening and marks."""

YES, NO = "yes", "no"


class Group(StrEnum):
    """What one form is about; its button is `discord_form.<value>` of the catalogue."""

    TEXTS = "texts"
    QUESTIONS = "questions"
    CONSTRAINTS = "constraints"
    CONCLUSIONS = "conclusions"
    REQUEST = "request"
    START = "start"
    SETUP = "setup"


FIELDS: Final[Mapping[Group, tuple[Carried, ...]]] = {
    Group.TEXTS: (Carried.SUMMARY, Carried.BACKGROUND),
    Group.QUESTIONS: (Carried.OPEN_QUESTIONS,),
    Group.CONSTRAINTS: (Carried.CONSTRAINTS,),
    Group.CONCLUSIONS: (Carried.CONCLUSIONS,),
    Group.REQUEST: (Carried.FIRST_REQUEST,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a person may choose from."""

    models: tuple[str, ...]
    workflows: Mapping[str, Workflow]


def content(fields: HandoverFields, field: Carried) -> str:
    """A field as one text: a line for each item of a list."""
    return to_lines(fields.items(field)) if field in LISTS else fields.text(field)


# --- what is carried ------------------------------------------------------------------------------------------------


def fields_form(ref: str, group: Group, fields: HandoverFields, locale: str) -> Form:
    """The form of a group of carried fields. `ref` is handover, group and opening."""
    entries = [
        Entry(name=one.value, label=text(locale, f"handover_field.{one.value}"), text=content(fields, one))
        for one in FIELDS[group]
    ]
    title, note = text(locale, f"discord_form.{group.value}"), text(locale, "discord.form_rest")
    return form_of(title, FORM, ref, entries, note=note)


def with_fields(fields: HandoverFields, group: Group, typed: Mapping[str, str], marks: str) -> HandoverFields:
    """The fields with what a person left in the form of a group. Raises Refusal `form_outdated`."""
    current = {one.value: content(fields, one) for one in FIELDS[group]}
    changes: dict[str, Any] = {}
    for name, words in left_in(typed, marks, current).items():
        changes[name] = from_lines(words) if Carried(name) in LISTS else words.strip()
    return replace(fields, **changes)


# --- how the target begins ------------------------------------------------------------------------------------------


def start_form(ref: str, target: Mode, form: TargetForm, locale: str) -> Form:
    """The form of the next question or topic; a Debate has premises for every round beside it."""
    entries = [
        Entry(name=name, label=label, text=words)
        for (name, words), label in zip(
            _start(target, form).items(), _start_labels(target, locale), strict=False
        )
    ]
    title, note = text(locale, "discord_form.start"), text(locale, "discord.form_rest")
    return form_of(title, FORM, ref, entries, note=note)


def with_start(target: Mode, form: TargetForm, typed: Mapping[str, str], marks: str) -> TargetForm:
    """How the target begins with what a person left in that form. Raises Refusal `form_outdated`."""
    left = {name: words.strip() for name, words in left_in(typed, marks, _start(target, form)).items()}
    start = left.pop("start")
    kept = {name: value for name, value in form.setup.items() if name != "background"}
    return replace(
        form, start=start, setup={**kept, **{name: words for name, words in left.items() if words}}
    )


def _start(target: Mode, form: TargetForm) -> dict[str, str]:
    background = {"background": str(form.setup.get("background", ""))} if target is Mode.DEBATE else {}
    return {"start": form.start, **background}


def _start_labels(target: Mode, locale: str) -> tuple[str, str]:
    return text(locale, f"discord.handover_start_{target.value}"), text(locale, "discord.handover_premises")


# --- models and numbers ---------------------------------------------------------------------------------------------


def setup_form(
    ref: str, target: Mode, form: TargetForm, setup: Mapping[str, Any], choices: Choices, locale: str
) -> Form:
    """The form of models and numbers; `setup` is the usual one with what was chosen so far."""
    return Form(
        title=head(text(locale, "discord_form.setup"), FORM_TITLE),
        action=FORM,
        ref=f"{ref}:0",
        fields=tuple(_setup_fields(target, form, setup, choices, locale)),
    )


def _setup_fields(
    target: Mode, form: TargetForm, setup: Mapping[str, Any], choices: Choices, locale: str
) -> list[Field]:
    def label(name: str) -> str:
        return head(text(locale, f"discord.setting_{name}"), FIELD_LABEL)

    def number(name: str, least: int, most: int) -> Field:
        every = [Option(label=str(one), value=str(one)) for one in range(least, most + 1)]
        return Field(name=name, label=label(name), value=str(setup.get(name, "")), options=tuple(every))

    models = Field(
        name="models",
        label=label("models"),
        description=text(locale, "discord.form_models"),
        value=", ".join(setup.get("models", ())),
    )
    match target:
        case Mode.CHAT:
            return [_one_of("model", label("model"), form.model, choices.models)]
        case Mode.COMPARE:
            answers = tuple(Option(label=text(locale, f"discord.{one}"), value=one) for one in (YES, NO))
            blind = YES if setup.get("blind") else NO
            return [models, Field(name="blind", label=label("blind"), value=blind, options=answers)]
        case Mode.DEBATE:
            seats = [f"{one['model']}: {one.get('role', '')}".rstrip(": ") for one in setup["participants"]]
            return [
                Field(
                    name="participants",
                    label=label("participants"),
                    description=text(locale, "discord.form_participants"),
                    value="\n".join(seats),
                    long=True,
                ),
                _one_of("moderator", label("moderator"), str(setup["moderator"]), choices.models),
                number("rebuttal_rounds", debate.LEAST_REBUTTALS, debate.MOST_REBUTTALS),
            ]
        case Mode.CODRAFT:
            return [models, number("passes", codraft.LEAST_PASSES, codraft.MOST_PASSES)]
        case Mode.WORKFLOW:
            titles = {name: one.title.in_locale(locale) for name, one in choices.workflows.items()}
            chosen = str(setup.get("workflow", ""))
            return [_one_of("workflow", label("workflow"), chosen, tuple(titles), titles), models]


def _one_of(
    name: str, label: str, chosen: str, values: Sequence[str], labels: Mapping[str, str] | None = None
) -> Field:
    """One of several values to choose, or to type where there are more than a menu holds."""
    fitting = [value for value in values if value == head(value, OPTION_TEXT)]
    if not 1 <= len(values) <= OPTIONS or len(fitting) < len(values):
        return Field(name=name, label=label, value=chosen)
    shown = labels or {}
    options = tuple(Option(label=head(shown.get(one, one), OPTION_TEXT), value=one) for one in values)
    return Field(name=name, label=label, value=chosen, options=options)


def with_setup(target: Mode, form: TargetForm, typed: Mapping[str, str]) -> TargetForm:
    """Models and numbers as a person left them; what is blank is as usual."""
    if target is Mode.CHAT:
        return replace(form, model=typed.get("model", "").strip())
    setup: dict[str, Any] = {k: v for k, v in form.setup.items() if k == "background"}
    if models := names_in(typed.get("models", "")):
        setup["models"] = models
    if seats := _seats(typed.get("participants", "")):
        setup["participants"] = seats
    for name in ("moderator", "workflow"):
        if value := typed.get(name, "").strip():
            setup[name] = value
    for name in ("rebuttal_rounds", "passes"):
        if value := typed.get(name, "").strip():
            setup[name] = number_in(value)
    if target is Mode.COMPARE:
        setup["blind"] = typed.get("blind") == YES
    return replace(form, setup=setup)


def _seats(typed: str) -> list[dict[str, str]]:
    """Participants, one a line: the model and, behind a colon, the role."""
    seats = []
    for line in typed.splitlines():
        model, _, role = (part.strip() for part in re.sub("：", ":", line).partition(":"))
        if model:
            seats.append({"model": model, **({"role": role} if role else {})})
    return seats
