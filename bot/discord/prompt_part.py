"""Parts of prompts as people see them on Discord: whole in a file, and what changed as far as there is room. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.discord.adoption_card import fitting
from bot.discord.card import TextFile
from bot.discord.difference import block, difference
from bot.discord.limit import CONTENT, head, size
from bot.discord.render import plain
from bot.prompt_outline import part_title, parts_document
from core.domain.artifact import diff
from core.domain.prompt import PartChange
from core.i18n import text

LINE: Final = 400
LEAST: Final = 120
"""Units below which what changed in a part is left to the file."""

Changed = tuple[str, list[str]]
"""A part's title and a line for each row of its difference."""


def changed(found: Sequence[PartChange], locale: str) -> list[Changed]:
    """What changed in each part. Compares texts: not on the event loop."""
    return [(part_title(one.file, locale), difference(diff(one.before, one.after), locale)) for one in found]


def change_blocks(found: Sequence[Changed], room: int) -> list[str]:
    """What changed in each part as far as there is room, shared out evenly; whole in the file."""
    lines: list[str] = []
    for place, (part, rows) in enumerate(found):
        title = f"**{part}**"
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
    whole = "\n\n".join("\n".join((f"--- {part}", *rows)) for part, rows in found)
    return TextFile(name="changes.diff", text=fitting(f"{whole}\n", locale))


def inert(words: str) -> str:
    """Several lines in which people's words may stand, each cut to its room."""
    return "\n".join(plain(line, LINE) for line in words.splitlines())


def noted(lines: Sequence[str], notes: Sequence[str], found: Sequence[Changed] = ()) -> str:
    """The lines, and what changed, as far as they have room above notes, which always stand whole."""
    below = "\n".join(f"-# {note}" for note in notes)
    above = head("\n".join(lines), CONTENT - size(below) - 1)
    room = CONTENT - size(below) - size(above) - 2
    return "\n".join((above, *change_blocks(found, room), below))


def whole_note(found: Sequence[Changed], locale: str) -> str:
    """Where a text stands whole, and what changed in it."""
    return text(locale, "discord.prompt_change_in_file" if found else "discord.prompt_in_file")


def parts_file(title: str, files: Mapping[str, str], locale: str, *, name: str) -> TextFile:
    """Every part of a text to the letter."""
    return TextFile(name=f"{name}.md", text=fitting(parts_document(title, files), locale))
