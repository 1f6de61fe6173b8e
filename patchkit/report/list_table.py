"""`patchkit list` for a person: what runs here, then the patches, pack by pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import columns, console
from patchkit.rows.declaration import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from patchkit.rows.declaration import Row
    from patchkit.versions.requirements import FoundVersion

_ROOM_FOR_WHY = 120


def print_list(
    versions: Mapping[str, FoundVersion | None],
    rows: Sequence[tuple[Row, str | None]],
    *,
    everything: bool,
) -> None:
    """Print the versions here, and the patches with the reason why they do not apply here."""
    out = console()
    shown = [(row, reason) for row, reason in rows if everything or reason is None]
    if versions:
        out.print(_versions(versions))
    if shown:
        out.print()
        out.print(_patches(shown, everything=everything, with_why=out.width >= _ROOM_FOR_WHY))


def _versions(versions: Mapping[str, FoundVersion | None]) -> Table:
    table = columns()
    for name, found in versions.items():
        if found is None:
            table.add_row(name, Text("not installed", style="note"))
        else:
            table.add_row(name, found.version, Text(found.source, style="note"))
    return table


def _patches(rows: Sequence[tuple[Row, str | None]], *, everything: bool, with_why: bool) -> Table:
    table = columns(header=True)
    table.add_column("patch", no_wrap=not everything, overflow="fold")
    table.add_column("roles", overflow="fold")
    table.add_column("here" if everything else "requires", overflow="fold")
    if with_why:
        table.add_column("why")
    for pack in dict.fromkeys(row.pack for row, _ in rows):
        table.add_row(Text(pack, style="heading"))
        for row, reason in rows:
            if row.pack == pack:
                here = _here(row, reason) if everything else Text(", ".join(row.patch.requires))
                why = Text(row.patch.why, style="note", no_wrap=True, overflow="ellipsis")
                name = Text(f"  {row.name}", style="note" if reason else "name")
                table.add_row(name, _roles(row), here, *([why] if with_why else []))
    return table


def _roles(row: Row) -> str:
    names = [role for role in Role if role in row.roles]
    return "all" if len(names) == len(Role) else ", ".join(names)


def _here(row: Row, reason: str | None) -> Text:
    if reason is not None:
        return Text(reason, style="note")
    asked = f", if {row.patch.when} in its body says so" if row.patch.when else ""
    return Text(f"selected{asked}", style="ok")
