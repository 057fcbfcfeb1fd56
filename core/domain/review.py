"""Cross Review: models that took no part judge answers without knowing whose they are (spec §8)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from core.domain.errors import Refusal
from core.domain.ids import MessageId
from core.domain.setup import LETTERS, Fields, Json

MOST_ANSWERS = len(LETTERS)
MOST_REVIEWERS = 4
FOCUS_CHARS = 2_000


def verdict_step(reviewer: int) -> str:
    """Step of a reviewer, by its place in the setup, from 1."""
    return f"verdict:{reviewer}"


class Verdict(StrEnum):
    """What a reviewer holds of one answer; people read it as `verdict.<value>` of the catalogue. Best first."""

    SOUND = "sound"
    USABLE_WITH_FIXES = "usable_with_fixes"
    UNSOUND = "unsound"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSetup:
    answers: tuple[MessageId, ...]
    """The answers under review, in the order in which they were named."""
    reviewers: tuple[str, ...]
    asked: int
    """Reviewers wished for; more than `reviewers` when not so many models took no part."""
    focus: str = ""
    seed: str
    """What the orders are shuffled by; kept, so that the orders can be told again."""

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> "ReviewSetup":
        """Raises Refusal that says what is allowed."""
        fields = Fields(raw)
        fields.only("answers", "reviewers", "asked", "focus", "seed")
        answers = fields.names("answers", least=1, most=MOST_ANSWERS, code="review_answer_count")
        reviewers = fields.names("reviewers", least=1, most=MOST_REVIEWERS, code="review_reviewer_count")
        return cls(
            answers=tuple(MessageId(answer) for answer in dict.fromkeys(answers)),
            reviewers=reviewers,
            asked=fields.number("asked", least=1, most=MOST_REVIEWERS, default=len(reviewers)),
            focus=fields.text("focus", limit=FOCUS_CHARS, too_long="focus_too_long"),
            seed=fields.text("seed", limit=200),
        )

    def to_json(self) -> Json:
        return {
            "answers": list(self.answers),
            "reviewers": list(self.reviewers),
            "asked": self.asked,
            "focus": self.focus,
            "seed": self.seed,
        }

    def order(self, reviewer: int) -> tuple[int, ...]:
        """The order for the reviewer at this place, from 1."""
        return shuffled_order(self.seed, reviewer, len(self.answers))


def pick_reviewers(available: Sequence[str], took_part: Sequence[str], asked: int) -> tuple[str, ...]:
    """At most `asked` different models that took no part, in the order given.

    Raises Refusal `no_reviewer` when there is none.
    """
    if not 1 <= asked <= MOST_REVIEWERS:
        raise Refusal("review_reviewer_count", had=asked, least=1, most=MOST_REVIEWERS)
    free = [model for model in dict.fromkeys(available) if model not in took_part]
    if not free:
        raise Refusal("no_reviewer", took_part=", ".join(dict.fromkeys(took_part)))
    return tuple(free[:asked])


def shuffled_order(seed: str, reviewer: int, count: int) -> tuple[int, ...]:
    """Which answer, counted from 0, a reviewer reads as A, B, …; the same arguments give the same order.

    The seed shuffles, and each next reviewer begins one answer later: among `count` reviewers in a row every answer
    stands once at every place, so that an effect of the order can show.
    """
    base = sorted(range(count), key=lambda answer: hashlib.sha256(f"{seed}\0{answer}".encode()).digest())
    begin = reviewer % count if count else 0
    return tuple(base[begin:] + base[:begin])


def letters_of(order: Sequence[int]) -> dict[str, int]:
    """The mapping that is stored and revealed with the result: letter → answer, counted from 0."""
    return dict(zip(LETTERS, order, strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One reviewer's result with its letters resolved: everything counts answers from 0."""

    reviewer: str
    order: tuple[int, ...]
    ranking: tuple[int, ...]
    """Best first."""
    verdicts: tuple[Verdict, ...]
    """By answer."""


