"""What installed packages tell patchkit by their entry points: packs, engines, and processes."""

from __future__ import annotations

import importlib
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from patchkit.core.engines.engine import GROUP as ENGINES
from patchkit.core.engines.engine import Engine, check_engine
from patchkit.core.rows.processes import GROUP as PROCESSES
from patchkit.core.rows.processes import ProcessRow, check_processes
from patchkit.errors import EngineError, ProcessRowError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.metadata import Distribution, EntryPoint

GROUP = "patchkit.patches"
"""The group of packs."""

OWN_ENGINES = ("patchkit.core.engines.vllm", "patchkit.core.engines.sglang")
OWN_PROCESSES = "patchkit.core.engines"
"""Where patchkit's own rows of processes are that belong to no engine."""


def installed_packs(path: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the modules in the entry-point group `patchkit.patches`.

    Args:
        path: The folders to search; None for `sys.path`.
    """
    return pack_modules(entries_here(path))


def pack_modules(entries: Iterable[EntryPoint]) -> tuple[str, ...]:
    """Return the modules of packs that entry points name, in the order of their names.

    Args:
        entries: The entry points of all groups.
    """
    modules = {entry.name: entry.value for entry in entries if entry.group == GROUP}
    return tuple([modules[name] for name in sorted(modules)])


def entries_here(path: Iterable[str] | None = None) -> list[EntryPoint]:
    """Find the entry points in patchkit's groups.

    Importing `importlib.metadata` takes 30 ms, so this does it only if an `entry_points.txt` file
    contains the name of a group.

    Args:
        path: The folders to search; None for `sys.path`.

    Returns:
        The entry points of all groups of patchkit.
    """
    if path is None:
        path = sys.path
    folders = [folder or "." for folder in path]
    if not any(_may_hold_packs(folder) for folder in folders):
        return []
    from patchkit.core.versions.distributions import (  # noqa: PLC0415 - see above
        readable_distributions,
    )

    entries: list[EntryPoint] = []
    for dist in readable_distributions(folders):
        entries += [
            entry
            for entry in _entries_of(dist)
            if entry.group in {GROUP, PROCESSES, ENGINES}
        ]
    return entries


def entry_points_of(group: str) -> list[EntryPoint]:
    """Return the entry points of a group that distributions on `sys.path` have, each once.

    Args:
        group: The name of the group, such as `vllm.general_plugins`.
    """
    from patchkit.core.versions.distributions import (  # noqa: PLC0415 - as above
        readable_distributions,
    )

    entries: dict[EntryPoint, None] = {}
    for dist in readable_distributions():
        with suppress(ValueError, TypeError):  # its file is malformed
            entries |= dict.fromkeys(dist.entry_points.select(group=group))
    return list(entries)


def _entries_of(dist: Distribution) -> Iterable[EntryPoint]:
    """Return the entry points of a distribution; none of a malformed file that names no group.

    Raises:
        EngineError: The file is malformed, and names a group of patchkit.
    """
    try:
        return dist.entry_points
    except (ValueError, TypeError) as error:
        parent, name = os.path.split(str(getattr(dist, "_path", "")))
        text = b"".join(_entry_point_files(parent, name))
        if _names_group(text):
            message = f"{parent}/{name}/entry_points.txt: cannot be read ({error})"
            raise EngineError(message) from error
        return ()


def own_engines() -> tuple[Engine, ...]:
    """Return the engines that patchkit knows by itself.

    Raises:
        EngineError: One of them is malformed.
    """
    engines: tuple[Engine, ...] = ()
    for module in OWN_ENGINES:
        engines += (_read_engine("patchkit", module, engines),)
    return engines


def installed_engines(
    entries: Iterable[EntryPoint] | None = None,
) -> tuple[Engine, ...]:
    """Read the engines of installed packages, after patchkit's own.

    Args:
        entries: The entry points of what is installed; None to look for them.

    Returns:
        All engines.

    Raises:
        EngineError: An entry point leads to no engine, or to one that is malformed.
    """
    engines = own_engines()
    if entries is None:
        entries = entries_here()
    for entry in sorted({entry for entry in entries if entry.group == ENGINES}):
        engines += (_read_engine(_place_of(entry), entry.value, engines),)
    return engines


def own_processes(engines: Iterable[Engine] | None = None) -> tuple[ProcessRow, ...]:
    """Return the rows of engines' processes, and patchkit's own for those of other libraries.

    Args:
        engines: The engines; None for those that patchkit knows by itself.

    Raises:
        ProcessRowError: One of the rows is malformed.
    """
    if engines is None:
        engines = own_engines()
    rows = tuple([row for engine in engines for row in engine.processes])
    return rows + _read_processes("patchkit", OWN_PROCESSES, rows)


def installed_processes(
    entries: Iterable[EntryPoint] | None = None,
    engines: Iterable[Engine] | None = None,
) -> tuple[ProcessRow, ...]:
    """Read the rows of processes of installed packages, after those of the engines.

    Args:
        entries: The entry points of what is installed; None to look for them.
        engines: The engines; None for those that are installed.

    Returns:
        All rows of processes.

    Raises:
        ProcessRowError: An entry point leads to no rows, or to one that is malformed.
    """
    if entries is None:
        entries = entries_here()
    if engines is None:
        engines = installed_engines(entries)
    rows = own_processes(engines)
    for entry in sorted({entry for entry in entries if entry.group == PROCESSES}):
        rows += _read_processes(_place_of(entry), entry.value, rows)
    return rows


def _place_of(entry: EntryPoint) -> str:
    """Name an entry point in an error."""
    dist = entry.dist.name if entry.dist is not None else "unknown"
    return f"distribution {dist}, entry point {entry.name!r} of {entry.group}"


def _read_engine(where: str, module: str, present: tuple[Engine, ...]) -> Engine:
    """Import a module and return its `ENGINE`, which must not repeat what is present."""
    return check_engine(where, _declared(where, module, "ENGINE", EngineError), present)


def _read_processes(
    where: str, module: str, present: tuple[ProcessRow, ...]
) -> tuple[ProcessRow, ...]:
    """Import a module and return its `PROCESSES`, which must not repeat rows that are present."""
    rows = _declared(where, module, "PROCESSES", ProcessRowError)
    return check_processes(where, rows, present)


def _declared(
    where: str, module: str, name: str, refusal: type[EngineError | ProcessRowError]
) -> Any:
    """Import a module and return what it has under a name; raise `refusal` if it has nothing."""
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # a script that is imported may exit
        fault = f"{module!r} ({type(error).__name__}: {error})"
        expected = f"a module that can be imported and holds {name}"
        raise refusal(f"{where}: found {fault}, expected {expected}") from error


def _may_hold_packs(folder: str) -> bool:
    """Whether a folder of `sys.path` may hold entry points of patchkit's groups."""
    # A zip file is not opened; any may hold packs, except Python's own, such as `python311.zip`.
    if os.path.isfile(folder):  # noqa: PTH113 - importing pathlib slows every start
        return not folder.endswith("python{}{}.zip".format(*sys.version_info))
    return any(map(_names_group, _entry_point_files(folder)))


def _names_group(text: bytes) -> bool:
    """Whether a text names one of patchkit's groups of entry points."""
    return any(group.encode() in text for group in (GROUP, PROCESSES, ENGINES))


def _entry_point_files(folder: str, only: str = "") -> Iterator[bytes]:
    """Yield the content of each `entry_points.txt` of the distributions in a folder.

    Args:
        folder: The folder.
        only: The folder in it that is read alone; '' for all.
    """
    try:
        names = [only] if only else os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            path = f"{folder}/{name}/entry_points.txt"
            with suppress(OSError), open(path, "rb", opener=_opened) as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    yield file.read() or b""  # None: it would be waited for


def _opened(path: str, flags: int) -> int:
    """Open a file; do not wait until somebody writes to it, where it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
