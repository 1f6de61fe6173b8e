"""Finds what packages put in the place of names that upstream has in some releases alone.

A package may set a name of upstream, or override a method. Either may also be new, a name of the
package's own: it takes the place of something only if one of the releases has that.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.uses.use import Use
from patchkit.core.rows.target import Target

ANNOTATED = " only annotates "
"""Is in the reason that the resolver gives for a name that a class annotates, and does not set."""


class _Place(NamedTuple):
    """A definition of a class: one that has two bases may override a method of either."""

    path: str
    line: int
    name: str


class Replacements:
    """What a package puts in the place of upstream's names, compared with releases.

    Args:
        uses: What the package uses.
        releases: The releases, the oldest first; all of them can be read.
    """

    def __init__(self, uses: Iterable[Use], releases: Sequence[CheckedRelease]) -> None:
        self._releases = releases
        self._set: set[Target] = set()
        self._places: dict[Target, set[_Place]] = {}
        self._overridden: dict[_Place, set[Target]] = {}
        for use in uses:
            if use.how == "set":
                self._set.add(use.target)
            elif use.how == "override":
                place = _place(use)
                self._places.setdefault(use.target, set()).add(place)
                self._overridden.setdefault(place, set()).add(use.target)
        # For each target that any of the releases has, the index of the first.
        self._first: dict[Target, int] = {}
        for target in self._set | self._places.keys():
            for index, release in enumerate(releases):
                if release.has(target):
                    self._first[target] = index
                    break

    def is_of_upstream(self, use: Use) -> bool:
        """Whether a use is about a name of upstream, and not about one of the package's own.

        Args:
            use: The use.
        """
        return not use.is_replacement or use.target in self._first

    def lost(self, release: CheckedRelease) -> set[Target]:
        """Return what the package replaces and a release has lost: there, that has no effect.

        An earlier release has it. In releases before that one, the package is ahead of upstream: it
        brings what they do not have yet.

        Args:
            release: One of the releases.
        """
        index = self._releases.index(release)
        lost = set()
        for target, first in self._first.items():
            if first < index and self._is_unused(target, release):
                lost.add(target)
        return lost

    def _is_unused(self, target: Target, release: CheckedRelease) -> bool:
        """Whether a release lacks a target, and all else that a definition of it may override."""
        if not _lacks(release, target):
            return False
        if target in self._set:
            return True
        for place in self._places[target]:
            if all(_lacks(release, other) for other in self._overridden[place]):
                return True
        return False


def _lacks(release: CheckedRelease, target: Target) -> bool:
    """Whether a release has no use for what is put in the place of a target.

    It has one where a class only annotates the name, as a protocol does: others are to define it.
    """
    if release.state(target) != "absent":
        return False
    return ANNOTATED not in release.facts(target).reason


def _place(use: Use) -> _Place:
    """Return where an override is defined, and its name there."""
    name = use.target.qualname.rpartition(".")[2]
    return _Place(use.path, use.line, name)
