"""Collects the rows of this process, checked and put in order, and the engines that are known."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from patchkit.core.engines.entry_points import (
    entries_here,
    installed_engines,
    installed_packs,
    installed_processes,
    own_engines,
    own_processes,
    pack_modules,
)
from patchkit.core.rows import declaration
from patchkit.core.rows.declaration import Patch, Role, Row
from patchkit.core.rows.processes import ProcessTable
from patchkit.core.rows.rules import check_pack, check_patch
from patchkit.errors import (
    DeclarationError,
    PatchkitError,
    near,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType

    from patchkit.core.engines.engine import Engine
    from patchkit.core.rows.processes import ProcessRow
    from patchkit.settings import Settings

    StandIns = Callable[[str, DeclarationError], Iterable[Row]]

# Python's message where `Patch(…)` or a change has a field that does not exist. `\b`: a word is
# gone through once, and not from each of its letters on.
_UNEXPECTED = r"\b(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'"

_FOLDER_ROLES = {
    "platform": frozenset({Role.MAIN, Role.ENGINE_CORE}),
    "worker": frozenset({Role.WORKER}),
}

OWN_PACKS = ("patchkit.platform", "patchkit.worker")
OPTIONAL_PACKS = ("patchkit.data_llm",)
"""Shipped, and off unless asked for."""


class Registry:
    """Rows in the order in which they apply: as the packs list them, but after those in `after`.

    Args:
        rows: The rows of patches, in the order of their packs.
        engines: The engines whose processes are known; None for patchkit's own.
        processes: The rows that say how processes are known; None for those of the engines.

    Raises:
        DeclarationError: A name is a duplicate, an `after` is unknown, or several make a circle.
    """

    def __init__(
        self,
        rows: Iterable[Row] = (),
        engines: Iterable[Engine] | None = None,
        processes: Iterable[ProcessRow] | None = None,
    ) -> None:
        if engines is None:
            engines = own_engines()
        self.engines = tuple(engines)
        if processes is None:
            processes = own_processes(self.engines)
        self.processes = ProcessTable(processes)
        declared: dict[str, Row] = {}
        for row in rows:
            first = declared.get(row.name)
            if first is not None:
                raise duplicate(row, first)
            declared[row.name] = row
        self._rows: dict[str, Row] = {}
        for name in declared:
            _add_in_order(name, declared, self._rows)

    @classmethod
    def collect(
        cls,
        settings: Settings,
        extra: Iterable[str] = (),
        stand_ins: StandIns | None = None,
    ) -> Registry:
        """Read every pack of this process.

        Args:
            settings: The settings of this process.
            extra: The modules of further packs.
            stand_ins: Returns rows for a pack that cannot be imported here, or raises its error.

        Returns:
            The registry of all rows.

        Raises:
            DeclarationError: A pack or a row is malformed, or rows do not go together.
            EngineError: An engine is malformed.
            ProcessRowError: A row of a process is malformed.
        """
        entries = entries_here()
        packs = packs_for(settings, extra, pack_modules(entries))
        engines = installed_engines(entries)
        processes = installed_processes(entries, engines)
        return cls(_read_packs(packs, stand_ins), engines, processes)

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


def duplicate(row: Row, first: Row) -> DeclarationError:
    """Return the error of a row that has the name of an earlier one.

    Args:
        row: The row at fault.
        first: The earlier row.
    """
    found = f"the name of a patch of pack {first.pack} as well ({first.body})"
    return DeclarationError(
        row.pack, row.name, "name", found, "a name that no other patch has"
    )


def packs_for(
    settings: Settings,
    extra: Iterable[str] = (),
    installed: Iterable[str] | None = None,
) -> tuple[str, ...]:
    """Return every pack of this process once: own, installed, `PATCHKIT_PATCHES`, `extra`.

    Args:
        settings: The settings of this process.
        extra: The modules of further packs.
        installed: The modules of installed packs; None to look for them.
    """
    if installed is None:
        installed = installed_packs()
    packs = (*OWN_PACKS, *installed, *settings.packs, *extra)
    return tuple(dict.fromkeys(packs))


def is_own_pack(name: str) -> bool:
    """Whether a pack comes with patchkit and is always read.

    Args:
        name: The name of its module.
    """
    return name in OWN_PACKS


def _read_packs(
    packs: Iterable[str], stand_ins: StandIns | None = None
) -> Iterator[Row]:
    """Yield the rows of packs, or what `stand_ins` returns for a pack that cannot be imported."""
    for pack in packs:
        try:
            yield from read_pack(pack)
        except DeclarationError as error:
            if stand_ins is None or not isinstance(error.__cause__, ImportError):
                raise
            yield from stand_ins(pack, error)


def read_pack(name: str) -> tuple[Row, ...]:
    """Import a pack and read its rows.

    Args:
        name: The dotted name of the pack.

    Returns:
        The rows, as the pack orders them.

    Raises:
        DeclarationError: The pack cannot be imported, or it or a row is malformed.
    """
    module = _import_pack(name)
    try:
        return tuple([row_of(name, patch) for patch in check_pack(name, module)])
    except PatchkitError:
        raise
    except (
        Exception
    ) as error:  # of the pack's own classes, such as a `__repr__` that fails
        found = f"an object that raises {type(error).__name__}: {_text_of(error)}"
        expected = "rows whose values can be read"
        raise DeclarationError(name, None, "PATCHES", found, expected) from error


def _import_pack(name: str) -> ModuleType:
    """Import a pack; an error of the import becomes a DeclarationError with a hint."""
    parts = name.split(".")
    is_file = len(parts) > 1 and parts[-1] == "py"
    if is_file or not all(part.isidentifier() for part in parts):
        expected = (
            "the dotted name of a package (a folder with __init__.py), such as my_pack, "
            "not a path"
        )
        raise DeclarationError(name, None, "name", repr(name), expected)
    try:
        return importlib.import_module(name)
    except (PatchkitError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit as well, and others of the pack's own
        line = _line_in_pack(name, error)
        found = f"{type(error).__name__}: {_text_of(error)}{line}"
        expected = _allowed_names(error) or "a package that can be imported"
        if _is_missing(name, error):
            expected += ", installed or in a folder of PYTHONPATH"
        raise DeclarationError(name, None, "import", found, expected) from error


def _text_of(error: BaseException) -> str:
    """Return the message of an error, also of one whose class fails to say it."""
    if isinstance(error, SyntaxError):
        return error.msg  # without the file, whose folder it does not say
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - the pack's own code
        return f"its message raises {type(second).__name__}"


def _is_missing(pack: str, error: BaseException) -> bool:
    """Whether the pack itself, or a package around it, is missing, and not what it imports."""
    if not isinstance(error, ModuleNotFoundError):
        return False
    # `error.name` is the missing module: for the pack `a.b`, either `a` or `a.b`.
    return f"{pack}.".startswith(f"{error.name}.")


def _allowed_names(error: BaseException) -> str:
    """List what exists if an error is about an unknown role (`Role.WORKERS`) or field; else ''."""
    if isinstance(error, AttributeError) and error.obj is Role:
        names = ", ".join(f"Role.{role.name}" for role in Role)
        return f"one of {names}"
    match = re.search(_UNEXPECTED, _text_of(error))
    if match is None:
        return ""
    from dataclasses import fields, is_dataclass  # noqa: PLC0415 - only on the way to an error

    # `match` has the name of the class, and the unknown field.
    kind = getattr(declaration, match[1], None)
    if not is_dataclass(kind):
        return ""
    parameters = [field.name for field in fields(kind)]
    hint = near(match[2], parameters)
    return f"one of {', '.join(parameters)}{hint}"


def _line_in_pack(pack: str, error: BaseException) -> str:
    """Return ` (file:line)` of the pack's innermost line in a traceback; '' if it has none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({shown(error.filename)}:{error.lineno})"
    from traceback import walk_tb  # noqa: PLC0415 - only on the way to an error

    folder = f"/{pack.replace('.', '/')}/"
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if folder in file:
            place = f" ({shown(file)}:{line})"  # replaced by a line further in, if there is one
    return place


