"""What two rules about a prompt's text need to know of its words: lines, numbers, negations, likeness.

English and Japanese. Nothing here understands a sentence; it counts marks, and where it is unsure it errs towards
seeing a change.
"""

import re
import unicodedata
from collections.abc import Mapping
from difflib import SequenceMatcher

from core.prompts.version import PromptVersion

FEW_LINES = 2_000
"""Above this, lines that occur very often are left out of a comparison, which would take minutes otherwise."""

SHORT = 400
MANY_TOKENS = 20_000

_TOKEN = re.compile(r"[A-Za-z0-9_]+|\s+|.", re.DOTALL)

_DIGITS = r"[0-9]+(?:[.,][0-9]+)*"
_KANJI_NUMBER = (
    r"[〇一二三四五六七八九十百千万億]+(?=[つ個件人回本枚文行点項語字段円年月日時秒割倍名種章案社歳週])"
)
_NUMBER_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_OTHER_NUMBER_WORDS = ["twenty", "thirty", "fifty", "hundred", "thousand", "twice", "half", "double"]
_NUMBER = re.compile(rf"{_DIGITS}|{_KANJI_NUMBER}|\b(?:{'|'.join([*_NUMBER_WORDS, *_OTHER_NUMBER_WORDS])})\b")
_SAME_NUMBER = {
    **{kanji: str(n) for n, kanji in enumerate("〇一二三四五六七八九十")},
    **{word: str(n) for n, word in enumerate(_NUMBER_WORDS, start=2)},
}
"""Small numbers, which people write now in one way and now in another."""

_OBLIGATION = re.compile(
    r"(?:なければ|なくては|ないと|ねば)(?:なら|なり|いけ)(?:ない|ません|ぬ|ず)|(?:なければ|なくては|ないと)だめ"
    r"|かもしれ(?:ない|ません)|に(?:すぎ|過ぎ)(?:ない|ません)|ほかない|しかない|少な(?:い|く|か)|\bnot only\b"
)
"""Doubled or apparent negations: what they say is not denied."""

_NEGATION = re.compile(
    r"\b(?:not|cannot|never|no|none|nothing|nobody|nowhere|neither|nor|without|avoid|except|unless|forbidden|refuse)\b"
    r"|n['’]t\b"
    r"|(?<!危)(?<!切)な(?:い|かっ|く(?![すし]))|なければ|ません|(?<![必ま])ず(?=[、。に]|$)|べからず|[るくすつぬむぐぶう]な(?=[。、]|$)"
    r"|禁止|禁じ|不可|不要|避け|控え|除い|除く|除き|除外|以外"
)

_CLAUSE = re.compile(r"[,;:.!?、。；：！？]+\s*")


def texts(version: PromptVersion) -> dict[str, str]:
    """The parts that instruct a model, by the name people know them under; empty parts are left out."""
    parts = version.parts
    named = {
        "system.md": parts.system,
        "task.md": parts.task,
        **{f"fragments.yaml ({name})": parts.fragments[name] for name in sorted(parts.fragments)},
    }
    return {name: text for name, text in named.items() if text}


def compared_parts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Names in two results of `texts` to compare; a fragment that came or went is told by its name alone."""
    both = old.keys() & new.keys()
    return sorted(part for part in old.keys() | new.keys() if part in both or "(" not in part)


def lines(text: str) -> list[str]:
    """Lines that say something, without the space around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def tokens(text: str) -> list[str]:
    """Words, signs and stretches of space, which joined give the text; a Japanese letter is a token of its own."""
    return _TOKEN.findall(text)


def matcher(before: list[str], after: list[str]) -> "SequenceMatcher[str]":
    """Compares two lists; exact up to `FEW_LINES`."""
    return SequenceMatcher(None, before, after, autojunk=max(len(before), len(after)) > FEW_LINES)


def likeness(before: str, after: str) -> float:
    """How alike two texts are, from 0 to 1: by letters where they are short, by words where they are long."""
    if before == after:
        return 1.0
    if max(len(before), len(after)) <= SHORT:
        return SequenceMatcher(None, before, after, autojunk=False).ratio()
    return matcher(tokens(before)[:MANY_TOKENS], tokens(after)[:MANY_TOKENS]).ratio()


def numbers(text: str) -> list[str]:
    """Numbers in the order in which they stand, in digits, Japanese numerals before a counter, or words."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return [_SAME_NUMBER.get(found, found.replace(",", "")) for found in _NUMBER.findall(folded)]


def negations(text: str) -> list[int]:
    """How often each clause denies or forbids; `never` counts like `do not`."""
    folded = _OBLIGATION.sub(" ", unicodedata.normalize("NFKC", text).lower())
    return [len(_NEGATION.findall(_ended(clause))) for clause in _CLAUSE.split(folded)]


def _ended(clause: str) -> str:
    return clause.strip(" *_`\"'“”「」()（）")


def denies_alike(before: str, after: str) -> bool:
    """Whether two wordings deny as often, clause by clause where they have the same clauses."""
    one, other = negations(before), negations(after)
    return one == other if len(one) == len(other) else sum(one) == sum(other)
