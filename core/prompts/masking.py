"""Personal data in eval cases and outputs, replaced before anything is stored or sent (spec §10).

What is found becomes a token such as `[PHONE_e088]`, by a key of the workspace: the same number in three notations
gives the same token, so that conditions about it can still be checked, and nothing leads back from the token. Text is
looked at folded to plain width, character by character, so that places stay those of the text as it was written.

What no pattern can see is named in every report: addresses, names that nobody gave, nicknames, pictures.
"""

import hashlib
import hmac
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from core.domain.view import Phrase

TOKEN_DIGITS = 4
LEAST_NAME_CHARS = 2
"""A name of one character stands in too many other words; a person looks at it."""

_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−ｰ", "-"))


class Personal(StrEnum):
    """Kinds of personal data; people read it as `personal.<value>` of the catalogue."""

    SECRET = "secret"  # noqa: S105
    MAIL = "mail"
    CARD = "card"
    MY_NUMBER = "my_number"
    PHONE = "phone"
    POSTAL = "postal"
    CHAT_ID = "chat_id"
    NAME = "name"


class Doubt(StrEnum):
    """What a person should look at; people read it as `personal_doubt.<value>` of the catalogue."""

    SEVEN_DIGITS = "seven_digits"
    """A postal code without its hyphen, or any number."""
    TWELVE_DIGITS = "twelve_digits"
    """Long as a My Number, with a check digit that does not fit."""
    SHORT_NAME = "short_name"
    """A name of one character that was given to be masked."""


BLIND_SPOTS = (
    Phrase(key="personal_blind.address"),
    Phrase(key="personal_blind.names"),
    Phrase(key="personal_blind.context"),
    Phrase(key="personal_blind.files"),
)
"""What the method cannot see; stands in every report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Personal data at a place, `start` to `end` of the text as it was written."""

    kind: Personal
    start: int
    end: int
    canonical: str
    """What every notation of it has in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToCheck:
    doubt: Doubt
    text: str
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A text without the personal data that was found, and the report of it."""

    text: str
    counts: Mapping[Personal, int]
    to_check: tuple[ToCheck, ...]
    blind_spots: tuple[Phrase, ...] = BLIND_SPOTS


def fold(text: str) -> str:
    """The text in plain width and with plain hyphens, of the same length."""
    return "".join(_plain(char) for char in text).translate(_DASHES)


def _plain(char: str) -> str:
    if char.isascii():
        return char
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 else char


def mask(text: str, *, key: bytes, names: Sequence[str] = ()) -> Masked:
    """The text with personal data, and the `names` given, replaced by tokens."""
    spans = find_personal(text, names=names)
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], token(span, key)]
        at = span.end
    return Masked(
        text="".join([*pieces, text[at:]]),
        counts=MappingProxyType(Counter(span.kind for span in spans)),
        to_check=_to_check(text, spans, names),
    )


def token(span: Span, key: bytes) -> str:
    digest = hmac.new(key, f"{span.kind}\0{span.canonical}".encode(), hashlib.sha256).hexdigest()
    return f"[{span.kind.value.upper()}_{digest[:TOKEN_DIGITS]}]"


def find_personal(text: str, *, names: Sequence[str] = ()) -> tuple[Span, ...]:
    """Personal data in the text, in order and without overlaps."""
    folded = fold(text)
    taken: list[Span] = []
    for kind, pattern, canonical in (*_PATTERNS, *_name_patterns(names)):
        for match in pattern.finditer(folded):
            start, end = match.span("it")
            value = canonical(match["it"])
            if value and not any(start < other.end and other.start < end for other in taken):
                taken.append(Span(kind=kind, start=start, end=end, canonical=value))
    return tuple(sorted(taken, key=lambda span: span.start))


# --- kinds ----------------------------------------------------------------------------------------------------------

Canonical = Callable[[str], str]
"""What all notations of a find have in common; empty when it only looked like one."""

_AHEAD, _BEHIND = r"(?<![0-9A-Za-z])", r"(?![0-9A-Za-z])"
_SECRETS = (
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}|gh[opsru]_[A-Za-z0-9]{30,}"
    r"|github_pat_[A-Za-z0-9_]{22,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{35}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"
    r"|[MNO][A-Za-z0-9]{22,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
)


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _card(found: str) -> str:
    """Luhn: doubled every second digit from the right, the sum of all digits ends in 0."""
    digits = _digits(found)
    doubled = [int(d) * 2 if place % 2 else int(d) for place, d in enumerate(reversed(digits))]
    fits = sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
    return digits if fits and len(set(digits)) > 1 else ""


def is_my_number(digits: str) -> bool:
    """Whether the last of 12 digits is the check digit that the ministry's order of 2014 (No. 85, §5) sets."""
    weights = [2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6]
    total = sum(int(d) * w for d, w in zip(reversed(digits[:11]), weights, strict=True))
    rest = total % 11
    return int(digits[11]) == (0 if rest <= 1 else 11 - rest)


def _my_number(found: str) -> str:
    digits = _digits(found)
    return digits if is_my_number(digits) and len(set(digits)) > 1 else ""


