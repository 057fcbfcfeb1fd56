"""Text for Slack: made harmless, cut to size, turned into Slack's own dialect where Markdown is not read. Pure.

Sizes are UTF-16 units, the larger of the two ways in which a limit of characters can be meant.
"""

import re
from dataclasses import dataclass
from typing import Final

JOINER: Final = "\u2060"
"""WORD JOINER: invisible, and breaks what Slack would otherwise read as a mention."""

_REFERENCE: Final = re.compile(
    r"<(?=!(?:channel|here|everyone|subteam|date)\b|@[UWB][A-Z0-9]|#[CGD][A-Z0-9])", re.IGNORECASE
)
_EVERYBODY: Final = re.compile(r"(?<![\w@.])@(?=(?:channel|here|everyone|group)\b)", re.IGNORECASE)
_UNSETTLED: Final = re.compile(r"(?:<[!@#]?[\w^]{0,12}|(?<![\w@.])@\w{0,8})$")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_LONGEST_INFO: Final = 60
"""An opening line longer than this is reopened without its info string, so that repair stays small."""

_JOINED: Final = frozenset("\u200d\ufe0e\ufe0f\u20e3") | {chr(c) for c in range(0x1F3FB, 0x1F400)}
"""Characters that belong to the one before them: joiners, variation selectors, the key cap, skin tones."""


def units(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text) + sum(1 for c in text if c > "\uffff")


def defuse(text: str) -> str:
    """The text with nothing left in it that Slack would read as a mention; it looks the same."""
    return _EVERYBODY.sub(f"@{JOINER}", _REFERENCE.sub(f"<{JOINER}", text))


def settled(text: str) -> str:
    """As much of a text still being written as cannot turn into a mention by what follows."""
    found = _UNSETTLED.search(text)
    return text[: found.start()] if found else text


def escape(text: str) -> str:
    """Text for a field in Slack's own dialect, shown literally and without mentions."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _EVERYBODY.sub(f"@{JOINER}", safe)


def shorten(text: str, limit: int) -> str:
    """At most `limit` units, with an ellipsis where something was cut."""
    return text if units(text) <= limit else text[: fit(text, limit - 1)] + "…"


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` units."""
    return shorten(" ".join(text.split()), limit)


def fit(text: str, limit: int) -> int:
    """The largest index so that the text before it has at most `limit` units and no character is torn."""
    used = index = 0
    for index, c in enumerate(text):  # noqa: B007  used after the loop
        used += 2 if c > "\uffff" else 1
        if used > limit:
            break
    else:
        return len(text)
    while index > 1 and (text[index] in _JOINED or text[index - 1] == "\u200d"):
        index -= 1
    return index


@dataclass(frozen=True, slots=True)
class _Fence:
    start: int
    end: int
    """Where the closing line ends; the length of the text for a fence that was never closed."""
    marker: str
    opening: str


def _fences(text: str) -> list[_Fence]:
    found: list[_Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        marker, info = line[1], line[2].strip()
        if opened is None:
            if marker[0] == "~" or "`" not in info:
                opened = line
        elif marker[0] == opened[1][0] and len(marker) >= len(opened[1]) and not info:
            found.append(_Fence(opened.start(), line.end(), opened[1], opened[0]))
            opened = None
    if opened is not None:
        found.append(_Fence(opened.start(), len(text), opened[1], opened[0]))
    return found


def split(text: str, limit: int) -> list[str]:
    """The text in pieces of at most `limit` units, cut between paragraphs where possible.

    A code fence that a cut goes through is closed before it and opened again, with its language, after it.
    """
    pieces: list[str] = []
    rest = text.strip("\n")
    reopened = 0
    while units(rest) > limit:
        cut, fence = _cut(rest, limit, reopened)
        head, rest = rest[:cut], rest[cut:]
        if fence is None:
            reopened, rest = 0, rest.lstrip("\n")
            pieces.append(head.rstrip())
        else:
            opening = fence.opening if len(fence.opening) <= _LONGEST_INFO else fence.marker
            reopened = len(opening) + 1
            pieces.append(f"{head.rstrip(chr(10))}\n{fence.marker}")
            rest = f"{opening}\n{rest.removeprefix(chr(10))}"
    if rest.strip() or not pieces:
        pieces.append(rest)
    return pieces


def _cut(text: str, limit: int, reopened: int) -> tuple[int, _Fence | None]:
    """Where to cut, and the fence that the cut goes through. Always behind the first `reopened` characters."""
    fences = _fences(text)
    room = fit(text, limit)
    for boundary in ("\n\n", "\n"):
        at = text.rfind(boundary, max(reopened, room // 2), room)
        inside = _around(fences, at)
        if at > 0 and inside is None:
            return at, None
        if inside is not None and inside.start > room // 2:
            return inside.start, None
    inside = _around(fences, room)
    if inside is not None:
        room = fit(text, limit - len(inside.marker) - 1)
    least = max(reopened, room // 2)
    at = max(text.rfind("\n", least, room), -1)
    if at < 0 and inside is None:
        at = max(text.rfind(" ", least, room), text.rfind("。", least, room) + 1 or -1)
    at = at if at > reopened else room
    return at, _around(fences, at)


def _around(fences: list[_Fence], at: int) -> _Fence | None:
    return next((f for f in fences if f.start < at < f.end), None)


_CODE: Final = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^\]\n]*)\]\((https?://[^\s()<>]+)(?: \"[^\"\n]*\")?\)")
_HEADING: Final = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_BOLD: Final = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_STRUCK: Final = re.compile(r"~~(?=\S)(.+?)(?<=\S)~~")
_BULLET: Final = re.compile(r"^( *)[*+-] ", re.MULTILINE)


def to_mrkdwn(text: str) -> str:
    """Markdown in Slack's own dialect, for notifications and for the post of last resort. Made harmless."""
    parts = _CODE.split(text)
    return "".join(escape(part) if i % 2 else _prose(part) for i, part in enumerate(parts))


def _prose(text: str) -> str:
    text = _LINK.sub(lambda m: f"{m[1]} ({m[2]})" if m[1] and m[1] != m[2] else m[2], text)
    text = _BULLET.sub(r"\1• ", escape(text))
    text = _HEADING.sub(lambda m: f"*{_BOLD.sub(_inner, m[1])}*", text)
    # Slack ends bold only before white space or punctuation; a joiner stands in for it.
    text = _BOLD.sub(lambda m: f"{JOINER}*{m[2].strip('*')}*{JOINER}", text)
    return _STRUCK.sub(rf"{JOINER}~\1~{JOINER}", text)


def _inner(bold: re.Match[str]) -> str:
    return bold[2]
