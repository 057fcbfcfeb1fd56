"""Drafts of prompts as cards of Discord, and what stands against a change, with the way on. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from bot.discord.card import Card, PressButton, TextFile
from bot.discord.limit import CONTENT, head
from bot.discord.prompt_card import MOVE, back, edits
from bot.discord.prompt_form import aim_of
from bot.discord.prompt_part import LINE, Changed, changed, changes_file, inert, noted, parts_file, whole_note
from bot.discord.render import plain
from bot.prompt_act import Drafted, Move
from bot.prompt_outline import PARTS, check_lines, overtaken
from core.domain.prompt import PartChange
from core.i18n import text

JOIN: Final = "pr_join"
DROP: Final = "pr_drop"
ASK_SAVE: Final = "pr_ask_save"

TYPED: Final = "typed.md"
"""The file in which what was typed comes back, and out of which the next form begins with it."""


def draft_card(drafted: Drafted, locale: str, sentence: str = "", typed: str = "") -> Card:
    """A draft: what it changes, what is known about it, and the way to save it, where it can be saved.

    `typed` is a reason that was given in vain. Compares texts: not on the event loop.
    """
    page, name = drafted.page, drafted.text.name
    lines = [f"**{text(locale, 'chat_prompts.draft_title', name=plain(name))}**"]
    lines += [_warning(sentence)] if sentence else []
    mine = changed(drafted.check.changes, locale)
    if page.draft is not None and overtaken(page):
        theirs = [PartChange(file=one.file, before=one.base, after=one.theirs) for one in page.draft.stale]
        found = _titled(changed(theirs, locale), "console.prompt_theirs", locale)
        found += _titled(mine, "chat_prompts.mine", locale)
        lines.append(text(locale, "console.prompt_draft_stale"))
    else:
        found = mine
        lines += [plain(line, LINE) for line in check_lines(drafted.check, locale)]
    title = text(locale, "chat_prompts.draft_title", name=name)
    return Card(
        content=noted(lines, [whole_note(found, locale)], found),
        buttons=tuple(_draft_buttons(drafted, locale)),
        file=parts_file(title, drafted.text.files, locale, name="draft"),
        also=_typed(typed) or changes_file(found, locale),
    )


def _titled(found: Sequence[Changed], key: str, locale: str) -> list[Changed]:
    """What changed, each part with whose change it is."""
    return [(f"{text(locale, key)} {title}", rows) for title, rows in found]


def _draft_buttons(drafted: Drafted, locale: str) -> Iterator[PressButton]:
    page, check, name = drafted.page, drafted.check, drafted.text.name
    if overtaken(page):
        yield PressButton(label=text(locale, "chat_prompts.join"), action=JOIN, ref=name, strong=True)
    else:
        yield from edits(name, [one.file for one in check.changes if one.file in PARTS], locale)
        if check.changed and not check.problems:
            yield ask_save(name, text(locale, "discord.prompt_save"))
    yield PressButton(label=text(locale, "console.prompt_draft_drop"), action=DROP, ref=name)
    yield back(name, locale)


def refused_card(name: str, sentence: str, typed: str, locale: str) -> Card:
    """Why something was not done, with the way back and what was typed."""
    return Card(content=_warning(sentence), buttons=(back(name, locale),), file=_typed(typed))


# --- what stands against a change ---------------------------------------------------------------------------------


def once_more_card(name: str, again: PressButton, sentence: str, typed: str, locale: str) -> Card:
    """What stands against something that may be asked for once more, with the button that does."""
    return Card(content=_warning(sentence), buttons=(again, back(name, locale)), file=_typed(typed))


def ask_save(name: str, label: str, *, acknowledged: bool = False) -> PressButton:
    """Opens the form that saves a draft; `acknowledged` in the knowledge of why a text like it was withdrawn."""
    return PressButton(
        label=label, action=ASK_SAVE, ref=f"{name}:{'a' if acknowledged else '-'}", strong=True
    )


def ask_move(move: Move, label: str) -> PressButton:
    """Opens the form of a move once more."""
    return PressButton(label=label, action=MOVE, ref=aim_of(move).ref, strong=True)


def _warning(sentence: str) -> str:
    return head(f"⚠️ {inert(sentence)}", CONTENT)


def _typed(words: str) -> TextFile | None:
    return TextFile(name=TYPED, text=words) if words.strip() else None
