"""The rows of this process: collected from packs, validated and put in order."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from patchkit.errors import DeclarationError, PatchkitError
from patchkit.rows import declaration
from patchkit.rows.declaration import Patch, Role
from patchkit.rows.packs import packs_for
from patchkit.rows.row import Row
from patchkit.rows.rules import check_pack, check_patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType

    from patchkit.settings import Settings

_UNEXPECTED = r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'"
_FOLDER_ROLES = {
    "platform": frozenset({Role.MAIN, Role.ENGINE_CORE}),
    "worker": frozenset({Role.WORKER}),
}


class Registry:
    """
    Rows in the order in which they apply: packs as given, and each after what it names in `after`.

    Raises:
        DeclarationError: a duplicate name, an unknown `after`, or a circle of them.

    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows: dict[str, Row] = {}
        for row in rows:
            if (other := self._rows.get(row.name)) is not None:
                raise duplicate(row, other)
            self._rows[row.name] = row
        self._rows = _in_order(self._rows)

    @classmethod
    def collect(cls, settings: Settings, extra: Iterable[str] = ()) -> Registry:
        """Read every pack of this process; `extra` names further pack modules."""
        names = packs_for(settings, extra)
        return cls(row for name in names for row in read_pack(name))

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
    return DeclarationError(
        row.pack,
        row.name,
        "name",
        f"the name of a patch of pack {other.pack} as well ({other.body})",
        "a name that no other patch has",
    )


def read_pack(name: str) -> tuple[Row, ...]:
    """
    Import a pack and return its rows; no body is imported.

    Raises:
        DeclarationError: the pack cannot be imported, or a row of it is malformed.

    """
    module = _import_pack(name)
    return tuple(row_of(name, patch) for patch in check_pack(name, module))


def row_of(pack: str, patch: Patch) -> Row:
    """
    Make a row of a pack's patch.

    Raises:
        DeclarationError: it is malformed.

    """
    check_patch(pack, patch)
    return Row(pack, patch, _roles(pack, patch))


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
    # Only on the way to an error.
    from dataclasses import fields, is_dataclass  # noqa: PLC0415

    from patchkit.text.suggestion import near  # noqa: PLC0415

    match = re.search(_UNEXPECTED, str(error))
    kind = getattr(declaration, match[1], None) if match else None
    if match is None or not is_dataclass(kind):
        return ""
    names = [field.name for field in fields(kind)]
    return f"one of {', '.join(names)}{near(match[2], names)}"


def _line_of(pack: str, error: BaseException) -> str:
    """Say which line of a pack an error comes from; '' where it comes from elsewhere."""
    from patchkit.text.row_lines import shown  # noqa: PLC0415 - only on the way to an error

    folder, found = f"/{pack.replace('.', '/')}/", ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if folder in file:
            found = f" ({shown(file)}:{trace.tb_lineno})"
        trace = trace.tb_next
    return found


def _roles(pack: str, patch: Patch) -> frozenset[Role]:
    if patch.roles is not None:
        return frozenset(Role(role) for role in patch.roles)
    try:
        return _FOLDER_ROLES[pack.rpartition(".")[2]]
    except KeyError:
        expected = "roles, as the pack is in no folder named 'platform' or 'worker'"
        raise DeclarationError(pack, patch.name, "roles", "none", expected) from None


def _in_order(rows: Mapping[str, Row]) -> dict[str, Row]:
    ordered: dict[str, Row] = {}
    for row in rows.values():
        _place(row, rows, ordered, ())
    return ordered


def _place(
    row: Row, rows: Mapping[str, Row], ordered: dict[str, Row], path: tuple[str, ...]
) -> None:
    if row.name in ordered:
        return
    if row.name in path:
        circle = " -> ".join((*path[path.index(row.name) :], row.name))
        raise DeclarationError(row.pack, row.name, "after", f"a circle: {circle}", "an order")
    for name in row.patch.after:
        if name not in rows:
            raise DeclarationError(
                row.pack, row.name, "after", f"{name!r}, which no pack declares", "a patch's name"
            )
        _place(rows[name], rows, ordered, (*path, row.name))
    ordered[row.name] = row
