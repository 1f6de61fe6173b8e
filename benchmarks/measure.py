"""Measurements taken in turns, so that what disturbs the machine disturbs all cases alike."""

from __future__ import annotations

import gc
import random
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

Case = Callable[[], float]
"""Does the work once, and returns what it cost."""


@dataclass(frozen=True)
class Spread:
    """The median of some measurements, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least two measurements."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True)
class Samples:
    """What each case cost in each round.

    Args:
        costs: by case; the same place in every list is the same round.
    """

    costs: Mapping[str, Sequence[float]]

    def above(self, floor: str) -> Samples:
        """What the other cases cost beyond the floor of the same round."""
        return Samples(
            {
                case: [
                    cost - least
                    for cost, least in zip(costs, self.costs[floor], strict=True)
                ]
                for case, costs in self.costs.items()
                if case != floor
            }
        )

    def spread(self, case: str, scale: float = 1.0) -> Spread:
        """The costs of a case, in units of which `scale` make one second."""
        return Spread.of([cost * scale for cost in self.costs[case]])

    def ratio(self, case: str, against: str) -> Spread:
        """The ratios of two cases, each within one round."""
        pairs = zip(self.costs[case], self.costs[against], strict=True)
        return Spread.of([cost / other for cost, other in pairs])


def in_turns(cases: Mapping[str, Case], rounds: int) -> Samples:
    """Run every case once a round, in an order that no case gains by.

    One round before them warms caches and is not counted. Garbage is collected between rounds.
    """
    costs: dict[str, list[float]] = {case: [] for case in cases}
    dice = random.Random(0)
    with _no_collection():
        for number in range(rounds + 1):
            gc.collect()
            for case in dice.sample(list(cases), len(cases)):
                cost = cases[case]()
                if number:
                    costs[case].append(cost)
    return Samples(costs)


def cpu_of_child(
    command: Sequence[str],
    environ: Mapping[str, str],
    exit_code: int = 0,
    folder: Path | None = None,
) -> float:
    """Run a process to its end and return the CPU seconds that it took.

    Raises:
        CalledProcessError: It ended with another exit code than it should have.
    """
    before = _children()
    done = subprocess.run(
        command, env=environ, check=False, stdout=subprocess.DEVNULL, cwd=folder
    )
    if done.returncode != exit_code:
        raise subprocess.CalledProcessError(done.returncode, command)
    return _children() - before


def cpu_of(work: Callable[[], object]) -> float:
    """Return the CPU seconds that a function of this process takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _no_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
