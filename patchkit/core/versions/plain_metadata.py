"""Finds the distributions whose metadata can be read: of regular files, none that never ends."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import (
    Distribution,
    DistributionFinder,
    EntryPoint,
    distributions,
)
from pathlib import Path

_FILES = (
    "",  # an egg-info may be a file itself
    "METADATA",
    "PKG-INFO",
    "RECORD",
    "SOURCES.txt",
    "installed-files.txt",
    "direct_url.json",
    "entry_points.txt",
    "top_level.txt",
)
"""What `importlib.metadata` and patchkit read of a distribution."""


def readable_distributions(
    path: list[str] | None = None, name: str | None = None
) -> Iterator[Distribution]:
    """Iterate over distributions, but those of which a file is a pipe, a device, or the like.

    `importlib.metadata` would wait for what somebody writes into a pipe, and read `/dev/zero`
    until the memory is full.

    Args:
        path: The folders to search; None for `sys.path`.
        name: The name of the only distribution to find; None for all.
    """
    folders = [folder for folder in path or sys.path if not _is_endless(folder)]
    context = DistributionFinder.Context(name=name, path=folders)
    for dist in distributions(context=context):
        folder = getattr(dist, "_path", None)
        # One in a zip file, or of another finder, has no files to look at.
        if not isinstance(folder, Path) or _is_readable(folder):
            yield dist


def entry_points_of(group: str) -> list[EntryPoint]:
    """Return the entry points of a group that distributions on `sys.path` have, each once.

    Args:
        group: The name of the group, such as `vllm.general_plugins`.
    """
    entries: dict[EntryPoint, None] = {}
    for dist in readable_distributions():
        with suppress(ValueError, TypeError):  # its file is malformed
            entries |= dict.fromkeys(dist.entry_points.select(group=group))
    return list(entries)


def _is_readable(folder: Path) -> bool:
    """Whether all files of a distribution's metadata are regular ones, or not there."""
    paths = (os.path.join(folder, file) for file in _FILES)  # noqa: PTH118 - faster
    return not any(map(_is_endless, paths))


def _is_endless(path: str) -> bool:
    """Whether a path leads to a pipe, a device or the like: neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - faster
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
