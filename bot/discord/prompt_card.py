"""Prompts as cards of Discord that only their reader sees: lists, texts, versions, history, processes. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bot.discord.adoption_card import fitting
from bot.discord.card import Card, Menu, Option, PressButton, TextFile
from bot.discord.difference import block, difference
from bot.discord.limit import CONTENT, CUSTOM_ID, OPTION_TEXT, OPTIONS, PLACEHOLDER, head, size
from bot.discord.render import plain
from bot.discord.reply import fitted
from bot.prompt_act import Seen
from bot.prompt_outline import (
    PARTS,
    event_line,
    history_document,
    item_facts,
    page_lines,
    part_title,
    parts_document,
    status_lines,
    version_lines,
    version_title,
)
from core.domain.artifact import diff
from core.domain.errors import Refusal
from core.domain.prompt import (
    PartChange,
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

ALL: Final = "-"
"""In place of the words of an ASK that asks for the list."""

FACTS: Final = 90
LINE: Final = 400
PART: Final = 120
"""Units of a part that its page shows; the file holds all of it."""

LEAST: Final = 120
"""Units below which what changed in a part is left to the file."""

NOTES: Final = 20
"""Units of the marks around a few notes."""


def inert(words: str) -> str:
    """Several lines in which people's words may stand, each cut to its room."""
    return "\n".join(plain(line, LINE) for line in words.splitlines())


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


def refused_card(name: str, sentence: str, typed: str, locale: str) -> Card:
    """Why something was not done, with the way back and what was typed."""
    kept = TextFile(name="typed.md", text=typed) if typed.strip() else None
    return Card(content=head(f"⚠️ {inert(sentence)}", CONTENT), buttons=(back(name, locale),), file=kept)


# --- one prompt -----------------------------------------------------------------------------------------------------


def page_card(page: PromptPage, locale: str, sentence: str = "") -> Card:
    """A prompt: how it stands, its parts, its versions. The file holds every part to the letter."""
    name = page.item.name
    shown = f" · {page.shown.version}" if page.shown else ""
    lines = [f"**{plain(name)}**{shown}", *([f"**{inert(sentence)}**"] if sentence else [])]
    lines += [plain(line, LINE) for line in page_lines(page, locale)]
    for file in (one for one in PARTS if one in page.files):
        words = page.files[file]
        count = text(locale, "chat_prompts.chars", file=file, count=f"{len(words):,}")
        lines += [f"**{part_title(file, locale)}** · {count}", f"> {plain(words, PART) or '–'}"]
    notes = [text(locale, "discord.prompt_in_file")]
    if len(page.versions) > OPTIONS:
        notes.append(text(locale, "chat_prompts.older", name=name))
    history = PressButton(label=text(locale, "console.prompt_history"), action=HISTORY, ref=name)
    version = page.shown.version if page.shown else ""
    return Card(
        content=_noted(lines, notes),
        buttons=(history, back("", locale)),
        menu=_versions(page, locale),
        file=_parts(name, version, page, locale),
    )


def _noted(lines: Sequence[str], notes: Sequence[str]) -> str:
    """The lines as far as they have room above notes, which always stand whole."""
    below = "\n".join(f"-# {note}" for note in notes)
    return f"{head(chr(10).join(lines), CONTENT - size(below) - 1)}\n{below}"


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


def _parts(name: str, version: str, page: PromptPage, locale: str) -> TextFile:
    title = f"{name} {version}".strip()
    return TextFile(name=f"{name}.md", text=fitting(parts_document(title, page.files), locale))


def history_card(name: str, events: Sequence[PromptEventView], locale: str) -> Card:
    """What was done to a prompt, newest first; the file holds every text before and after."""
    lines = [f"**{text(locale, 'console.prompt_history_of', name=plain(name))}**"]
    if not events:
        lines.append(text(locale, "console.prompt_history_empty"))
        return Card(content="\n".join(lines), buttons=(back(name, locale),))
    note = text(locale, "discord.prompt_history_in_file", count=len(events))
    lines += [f"- {plain(event_line(one, locale), LINE)}" for one in events]
    document = history_document(name, events, locale)
    return Card(
        content=_noted(lines, [note]),
        buttons=(back(name, locale),),
        file=TextFile(name="history.md", text=fitting(document, locale)),
    )


def version_card(seen: Seen, page: PromptPage, locale: str) -> Card:
    """A version: who, when, why, and what it changed. `page` holds its parts, which stand whole in the file.

    Compares texts: not on the event loop.
    """
    name, version = seen.page.item.name, seen.version
    found = changed(seen.changes, locale)
    lines = [f"**{plain(name)}**", *(plain(line, LINE) for line in version_lines(version, locale))]
    notes = [text(locale, "discord.prompt_in_file")]
    room = CONTENT - size("\n".join((*lines, *notes))) - NOTES
    return Card(
        content=_noted([*lines, *change_blocks(found, room, locale)], notes),
        buttons=(back(name, locale),),
        file=_parts(name, version.version, page, locale),
        also=changes_file(found, locale),
    )


# --- what changed ---------------------------------------------------------------------------------------------------

Changed = tuple[str, list[str]]
"""A part and a line for each row of its difference."""


def changed(found: Sequence[PartChange], locale: str) -> list[Changed]:
    """What changed in each part. Compares texts: not on the event loop."""
    return [(one.file, difference(diff(one.before, one.after), locale)) for one in found]


def change_blocks(found: Sequence[Changed], room: int, locale: str) -> list[str]:
    """What changed in each part as far as there is room, shared out evenly; whole in the file."""
    lines: list[str] = []
    for place, (file, rows) in enumerate(found):
        title = f"**{part_title(file, locale)}**"
        share = room // (len(found) - place) - size(title) - 2
        shown = block(rows, share) if share > LEAST else ""
        if shown:
            lines += [title, shown]
            room -= size(title) + size(shown) + 2
    return lines


def changes_file(found: Sequence[Changed], locale: str) -> TextFile | None:
    """What changed in each part, whole; None where nothing did."""
    if not found:
        return None
    whole = "\n\n".join("\n".join((f"--- {file}", *rows)) for file, rows in found)
    return TextFile(name="changes.diff", text=fitting(f"{whole}\n", locale))


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
