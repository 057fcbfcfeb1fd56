"""The forms of prompts on Discord, and what their buttons and forms carry: ids only. Pure.

An id of a button has room for a name of any length with two versions, each by the last group of its id.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.discord.card import Field, Form, Option
from bot.discord.limit import FIELD_LABEL, FORM_FIELDS, FORM_TITLE, OPTION_TEXT, head, size
from bot.discord.pieces import NEW_LINE, NOTHING, apart, fields_for, together
from bot.prompt_act import (
    PROMOTE,
    ROLL_BACK,
    VERIFY,
    Drafted,
    Move,
    first_words,
    move_title,
    reason_label,
)
from bot.prompt_outline import PARTS, edit_page, part_title, steps
from core.domain.errors import Refusal
from core.domain.prompt import (
    MAX_REASON_CHARS,
    PromptPage,
    PromptText,
    PromptVersionView,
)
from core.i18n import text

TEXT: Final = "pr_text"
SAVE: Final = "pr_save"
DO: Final = "pr_do"

WORDS: Final = "text"
REASON: Final = "reason"
STEP: Final = "version"

FULL: Final = 3_000
"""Units of a part in one input; the rest of the input is room to type."""

SPARE: Final = 2_000
"""Units of a last input from which on an empty one stands behind it."""

GROUP: Final = 12
"""Characters of the last group of an id, which are its random part."""

_KINDS: Final = {VERIFY: "v", PROMOTE: "p", ROLL_BACK: "r"}
_NAME: Final = r"[a-z0-9_.]+"
_AIM: Final = re.compile(rf"({_NAME}):([vpr])(a?)(o?):([\w.-]{{1,{GROUP}}})(?::(\d+))?")
_TYPED: Final = re.compile(rf"({_NAME}):(\d):([\w.-]{{1,{GROUP}}}):([\w.-]{{1,{GROUP}}})")


def short(version_id: str) -> str:
    """What is carried of the id of a version."""
    return version_id[-GROUP:]


def by_short(carried: str) -> Callable[[PromptPage], PromptVersionView]:
    """Finds the version whose id ends so. Raises Refusal where there is none, or more than one."""

    def found(page: PromptPage) -> PromptVersionView:
        fitting = [one for one in page.versions if one.version_id.endswith(carried)]
        if len(fitting) != 1:
            raise Refusal("prompt_version_unknown", name=page.item.name)
        return fitting[0]

    return found


# --- a part ---------------------------------------------------------------------------------------------------------


def part_of(ref: str) -> tuple[str, str]:
    """Name and part out of the ref of an Edit button. Raises Refusal for a button of another release."""
    name, _, place = ref.partition(":")
    if not place.isdecimal() or int(place) >= len(PARTS):
        raise Refusal("button_outdated")
    return name, PARTS[int(place)]


def edit_ref(name: str, file: str) -> str:
    return f"{name}:{PARTS.index(file)}"


def edit_form(begun: PromptText, file: str, locale: str) -> Form:
    """The form of a part. Raises Refusal `prompt_part_long` for one that has no room in it: nothing is ever cut."""
    held, title = begun.files.get(file, ""), part_title(file, locale)
    parts = apart(held, FORM_FIELDS, full=FULL)
    if parts.rest:
        room = len(held) - len(parts.rest)
        raise Refusal(
            "prompt_part_long",
            part=title,
            had=f"{len(held):,}",
            limit=f"{room:,}",
            page=edit_page(begun.name),
        )
    fields = list(fields_for(WORDS, head(title, FIELD_LABEL - 2), parts, note=""))
    if len(fields) < FORM_FIELDS and size(parts.pieces[-1][1]) > SPARE:
        number = len(fields)
        label = f"{head(title, FIELD_LABEL - 2)} {number + 1}"
        fields.append(Field(name=f"{WORDS}.{number}{NEW_LINE}", label=label, long=True))
    ref = f"{edit_ref(begun.name, file)}:{short(begun.base_id)}:{short(begun.head_id)}"
    return Form(title=head(title, FORM_TITLE), action=TEXT, ref=ref, fields=tuple(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A part that was sent."""

    name: str
    file: str
    base: str
    head: str
    """What is carried of the ids of the versions that it was made from and after."""


