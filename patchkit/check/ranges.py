"""Which releases a row and its changes are for."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from patchkit.versions.requirements import applies_here, canonical, is_within, parse_requirement
from patchkit.versions.version import FoundVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row

_UPPER = frozenset({"<", "<=", "==", "===", "~="})


def package_of(change: Change) -> str:
    """Name the import package that a change's target lies in."""
    return change.place.module.partition(".")[0]


def packages_of(rows: Iterable[Row]) -> list[str]:
    """Name every import package that rows change something of."""
    return list(dict.fromkeys(package_of(one) for row in rows for one in row.patch.changes))


def names_project(texts: Iterable[str], project: str) -> bool:
    """Whether any requirement is about a distribution."""
    return any(canonical(_parsed(text).name) == project for text in texts)


def projects_of(texts: Iterable[str]) -> list[str]:
    """Name the distributions that requirements are about, each once."""
    return list(dict.fromkeys(canonical(_parsed(text).name) for text in texts))


def open_requirements(row: Row) -> Sequence[str]:
    """List the requirements on what a row changes that have no upper bound."""
    projects = {"vllm", *map(canonical, packages_of([row]))}
    return [
        text
        for text in row.patch.requires
        if canonical(_parsed(text).name) in projects and _is_open(_parsed(text))
    ]


def allows(texts: Iterable[str], project: str, version: str) -> bool:
    """Whether what requirements say of a distribution holds for a version of it."""
    return all(_holds(text, project, version) for text in texts)


def _is_open(requirement: Any) -> bool:
    return not any(one.operator in _UPPER for one in requirement.specifier)


@functools.cache
def _holds(text: str, project: str, version: str) -> bool:
    requirement = _parsed(text)
    if canonical(requirement.name) != project or not applies_here(requirement):
        return True
    return is_within(FoundVersion(project, version, ""), requirement.specifier)


@functools.cache
def _parsed(text: str) -> Any:
    return parse_requirement(text)
