"""Where a project keeps its import packages: beside its configuration, or one level below."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOTS = ("", "src/", "python/")
"""In this order; the last is Ray's."""

_NOT_INSTALLED = frozenset({"benchmarks", "doc", "docs", "examples", "test", "tests", "tools"})


def by_installed_path(paths: Iterable[str]) -> dict[str, str]:
    """
    Find the files that an installation of a source tree would have.

    Args:
        paths: Python files, relative to the tree.

    Returns:
        Path when installed -> path in the tree, of every file in a package with an `__init__.py`
        that is not for the project's own use.

    """
    files = set(paths)
    found: dict[str, str] = {}
    for root in reversed(ROOTS):
        inside = (path[len(root) :] for path in files if path.startswith(root))
        for path in inside:
            package = path.partition("/")[0]
            if f"{root}{package}/__init__.py" in files and package not in _NOT_INSTALLED:
                found[path] = root + path
    return found
