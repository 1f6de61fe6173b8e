"""All rows of this process: of patches, validated and put in order, and of processes."""

from __future__ import annotations

import importlib
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from patchkit.core.rows import declaration
from patchkit.core.rows.declaration import Patch, Role, Row
from patchkit.core.rows.processes import GROUP as PROCESSES
from patchkit.core.rows.processes import ProcessRow, ProcessTable
from patchkit.core.rows.rules import check_pack, check_patch, check_processes
from patchkit.errors import DeclarationError, PatchkitError, ProcessRowError, near, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint
    from types import ModuleType

    from patchkit.settings import Settings

_UNEXPECTED = r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'"

_FOLDER_ROLES = {
    "platform": frozenset({Role.MAIN, Role.ENGINE_CORE}),
    "worker": frozenset({Role.WORKER}),
}

OWN_PACKS = ("patchkit.platform", "patchkit.worker")
OPTIONAL_PACKS = ("patchkit.data_llm",)
"""Shipped, and off unless asked for."""
OWN_PROCESSES = "patchkit.platform.processes"
"""Where patchkit's own rows of processes are."""

GROUP = "patchkit.patches"


class Registry:
    """Rows in the order in which they apply: packs as given, each after what it names in `after`.

    Args:
        rows: of patches, as their packs have them.
        processes: the rows of how processes are known; patchkit's own where there are none.

    Raises:
        DeclarationError: a name is a duplicate, an `after` is unknown, or several make a circle.
    """

    def __init__(
        self, rows: Iterable[Row] = (), processes: Iterable[ProcessRow] | None = None
    ) -> None:
        self.processes = ProcessTable(own_processes() if processes is None else processes)
        self._rows: dict[str, Row] = {}
        for row in rows:
            if (other := self._rows.get(row.name)) is not None:
                raise duplicate(row, other)
            self._rows[row.name] = row
        ordered: dict[str, Row] = {}
        for name in self._rows:
            _place(name, self._rows, ordered, ())
        self._rows = ordered

    @classmethod
    def collect(cls, settings: Settings, extra: Iterable[str] = ()) -> Registry:
        """Read every pack of this process; `extra` names further pack modules."""
        found = _installed()
        packs = packs_for(settings, extra, _modules(found))
        return cls((row for name in packs for row in read_pack(name)), installed_processes(found))

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __getitem__(self, name: str) -> Row:
        return self._rows[name]

    def __repr__(self) -> str:
        return f"<Registry of {len(self)} patches: {', '.join(self._rows)}>"


def duplicate(row: Row, other: Row) -> DeclarationError:
    """Return the error of a row that has another one's name."""
    found = f"the name of a patch of pack {other.pack} as well ({other.body})"
    return DeclarationError(row.pack, row.name, "name", found, "a name that no other patch has")


