"""What a person sees of an artifact that is sent to another thread: where to, and what it is called there. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from bot.discord.card import Card, Field, Form, Menu, Option, PressButton
from bot.discord.limit import CONTENT, FIELD_LABEL, FORM_TITLE, OPTION_TEXT, OPTIONS, PLACEHOLDER, head
from bot.discord.render import plain
from core.domain.artifact import NAME_CHARS
from core.domain.view import ArtifactItem, ThreadItem
from core.i18n import text

SHOW: Final = "art_show"
SEND: Final = "art_send"
PAGE: Final = "art_page"
TO: Final = "art_to"
NAME: Final = "art_name"
NAMED: Final = "art_named"


def every(threads: Sequence[ThreadItem]) -> Iterator[ThreadItem]:
    """Threads and their branches, each branch behind its parent."""
    for one in threads:
        yield one
        yield from every(one.children)


def send_button(artifact_id: str, number: int, locale: str) -> PressButton:
    """Asks where a version of an artifact goes."""
    return PressButton(label=text(locale, "sending.button"), action=SEND, ref=f"{artifact_id}:{number}")


def with_menu(card: Card, items: Sequence[ArtifactItem], locale: str) -> Card:
    """A list of artifacts with a menu that opens one."""
    options = tuple(
        Option(label=head(item.name, OPTION_TEXT), value=item.artifact_id) for item in items[:OPTIONS]
    )
    placeholder = head(text(locale, "discord.artifact_choose"), PLACEHOLDER)
    return replace(card, menu=Menu(placeholder=placeholder, action=SHOW, ref="list", options=options))


def threads_card(
    item: ArtifactItem, number: int, threads: Sequence[tuple[str, ThreadItem]], page: int, locale: str
) -> Card:
    """A page of the threads that a version may go to, with the names of their channels."""
    means = text(locale, "sending.means", name=plain(item.name), number=number)
    last = max(0, (len(threads) - 1) // OPTIONS)
    page = min(page, last)
    here = threads[page * OPTIONS : (page + 1) * OPTIONS]
    options = tuple(
        Option(
            label=head(one.branch_name or one.title or one.thread_id, OPTION_TEXT),
            value=one.thread_id,
            description=head(f"#{channel}", OPTION_TEXT),
        )
        for channel, one in here
    )
    turns = [("discord.page_before", page - 1), ("discord.page_after", page + 1)]
    ref = f"{item.artifact_id}:{number}"
    buttons = tuple(
        PressButton(label=text(locale, key), action=PAGE, ref=f"{ref}:{to}")
        for key, to in turns
        if 0 <= to <= last
    )
    placeholder = head(text(locale, "sending.choose"), PLACEHOLDER)
    menu = Menu(placeholder=placeholder, action=TO, ref=ref, options=options)
    return Card(content=head(means, CONTENT), buttons=buttons, menu=menu)


def taken_card(ref: str, sentence: str, locale: str) -> Card:
    """The name is taken there: it may go under another one. `ref` is artifact, version and thread."""
    other = PressButton(label=text(locale, "sending.other_name"), action=NAME, ref=ref, strong=True)
    return Card(content=head(sentence, CONTENT), buttons=(other,))


def name_form(ref: str, name: str, locale: str) -> Form:
    """What it is to be called there."""
    field = Field(
        name="name",
        label=head(text(locale, "sending.name_there"), FIELD_LABEL),
        value=head(name, NAME_CHARS),
        required=True,
        max_chars=NAME_CHARS,
    )
    return Form(title=head(text(locale, "sending.title"), FORM_TITLE), action=NAMED, ref=ref, fields=(field,))
