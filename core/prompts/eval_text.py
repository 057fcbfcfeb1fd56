"""What conditions look for in texts: numbers, dates, links, mentions, quotes, bullets, the language, likeness.

All of it is plain reading by pattern, in English and Japanese.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal

JAPANESE_SHARE = 0.3
"""Least share of Japanese letters without names and code; 0.5 refused good answers that name many models."""
FOREIGN_SHARE = 0.1
"""Most Japanese letters in an English text."""
GRAM = 3


def plain(text: str) -> str:
    """The text as texts are compared: NFKC, lower case, numbers without commas, one blank for many."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_COMMA.sub("", folded).split())


_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

# --- numbers --------------------------------------------------------------------------------------------------------

_KANJI: Mapping[str, int] = {char: value for value, char in enumerate("〇一二三四五六七八九")} | {"零": 0}
_TENS: Mapping[str, int] = {"十": 10, "百": 100, "千": 1000}
_MYRIADS: Mapping[str, int] = {"万": 10**4, "億": 10**8, "兆": 10**12}
_ENGLISH: Mapping[str, int] = {"k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6, "billion": 10**9}
_COUNTED = "円人名件年月日個社回台本倍割歳票点項章週つ"

_LIST_MARK = re.compile(r"^[ \t]*(?:\d{1,2}[.)、](?:[ \t]+|(?=[^\d\s]))|\(\d{1,2}\)[ \t]*)", re.MULTILINE)
"""The number of a list item with its mark, and nothing of the item: what follows may be a number itself."""
_CIRCLED = re.compile("[①-⑳⓪❶-❿]")

_NUMBER = re.compile(
    r"(?P<digits>\d+(?:\.\d+)?(?:[十百千万億兆][\d.〇一二三四五六七八九十百千万億兆]*)?)"
    r"(?:[ ]?(?P<scale>k|thousand|m|million|billion)(?![a-z]))?"
    r"|(?P<kanji>[一二三四五六七八九十百千][〇零一二三四五六七八九十百千万億兆]*)(?P<unit>.?)",
)


def numbers(text: str) -> frozenset[Decimal]:
    """Every number in a text without its dates: 三十万円, 30万円 and 300,000 yen are the same one."""
    bare = _LIST_MARK.sub(" ", unicodedata.normalize("NFKC", _CIRCLED.sub(" ", text)).casefold())
    bare = _COMMA.sub("", _DATE.sub(" ", bare))
    return frozenset(value for match in _NUMBER.finditer(bare) for value in _values(match))


_WORDS: Mapping[str, int] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_WORD_OF_NUMBER = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")


def given_numbers(text: str) -> frozenset[Decimal]:
    """Every number that a source gives, however: also as a word, as a lone 一, or as a part of a date."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = {Decimal(_WORDS[word]) for word in _WORD_OF_NUMBER.findall(folded)}
    lone = {Decimal(_KANJI[char]) for char in folded if char in _KANJI}
    parts = {Decimal(part) for day in dates(text) for part in day if part is not None}
    return numbers(text) | words | lone | parts


def _values(match: re.Match[str]) -> Iterator[Decimal]:
    if match["digits"]:
        yield _read(match["digits"]) * _ENGLISH.get(match["scale"] or "", 1)
    elif _is_counted(match["kanji"], match["unit"]):
        yield _read(match["kanji"])


def _is_counted(kanji: str, unit: str) -> bool:
    """一方, 十分 and 千葉 are words; 三十万 and 五人 are numbers. A lone 一 is nearly always part of a word."""
    if len(kanji) > 1:
        return any(char in _KANJI for char in kanji) or unit in _COUNTED
    return kanji != "一" and unit != "" and unit in _COUNTED


def _read(text: str) -> Decimal:
    total = section = Decimal(0)
    digits = ""
    for char in text:
        if char.isdecimal() or char == ".":
            digits += char
        elif char in _KANJI:
            digits += str(_KANJI[char])
        elif char in _TENS:
            section += _decimal(digits or "1") * _TENS[char]
            digits = ""
        else:
            total += (section + _decimal(digits or ("0" if section else "1"))) * _MYRIADS[char]
            section, digits = Decimal(0), ""
    return total + section + _decimal(digits or "0")


def _decimal(digits: str) -> Decimal:
    """Digits as they stand; of `1.2.3` only the first two levels are a number."""
    whole, _, rest = digits.partition(".")
    return Decimal(f"{whole or 0}.{rest.partition('.')[0] or 0}").normalize()


# --- dates ----------------------------------------------------------------------------------------------------------

Day = tuple[int | None, int | None, int | None]
"""Year, month, day; None for what a text leaves out."""

_MONTHS: Mapping[str, int] = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    r"(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})(?!\d)"
    r"|(?:(?P<era>令和)?(?P<y2>\d{1,4})年)?(?P<m2>\d{1,2})月(?:(?P<d2>\d{1,2})日)?"
    r"|(?P<m3>(?<![\d/])\d{1,2})/(?P<d3>\d{1,2})(?![\d/])"
    rf"|\b(?P<m4>{_MONTH})[ ](?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?[ ](?P<y4>\d{{4}}))?"
    rf"|(?<!\d)(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?[ ](?P<m5>{_MONTH})(?![a-z])(?:,?[ ](?P<y5>\d{{4}}))?"
)
_REIWA = 2018


def dates(text: str) -> frozenset[Day]:
    """Every date in a text: 2026年3月31日, 2026/3/31 and 31 March 2026 are the same one."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return frozenset(day for match in _DATE.finditer(folded) if (day := _day(match)) is not None)


def _day(match: re.Match[str]) -> Day | None:
    year, month, day = (
        next((value for name in names if (value := match[name])), None)
        for names in (
            ("y1", "y2", "y4", "y5"),
            ("m1", "m2", "m3", "m4", "m5"),
            ("d1", "d2", "d3", "d4", "d5"),
        )
    )
    years = int(year) + (_REIWA if match["era"] else 0) if year else None
    months = (_MONTHS[month[:3]] if month[:1].isalpha() else int(month)) if month else None
    days = int(day) if day else None
    return (years, months, days) if 1 <= (months or 1) <= 12 and 1 <= (days or 1) <= 31 else None


def is_given(wanted: Day, given: frozenset[Day]) -> bool:
    """Whether a date says nothing that none of the given ones says."""
    return any(
        all(mine is None or mine == theirs for mine, theirs in zip(wanted, day, strict=True)) for day in given
    )


def written(day: Day) -> str:
    return "-".join("?" if part is None else f"{part:02}" for part in day)


# --- links, mentions, quotes ----------------------------------------------------------------------------------------

_URL = re.compile(r"https?://[^\s<>\"'`()（）「」『』、。，]+")
_MENTION = re.compile(r"<[@#][!&]?\w+>|(?<![\w.])@[\w][\w.-]*|\[[A-Z][A-Z_]*_[0-9a-f]{4}\]")
_QUOTE = re.compile(
    r"“([^“”\n]{2,2000})”|「([^「」\n]{2,2000})」|『([^『』\n]{2,2000})』|\"([^\"\n]{2,2000})\""
)


def urls(text: str) -> frozenset[str]:
    return frozenset(url.rstrip(".,;:!?*_]") for url in _URL.findall(text))


def mentions(text: str) -> frozenset[str]:
    """People and masked data by their marks: `@aoi`, `<@U024BE7LH>`, `[PHONE_e088]`."""
    return frozenset(found.rstrip(".-") for found in _MENTION.findall(text))


def quotes(text: str) -> tuple[str, ...]:
    """What stands between quotation marks, in order."""
    return tuple(next(filter(None, found)) for found in _QUOTE.findall(text))


# --- form -----------------------------------------------------------------------------------------------------------

_BULLET = re.compile(
    r"^[ \t]*(?:[-*+•・●○◦‣][ \t]*(?=[^\s*-])|\d{1,2}[.)．）][ \t]*(?=\D)|[①-⑳])", re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


def bullets(text: str) -> int:
    """Lines that begin with a mark of a list: `-`, `*`, `•`, `・`, `①`, `1.`."""
    return len(_BULLET.findall(text))


def sections(text: str) -> tuple[str, ...]:
    """Markdown headings in order."""
    return tuple(heading.strip() for heading in _HEADING.findall(text))


# --- language -------------------------------------------------------------------------------------------------------

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.+#-]*")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc\uff66-\uff9d]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff々]")


def language(text: str, source: str) -> str:
    """`ja`, `en`, `other`; empty when nothing is left without links, code and words of the source.

    Kana tell Japanese from Chinese.
    """
    known = {word.casefold() for word in _WORD.findall(source)}
    bare = _CODE.sub(" ", _URL.sub(" ", text))
    japanese_only = _WORD.sub(lambda word: "" if word[0].casefold() in known else word[0], bare)
    kana, han = len(_KANA.findall(bare)), len(_HAN.findall(bare))
    left = sum(char.isalpha() for char in japanese_only)
    if kana and (kana + han) / left >= JAPANESE_SHARE:
        return "ja"
    # Words of an English source are the answer's own words as well: for English all letters count.
    letters = sum(char.isalpha() for char in bare)
    latin = sum(char.isascii() and char.isalpha() for char in bare)
    if not letters:
        return ""
    return "en" if (letters - latin) / letters <= FOREIGN_SHARE else "other"


# --- likeness -------------------------------------------------------------------------------------------------------


def likeness(one: str, other: str) -> float:
    """How alike two texts are, 0 to 1: the share of runs of three characters that they have in common."""
    first, second = _grams(one), _grams(other)
    total = first.total() + second.total()
    return 1.0 if not total else 2 * (first & second).total() / total


def _grams(text: str) -> Counter[str]:
    folded = plain(text)
    return Counter(
        folded[place : place + GRAM] for place in range(max(len(folded) - GRAM + 1, min(len(folded), 1)))
    )
