"""What share of the mutants was killed: of all, of each wing and of each room."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .sampling import room_of, wing_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .mutants import Mutant


@dataclass(frozen=True)
class Verdict:
    """A mutant, and whether a test has noticed it."""

    mutant: Mutant
    is_killed: bool

    def __str__(self) -> str:
        """Tell it in a line."""
        return f"{'killed' if self.is_killed else 'survived'}: {self.mutant}"


@dataclass(frozen=True)
class Share:
    """How many mutants of a sample were killed."""

    killed: int
    sample: int

    @property
    def percent(self) -> float:
        """The share, in percent."""
        return 100 * self.killed / self.sample


def shares(
    verdicts: Sequence[Verdict], group_of: Callable[[Mutant], str]
) -> dict[str, Share]:
    """Count by wing or by room."""
    sampled = Counter(group_of(verdict.mutant) for verdict in verdicts)
    killed = Counter(
        group_of(verdict.mutant) for verdict in verdicts if verdict.is_killed
    )
    return {group: Share(killed[group], sampled[group]) for group in sorted(sampled)}


def figures(verdicts: Sequence[Verdict], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Put the figures together, as `make quality` reads them.

    Args:
        verdicts: The sample, which has as many mutants of each wing.
        sizes: How many mutants there are of each wing; a larger one weighs more in the whole.

    Returns:
        `percent` and `sample` of the whole, and of each of `wings`.
    """
    by_wing = shares(verdicts, wing_of)
    weight = sum(sizes[wing] for wing in by_wing)
    killed = sum(sizes[wing] * share.percent for wing, share in by_wing.items())
    wings = {
        wing: {"percent": round(share.percent, 1), "sample": share.sample}
        for wing, share in by_wing.items()
    }
    percent = round(killed / weight, 1) if weight else 0.0
    return {"percent": percent, "sample": len(verdicts), "wings": wings}


def table(verdicts: Sequence[Verdict], sizes: Mapping[str, int]) -> str:
    """Write the figures for a person, rooms too."""
    lines = []
    for group_of in (wing_of, room_of):
        for group, share in shares(verdicts, group_of).items():
            lines.append(
                f"{group:24} {share.killed:3} of {share.sample:3}  {share.percent:5.1f}%"
            )
        lines.append("")
    whole = figures(verdicts, sizes)
    lines.append(f"killed, each wing by its number of mutants: {whole['percent']}%")
    return "\n".join(lines)
