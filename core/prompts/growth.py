"""Signs that instructions pile up: they only grow, repeat or contradict each other (spec §10).

Warnings, never refusals. Sentences are compared by their words: what is said twice in quite other words, and
opposites without a negation, are not found.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations, pairwise

from core.domain.view import Phrase
from core.prompts.bump import Level, number_of, step
from core.prompts.version import PromptVersion
from core.prompts.wording import lines, matcher, negations, numbers, texts

MAX_GROWTH = 0.3
MAX_PATCHES = 3
PATCH_DAYS = 14
SAME = 0.9
"""Share of words that make two sentences one said twice."""
OPPOSITE = 0.8
"""Share of the shorter sentence's words that make two sentences speak of the same."""
COMMON = 0.5
"""Share of the words of both that sentences of the same matter have at least in common."""
MIN_SHARED = 2
MIN_WORDS = 3
"""Shorter sentences are not taken for a repetition: they lean on what stands around them."""
MAX_SENTENCES = 400
"""New sentences looked at; a prompt that has more was not written by hand."""
QUOTE = 80

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n|;\s+")
_WORD = re.compile(r"[a-z0-9_]+(?:['’][a-z]+)?|[一-龯々〆]+|[ァ-ヶー]{2,}")
_EMPTY = re.compile(
    r"an?|the|of|to|in|on|at|by|for|with|as|its?|is|are|be|was|were|this|that|these|those|there|and|or|but|if|your?"
    r"|do|does|did|will|would|can|could|may|must|should|not|no|never|none|nothing|nobody|without|avoid|cannot"
    r"|(?:do|does|is|are|can|must|should)n['’]t|always|every|all|any|each|only|also|very|please"
    r"|事|時|場合|必|等|全|常|禁止|不要|不可"
)
"""Words that say nothing about the matter of a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A version that was saved before."""

    version: PromptVersion
    saved_at: datetime


def growth_warnings(
    before: PromptVersion, after: PromptVersion, earlier: Sequence[Saved], *, now: datetime
) -> tuple[Phrase, ...]:
    """What to tell whoever saves `after`, made from `before`.

    `earlier` holds the versions saved so far, `before` among them, oldest first. Sentences are judged where the edit
    brought in at least one of the two, so that a text is not complained about for ever.
    """
    return (*_grown(after, earlier), *_patches(after, earlier, now), *_pairs(before, after))


def _grown(after: PromptVersion, earlier: Sequence[Saved]) -> Iterator[Phrase]:
    last = next((one.version for one in reversed(earlier) if number_of(one.version.version)[2] == 0), None)
    if last is None:
        return
    had, has = _size(last), _size(after)
    if has > had * (1 + MAX_GROWTH) and not _removed(last, after):
        percent = round(100 * (has - had) / had)
        yield Phrase(key="growth.only_grew", fields={"percent": percent, "version": last.version})


def _size(version: PromptVersion) -> int:
    return max(sum(len("".join(text.split())) for text in texts(version).values()), 1)


def _removed(before: PromptVersion, after: PromptVersion) -> bool:
    new = texts(after)
    return any(
        i2 - i1 > j2 - j1
        for part, text in texts(before).items()
        for tag, i1, i2, j1, j2 in matcher(lines(text), lines(new.get(part, ""))).get_opcodes()
        if tag != "equal"
    )


def _patches(after: PromptVersion, earlier: Sequence[Saved], now: datetime) -> Iterator[Phrase]:
    saved = [*earlier, Saved(version=after, saved_at=now)]
    recent = [
        two.saved_at
        for one, two in pairwise(saved)
        if step(one.version.version, two.version.version) is Level.PATCH
        and now - two.saved_at <= timedelta(days=PATCH_DAYS)
    ]
    if len(recent) > MAX_PATCHES and recent[-1] == now:
        yield Phrase(key="growth.many_patches", fields={"count": len(recent), "days": PATCH_DAYS})


# --- sentences ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    text: str
    words: frozenset[str]
    numbers: tuple[str, ...]
    denied: bool
    new: bool


def _pairs(before: PromptVersion, after: PromptVersion) -> Iterator[Phrase]:
    old = {text for part in _instructions(before) for text in _split(part)}
    for part in _instructions(after):
        found = [_sentence(text, new=text not in old) for text in _split(part)]
        fresh = [one for one in found if one.new][:MAX_SENTENCES]
        settled = [one for one in found if not one.new]
        for one, two in [*combinations(fresh, 2), *((a, b) for a in settled for b in fresh)]:
            if code := _clash(one, two):
                fields = {"one": one.text[:QUOTE], "other": two.text[:QUOTE]}
                yield Phrase(key=f"growth.{code}", fields=fields)


def _instructions(version: PromptVersion) -> list[str]:
    """Texts that a model reads as one; fragments stand each by themselves."""
    parts = version.parts
    return [f"{parts.system}\n{parts.task}", *(parts.fragments[name] for name in sorted(parts.fragments))]


def _split(text: str) -> list[str]:
    return [one.strip(" \t-*・•") for one in _SENTENCE.split(text) if one.strip(" \t-*・•")]


def _sentence(text: str, *, new: bool) -> _Sentence:
    folded = unicodedata.normalize("NFKC", text).lower()
    words = frozenset(_stem(word) for word in _WORD.findall(folded) if not _EMPTY.fullmatch(word))
    denied = sum(negations(text)) % 2 == 1
    return _Sentence(text=text, words=words, numbers=tuple(numbers(text)), denied=denied, new=new)


def _stem(word: str) -> str:
    """Plural and third person count like the plain word."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _clash(one: _Sentence, two: _Sentence) -> str:
    shared = len(one.words & two.words)
    shorter, either = min(len(one.words), len(two.words)), len(one.words | two.words)
    if one.denied != two.denied:
        same_matter = shared >= OPPOSITE * shorter and shared >= COMMON * either
        return "contradicts" if shared >= MIN_SHARED and same_matter else ""
    twice = shared >= MIN_WORDS and shared >= SAME * either and one.numbers == two.numbers
    return "repeats" if twice else ""
