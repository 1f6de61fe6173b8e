"""Tells that a distribution is not installed; in contrast to a search, that imports nothing."""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder

from patchkit.core.versions.requirements import canonical

_METADATA = ("dist-info", "egg-info")


def is_absent(name: str, path: Sequence[str] | None) -> bool:
    """Whether neither a package of a name nor metadata of a distribution are here.

    Args:
        name: The normalized name of the distribution, whose package is named alike.
        path: The folders to search; None for `sys.path` and the finders of editable installs.

    Returns:
        True where that is certain.
    """
    package = name.replace("-", "_")
    specs = [PathFinder.find_spec(package, path)]
    if path is None:
        path = sys.path
        for finder in sys.meta_path:
            home = getattr(finder, "__module__", "")
            if not home.startswith(("_frozen_importlib", "patchkit.")):
                specs.append(finder.find_spec(package, None))
    if any(spec is not None and spec.has_location for spec in specs):
        return False
    return not any(_may_have(folder or ".", name) for folder in path)


def _may_have(folder: str, name: str) -> bool:
    """Whether metadata of a distribution may be in a folder; in an archive, anything may be."""
    try:
        entries = os.listdir(folder)  # noqa: PTH208 - no pathlib where a process ends
    except OSError:
        return os.path.isfile(folder)  # noqa: PTH113
    for entry in entries:
        stem, _, kind = entry.rpartition(".")
        if kind in _METADATA and canonical(stem.partition("-")[0]) == name:
            return True
    return False