def packs_for(
    settings: Settings, extra: Iterable[str] = (), installed: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Name every pack of this process once: own, installed, `PATCHKIT_PATCHES`, `extra`."""
    found = installed_packs() if installed is None else installed
    return tuple(dict.fromkeys((*OWN_PACKS, *found, *settings.packs, *extra)))


def installed_packs(path: Iterable[str] | None = None) -> tuple[str, ...]:
    """Name the modules in the entry-point group `patchkit.patches`."""
    return _modules(_installed(path))


def _modules(found: Iterable[EntryPoint]) -> tuple[str, ...]:
    modules = {entry.name: entry.value for entry in found if entry.group == GROUP}
    return tuple(modules[name] for name in sorted(modules))


def _installed(path: Iterable[str] | None = None) -> list[EntryPoint]:
    """Find the entry points in patchkit's groups.

    Importing `importlib.metadata` takes 30 ms, so it is asked only if an `entry_points.txt` file
    contains the name of a group.
    """
    folders = [folder or "." for folder in (sys.path if path is None else path)]
    if not any(_may_hold_packs(folder) for folder in folders):
        return []
    from importlib.metadata import distributions  # noqa: PLC0415 - see above

    entries = (entry for dist in distributions(path=folders) for entry in dist.entry_points)
    return [entry for entry in entries if entry.group in {GROUP, PROCESSES}]


def own_processes() -> tuple[ProcessRow, ...]:
    """Read patchkit's own rows of processes.

    Raises:
        ProcessRowError: one of them is malformed.
    """
    return _read_processes("patchkit", OWN_PROCESSES, ())


def installed_processes(found: Iterable[EntryPoint] | None = None) -> tuple[ProcessRow, ...]:
    """Read the rows of processes that installed packages tell of, after patchkit's own.

    Args:
        found: the entry points of what is installed; they are looked for where it is None.

    Raises:
        ProcessRowError: an entry point leads to no rows, or to one that is malformed.
    """
    rows = own_processes()
    entries = _installed() if found is None else found
    for entry in sorted({entry for entry in entries if entry.group == PROCESSES}):
        name = entry.dist.name if entry.dist is not None else "unknown"
        where = f"distribution {name}, entry point {entry.name!r} of {PROCESSES}"
        rows += _read_processes(where, entry.value, rows)
    return rows


def _read_processes(
    where: str, module: str, others: tuple[ProcessRow, ...]
) -> tuple[ProcessRow, ...]:
    """Import a module and return its `PROCESSES`, which must not repeat rows of others."""
    try:
        declared = importlib.import_module(module).PROCESSES
    except (Exception, SystemExit) as error:
        fault = f"{module!r} ({type(error).__name__}: {error})"
        expected = "a module that can be imported and holds PROCESSES"
        raise ProcessRowError(f"{where}: found {fault}, expected {expected}") from error
    return check_processes(where, declared, others)


def _may_hold_packs(folder: str) -> bool:
    if os.path.isfile(folder):  # noqa: PTH113 - a zip on the path; pathlib costs a start
        return not folder.endswith("python{}{}.zip".format(*sys.version_info))
    groups = GROUP.encode(), PROCESSES.encode()
    return any(group in text for text in _entry_point_files(folder) for group in groups)


def _entry_point_files(folder: str) -> Iterator[bytes]:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            with suppress(OSError), open(f"{folder}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123
                yield file.read()


def read_pack(name: str) -> tuple[Row, ...]:
    """Import a pack and return its rows; raise DeclarationError if that or a row is at fault."""
    module = _import_pack(name)
    return tuple(row_of(name, patch) for patch in check_pack(name, module))


def _import_pack(name: str) -> ModuleType:
    if not all(map(str.isidentifier, name.split("."))):
        expected = "the dotted name of a package, such as my_pack, not a path"
        raise DeclarationError(name, None, "name", repr(name), expected)
    try:
        return importlib.import_module(name)
    except PatchkitError:
        raise
    except (Exception, SystemExit) as error:
        found = f"{type(error).__name__}: {error}{_line_of(name, error)}"
        expected = _meant(error) or "a package that can be imported"
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            expected += ", installed or in a folder of PYTHONPATH"
        raise DeclarationError(name, None, "import", found, expected) from error


def _meant(error: BaseException) -> str:
    """Say which words a row may have in place of an unknown one; else ''."""
    if isinstance(error, AttributeError) and error.obj is Role:
        return f"one of {', '.join(f'Role.{role.name}' for role in Role)}"
    from dataclasses import fields, is_dataclass  # noqa: PLC0415 - only on the way to an error

    match = re.search(_UNEXPECTED, str(error))
    kind = getattr(declaration, match[1], None) if match else None
    if match is None or not is_dataclass(kind):
        return ""
    names = [field.name for field in fields(kind)]
    return f"one of {', '.join(names)}{near(match[2], names)}"


def _line_of(pack: str, error: BaseException) -> str:
    """Say which line of a pack an error comes from; '' where it comes from elsewhere."""
    from traceback import walk_tb  # noqa: PLC0415 - only on the way to an error

    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    folder = f"/{pack.replace('.', '/')}/"
    own = [f" ({shown(file)}:{line})" for file, line in lines if folder in file]
    return own[-1] if own else ""


def row_of(pack: str, patch: Patch) -> Row:
    """Make a row of a pack's patch; raise DeclarationError if it is malformed."""
    check_patch(pack, patch)
    roles = _FOLDER_ROLES.get(pack.rpartition(".")[2]) if patch.roles is None else patch.roles
    if roles is None:
        expected = "roles, as the pack is in no folder named 'platform' or 'worker'"
        raise DeclarationError(pack, patch.name, "roles", "none", expected)
    return Row(pack, patch, frozenset(map(Role, roles)))


def _place(
    name: str, rows: Mapping[str, Row], ordered: dict[str, Row], path: tuple[str, ...]
) -> None:
    if name in ordered:
        return
    row = rows[name]
    if name in path:
        circle = " -> ".join((*path[path.index(name) :], name))
        raise DeclarationError(row.pack, name, "after", f"a circle: {circle}", "an order")
    for other in row.patch.after:
        if other not in rows:
            found = f"{other!r}, which no pack declares"
            raise DeclarationError(row.pack, name, "after", found, "a patch's name")
        _place(other, rows, ordered, (*path, name))
    ordered[name] = row
