"""Leaves out what the modules of a pile set of each other: it is no change of upstream."""

from collections.abc import Iterable, Sequence

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.piles.pile_reader import PileReader

_OF_PILE = "it is an attribute of the pile itself: the body sets it as it is loaded"


def leave_own_attributes(
    readers: Sequence[PileReader], release: CheckedRelease
) -> None:
    """Mark placements that set nothing but attributes of the pile as such.

    Args:
        readers: The readers of the modules of the pile.
        release: The release, whose packages are no part of the pile.
    """
    packages = {reader.module.name.partition(".")[0] for reader in readers}
    own_packages = {name for name in packages if not release.covers([name])}
    for reader in readers:
        for placement in reader.placements:
            # What is registered, somebody else sets: no body does.
            is_registered = placement.key or placement.hook or placement.is_by_class
            names = placement.dotted_names
            if names and not is_registered and _tops(names) <= own_packages:
                placement.is_own = True
                placement.reason = _OF_PILE


def _tops(dotted_names: Iterable[str]) -> set[str]:
    """Return the top-level packages of dotted names."""
    return {name.partition(".")[0] for name in dotted_names}
