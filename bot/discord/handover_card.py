"""What a person sees of a handover on its way: where it may go, the draft, its cost, and where it went. Pure."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bot.discord.card import Card, LinkButton, Menu, Option, PressButton, TextFile
from bot.discord.handover_form import FIELDS, Group, content
from bot.discord.limit import CONTENT, OPTION_TEXT, PLACEHOLDER, head
from bot.discord.plan import costs, settings
from bot.discord.render import address, plain
from core.commands.handover import Sending
from core.domain.drafting import HandoverDraft, TargetForm, draft_notes
from core.domain.handover import LISTS, Field, HandoverFields, sent_fields
from core.domain.prior_context import FIRST_REQUEST_CHARS, ITEM_CHARS, ITEMS, OVERVIEW_CHARS
from core.domain.receipt import CapApplied
from core.domain.thread import Mode, Place
from core.domain.view import ButtonAction, EstimateView
from core.i18n import phrase, text

TARGET: Final = "ho_target"
SHOW: Final = "ho_show"
EDIT: Final = "ho_edit"
SEND: Final = "ho_send"
CONFIRM: Final = "ho_confirm"

FIRST_WORDS: Final = 110
"""Units of a field that the card itself shows; the file holds it whole."""


def targets_card(
    targets: Sequence[Mode], ref: str, waiting: Sequence[tuple[str, Mode]], locale: str, *, centre: bool
) -> Card:
    """A menu of the modes in which the work may go on; a button for each of the reader's drafts that is `waiting`."""
    options = tuple(
        Option(label=head(text(locale, f"discord.mode_{mode.value}"), OPTION_TEXT), value=mode.value)
        for mode in targets
    )
    menu = Menu(
        placeholder=head(text(locale, "discord.handover_choose"), PLACEHOLDER),
        action=TARGET,
        ref=ref,
        options=options,
    )
    lines = [text(locale, "discord.handover_means")]
    lines += [text(locale, "discord.handover_centre")] if centre else []
    drafts = tuple(
        PressButton(
            label=text(locale, "discord.handover_open", mode=text(locale, f"discord.mode_{mode.value}")),
            action=SHOW,
            ref=handover_id,
        )
        for handover_id, mode in waiting
    )
    return Card(content="\n".join(lines), buttons=drafts, menu=menu)


def waiting_card(handover_id: str, locale: str) -> Card:
    """The draft is still to come."""
    again = PressButton(label=text(locale, "discord.look_again"), action=SHOW, ref=handover_id)
    return Card(content=text(locale, "discord.draft_coming"), buttons=(again,))


def draft_card(
    handover_id: str,
    target: Mode,
    draft: HandoverDraft,
    fields: HandoverFields,
    form: TargetForm,
    setup: Mapping[str, Any],
    locale: str,
) -> Card:
    """The draft with one button for each form. Every field stands whole in the file."""
    sent = sent_fields(target, fields)
    mode = text(locale, f"discord.mode_{target.value}")
    lines = [
        f"**{text(locale, 'discord.handover_title', mode=mode)}**",
        f"-# {text(locale, 'discord.handover_check')}",
        *(f"⚠️ {plain(phrase(locale, note), FIRST_WORDS * 2)}" for note in draft_notes(draft)),
        *(f"⚠️ {plain(line, FIRST_WORDS * 2)}" for line in _caps(draft.caps, locale)),
        *_shown_fields(fields, sent, locale),
        *_beginning(form, setup, locale),
    ]
    edits = (
        PressButton(
            label=text(locale, f"discord_form.{group.value}"), action=EDIT, ref=f"{handover_id}:{group.value}"
        )
        for group in (*FIELDS, Group.START, Group.SETUP)
    )
    send = PressButton(label=text(locale, "discord.send"), action=SEND, ref=handover_id, strong=True)
    return Card(
        content=head("\n".join(lines), CONTENT),
        buttons=(*edits, send),
        file=TextFile(name="handover.md", text=_document(mode, fields, sent, locale)),
    )


