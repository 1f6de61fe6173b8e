"""Which packs there are: patchkit's own, installed ones, and those that a user names."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.settings import Settings

OWN_PACKS = ("patchkit.platform", "patchkit.worker")
GROUP = "patchkit.patches"


def packs_for(settings: Settings, extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Name every pack of this process once: own, installed, `PATCHKIT_PATCHES`, `extra`."""
    names = (*OWN_PACKS, *installed_packs(), *settings.packs, *extra)
    return tuple(dict.fromkeys(names))


def installed_packs(path: Iterable[str] | None = None) -> tuple[str, ...]:
    """
    Name the modules in the entry-point group `patchkit.patches`.

    Importing `importlib.metadata` takes 30 ms, so it is asked only if an `entry_points.txt` file
    contains the name of the group.
    """
    folders = [folder or "." for folder in (sys.path if path is None else path)]
    if not any(_may_hold_packs(folder) for folder in folders):
        return ()
    from importlib.metadata import distributions  # noqa: PLC0415 - see above

    modules = {
        entry.name: entry.value
        for dist in distributions(path=folders)
        for entry in dist.entry_points
        if entry.group == GROUP
    }
    return tuple(modules[name] for name in sorted(modules))


def _may_hold_packs(folder: str) -> bool:
    if os.path.isfile(folder):  # noqa: PTH113 - a zip on the path; pathlib costs a start
        return not folder.endswith("python{}{}.zip".format(*sys.version_info))
    return any(GROUP.encode() in text for text in _entry_point_files(folder))


def _entry_point_files(folder: str) -> Iterator[bytes]:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                with open(f"{folder}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123
                    yield file.read()
            except OSError:
                continue
