import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import Refusal
from core.domain.review import (
    Agreement,
    Judged,
    OrderEffect,
    ReviewSetup,
    Verdict,
    aggregate,
    judged,
    letters_of,
    pick_reviewers,
    shuffled_order,
    verdict_step,
)

counts = st.integers(min_value=1, max_value=6)


@given(st.text(max_size=20), st.integers(min_value=1, max_value=50), counts)
def test_an_order_holds_every_answer_once_and_is_the_same_again(seed: str, reviewer: int, count: int) -> None:
    order = shuffled_order(seed, reviewer, count)
    assert sorted(order) == list(range(count))
    assert order == shuffled_order(seed, reviewer, count)
    assert len(letters_of(order)) == count


@given(st.text(max_size=20), counts)
def test_among_as_many_reviewers_as_answers_every_answer_stands_once_at_every_place(
    seed: str, count: int
) -> None:
    orders = [shuffled_order(seed, reviewer, count) for reviewer in range(1, count + 1)]
    for place in range(count):
        assert sorted(order[place] for order in orders) == list(range(count))


def test_seeds_shuffle() -> None:
    assert len({shuffled_order(f"seed {n}", 1, 4) for n in range(200)}) > 15
    assert shuffled_order("x", 1, 0) == ()


def test_reviewers_took_no_part_and_fewer_than_asked_are_taken_as_they_are() -> None:
    assert pick_reviewers(["a", "b", "c", "b"], ["a"], 3) == ("b", "c")
    assert pick_reviewers(["a", "b", "c"], [], 1) == ("a",)
    with pytest.raises(Refusal, match="no_reviewer"):
        pick_reviewers(["a", "b"], ["b", "a"], 1)
    with pytest.raises(Refusal, match="review_reviewer_count"):
        pick_reviewers(["a"], [], 0)


def test_a_setup_gives_each_reviewer_its_order_and_an_answer_counts_once() -> None:
    setup = ReviewSetup.from_json({"answers": ["m1", "m2", "m1"], "reviewers": ["r", "s"], "seed": "x"})
    assert setup.answers == ("m1", "m2")
    assert (setup.asked, setup.focus) == (2, "")
    assert sorted([setup.order(1), setup.order(2)]) == [(0, 1), (1, 0)]
    assert verdict_step(2) == "verdict:2"


def result(reviewer: str, order: tuple[int, ...], *ranking: int) -> Judged:
    verdicts = tuple(Verdict.SOUND if a == ranking[0] else Verdict.UNSOUND for a in range(len(ranking)))
    return Judged(reviewer=reviewer, order=order, ranking=ranking, verdicts=verdicts)


def test_letters_are_turned_back_into_answers() -> None:
    data = {
        "answers": {"A": {"verdict": "unsound"}, "B": {"verdict": "sound"}},
        "ranking": ["B", "A"],
        "reason": "",
    }
    assert judged("r", (1, 0), data) == Judged(
        reviewer="r", order=(1, 0), ranking=(0, 1), verdicts=(Verdict.SOUND, Verdict.UNSOUND)
    )
    with pytest.raises(KeyError, match="C"):
        judged("r", (1, 0), {**data, "ranking": ["C", "A"]})
    with pytest.raises(TypeError, match="ranking"):
        judged("r", (1, 0), {**data, "ranking": 3})


@pytest.mark.parametrize(
    ("results", "agreement", "effect", "best"),
    [
        ([result("r", (0, 1), 0, 1)], Agreement.ONE_REVIEWER, OrderEffect.CANNOT_TELL, 0),
        (
            [result("r", (0,), 0), result("s", (0,), 0)],
            Agreement.ONE_ANSWER,
            OrderEffect.CANNOT_TELL,
            0,
        ),
        (
            [result("r", (0, 1), 0, 1), result("s", (1, 0), 0, 1)],
            Agreement.FULL,
            OrderEffect.NO_SIGN,
            0,
        ),
        (
            [result("r", (0, 1), 0, 1), result("s", (0, 1), 0, 1)],
            Agreement.FULL,
            OrderEffect.CANNOT_TELL,
            0,
        ),
        (
            [result("r", (0, 1), 0, 1), result("s", (1, 0), 1, 0)],
            Agreement.DIFFERENT_BEST,
            OrderEffect.LIKELY,
            None,
        ),
        (
            [result("r", (0, 1, 2), 0, 1, 2), result("s", (1, 2, 0), 0, 2, 1)],
            Agreement.SAME_BEST,
            OrderEffect.NO_SIGN,
            0,
        ),
        (
            [result("r", (0, 1), 0, 1), result("s", (0, 1), 1, 0)],
            Agreement.DIFFERENT_BEST,
            OrderEffect.CANNOT_TELL,
            None,
        ),
    ],
)
def test_agreement_and_order_effect_say_no_more_than_the_results_show(
    results: list[Judged], agreement: Agreement, effect: OrderEffect, best: int | None
) -> None:
    whole = aggregate(results)
    assert (whole.agreement, whole.order_effect, whole.best) == (agreement, effect, best)


def test_pairs_are_agreed_or_split_and_ties_share_a_place() -> None:
    whole = aggregate([result("r", (0, 1, 2), 0, 1, 2), result("s", (1, 2, 0), 1, 0, 2)])
    assert whole.split_pairs == ((0, 1),)
    assert whole.agreed_pairs == ((0, 2), (1, 2))
    assert [(s.answer, s.place, s.ranks) for s in whole.standings] == [
        (0, 1, (1, 2)),
        (1, 1, (2, 1)),
        (2, 3, (3, 3)),
    ]
    assert [s.verdict_agreed for s in whole.standings] == [False, False, True]
    assert aggregate([result("r", (0, 1), 1, 0)]).agreed_pairs == ((1, 0),)


@st.composite
def panels(draw: st.DrawFn) -> list[Judged]:
    count = draw(counts)
    answers = st.permutations(range(count)).map(tuple)
    return [
        result(f"r{n}", draw(answers), *draw(answers))
        for n in range(draw(st.integers(min_value=1, max_value=4)))
    ]


@given(panels())
def test_an_aggregate_is_a_fair_account_of_the_panel(panel: list[Judged]) -> None:
    whole = aggregate(panel)
    count = len(panel[0].ranking)
    assert sorted(s.answer for s in whole.standings) == list(range(count))
    assert [s.place for s in whole.standings] == sorted(s.place for s in whole.standings)
    assert whole.standings[0].place == 1
    assert len(whole.agreed_pairs) + len(whole.split_pairs) == count * (count - 1) // 2
    for better, worse in whole.agreed_pairs:
        assert all(one.ranking.index(better) < one.ranking.index(worse) for one in panel)
    reversed_panel = aggregate(panel[::-1])
    assert (reversed_panel.agreement, reversed_panel.order_effect) == (whole.agreement, whole.order_effect)
    assert [s.place for s in reversed_panel.standings] == [s.place for s in whole.standings]