def _shown_fields(fields: HandoverFields, sent: Sequence[Field], locale: str) -> Iterator[str]:
    for field in Field:
        label = text(locale, f"handover_field.{field.value}")
        count = f" ({len(fields.items(field))})" if field in LISTS and fields.holds(field) else ""
        goes = text(locale, "discord.goes" if field in sent else "discord.stays")
        words = "; ".join(fields.items(field)) if field in LISTS else fields.text(field)
        yield f"**{label}**{count} · {goes}: {plain(words, FIRST_WORDS) or '–'}"


def _beginning(form: TargetForm, setup: Mapping[str, Any], locale: str) -> Iterator[str]:
    if form.start:
        yield f"**{text(locale, 'discord.handover_starts')}** {plain(form.start, FIRST_WORDS)}"
    else:
        yield f"**{text(locale, 'discord.handover_waits')}**"
    if form.model:
        yield f"- {text(locale, 'discord.setting_model')}: {plain(form.model)}"
    yield from (f"- {name}: {head(value, FIRST_WORDS * 2)}" for name, value in settings(setup, locale))


def _caps(caps: Sequence[CapApplied], locale: str) -> list[str]:
    return [text(locale, f"cap.{cap.name}", limit=cap.limit, had=cap.had, kept=cap.kept) for cap in caps]


def _document(mode: str, fields: HandoverFields, sent: Sequence[Field], locale: str) -> str:
    """Every field whole, with what is sent and what may be carried."""
    title = text(locale, "discord.handover_title", mode=mode)
    limits = text(
        locale,
        "discord.handover_limits",
        overview=OVERVIEW_CHARS,
        first=FIRST_REQUEST_CHARS,
        count=ITEMS,
        chars=ITEM_CHARS,
    )
    parts = [f"# {title}", limits]
    for field in Field:
        goes = text(locale, "discord.goes" if field in sent else "discord.stays")
        parts += [
            f"## {text(locale, f'handover_field.{field.value}')} ({goes})",
            content(fields, field) or "–",
        ]
    return "\n\n".join(parts) + "\n"


def fingerprint(sending: Sending) -> str:
    """Changes with everything that a handover would send, so that only what was seen is confirmed."""
    kept = [sending.fields, sending.start, sending.setup, sending.model]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def confirm_card(sending: Sending, estimate: EstimateView, locale: str) -> Card:
    """What the target is expected to cost, before it is made."""
    key = "discord.handover_confirm_now" if sending.start.strip() else "discord.handover_confirm_waits"
    lines = [
        text(locale, key),
        *(f"- {line}" for line in costs(estimate, locale)),
        *(f"⚠️ {plain(phrase(locale, note), FIRST_WORDS * 2)}" for note in estimate.notes),
    ]
    ref = f"{sending.handover_id}:{fingerprint(sending)}"
    buttons = (
        PressButton(label=text(locale, "discord.send"), action=CONFIRM, ref=ref, strong=True),
        PressButton(label=text(locale, "discord.back_to_draft"), action=SHOW, ref=sending.handover_id),
    )
    return Card(content=head("\n".join(lines), CONTENT), buttons=buttons)


def unopened_card(thread_id: str, title: str, locale: str) -> Card:
    """It was sent, and Discord did not open its thread."""
    again = PressButton(
        label=text(locale, "button.open_again"),
        action=ButtonAction.OPEN_AGAIN.value,
        ref=thread_id,
        strong=True,
    )
    return Card(content=text(locale, "card.not_opened", title=plain(title)), buttons=(again,))


def sent_card(handover_id: str, place: Place, locale: str, *, guild: str) -> Card:
    """It was sent, and where it went once that is known."""
    if not place.thread:
        again = PressButton(label=text(locale, "discord.look_again"), action=SHOW, ref=handover_id)
        return Card(content=text(locale, "discord.handed_over_soon"), buttons=(again,))
    link = LinkButton(label=text(locale, "discord.open_thread"), url=address(guild, place))
    return Card(content=text(locale, "discord.handed_over", thread=f"<#{place.thread}>"), buttons=(link,))
