"""Tells which packages rows change, and which versions of distributions they require."""

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.requirements import (
    FoundVersion,
    applies_here,
    canonical,
    is_within,
    parse_requirement,
)

_UPPER = frozenset({"<", "<=", "==", "===", "~="})
"""The operators that bound a range from above."""


def package_of(change: Change) -> str:
    """Return the import package that a change's target lies in.

    Args:
        change: the change.
    """
    return change.place.module.partition(".")[0]


def packages_of(rows: Iterable[Row]) -> list[str]:
    """Return every import package that rows change something of, each once.

    Args:
        rows: the rows.
    """
    packages = map(package_of, _changes(rows))
    return list(dict.fromkeys(packages))


def _changes(rows: Iterable[Row]) -> Iterator[Change]:
    for row in rows:
        yield from row.patch.parts


def released(rows: Sequence[Row]) -> list[str]:
    """Return the packages whose releases have to be checked for some rows.

    A package is left out if no row requires it, and rows change nothing in it, but run a function
    at its import.

    Args:
        rows: the rows.

    Returns:
        The packages; if none is left, the distributions that are required, or all packages.
    """
    required: list[str] = []
    for row in rows:
        required += row.patch.requires
    projects = projects_of(required)
    changed_inside = {
        package_of(change) for change in _changes(rows) if change.inside_module
    }
    packages = packages_of(rows)
    chosen = [
        package
        for package in packages
        if package in changed_inside or canonical(package) in projects
    ]
    return chosen or projects or packages


def projects_of(requirements: Iterable[str]) -> list[str]:
    """Return the distributions that requirements are about, each once.

    Args:
        requirements: the requirements.
    """
    projects = map(_project, requirements)
    return list(dict.fromkeys(projects))


def open_requirements(row: Row) -> Sequence[str]:
    """Return the requirements of a row that have no upper bound, on vLLM and on what it changes.

    Args:
        row: the row.
    """
    packages = packages_of([row])
    projects = {"vllm", *map(canonical, packages)}
    return [
        text
        for text in row.patch.requires
        if _project(text) in projects and _is_unbounded(text)
    ]


def _is_unbounded(requirement: str) -> bool:
    operators = {bound.operator for bound in _parsed(requirement).specifier}
    return _UPPER.isdisjoint(operators)


def allows(requirements: Iterable[str], project: str, version: str) -> bool:
    """Whether a version of a distribution meets requirements.

    Args:
        requirements: the requirements; those on other distributions do not count.
        project: the canonical name of the distribution.
        version: the version.
    """
    return all(_is_met(text, project, version) for text in requirements)


@functools.cache
def _is_met(text: str, project: str, version: str) -> bool:
    """Whether a version meets a requirement; True for one on another distribution or platform."""
    requirement = _parsed(text)
    if _project(text) != project or not applies_here(requirement):
        return True
    # The "" is where the version was found, which only messages say.
    found = FoundVersion(project, version, "")
    return is_within(found, requirement.specifier)


def _project(requirement: str) -> str:
    """Return the canonical name of the distribution that a requirement is about."""
    return canonical(_parsed(requirement).name)


@functools.cache
def _parsed(text: str) -> Any:
    return parse_requirement(text)
