"""What a person sees of an adoption: the review before the request, a conflict, the changes, and the list. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.discord.card import Card, Field, Form, Menu, Option, PressButton, TextFile
from bot.discord.difference import block, difference
from bot.discord.limit import (
    CONTENT,
    FIELD_LABEL,
    FILE_BYTES,
    FORM_TITLE,
    OPTION_TEXT,
    OPTIONS,
    PLACEHOLDER,
    head,
    size,
)
from bot.discord.pieces import Entry, form_of
from bot.discord.render import plain
from bot.discord.reply import fenced
from core.commands.adoption import AdoptionChanges, AdoptionReview
from core.domain.adoption import REASON_CHARS, AdoptionStatus, Choice, Conflict, ReviewForm
from core.domain.artifact import NAME_CHARS, DiffRow
from core.domain.message import Message
from core.domain.pin import Pin
from core.domain.thread import Thread
from core.i18n import text

SHOW: Final = "ad_show"
EDIT: Final = "ad_edit"
FORM: Final = "ad_form"
CONFLICT: Final = "ad_conflict"
CHOOSE: Final = "ad_choose"
NAME: Final = "ad_name"
ASK: Final = "ad_ask"
REQUEST: Final = "ad_request"
WHY: Final = "reject_why"

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "outcome": ("about", "concluded"),
    "outlook": ("next_steps", "sources"),
}
"""Texts of the review that share a form; its button is `discord_form.<group>`."""

FIRST_WORDS: Final = 150
PREVIEW: Final = 3
"""Messages that the card itself shows; all stand in the file, to the letter."""

LOOKED_AT: Final = 1_000
"""Characters from which the beginning of a message is taken."""

DOCUMENT: Final = FILE_BYTES // 3 - 1_000


# --- the review -----------------------------------------------------------------------------------------------------


def waiting_card(review_id: str, locale: str) -> Card:
    """The review is still being drafted."""
    again = PressButton(label=text(locale, "discord.look_again"), action=SHOW, ref=review_id)
    return Card(content=text(locale, "discord.draft_coming"), buttons=(again,))


def review_card(
    review_id: str, review: AdoptionReview, form: ReviewForm, pins: Sequence[Pin], locale: str
) -> Card:
    """What a request made now would cover, with one button for each form. The file holds all of it."""
    draft = review.draft
    lines = [
        f"**{text(locale, 'discord.adopt_title', branch=plain(review.branch.branch_name))}**",
        text(locale, "discord.adopt_means", parent=plain(review.parent.title)),
    ]
    if draft is not None and not draft.by_model:
        lines.append(f"⚠️ {text(locale, 'discord.review_plain')}")
    if draft is not None and draft.contradictions:
        lines.append(f"⚠️ {text(locale, 'discord.contradictions')}")
        lines += [f"> {plain(one, FIRST_WORDS)}" for one in draft.contradictions[:PREVIEW]]
    for names in GROUPS.values():
        for name in names:
            words = plain(str(form.texts.get(name, "")), FIRST_WORDS) or "–"
            lines.append(f"**{text(locale, f'card.{name}')}:** {words}")
    every = [one for messages in review.messages.values() for one in messages]
    lines.append(
        text(locale, "discord.covers", messages=len(every), artifacts=review.artifacts, pins=len(pins))
    )
    lines += [_quoted(review.branch, one, locale) for one in every[:PREVIEW]]
    lines += [] if len(every) <= PREVIEW else ["> …"]
    undecided = [one for one in review.conflicts if one.branch_artifact not in form.choices]
    if review.conflicts:
        counts = {"count": len(review.conflicts), "open": len(undecided)}
        lines.append(f"**{text(locale, 'discord.conflicts', **counts)}**")
    document = _review_document(review, form, pins, locale)
    return Card(
        content=head("\n".join(lines), CONTENT),
        buttons=_review_buttons(review_id, locale),
        menu=_conflict_menu(review_id, review, form, locale) if review.conflicts else None,
        file=TextFile(name="adoption.md", text=fitting(document, locale)),
    )


def _review_buttons(review_id: str, locale: str) -> tuple[PressButton, ...]:
    edits = (
        PressButton(label=text(locale, f"discord_form.{group}"), action=EDIT, ref=f"{review_id}:{group}")
        for group in GROUPS
    )
    ask = PressButton(label=text(locale, "discord.ask"), action=ASK, ref=review_id, strong=True)
    return (*edits, ask)


def _conflict_menu(review_id: str, review: AdoptionReview, form: ReviewForm, locale: str) -> Menu:
    """The names that need a choice, undecided ones first."""
    found = sorted(review.conflicts, key=lambda one: one.branch_artifact in form.choices)
    options = tuple(
        Option(
            label=head(one.name, OPTION_TEXT),
            value=one.branch_artifact,
            description=head(_choice(form, one, locale), OPTION_TEXT),
        )
        for one in found[:OPTIONS]
    )
    placeholder = head(text(locale, "discord.conflict_choose"), PLACEHOLDER)
    return Menu(placeholder=placeholder, action=CONFLICT, ref=review_id, options=options)


def _choice(form: ReviewForm, conflict: Conflict, locale: str) -> str:
    chosen = form.choices.get(conflict.branch_artifact)
    if chosen is None:
        return text(locale, "discord.undecided")
    words = text(locale, f"adoption_choice.{chosen['choice']}")
    return f"{words} ({chosen['new_name']})" if chosen["new_name"] else words


def _review_document(review: AdoptionReview, form: ReviewForm, pins: Sequence[Pin], locale: str) -> str:
    parts = [f"# {text(locale, 'discord.adopt_title', branch=review.branch.branch_name)}"]
    if review.draft is not None and review.draft.contradictions:
        points = "\n".join(f"- {one}" for one in review.draft.contradictions)
        parts += [f"## {text(locale, 'discord.contradictions')}", points]
    parts += _texts(form.texts, locale)
    parts += [f"- {text(locale, f'pin_kind.{one.kind.value}')}: {one.text}" for one in pins]
    parts += [f"- {one.name}: {_choice(form, one, locale)}" for one in review.conflicts]
    parts += _covered(review.branch, review.messages, locale)
    return "\n\n".join(parts) + "\n"


def texts_form(review_id: str, group: str, form: ReviewForm, opening: str, locale: str) -> Form:
    """The form of two of the review's texts."""
    entries = [
        Entry(name=name, label=text(locale, f"card.{name}"), text=str(form.texts.get(name, "")))
        for name in GROUPS[group]
    ]
    title, note = text(locale, f"discord_form.{group}"), text(locale, "discord.form_rest")
    return form_of(title, FORM, f"{review_id}:{group}:{opening}", entries, note=note)


