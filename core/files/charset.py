"""Bytes to text, when nobody says which encoding they are in.

Unicode is certain when it decodes. Among older encodings several decode the same bytes, so kana decide for the Japanese
ones, which general detection takes for Korean or Chinese; for the rest general detection decides.
"""

import codecs
import re

from charset_normalizer import from_bytes

_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u30fc]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
MIN_KANA_SHARE = 0.1
"""Of the characters beyond ASCII. Japanese prose has about half; other languages read as Japanese have next to none."""

# Of encodings that fit equally well the one named first is taken.
_OTHERS = ["cp1252", "cp932", "gb18030", "big5", "cp949", "cp1251", "cp1250", "cp1253", "cp1254"]

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
"""What text does not hold; tab, line ends, form feed and the escape of terminal colours may stand."""

MAX_CONTROL_SHARE = 0.005
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def decode(data: bytes) -> str | None:
    """The text of `data` with line ends as newlines; None when it is not text. Slow for large data: use a thread."""
    text = _decoded(data)
    if text is None or len(_CONTROL.findall(text)) > MAX_CONTROL_SHARE * len(text):
        return None
    return clean(text)


def clean(text: str) -> str:
    """`text` as every database and every model takes it: no NUL, no half of a surrogate pair, newlines as line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return _SURROGATE.sub("\ufffd", text)


def _decoded(data: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict(data, encoding)
    text = _strict(data, "utf-8")
    # Seven-bit Japanese is valid ASCII too; its shift sequences give it away.
    if text is not None and "\x1b$" not in text:
        return text
    return _japanese(data) or text or _by_statistics(data)


def _japanese(data: bytes) -> str | None:
    if b"\x1b$" in data:
        return _strict(data, "iso2022_jp_2")
    for encoding in ("euc_jp", "cp932"):
        text = _strict(data, encoding)
        if text and len(_KANA.findall(text)) >= MIN_KANA_SHARE * len(_NOT_ASCII.findall(text)):
            return text
    return None


def _by_statistics(data: bytes) -> str | None:
    matches = from_bytes(data, cp_isolation=_OTHERS)
    best = matches.best()
    if best is None:
        return None
    equals = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    return str(min(equals, key=lambda match: _OTHERS.index(match.encoding)))


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeError:
        return None
