"""Text from people, files, programs and models made inert before it enters an AI input.

Our own labels, fences and notes stand in white square brackets, `⟦ ⟧`. No text from outside can hold one: each is
replaced by a plain bracket. So nothing in a message can end a fence or pass for a label, however providers join
messages. A fence also carries a code that does not occur in what it holds.
"""

import hashlib
import unicodedata

MARK_OPEN, MARK_CLOSE = "⟦", "⟧"
NAME_CHARS = 64
FILE_NAME_CHARS = 120
CODE_DIGITS = 8

_INERT = str.maketrans({MARK_OPEN: "[", MARK_CLOSE: "]", "〚": "[", "〛": "]"})
"""One for one, so that lengths and caps stay true. The second pair looks the same as the first."""

_NAME_BRACKETS = str.maketrans("<[{⟦〚>]}⟧〛", "((((()))))")
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks by category that show nothing."""
_TAGS_FROM = 0xE0000
"""From here on lie tag characters and variation selectors, which show nothing and can spell out hidden text."""


def inert(text: str) -> str:
    """The text without our marks; otherwise unchanged, and of the same length."""
    return text.translate(_INERT)


def clean_name(name: str, *, limit: int = NAME_CHARS) -> str:
    """A name as it may stand in a label: one line, nothing invisible, round brackets only, at most `limit` characters.

    Empty when nothing is left of it.
    """
    visible = "".join(_visible(char) for char in name.translate(_NAME_BRACKETS))
    words = " ".join(unicodedata.normalize("NFC", visible).split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if category in {"Cc", "Zl", "Zp", "Zs"}:
        return " "
    # Format characters turn text around or hide it; surrogates and private ones show nothing.
    return "" if category in {"Cf", "Cs", "Co"} or char in _BLANK or ord(char) >= _TAGS_FROM else char


def fence_code(content: str, *ids: str) -> str:
    """The code of the fence around `content`, from the ids of what it is and a hash of what it holds.

    The same content gives the same code, so that an AI input built again is the same to the byte.
    """
    attempt = 0
    while True:
        seed = "\0".join((*ids, str(attempt), content))
        code = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:CODE_DIGITS]
        if code not in content:
            return code
        attempt += 1