def reason_form(action: str, ref: str, reason: str, locale: str) -> Form:
    """Why it should be adopted, or why it is rejected: `discord.<action>` and its title in the catalogue."""
    field = Field(
        name="reason",
        label=head(text(locale, f"discord.{action}"), FIELD_LABEL),
        value=reason,
        required=True,
        long=True,
        max_chars=REASON_CHARS,
    )
    title = head(text(locale, f"discord.{action}_title"), FORM_TITLE)
    return Form(title=title, action=action, ref=ref, fields=(field,))


# --- conflicts ------------------------------------------------------------------------------------------------------


def conflict_card(
    review_id: str, conflict: Conflict, rows: Sequence[DiffRow], form: ReviewForm, locale: str
) -> Card:
    """One name that both have: what the branch's differs in, and the three choices."""
    changes = difference(rows, locale)
    lines = [
        f"**{text(locale, 'discord.conflict', name=plain(conflict.name))}**",
        text(
            locale,
            "discord.conflict_versions",
            branch=conflict.branch_version,
            parent=conflict.parent_version,
        ),
        text(locale, "discord.conflict_now", choice=plain(_choice(form, conflict, locale), FIRST_WORDS)),
    ]
    content = "\n".join(lines)
    shown = block(changes, CONTENT - size(content) - 1)
    ref = f"{review_id}:{conflict.branch_artifact}"
    buttons = [
        PressButton(
            label=text(locale, f"discord_choice.{choice.value}"),
            action=CHOOSE if choice is not Choice.KEEP_BOTH else NAME,
            ref=f"{ref}:{_LETTERS[choice]}" if choice is not Choice.KEEP_BOTH else ref,
        )
        for choice in Choice
    ]
    back = PressButton(label=text(locale, "discord.back_to_review"), action=SHOW, ref=review_id)
    return Card(
        content="\n".join(one for one in (content, shown) if one),
        buttons=(*buttons, back),
        file=TextFile(name="changes.diff", text=fitting("\n".join(changes) + "\n", locale)),
    )


_LETTERS: Final = {Choice.TAKE_BRANCH: "t", Choice.KEEP_PARENT: "k"}
CHOICES: Final = {letter: choice for choice, letter in _LETTERS.items()}
"""Choices as a button carries them, which has room for two ids and a letter."""


def name_form(ref: str, name: str, locale: str) -> Form:
    """The new name of the branch's, where both are kept."""
    field = Field(
        name="new_name",
        label=head(text(locale, "discord.conflict_new_name"), FIELD_LABEL),
        value=head(name, NAME_CHARS),
        required=True,
        max_chars=NAME_CHARS,
    )
    title = head(text(locale, "discord_choice.keep_both"), FORM_TITLE)
    return Form(title=title, action=CHOOSE, ref=ref, fields=(field,))


