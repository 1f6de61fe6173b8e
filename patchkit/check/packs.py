"""Packs as far as they can be read: what is wrong with one row does not hide the others."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from patchkit.check import codes
from patchkit.check.findings import Finding
from patchkit.check.pack_source import PackSource
from patchkit.errors import DeclarationError
from patchkit.registry import Registry, read_pack, row_of
from patchkit.rows.declaration import Patch
from patchkit.rows.packs import packs_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from patchkit.rows.row import Row
    from patchkit.settings import Settings

_TEXTS = {
    "why": (codes.MISSING_WHY, "what goes wrong without it"),
    "upstream": (codes.MISSING_UPSTREAM, "a link, or 'none: reason'"),
    "sunset": (codes.MISSING_SUNSET, "the condition under which the row is deleted"),
}


def read_packs(settings: Settings, extra: Iterable[str]) -> tuple[Registry, list[Finding]]:
    """
    Read every pack of this process.

    Args:
        settings: say which.
        extra: further pack modules.

    Returns:
        The rows that have a body, and a finding for each body without row and row without body.

    Raises:
        DeclarationError: a pack cannot be imported, or a row is malformed otherwise.

    """
    return read_named(packs_for(settings, extra))


def read_named(packs: Iterable[str]) -> tuple[Registry, list[Finding]]:
    """Read packs, as `read_packs` does those of this process."""
    rows: list[Row] = []
    findings: list[Finding] = []
    for name in packs:
        try:
            rows += read_pack(name)
        except DeclarationError as error:
            some, faults = _read_loosely(name, error)
            rows += some
            findings += faults
    return Registry(rows), findings


def sources_of(rows: Iterable[Row]) -> Mapping[str, PackSource]:
    """Open the source of every pack that rows are of."""
    return {name: PackSource(name) for name in dict.fromkeys(row.pack for row in rows)}


def of_row(row: Row, pack: PackSource) -> Iterator[Finding]:
    """Find what is wrong with a row in every release."""
    file, line = pack.place(row)
    for field, (code, expected) in _TEXTS.items():
        if not getattr(row.patch, field).strip():
            message = f"{row.name} has no `{field}`, expected {expected}"
            fix = f"say it in the row: {field}=…"
            yield Finding(code, message, fix, row.name, "", "", file, line)
    if row.patch.body is None:
        return
    changes = row.patch.changes
    names = [*(one.body_name for one in changes), row.patch.when, *(one.when for one in changes)]
    for name in dict.fromkeys(filter(None, names)):
        found = pack.facts(row, name)
        if found.state == "absent":
            message = f"{name} is not in the body: {found.reason}"
            fix = f"define {name} in the body, or name another object in the row"
            yield Finding(codes.NAME_NOT_IN_BODY, message, fix, row.name, "", "", file, line)


def _read_loosely(name: str, error: DeclarationError) -> tuple[list[Row], list[Finding]]:
    module = importlib.import_module(name) if error.field in ("PATCHES", "body") else None
    patches = getattr(module, "PATCHES", None)
    if not isinstance(patches, (tuple, list)) or not all(isinstance(one, Patch) for one in patches):
        raise error
    pack = PackSource(name)
    there, declared = set(pack.bodies), {one.body for one in patches}
    lost = [one for one in patches if one.body is not None and one.body not in there]
    findings = [
        *(_without_row(pack, body) for body in sorted(there - declared)),
        *(_without_body(pack, one) for one in lost),
    ]
    if not findings:
        raise error
    return [row_of(name, one) for one in patches if one not in lost], findings


def _without_row(pack: PackSource, body: str) -> Finding:
    message = f"pack {pack.name} has {body}.py and no row for it; it is never loaded"
    fix = "add a row to PATCHES, or delete the file"
    return Finding(codes.BODY_WITHOUT_ROW, message, fix, file=pack.body_file(body), line=1)


def _without_body(pack: PackSource, patch: Patch) -> Finding:
    message = f"the row {patch.name} names the body {patch.body!r}, which pack {pack.name} lacks"
    fix = f"write {patch.body}.py, or delete the row"
    file, line = pack.row_place(patch.name)
    return Finding(codes.ROW_WITHOUT_BODY, message, fix, patch.name, "", "", file, line)
