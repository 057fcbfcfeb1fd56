"""Cards and forms as the library sends them. None is ever registered with it: what comes back goes to our router."""

import hashlib
import io
from typing import Final

import discord

from bot.discord.card import Card, Field, Form, LinkButton, check

NO_MENTIONS: Final = discord.AllowedMentions.none()
"""Given with every send and every edit: an edit without it would be read with Discord's own default, which pings."""


def nonce(key: str) -> str:
    """The nonce of a message that is known by `key`: the same for every try, so that Discord keeps only one."""
    return hashlib.sha256(key.encode()).hexdigest()[:24]


def marker(key: str) -> int:
    """The id of a message's first component, by which a message is found again when its nonce is forgotten."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") & 0x7FFFFFFF | 1


class CardView(discord.ui.View):
    """Buttons and a menu; the library keeps no track of it, so nothing of it can expire, leak or be overwritten."""

    def __init__(self, card: Card, *, mark: int | None = None) -> None:
        super().__init__(timeout=None)
        for number, button in enumerate(card.buttons):
            identity = mark if number == 0 else None
            row = number // 5
            if isinstance(button, LinkButton):
                self.add_item(discord.ui.Button(label=button.label, url=button.url, row=row, id=identity))
            else:
                style = discord.ButtonStyle.primary if button.strong else discord.ButtonStyle.secondary
                self.add_item(
                    discord.ui.Button(
                        label=button.label, custom_id=button.custom_id, style=style, row=row, id=identity
                    )
                )
        if card.menu:
            options = [
                discord.SelectOption(label=o.label, value=o.value, description=o.description or None)
                for o in card.menu.options
            ]
            self.add_item(
                discord.ui.Select(
                    custom_id=card.menu.custom_id,
                    placeholder=card.menu.placeholder,
                    options=options,
                    id=None if card.buttons else mark,
                )
            )

    def is_dispatchable(self) -> bool:
        return False


class FormModal(discord.ui.Modal):
    """A form; it counts as finished, so that the library does not keep it by an id that two people may share."""

    def __init__(self, form: Form) -> None:
        check(form)
        super().__init__(title=form.title, custom_id=form.custom_id, timeout=None)
        for field in form.fields:
            self.add_item(
                discord.ui.Label(
                    text=field.label,
                    description=field.description or None,
                    component=_choice(field) if field.options else _input(field),
                )
            )

    def is_finished(self) -> bool:
        return True


def _input(field: Field) -> discord.ui.TextInput[FormModal]:
    return discord.ui.TextInput(
        custom_id=field.name,
        style=discord.TextStyle.paragraph if field.long else discord.TextStyle.short,
        default=field.value or None,
        required=field.required,
        max_length=field.max_chars,
    )


def _choice(field: Field) -> discord.ui.Select[FormModal]:
    options = [
        discord.SelectOption(
            label=one.label,
            value=one.value,
            description=one.description or None,
            default=one.value == field.value,
        )
        for one in field.options
    ]
    return discord.ui.Select(custom_id=field.name, options=options, required=field.required)


def view_of(card: Card, *, mark: int | None = None) -> CardView:
    """The components of a card, possibly none. Checked against Discord's limits: raises OverLimit."""
    check(card)
    return CardView(card, mark=mark)


def file_of(card: Card) -> list[discord.File]:
    """The attachments of a card, if any, read from the start."""
    texts = [file for file in (card.file, card.also) if file is not None]
    files = [discord.File(io.BytesIO(file.text.encode()), filename=file.name) for file in texts]
    if (picture := card.picture) is not None:
        data = io.BytesIO(picture.data)
        files.append(discord.File(data, filename=picture.name, description=picture.alternative))
    return files


def has_marker(message: discord.Message, mark: int) -> bool:
    """Whether the first component of a message carries the mark."""
    return any(
        getattr(child, "id", None) == mark
        for row in message.components
        for child in (row, *getattr(row, "children", ()))
    )
