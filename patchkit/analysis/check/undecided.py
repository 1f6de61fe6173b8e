"""Lists the names that a package uses and of which a release does not tell whether it has them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Finding
from patchkit.analysis.check.holders import reason_for_doubt
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.replacements import Replacements
from patchkit.analysis.upstream.reading.files import CANNOT_PARSE
from patchkit.analysis.upstream.resolving.values import OUTSIDE
from patchkit.analysis.uses.use import Use
from patchkit.core.rows.target import Target

_BY_HAND = "look it up by hand, or import it there"


class Undecided(NamedTuple):
    """A name of which a release does not tell whether it has it.

    Args:
        target: The name.
        reason: Why it cannot be decided.
    """

    target: Target
    reason: str


class UsedNames:
    """The names of upstream that a package uses, to be looked up in releases.

    What the package sets or overrides counts only if one of the releases has it.

    Args:
        uses: What the package uses.
        releases: The releases that can be read, the oldest first.
    """

    def __init__(self, uses: Sequence[Use], releases: Sequence[CheckedRelease]) -> None:
        replacements = Replacements(uses, releases)
        self._releases = releases
        self._places: dict[Target, list[Use]] = {}
        for use in uses:
            if replacements.is_of_upstream(use):
                self._places.setdefault(use.target, []).append(use)
        self._targets = sorted(self._places, key=str)
        self._undecided: dict[str, list[Undecided]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def undecided(self, release: CheckedRelease) -> list[Undecided]:
        """Return which of the names cannot be decided in a release, sorted.

        Args:
            release: The release.
        """
        if release.name not in self._undecided:
            self._undecided[release.name] = list(self._looked_up(release))
        return self._undecided[release.name]

    def _looked_up(self, release: CheckedRelease) -> Iterator[Undecided]:
        """Look each name up in a release, and yield those that cannot be decided."""
        for target in self._targets:
            facts = release.facts(target)
            if facts.state == "undecidable":
                yield Undecided(target, facts.reason)
            elif facts.state == "absent":
                doubt = reason_for_doubt(target, release)
                if doubt:
                    yield Undecided(target, doubt)

    def reasons_unread(self) -> dict[str, str]:
        """Say why releases cannot be said to have the names.

        A module that has one of them cannot be parsed; or the release has none of their packages,
        as a placeholder on an index.

        Returns:
            The reasons, by the names of the releases; of most, there is none.
        """
        reasons = {}
        for release in self._releases:
            reason = self._reason_unread(release)
            if reason:
                reasons[release.name] = reason
        return reasons

    def _reason_unread(self, release: CheckedRelease) -> str:
        """Say why one release cannot be said to have the names; '' if it can."""
        names = self.undecided(release)
        for name in names:
            if CANNOT_PARSE in name.reason:
                return name.reason
        # A distribution is taken to contain the package of its name, until nothing is found in it.
        if len(names) == len(self) and all(OUTSIDE in name.reason for name in names):
            packages = {name.target.module.partition(".")[0] for name in names}
            return f"it does not contain {', '.join(sorted(packages))}"
        return ""

    def finding(self, package: str, name: Undecided, release: str) -> Finding:
        """Make the finding of a name that cannot be decided, at its first use.

        Args:
            package: The name of the package.
            name: The name.
            release: The name of the release.

        Returns:
            The finding; its details are the files and lines of all uses.
        """
        places = self._places[name.target]
        return Finding(
            codes.NOT_DECIDED,
            f"not decidable: {name.reason}",
            _BY_HAND,
            patch=package,
            target=str(name.target),
            release=release,
            file=places[0].path,
            line=places[0].line,
            details=[f"{use.path}:{use.line}" for use in places],
        )


def numbers_by_module(undecided: Mapping[str, Iterable[Undecided]]) -> dict[str, int]:
    """Count the names that cannot be decided in one release or more, by their modules.

    Args:
        undecided: The names by the name of the release.

    Returns:
        Their number by module, each name counted once.
    """
    names: set[Target] = set()
    for of_release in undecided.values():
        names.update(name.target for name in of_release)
    return dict(Counter(target.module for target in names))