def typed_in(ref: str) -> Typed:
    """What a form of a part that was sent is about. Raises Refusal for a form of another release."""
    found = _TYPED.fullmatch(ref)
    if found is None:
        raise Refusal("button_outdated")
    name, file = part_of(f"{found[1]}:{found[2]}")
    return Typed(name=name, file=file, base=found[3], head=found[4])


def words_in(fields: Mapping[str, str]) -> str:
    """A part as it was left in its form."""
    return together(WORDS, fields, NOTHING, "")


# --- saving ---------------------------------------------------------------------------------------------------------


def save_form(drafted: Drafted, opening: str, reason: str, locale: str, *, acknowledged: bool) -> Form:
    """Why a draft is saved and, where there is a choice, as which version."""
    name = drafted.text.name
    choices = steps(drafted.check, drafted.page, drafted.text.base_id, locale)
    fields = [_reason(text(locale, "console.prompt_reason"), _hint(locale), reason)]
    if choices:
        options = tuple(Option(label=head(label, OPTION_TEXT), value=version) for version, label in choices)
        label = head(text(locale, "console.prompt_version"), FIELD_LABEL)
        fields.append(Field(name=STEP, label=label, value=choices[0][0], required=True, options=options))
    mark = "a" if acknowledged else "-"
    title = head(text(locale, "chat_prompts.save"), FORM_TITLE)
    return Form(title=title, action=SAVE, ref=f"{name}:{mark}:{opening}", fields=tuple(fields))


def _reason(label: str, hint: str, value: str) -> Field:
    return Field(
        name=REASON,
        label=head(label, FIELD_LABEL),
        description=head(hint, OPTION_TEXT),
        value=head(value, MAX_REASON_CHARS),
        required=True,
        long=True,
        max_chars=MAX_REASON_CHARS,
    )


def _hint(locale: str) -> str:
    return text(locale, "console.prompt_reason_hint", limit=MAX_REASON_CHARS)


# --- moves ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a button of a version leads to, and what its form is about."""

    name: str
    kind: str
    version: str
    """What is carried of its id."""
    acknowledged: bool = False
    override: bool = False
    at: int = 0
    """In a form: what names the one change that may come of it."""

    @property
    def ref(self) -> str:
        flags = "a" * self.acknowledged + "o" * self.override
        at = f":{self.at}" if self.at else ""
        return f"{self.name}:{_KINDS[self.kind]}{flags}:{self.version}{at}"


def aim_of(move: Move) -> Aim:
    """What a button carries that asks for a move."""
    return Aim(
        name=move.name,
        kind=move.kind,
        version=short(move.version_id),
        acknowledged=move.acknowledged,
        override=move.override,
    )


def read_aim(ref: str) -> Aim:
    """Raises Refusal for a button or form of another release."""
    found = _AIM.fullmatch(ref)
    if found is None:
        raise Refusal("button_outdated")
    (kind,) = [one for one, letter in _KINDS.items() if letter == found[2]]
    return Aim(
        name=found[1],
        kind=kind,
        version=found[5],
        acknowledged=bool(found[3]),
        override=bool(found[4]),
        at=int(found[6] or 0),
    )


def move_form(aim: Aim, page: PromptPage, version: PromptVersionView, reason: str, locale: str) -> Form:
    """Why something is done with a version."""
    hint = _hint(locale)
    if aim.kind == ROLL_BACK:
        hint = text(locale, "console.prompt_roll_back_hint")
    if aim.acknowledged:
        hint = text(locale, "console.prompt_acknowledge")
    if aim.override:
        hint = text(locale, "console.prompt_override")
    return Form(
        title=head(move_title(aim.kind, version, locale), FORM_TITLE),
        action=DO,
        ref=aim.ref,
        fields=(
            _reason(reason_label(aim.kind, locale), hint, reason or first_words(aim.kind, page, version)),
        ),
    )
