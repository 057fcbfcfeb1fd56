"""A text of any length in a form: boxes of 3,000 units under one name, cut between lines where that can be. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from bot.slack.block import text_input
from bot.slack.markdown import fit, units

BOX: Final = 3_000
"""What one field of a form of Slack's can hold."""

FULL: Final = 2_000
"""Of a last box, from which on there is an empty one behind it."""

NEXT: Final = "~"
"""Stands before the number of a further box, which holds the lines after those of the one before."""

TORN: Final = "+"
"""Stands after the number of a box that goes on in the middle of a line."""


def pieces(text: str, most: int) -> list[tuple[str, bool]]:
    """The first `most` pieces of a text that fit a box each, and whether one goes on in the middle of a line."""
    found: list[tuple[str, bool]] = []
    torn = False
    while len(text) > BOX or units(text) > BOX:
        if len(found) == most:
            return found
        end = fit(text[: BOX + 1], BOX)
        line = text.rfind("\n", 1, end + 1)
        cut = line if line > 0 else end
        found.append((text[:cut], torn))
        torn = line <= 0
        text = text[cut:] if torn else text[cut + 1 :]
    return [*found, (text, torn)][:most]


def boxes(
    name: str,
    label: str,
    text: str,
    *,
    most: int,
    hint: str = "",
    optional: bool = True,
    more: int = 0,
) -> list[dict[str, Any]]:
    """The boxes of a text, at most `most`; `more` empty ones are added to those that it needs.

    What has no room is left out: `room` says how much there is.
    """
    held = pieces(text, most)
    spare = more + (1 if units(held[-1][0]) > FULL else 0)
    wanted = [*held, *([("", False)] * spare)][:most]
    return [
        text_input(
            name if number == 1 else f"{name}{NEXT}{number}{TORN if torn else ''}",
            label if len(wanted) == 1 else f"{label} ({number}/{len(wanted)})",
            limit=BOX,
            optional=optional or number > 1,
            value=piece,
            hint=hint if number == len(wanted) else "",
            lines=True,
        )
        for number, (piece, torn) in enumerate(wanted, start=1)
    ]


def room(text: str, most: int) -> str:
    """As much of a text as `most` boxes hold."""
    return joined({f"{number}{TORN if torn else ''}": piece for number, piece, torn in _numbered(text, most)})


def _numbered(text: str, most: int) -> list[tuple[int, str, bool]]:
    return [(number, piece, torn) for number, (piece, torn) in enumerate(pieces(text, most), start=1)]


def boxed(values: Mapping[str, str], name: str) -> str:
    """The text that a form holds under a name, out of all its boxes."""
    start = f"{name}{NEXT}"
    mine = {
        block.removeprefix(start) if block != name else "1": value
        for block, value in values.items()
        if block == name or block.startswith(start)
    }
    return joined(mine)


def joined(by_number: Mapping[str, str]) -> str:
    text = ""
    for number in sorted(by_number, key=lambda one: int(one.rstrip(TORN) or 0)):
        piece = by_number[number]
        between = "" if number.endswith(TORN) or not text or not piece else "\n"
        text = f"{text}{between}{piece}"
    return text
