"""What a benchmark found, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.measure import Samples, Spread


@dataclass(frozen=True)
class Line:
    """One case.

    Args:
        case: what was measured.
        cost: in the result's unit.
        ratios: the cost against that of other cases in the same round, by their names.
    """

    case: str
    cost: Spread
    ratios: Mapping[str, Spread]


@dataclass(frozen=True)
class Aim:
    """What a cost should be.

    Args:
        text: in words.
        found: the figure that decides.
        limit: the most that it may be.
    """

    text: str
    found: float
    limit: float

    @property
    def is_met(self) -> bool:
        """Whether the figure is within the limit."""
        return self.found <= self.limit


@dataclass(frozen=True)
class Result:
    """One benchmark.

    Args:
        name: as on the command line.
        title: what was measured.
        unit: of every cost.
        rounds: how many measurements each median is of.
        against: the cases that the ratios are against, in the order of the table's columns.
        lines: the cases.
        aims: what the costs should be.
        notes: what a reader has to know, such as a case that could not be measured here.
    """

    name: str
    title: str
    unit: str
    rounds: int
    against: Sequence[str] = ()
    lines: Sequence[Line] = ()
    aims: Sequence[Aim] = ()
    notes: Sequence[str] = ()


def lines_of(samples: Samples, against: Sequence[str], scale: float) -> list[Line]:
    """Make a line of every case; `scale` units make one second."""
    return [
        Line(
            case,
            samples.spread(case, scale),
            {other: samples.ratio(case, other) for other in against if other != case},
        )
        for case in samples.costs
    ]
