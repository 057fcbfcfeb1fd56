"""Prompts as cards of Discord that only their reader sees: lists, texts, versions, history, processes. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from bot.discord.adoption_card import fitting
from bot.discord.card import Card, Menu, Option, PressButton, TextFile
from bot.discord.eval_card import LIST as EVALS
from bot.discord.limit import CUSTOM_ID, LABEL, OPTION_TEXT, OPTIONS, PLACEHOLDER, head, size
from bot.discord.prompt_form import Aim, edit_ref, short
from bot.discord.prompt_part import LINE, changed, changes_file, inert, noted, parts_file, whole_note
from bot.discord.render import plain
from bot.discord.reply import fitted
from bot.prompt_act import Seen, move_means, move_title
from bot.prompt_outline import (
    PARTS,
    event_line,
    history_document,
    item_facts,
    overtaken,
    page_lines,
    part_title,
    status_lines,
    version_lines,
    version_title,
)
from core.domain.errors import Refusal
from core.domain.prompt import (
    PromptEventView,
    PromptItem,
    PromptPage,
    PromptStatus,
    PromptVersionView,
)
from core.i18n import text

ASK: Final = "pr_ask"
"""Stands under a public post: whoever presses it gets a card of their own."""

LIST: Final = "pr_list"
FIND: Final = "pr_find"
PAGE: Final = "pr_page"
VERSION: Final = "pr_version"
HISTORY: Final = "pr_history"
STATUS: Final = "pr_status"
RELOAD: Final = "pr_reload"
EDIT: Final = "pr_edit"
DRAFT: Final = "pr_draft"
MOVE: Final = "pr_move"

ALL: Final = "-"
"""In place of the words of an ASK that asks for the list."""

FACTS: Final = 90
PART: Final = 120
"""Units of a part that its page shows; the file holds all of it."""


# --- asked for where everyone reads it ------------------------------------------------------------------------------


def offered_card(words: str, locale: str) -> Card:
    """What stands in a thread after `prompts`: prompts are for members, so each presses for themselves.

    Raises Refusal for a name longer than any.
    """
    ref = "/".join(words.split()) or ALL
    button = PressButton(label=text(locale, "chat_prompts.open"), action=ASK, ref=ref)
    if size(button.custom_id) > CUSTOM_ID:
        raise Refusal("prompt_not_found", name=plain(words))
    return Card(content=text(locale, "discord.prompts_private"), buttons=(button,))


def words_of(ref: str) -> str:
    """What was typed after `prompts`, out of the ref of an ASK."""
    return "" if ref == ALL else ref.replace("/", " ")


# --- the list -------------------------------------------------------------------------------------------------------


def prompts_card(items: Sequence[PromptItem], page: int, opening: str, locale: str) -> Card:
    """A page of the prompts with a menu that opens one. `opening` names the one reload that may come of the card."""
    last = (len(items) - 1) // OPTIONS
    page = max(0, min(page, last))
    here = items[page * OPTIONS : (page + 1) * OPTIONS]
    lines = [f"**{text(locale, 'console.prompts')}**", f"-# {text(locale, 'console.prompts_mean')}"]
    lines += [f"- **{plain(one.name)}** · {plain(item_facts(one, locale), FACTS)}" for one in here]
    options = tuple(
        Option(
            label=head(one.name, OPTION_TEXT),
            value=one.name,
            description=head(item_facts(one, locale), OPTION_TEXT),
        )
        for one in here
    )
    placeholder = head(text(locale, "discord.prompt_choose"), PLACEHOLDER)
    turns = (("discord.page_before", page - 1), ("discord.page_after", page + 1))
    return replace(
        fitted(lines, locale, file="prompts.md"),
        menu=Menu(placeholder=placeholder, action=FIND, ref=LIST, options=options),
        buttons=(
            *(
                PressButton(label=text(locale, key), action=LIST, ref=str(number))
                for key, number in turns
                if 0 <= number <= last
            ),
            PressButton(label=text(locale, "console.prompt_processes"), action=STATUS, ref=opening),
            _reload(opening, locale),
        ),
    )


def status_card(status: PromptStatus, opening: str, locale: str, first: str = "") -> Card:
    """Which process has loaded what."""
    title = first or text(locale, "console.prompt_processes")
    lines = [f"**{title}**", *(plain(line, LINE) for line in status_lines(status, locale))]
    return replace(
        fitted(lines, locale, file="processes.md"), buttons=(_reload(opening, locale), back("", locale))
    )


def _reload(opening: str, locale: str) -> PressButton:
    return PressButton(label=text(locale, "console.prompts_reload"), action=RELOAD, ref=opening)


def back(name: str, locale: str) -> PressButton:
    """The way back to a prompt, or to all of them."""
    if name:
        return PressButton(label=text(locale, "chat_prompts.back"), action=PAGE, ref=name)
    return PressButton(label=text(locale, "chat_prompts.all"), action=LIST, ref="0")


# --- one prompt -----------------------------------------------------------------------------------------------------


def page_card(page: PromptPage, locale: str, sentence: str = "") -> Card:
    """A prompt: how it stands, its parts, its versions. The file holds every part to the letter."""
    name = page.item.name
    shown = f" · {page.shown.version}" if page.shown else ""
    lines = [f"**{plain(name)}**{shown}", *([f"**{inert(sentence)}**"] if sentence else [])]
    lines += [plain(line, LINE) for line in page_lines(page, locale)]
    if page.draft is not None:
        stale = [text(locale, "console.prompt_draft_stale")] if overtaken(page) else []
        at = f"{page.draft.updated_at:%Y-%m-%d %H:%M}"
        lines.append(" ".join((text(locale, "chat_prompts.draft_of", at=at), *stale)))
    for file in (one for one in PARTS if one in page.files):
        words = page.files[file]
        count = text(locale, "chat_prompts.chars", file=file, count=f"{len(words):,}")
        lines += [f"**{part_title(file, locale)}** · {count}", f"> {plain(words[: 4 * PART], PART) or '–'}"]
    notes = [text(locale, "discord.prompt_in_file")]
    if len(page.versions) > OPTIONS:
        notes.append(text(locale, "chat_prompts.older", name=name))
    if page.can_edit:
        notes.append(text(locale, "discord.prompt_edit_means"))
    version = page.shown.version if page.shown else ""
    return Card(
        content=noted(lines, notes),
        buttons=tuple(_page_buttons(page, locale)),
        menu=_versions(page, locale),
        file=parts_file(f"{name} {version}".strip(), page.files, locale, name=name),
    )


def _page_buttons(page: PromptPage, locale: str) -> Iterator[PressButton]:
    name = page.item.name
    if page.can_edit:
        yield from edits(name, [file for file in PARTS if file in page.files], locale)
    if page.draft is not None:
        label = text(locale, "chat_prompts.draft_see")
        yield PressButton(label=label, action=DRAFT, ref=name, strong=True)
    yield PressButton(label=text(locale, "console.prompt_history"), action=HISTORY, ref=name)
    if page.item.eval_set:
        yield PressButton(label=text(locale, "console.evals"), action=EVALS, ref=name)
    yield back("", locale)


def edits(name: str, files: Sequence[str], locale: str) -> Iterator[PressButton]:
    """A button for each part that opens its form."""
    for file in files:
        label = head(text(locale, "discord.prompt_edit", part=part_title(file, locale)), LABEL)
        yield PressButton(label=label, action=EDIT, ref=edit_ref(name, file))


def _versions(page: PromptPage, locale: str) -> Menu | None:
    options = tuple(
        Option(
            label=head(version_title(one, locale), OPTION_TEXT),
            value=one.version_id,
            description=head(" ".join(one.reason.split()), OPTION_TEXT),
        )
        for one in page.versions[:OPTIONS]
    )
    placeholder = head(text(locale, "chat_prompts.version_choose"), PLACEHOLDER)
    if not options:
        return None
    return Menu(placeholder=placeholder, action=VERSION, ref=page.item.name, options=options)


def history_card(name: str, events: Sequence[PromptEventView], locale: str) -> Card:
    """What was done to a prompt, newest first; the file holds every text before and after.

    Measures long texts: not on the event loop.
    """
    lines = [f"**{text(locale, 'console.prompt_history_of', name=plain(name))}**"]
    if not events:
        lines.append(text(locale, "console.prompt_history_empty"))
        return Card(content="\n".join(lines), buttons=(back(name, locale),))
    note = text(locale, "discord.prompt_history_in_file", count=len(events))
    lines += [f"- {plain(event_line(one, locale), LINE)}" for one in events]
    document = history_document(name, events, locale)
    return Card(
        content=noted(lines, [note]),
        buttons=(back(name, locale),),
        file=TextFile(name="history.md", text=fitting(document, locale)),
    )


def version_card(seen: Seen, page: PromptPage, locale: str) -> Card:
    """A version: who, when, why, what it changed, and what its reader can do with it. The file holds `page`, its parts.

    Compares texts: not on the event loop.
    """
    name, version = seen.page.item.name, seen.version
    found = changed(seen.changes, locale)
    lines = [f"**{plain(name)}**", *(plain(line, LINE) for line in version_lines(version, locale))]
    titles = {kind: move_title(kind, version, locale) for kind in seen.moves}
    notes = [
        f"**{title}**: {' '.join(move_means(kind, seen.page, version, locale))}"
        for kind, title in titles.items()
    ]
    notes.append(whole_note(found, locale))
    aims = {kind: Aim(name=name, kind=kind, version=short(version.version_id)) for kind in seen.moves}
    wanted = [
        PressButton(label=head(title, LABEL), action=MOVE, ref=aims[kind].ref)
        for kind, title in titles.items()
    ]
    return Card(
        content=noted(lines, notes, found),
        buttons=(*wanted, back(name, locale)),
        file=parts_file(f"{name} {version.version}", page.files, locale, name=name),
        also=changes_file(found, locale),
    )


# --- suggestions ----------------------------------------------------------------------------------------------------


def suggested(items: Sequence[PromptItem], locale: str) -> list[tuple[str, str]]:
    """Prompts as they are suggested while one types, and their names."""
    return [(f"{one.name} · {item_facts(one, locale)}", one.name) for one in items]


def suggested_versions(
    name: str, versions: Sequence[PromptVersionView], locale: str
) -> list[tuple[str, str]]:
    """Versions of a prompt as they are suggested, the newest of each number."""
    newest = {one.version: one for one in reversed(versions)}
    return [
        (f"{name} {version_title(one, locale)}", f"{name} {number}")
        for number, one in reversed(newest.items())
    ]
