"""Every figure is measured once on a tiny scale: what it needs is there, and what is no matter of time holds."""

import pytest

from benchmarks import ai_input, branch, departure, modes, start, streams
from benchmarks.figure import Figure, bounded, milliseconds, percentile, table
from benchmarks.ground import sqlite_ground
from benchmarks.lag import idle_neighbour


def kept(figures: list[Figure], word: str) -> list[bool | None]:
    return [figure.kept for figure in figures if word in figure.what]


@pytest.mark.soak
async def test_a_branch_is_timed_and_its_parent_compared() -> None:
    figures = await branch.measure(messages=50, repeats=2, grounds=[sqlite_ground])
    assert len(figures) == 2
    assert kept(figures, "rows of the parent") == [True]


async def test_the_parents_hash_sees_every_row() -> None:
    async with sqlite_ground() as ground:
        first, second = await ground.converse(3), await ground.converse(3)
        assert await branch.parent_hash(ground, first) == await branch.parent_hash(ground, first)
        assert await branch.parent_hash(ground, first) != await branch.parent_hash(ground, second)


async def test_the_ai_input_of_two_lengths_is_timed() -> None:
    (figure,) = await ai_input.measure(long=60, short=30, repeats=2, grounds=[sqlite_ground])
    assert figure.ratio is not None


@pytest.mark.soak
async def test_the_time_of_modes_is_set_against_that_of_their_calls() -> None:
    figures = await modes.measure(repeats=1, scale=0.05)
    assert [figure.ratio is not None and figure.ratio > 1 for figure in figures] == [True, True]


@pytest.mark.soak
async def test_streams_are_complete_and_cancelled_ones_closed() -> None:
    figures = await streams.measure(streams=6, chunks=20, pause_s=0.05)
    assert kept(figures, "complete texts") == [True, True]
    assert kept(figures, "left open") == [True]


@pytest.mark.soak
async def test_the_way_of_a_message_to_the_model_is_timed() -> None:
    figures = await departure.measure(threads=(1, 3), rounds=(1, 2), answers_s=(0.2, 0.2))
    assert len(figures) == 4


@pytest.mark.soak
async def test_a_start_serves_the_page_before_the_models_are_ready() -> None:
    figures = await start.measure(repeats=1)
    assert kept(figures, "before the models") == [True]


async def test_an_idle_process_tells_its_lag() -> None:
    async with idle_neighbour() as neighbour:
        assert neighbour.p99_s == 0.0
    assert neighbour.p99_s >= 0.0


def test_the_table_says_what_was_kept_and_what_was_not() -> None:
    close = bounded("Copy", 0.002, 0.001, against="bare", at_most=2)
    far = bounded("Copy", 0.003, 0.001, against="bare", at_most=2)
    told = Figure(what="Memory", measured="1 MB")
    assert table([close, far, told]).splitlines()[2:] == [
        "| Copy | 2.00 ms | 1.00 ms bare | 2.00 | ≤ 2 × | ok |",
        "| Copy | 3.00 ms | 1.00 ms bare | 3.00 | ≤ 2 × | over |",
        "| Memory | 1 MB |  |  |  |  |",
    ]


def test_numbers_are_told_with_three_digits() -> None:
    times = [0.0, 0.0000123, 0.01234, 1.2345, 12.345]
    assert [milliseconds(time) for time in times] == ["0 ms", "0.012 ms", "12.3 ms", "1,234 ms", "12,345 ms"]


def test_a_percentile_is_one_of_the_values() -> None:
    assert [percentile(range(1, 101), percent) for percent in (1, 50, 99, 100)] == [1, 50, 99, 100]
