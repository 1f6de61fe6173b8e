"""Finds what packages put in the place of names that upstream has in some releases alone.

A package may set a name of upstream, or override a method. Either may also be new, a name of the
package's own: it takes the place of something only if one of the releases has that.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.uses.use import Use
from patchkit.core.rows.target import Target


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
        """Return what the package replaces and a release does not have: there, that has no effect.

        An override counts only if an earlier release has what it overrides: before, it is for
        releases that are still to come.

        Args:
            release: One of the releases.
        """
        index = self._releases.index(release)
        lost = set()
        for target, first in self._first.items():
            if release.state(target) != "absent":
                continue
            is_set = target in self._set
            if is_set or (first < index and self._is_unused(target, release)):
                lost.add(target)
        return lost

    def _is_unused(self, target: Target, release: CheckedRelease) -> bool:
        """Whether a definition that overrides a target overrides nothing else in a release."""
        for place in self._places[target]:
            states = map(release.state, self._overridden[place])
            if all(state == "absent" for state in states):
                return True
        return False


def _place(use: Use) -> _Place:
    """Return where an override is defined, and its name there."""
    name = use.target.qualname.rpartition(".")[2]
    return _Place(use.path, use.line, name)
