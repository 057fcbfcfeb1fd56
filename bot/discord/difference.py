"""What changed between two texts, as people read it. Pure."""

from collections.abc import Sequence
from typing import Final

from bot.discord.limit import size
from core.domain.artifact import Change, DiffRow
from core.i18n import text

SIGNS: Final = {Change.SAME: "  ", Change.REMOVED: "- ", Change.ADDED: "+ "}


def difference(rows: Sequence[DiffRow], locale: str) -> list[str]:
    """A line for each row: `+` for what is new, `-` for what is gone."""
    return [
        f"@@ {text(locale, 'discord.lines_unchanged', count=row.count)} @@"
        if row.change is Change.SKIPPED
        else SIGNS[row.change] + row.text
        for row in rows
    ]


def block(lines: Sequence[str], room: int) -> str:
    """The lines as a block that Discord colours, as many as fit; empty when not even one does."""
    shown: list[str] = []
    left = room - len("```diff\n\n```")
    for line in lines:
        # A fence within would end the block.
        inert = line.replace("```", "`\u200b``")
        left -= size(inert) + 1
        if left < 0:
            break
        shown.append(inert)
    return "\n".join(("```diff", *shown, "```")) if shown else ""