# --- after the request ----------------------------------------------------------------------------------------------


def changes_card(changes: AdoptionChanges, locale: str) -> Card:
    """What a request covers, whole in the file."""
    adoption = changes.adoption
    every = [one for messages in changes.messages.values() for one in messages]
    lines = [
        f"**{text(locale, 'card.adoption', branch=plain(changes.branch.branch_name))}** · "
        f"{text(locale, f'adoption_status.{adoption.status.value}')}",
        f"> {plain(adoption.reason, FIRST_WORDS * 2)}",
        text(locale, "discord.changes_in_file", messages=len(every), artifacts=len(adoption.artifacts)),
    ]
    lines += [_quoted(changes.branch, one, locale) for one in every[:PREVIEW]]
    parts = [f"# {text(locale, 'card.adoption', branch=changes.branch.branch_name)}", adoption.reason]
    parts += _texts(adoption.review, locale)
    parts += [f"- {line}" for line in _artifacts(changes, locale)]
    parts += _covered(changes.branch, changes.messages, locale)
    document = "\n\n".join(parts) + "\n"
    return Card(
        content=head("\n".join(lines), CONTENT),
        file=TextFile(name="changes.md", text=fitting(document, locale)),
    )


def _artifacts(changes: AdoptionChanges, locale: str) -> Iterator[str]:
    for one in changes.adoption.artifacts:
        decided = one["decided"]
        choice = _decided(decided["choice"], locale) if decided else ""
        name = f" ({decided['new_name']})" if decided and decided["new_name"] else ""
        yield f"{one['name']} · {text(locale, 'discord.version_number', number=one['version'])}{choice}{name}"


def _decided(choice: str, locale: str) -> str:
    return f" · {text(locale, f'adoption_choice.{choice}')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One line of the list of requests."""

    adoption_id: str
    status: AdoptionStatus
    day: str
    reason: str


def adoptions_card(asked: Sequence[Asked], action: str, locale: str) -> Card:
    """The requests of a thread, newest first, with a menu that shows what one covers."""
    if not asked:
        return Card(content=text(locale, "card.no_adoptions"))
    lines = [f"**{text(locale, 'discord.adoptions')}**"]
    lines += [
        f"- {one.day} · {text(locale, f'adoption_status.{one.status.value}')}: {plain(one.reason, 60)}"
        for one in asked[:12]
    ]
    options = tuple(
        Option(
            label=head(f"{one.day} · {text(locale, f'adoption_status.{one.status.value}')}", OPTION_TEXT),
            value=one.adoption_id,
            description=head(" ".join(one.reason.split()), OPTION_TEXT),
        )
        for one in asked[:OPTIONS]
    )
    placeholder = head(text(locale, "button.show_changes"), PLACEHOLDER)
    menu = Menu(placeholder=placeholder, action=action, ref="list", options=options)
    return Card(content=head("\n".join(lines), CONTENT), menu=menu)


# --- pieces ---------------------------------------------------------------------------------------------------------


def _texts(texts: Mapping[str, object], locale: str) -> list[str]:
    parts = []
    for names in GROUPS.values():
        for name in names:
            parts += [f"## {text(locale, f'card.{name}')}", str(texts.get(name, "")) or "–"]
    return parts


def _covered(branch: Thread, messages: Mapping[str, Sequence[Message]], locale: str) -> list[str]:
    """Every message to the letter, by conversation."""
    parts = [f"## {text(locale, 'discord.covered_messages')}"]
    for number, said in enumerate(messages.values(), start=1):
        if len(messages) > 1:
            parts.append(f"### {text(locale, 'discord.covered_line', number=number)}")
        parts += [f"**{_author(branch, one, locale)}**\n\n{fenced(one.text)}" for one in said]
    return parts


def _quoted(branch: Thread, message: Message, locale: str) -> str:
    """The beginning of a message on one line."""
    return f"> **{_author(branch, message, locale)}** {plain(message.text[:LOOKED_AT], 100)}"


def _author(branch: Thread, message: Message, locale: str) -> str:
    """Who said it; a blind Compare keeps its models to itself."""
    if message.is_answer and branch.setup.get("blind"):
        return text(locale, "discord.hidden")
    return plain(message.author.name)


def fitting(document: str, locale: str) -> str:
    """The document as far as a file may go."""
    if 2 * len(document) <= DOCUMENT or size(document) <= DOCUMENT:
        return document
    return f"{head(document, DOCUMENT)}\n\n{text(locale, 'discord.file_cut')}\n"
