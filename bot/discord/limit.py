"""Limits of Discord. Numbers are those of its API documentation of August 2026, unless another source is named."""

from typing import Final

PLATFORM: Final = "discord"

CONTENT: Final = 2_000
"""Characters of one message of a bot, counted like UTF-16 so that no way of counting finds more."""

PARTS: Final = 3
"""An answer that needs more messages than this is attached as a file."""

THREAD_NAME: Final = 90
"""Discord allows 100; how it counts characters outside the basic plane is not documented."""

ROWS: Final = 5
BUTTONS_PER_ROW: Final = 5
LABEL: Final = 80
CUSTOM_ID: Final = 100
URL: Final = 512
OPTIONS: Final = 25
OPTION_TEXT: Final = 100
PLACEHOLDER: Final = 150
FORM_TITLE: Final = 45
FORM_FIELDS: Final = 5
FIELD_LABEL: Final = 45
FIELD_VALUE: Final = 4_000
OPTION_VALUE: Final = 6_000
CHOICES: Final = 25
CHOICE_TEXT: Final = 100
ALTERNATIVE: Final = 1_024
FILE_BYTES: Final = 10 * 1024 * 1024
COMMANDS: Final = 100
MESSAGE_MENUS: Final = 5
COMMAND_CHARS: Final = 8_000


def size(text: str) -> int:
    """Length as Discord's clients count it: a character outside the basic plane counts twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def head(text: str, limit: int) -> str:
    """The beginning of a text of at most `limit` units, never half a character."""
    if size(text) <= limit:
        return text
    kept, used = 0, 0
    for character in text:
        used += 2 if character > "\uffff" else 1
        if used > limit:
            break
        kept += 1
    return text[:kept]