def row_of(pack: str, patch: Patch) -> Row:
    """Make a row of a pack's patch.

    Args:
        pack: The dotted name of the pack.
        patch: The patch.

    Returns:
        The row, with the roles of the pack's folder if the patch names none.

    Raises:
        DeclarationError: The patch is malformed, or it has no roles.
    """
    check_patch(pack, patch)
    roles = patch.roles
    if roles is None:
        folder = pack.rpartition(".")[2]
        roles = _FOLDER_ROLES.get(folder)
    if roles is None:
        expected = "roles, as the pack is in no folder named 'platform' or 'worker'"
        raise DeclarationError(pack, patch.name, "roles", "none", expected)
    return Row(pack, patch, frozenset(map(Role, roles)))  # a pack may write 'worker'


def _add_in_order(first: str, rows: Mapping[str, Row], ordered: dict[str, Row]) -> None:
    """Add a row to `ordered`, but before it the rows that it names in `after`, and so on."""
    if first in ordered:
        return
    # The rows that wait for the one behind them, each with those that it is still to wait for.
    # It is no recursion, as a thousand rows may name each other.
    waiting = {first: iter(rows[first].patch.after)}
    while waiting:
        name = next(reversed(waiting))
        row = rows[name]
        predecessor = next(waiting[name], None)
        if predecessor is None:
            del waiting[name]
            ordered[name] = row
        elif predecessor in waiting:
            path = [*waiting, predecessor]
            circle = " -> ".join(path[path.index(predecessor) :])
            found = f"a circle: {circle}"
            raise DeclarationError(
                rows[predecessor].pack, predecessor, "after", found, "an order"
            )
        elif predecessor not in rows:
            found = f"{predecessor!r}, which no pack declares"
            expected = f"a patch's name{near(predecessor, rows)}"
            raise DeclarationError(row.pack, name, "after", found, expected)
        elif predecessor not in ordered:
            waiting[predecessor] = iter(rows[predecessor].patch.after)
