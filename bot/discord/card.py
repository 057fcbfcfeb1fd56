"""Messages as plain data, before the library sends them, and the limits that the library does not check."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bot.discord import limit
from bot.discord.limit import size

CUSTOM_ID: Final = re.compile(r"pf1:([a-z_]+):([A-Za-z0-9:_./#-]+)")
"""A ref is an id, or ids and a step of a run such as `run/answer:alpha#2`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PressButton:
    """A button that comes back to us; `action` and `ref` are all that it carries."""

    label: str
    action: str
    ref: str
    strong: bool = False

    @property
    def custom_id(self) -> str:
        return custom_id(self.action, self.ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkButton:
    label: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    label: str
    value: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A menu of which one option is chosen."""

    placeholder: str
    action: str
    ref: str
    options: tuple[Option, ...]

    @property
    def custom_id(self) -> str:
        return custom_id(self.action, self.ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    name: str
    data: bytes
    alternative: str
    """What it shows, for people who do not see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One message. `buttons` fill rows of five; a menu stands below them."""

    content: str
    buttons: tuple[PressButton | LinkButton, ...] = ()
    menu: Menu | None = None
    file: TextFile | None = None
    also: TextFile | None = None
    """A second file."""
    picture: Picture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One line of a form, or several where `long`."""

    name: str
    label: str
    description: str = ""
    value: str = ""
    required: bool = False
    long: bool = False
    options: tuple[Option, ...] = ()
    """With any, one of them is chosen and nothing is typed; `value` is the one that is chosen at first."""
    max_chars: int = limit.FIELD_VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    title: str
    action: str
    ref: str
    fields: tuple[Field, ...]

    @property
    def custom_id(self) -> str:
        return custom_id(self.action, self.ref)


def custom_id(action: str, ref: str) -> str:
    """What a component carries: our mark with a version, what it asks for, and the row."""
    return f"pf1:{action}:{ref}"


def read_custom_id(text: str) -> tuple[str, str] | None:
    """Action and ref of one of our components, of this release or an earlier one; None for anything else."""
    found = CUSTOM_ID.fullmatch(text)
    return (found[1], found[2]) if found else None


class OverLimit(ValueError):
    """A card or form that Discord would refuse: a bug in whoever made it."""


def check(made: Card | Form) -> None:
    """Raise OverLimit with everything that Discord would refuse."""
    found = list(_card_problems(made) if isinstance(made, Card) else _form_problems(made))
    if found:
        raise OverLimit("; ".join(found))


def _card_problems(card: Card) -> Iterator[str]:
    if size(card.content) > limit.CONTENT:
        yield f"content has {size(card.content)} units"
    if not (card.content.strip() or card.file):
        yield "nothing is shown"
    rows = -(-len(card.buttons) // limit.BUTTONS_PER_ROW) + bool(card.menu)
    if rows > limit.ROWS:
        yield f"{rows} rows"
    ids = [b.custom_id for b in card.buttons if isinstance(b, PressButton)]
    ids += [card.menu.custom_id] if card.menu else []
    if len(ids) != len(set(ids)):
        yield "a custom id stands twice"
    yield from (f"custom id {i!r}" for i in ids if size(i) > limit.CUSTOM_ID or read_custom_id(i) is None)
    for button in card.buttons:
        if not 1 <= size(button.label) <= limit.LABEL:
            yield f"label of {size(button.label)} units"
        if isinstance(button, LinkButton) and size(button.url) > limit.URL:
            yield f"address of {size(button.url)} units"
    if card.menu:
        yield from _menu_problems(card.menu)
    yield from _file_problems(card)


def _file_problems(card: Card) -> Iterator[str]:
    if any(size(file.text) * 3 > limit.FILE_BYTES for file in (card.file, card.also) if file):
        yield "file too large"
    if card.picture and not 1 <= size(card.picture.alternative) <= limit.ALTERNATIVE:
        yield f"what a picture shows has {size(card.picture.alternative)} units"


def _menu_problems(menu: Menu) -> Iterator[str]:
    if size(menu.placeholder) > limit.PLACEHOLDER:
        yield "placeholder too long"
    yield from _options_problems(menu.options)


def _options_problems(options: tuple[Option, ...]) -> Iterator[str]:
    if not 1 <= len(options) <= limit.OPTIONS:
        yield f"{len(options)} options"
    if len({o.value for o in options}) != len(options):
        yield "an option stands twice"
    for option in options:
        if not (option.label and option.value) or any(
            size(t) > limit.OPTION_TEXT for t in (option.label, option.value, option.description)
        ):
            yield f"option {option.label!r}"


def _form_problems(form: Form) -> Iterator[str]:
    if not 1 <= size(form.title) <= limit.FORM_TITLE:
        yield f"title of {size(form.title)} units"
    if not 1 <= len(form.fields) <= limit.FORM_FIELDS:
        yield f"{len(form.fields)} fields"
    if len({f.name for f in form.fields}) != len(form.fields):
        yield "a field stands twice"
    if size(form.custom_id) > limit.CUSTOM_ID or read_custom_id(form.custom_id) is None:
        yield f"custom id {form.custom_id!r}"
    for field in form.fields:
        if not 1 <= size(field.label) <= limit.FIELD_LABEL:
            yield f"field label of {size(field.label)} units"
        if field.options:
            yield from _options_problems(field.options)
        if size(field.description) > limit.OPTION_TEXT or size(field.value) > limit.FIELD_VALUE:
            yield f"field {field.name!r}"