def _phone(found: str) -> str:
    """In the form of the country: ten digits, or eleven after 050, 070, 080, 090 and 0800."""
    digits = _digits(found)
    if found.lstrip("(").startswith("+"):
        if not digits.startswith("81"):
            return f"+{digits}" if 8 <= len(digits) <= 15 else ""
        digits = "0" + digits[2:].removeprefix("0")
    long = re.match(r"0[5789]0", digits) is not None
    return digits if len(digits) == (11 if long else 10) and digits[1] != "0" else ""


def _postal(found: str) -> str:
    return _digits(found)


def _chat_id(found: str) -> str:
    """An id in capitals holds a digit; words in capitals do not."""
    bare = re.sub(r"[<@!&#>]|\|.*", "", found)
    return bare if any(char.isdigit() for char in bare) else ""


_PATTERNS: tuple[tuple[Personal, re.Pattern[str], Canonical], ...] = (
    (Personal.SECRET, re.compile(rf"{_AHEAD}(?P<it>{_SECRETS})"), str),
    (
        Personal.MAIL,
        re.compile(
            r"(?<![A-Za-z0-9._%+-])(?P<it>[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,250}\.[A-Za-z]{2,24})"
        ),
        str.lower,
    ),
    (Personal.CHAT_ID, re.compile(r"(?P<it><[@#][!&]?[A-Z0-9]{8,20}(?:\|[^<>\n]{0,80})?>)"), _chat_id),
    (
        Personal.CARD,
        re.compile(r"(?<![0-9A-Za-z.,-])(?P<it>[2-6](?:[ -]?\d){12,18})(?![0-9A-Za-z]|-\d)"),
        _card,
    ),
    (
        Personal.MY_NUMBER,
        re.compile(r"(?<![0-9A-Za-z.,-])(?P<it>\d{4}([ -]?)\d{4}\2\d{4})(?![0-9A-Za-z]|[ .,-]\d)"),
        _my_number,
    ),
    (
        Personal.PHONE,
        re.compile(
            r"(?<![0-9A-Za-z+])(?P<it>\+\d{1,3}[-. ]?(?:\(?\d{1,4}\)?[-. ]?){2,5}\d{2,4})(?![0-9A-Za-z]|-\d)"
        ),
        _phone,
    ),
    (
        Personal.PHONE,
        re.compile(
            r"(?<![0-9A-Za-z.+/-])(?P<it>\(?0\d{1,4}\)?[- ]{0,3}\(?\d{1,4}\)?[- ]{0,3}\d{3,4})(?![0-9A-Za-z]|[./-]\d)"
        ),
        _phone,
    ),
    (Personal.POSTAL, re.compile(r"(?P<it>〒 ?\d{3}[- ]?\d{4})(?!\d)"), _postal),
    (
        Personal.POSTAL,
        re.compile(r"(?<![0-9A-Za-z.,/-])(?P<it>\d{3}-\d{4})(?![0-9A-Za-z]|[.,/-]\d)"),
        _postal,
    ),
    (Personal.CHAT_ID, re.compile(rf"{_AHEAD}(?P<it>[BCDGTUW][A-Z0-9]{{8,10}}){_BEHIND}"), _chat_id),
    (Personal.CHAT_ID, re.compile(r"(?<![0-9A-Za-z.,-])(?P<it>\d{17,20})(?![0-9A-Za-z]|[.,]\d)"), str),
)
"""In this order: what is found first is no other kind."""


def _name_patterns(names: Sequence[str]) -> Iterator[tuple[Personal, re.Pattern[str], Canonical]]:
    """The longest first, so that a full name is one find; a Latin name only as a whole word."""
    folded = {" ".join(fold(name).split()) for name in names}
    for name in sorted(folded, key=lambda name: (-len(name), name)):
        if len(name) >= LEAST_NAME_CHARS:
            ends = (_AHEAD if name[0].isascii() else "", _BEHIND if name[-1].isascii() else "")
            spelled = r"\s{1,3}".join(re.escape(word) for word in name.split())
            yield (
                Personal.NAME,
                re.compile(f"{ends[0]}(?P<it>{spelled}){ends[1]}", re.IGNORECASE),
                lambda found: " ".join(found.casefold().split()),
            )


# --- what a person should look at -----------------------------------------------------------------------------------

_SEVEN = re.compile(r"(?<![0-9A-Za-z.,-])\d{7}(?![0-9A-Za-z]|[.,-]\d)")
_TWELVE = re.compile(r"(?<![0-9A-Za-z.,-])\d{4}([ -]?)\d{4}\1\d{4}(?![0-9A-Za-z]|[ .,-]\d)")


def _to_check(text: str, spans: Sequence[Span], names: Sequence[str]) -> tuple[ToCheck, ...]:
    folded = fold(text)
    short = {name.strip() for name in names if 0 < len(name.strip()) < LEAST_NAME_CHARS}
    finds = [
        *((Doubt.SEVEN_DIGITS, match.span()) for match in _SEVEN.finditer(folded)),
        *((Doubt.TWELVE_DIGITS, match.span()) for match in _TWELVE.finditer(folded)),
        *(
            (Doubt.SHORT_NAME, match.span())
            for name in sorted(short)
            for match in re.finditer(re.escape(fold(name)), folded)
        ),
    ]
    open_finds = [
        ToCheck(doubt=doubt, text=text[start:end], start=start)
        for doubt, (start, end) in finds
        if not any(start < span.end and span.start < end for span in spans)
    ]
    return tuple(sorted(open_finds, key=lambda one: one.start))
