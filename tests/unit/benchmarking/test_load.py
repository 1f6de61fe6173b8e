"""What the figures of the load say of tokens per second, memory and journals."""

from __future__ import annotations

import math

import pytest

from benchmarks.load import (
    after_first_third,
    growth,
    journal_aims,
    memory_aims,
    per_second,
    speed_aims,
)
from benchmarks.load_rows import ROWS
from benchmarks.measure import Samples

PATCHED, PLAIN = f"{ROWS} rows, observed", "without patchkit"


def test_the_first_third_ends_with_a_whole_round() -> None:
    """Of 20 rounds it has seven, of two it has one."""
    assert after_first_third(range(1, 21)) == 7
    assert after_first_third([1, 2, 3]) == 1
    assert after_first_third([1, 2]) == 1


def test_growth_is_from_the_first_third_to_the_end() -> None:
    """What is used for the first time before that is no leak."""
    assert growth([100, 200, 500, 210]) == pytest.approx(0.05)
    assert growth([100, 200, 500, 190]) == pytest.approx(-0.05)


@pytest.mark.parametrize(("end", "is_met"), [(1031, False), (1029, True), (900, True)])
def test_memory_may_grow_as_without_patchkit(end: int, is_met: bool) -> None:
    """A hundredth beyond the growth of the other server is as much as two alike differ."""
    (aim,) = memory_aims([990, 1000, 1010, end], [400, 500, 505, 510])
    assert aim.is_met is is_met


def test_a_journal_that_grows_with_the_load_misses() -> None:
    """So does one that is beyond its limit."""
    flat = journal_aims([70_000, 70_000, 70_200], 30_000)
    assert [aim.is_met for aim in flat] == [True, True]
    growing = journal_aims([70_000, 140_000, 210_000], 210_000)
    assert [aim.is_met for aim in growing] == [True, False]
    beyond = journal_aims([9_000_000, 9_000_000, 9_000_000], 4_200_000)
    assert [aim.is_met for aim in beyond] == [False, True]


def test_loads_are_compared_within_their_round() -> None:
    """A machine that is half as fast in one round slows both, and does not count."""
    samples = Samples({PATCHED: [0.1, 0.2, 0.1], PLAIN: [0.1, 0.2, 0.1]})
    (aim,) = speed_aims(samples)
    assert aim.is_met
    assert aim.found == 1
    slow = Samples({PATCHED: [0.102, 0.204, 0.103], PLAIN: [0.1, 0.2, 0.1]})
    assert not speed_aims(slow)[0].is_met


def test_what_takes_less_time_brings_more_tokens_per_second() -> None:
    """The ratio of tokens per second is the inverse of that of times."""
    samples = Samples({PATCHED: [0.2, 0.5], PLAIN: [0.1, 0.25]})
    rates = per_second(samples)
    assert rates.costs == {PATCHED: [5, 2], PLAIN: [10, 4]}
    assert math.isclose(rates.ratio(PATCHED, PLAIN).median, 0.5)
