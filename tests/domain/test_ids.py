"""Ids: version 7, in the order in which they were made, with the moment at which they were."""

from itertools import count, pairwise
from uuid import RFC_4122, UUID

from core.domain.ids import IdSource, short_code

BEGAN_NS = 1_796_000_000_000_000_000


def moment_ms(made: str) -> int:
    return UUID(made).int >> 80


def test_an_id_is_a_uuid_of_version_7_with_the_moment_of_its_making() -> None:
    made = IdSource(lambda: BEGAN_NS).new()
    assert (UUID(made).version, UUID(made).variant) == (7, RFC_4122)
    assert moment_ms(made) == BEGAN_NS // 1_000_000


def test_a_burst_of_ids_keeps_its_order_and_does_not_run_ahead_of_the_clock() -> None:
    clock = count(BEGAN_NS, 1_000)
    ids = IdSource(lambda: next(clock))
    made = [ids.new() for _ in range(50_000)]
    assert all(one < other for one, other in pairwise(made))
    assert moment_ms(made[-1]) == (BEGAN_NS + 49_999 * 1_000) // 1_000_000


def test_ids_keep_their_order_when_the_clock_stands_still_or_is_set_back() -> None:
    clock = iter([BEGAN_NS, BEGAN_NS, BEGAN_NS - 5_000_000_000, BEGAN_NS + 1_000_000])
    ids = IdSource(lambda: next(clock))
    made = [ids.new() for _ in range(4)]
    assert made == sorted(made)


def test_people_see_random_digits_of_an_id() -> None:
    ids = IdSource(lambda: BEGAN_NS)
    made = [ids.new() for _ in range(100)]
    assert len({short_code(one) for one in made}) > 95
