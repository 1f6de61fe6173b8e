"""Which mutants are judged: as many of each wing, drawn by a seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from .mutants import Mutant, mutants_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

WINGS = ("core", "runtime", "analysis", "authoring", "cli")
NOT_SAMPLED = {
    "patchkit/runtime/changes/objects/kernels.py": "needs torch; end-to-end tests cover it",
}
"""What unit tests cannot run, as their environment has no torch; and who tests it."""


def mutants_by_wing(repository: Path, wings: Sequence[str]) -> dict[str, list[Mutant]]:
    """Make every mutant of some wings, but of the modules that are not sampled.

    Args:
        repository: The folder that the package's own folder lies in.
        wings: The names of folders of the package.

    Returns:
        The mutants of each wing, in the order of the files.
    """
    by_wing: dict[str, list[Mutant]] = {}
    for wing in wings:
        by_wing[wing] = []
        for file in sorted((repository / "patchkit" / wing).rglob("*.py")):
            if str(file.relative_to(repository)) not in NOT_SAMPLED:
                by_wing[wing] += mutants_of(file, repository)
    return by_wing


def stratified_sample(
    by_wing: Mapping[str, Sequence[Mutant]], size: int, seed: int
) -> list[Mutant]:
    """Draw as many mutants of each wing, and deal them out in turn.

    So the sample is even wherever a run that takes too long is ended.

    Args:
        by_wing: All mutants of each wing.
        size: How many mutants to draw; a wing with too few gives all it has.
        seed: Which sample.

    Returns:
        The sample: one of each wing, then the next of each.
    """
    generator = random.Random(seed)
    share = -(-size // len(by_wing))
    hands = [generator.sample(pool, min(share, len(pool))) for pool in by_wing.values()]
    sample: list[Mutant] = []
    for turn in range(share):
        sample += [hand[turn] for hand in hands if turn < len(hand)]
    return sample[:size]


def wing_of(mutant: Mutant) -> str:
    """Name the wing that a mutant's file lies in."""
    return mutant.file.split("/")[1]


def room_of(mutant: Mutant) -> str:
    """Name the room that a mutant's file lies in, or the wing of a file that lies in none."""
    return "/".join(mutant.file.split("/")[1:-1][:2])