def judged(reviewer: str, order: Sequence[int], data: Mapping[str, object]) -> Judged:
    """A verdict that satisfied its schema, with its letters turned back into answers.

    Raises KeyError for a letter that no answer had, which the schema of the request rules out.
    """
    answers = letters_of(order)
    assessments = data["answers"]
    ranking = data["ranking"]
    if not isinstance(assessments, Mapping) or not isinstance(ranking, Sequence):
        raise TypeError("a verdict holds answers by letter and a ranking")
    by_answer = {answers[letter]: Verdict(given["verdict"]) for letter, given in assessments.items()}
    return Judged(
        reviewer=reviewer,
        order=tuple(order),
        ranking=tuple(answers[letter] for letter in ranking),
        verdicts=tuple(by_answer[answer] for answer in range(len(order))),
    )


class Agreement(StrEnum):
    """`agreement.<value>` of the catalogue."""

    ONE_REVIEWER = "one_reviewer"
    ONE_ANSWER = "one_answer"
    FULL = "full"
    SAME_BEST = "same_best"
    DIFFERENT_BEST = "different_best"


class OrderEffect(StrEnum):
    """`order_effect.<value>` of the catalogue."""

    CANNOT_TELL = "cannot_tell"
    NO_SIGN = "no_sign"
    """Different orders, the same answer first."""
    LIKELY = "likely"
    """Different answers first, always the one read at the same place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    answer: int
    """Counted from 0."""
    place: int
    """From 1; answers that nothing tells apart share one."""
    ranks: tuple[int, ...]
    """By reviewer, from 1."""
    verdicts: tuple[Verdict, ...]
    """By reviewer."""

    @property
    def verdict_agreed(self) -> bool:
        return len(set(self.verdicts)) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    standings: tuple[Standing, ...]
    """Best first; by the order in which the answers were named where they share a place."""
    agreement: Agreement
    order_effect: OrderEffect
    agreed_pairs: tuple[tuple[int, int], ...]
    """(better, worse), where all reviewers say the same."""
    split_pairs: tuple[tuple[int, int], ...]
    """Pairs of answers that reviewers rank differently."""

    @property
    def best(self) -> int | None:
        """The answer that alone is in first place; None where several share it."""
        first = [standing.answer for standing in self.standings if standing.place == 1]
        return first[0] if len(first) == 1 else None


def aggregate(results: Sequence[Judged]) -> Aggregate:
    """All reviewers' results together, by the sum of ranks. `results` holds at least one, all of the same answers."""
    answers = range(len(results[0].ranking))
    ranks = {a: tuple(result.ranking.index(a) + 1 for result in results) for a in answers}
    standings = sorted(
        (
            Standing(
                answer=answer,
                place=1 + sum(sum(ranks[other]) < sum(ranks[answer]) for other in answers),
                ranks=ranks[answer],
                verdicts=tuple(result.verdicts[answer] for result in results),
            )
            for answer in answers
        ),
        key=lambda standing: (standing.place, standing.answer),
    )
    agreed, split = _pairs(ranks)
    return Aggregate(
        standings=tuple(standings),
        agreement=_agreement(results, split),
        order_effect=_order_effect(results),
        agreed_pairs=agreed,
        split_pairs=split,
    )


def _pairs(
    ranks: Mapping[int, tuple[int, ...]],
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    agreed, split = [], []
    for one, other in combinations(ranks, 2):
        better = {mine < theirs for mine, theirs in zip(ranks[one], ranks[other], strict=True)}
        if len(better) > 1:
            split.append((one, other))
        else:
            agreed.append((one, other) if better == {True} else (other, one))
    return tuple(agreed), tuple(split)


def _agreement(results: Sequence[Judged], split: tuple[tuple[int, int], ...]) -> Agreement:
    if len(results) == 1:
        return Agreement.ONE_REVIEWER
    if len(results[0].ranking) == 1:
        return Agreement.ONE_ANSWER
    if not split:
        return Agreement.FULL
    same_best = len({result.ranking[0] for result in results}) == 1
    return Agreement.SAME_BEST if same_best else Agreement.DIFFERENT_BEST


def _order_effect(results: Sequence[Judged]) -> OrderEffect:
    """Honest about little evidence: it speaks only where winners and their places point the same way."""
    winners = {result.ranking[0] for result in results}
    places = {result.order.index(result.ranking[0]) for result in results}
    if len(winners) == 1 and len(places) > 1:
        return OrderEffect.NO_SIGN
    if len(winners) > 1 and len(places) == 1:
        return OrderEffect.LIKELY
    return OrderEffect.CANNOT_TELL
