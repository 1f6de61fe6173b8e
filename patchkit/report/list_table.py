"""`patchkit list` for a person: what runs here, then the patches, pack by pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from patchkit.report.console import console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchkit.report.shapes import ListShape, PatchShape, VersionShape

_ROLES = 3
_ROOM_FOR_WHY = 120


def print_list(data: ListShape, everything: bool) -> None:
    """
    Print the versions here and the patches.

    Args:
        data: what to print.
        everything: also the patches that are not for here, with the reason.

    """
    out = console()
    shown = [patch for patch in data["patches"] if everything or patch["selected"]]
    if data["versions"]:
        out.print(_versions(data["versions"]))
    if shown:
        out.print()
        out.print(_patches(shown, everything, with_why=out.width >= _ROOM_FOR_WHY))


def _versions(versions: Mapping[str, VersionShape]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, found in versions.items():
        if found["version"] is None:
            table.add_row(name, Text("not installed", style="note"))
        else:
            table.add_row(name, found["version"], Text(found["source"] or "", style="note"))
    return table


def _patches(patches: list[PatchShape], everything: bool, *, with_why: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("patch", no_wrap=not everything, overflow="fold")
    table.add_column("roles", overflow="fold")
    table.add_column("here" if everything else "requires", overflow="fold")
    if with_why:
        table.add_column("why")
    for pack in dict.fromkeys(patch["pack"] for patch in patches):
        table.add_row(Text(pack, style="heading"))
        for patch in patches:
            if patch["pack"] == pack:
                table.add_row(*_cells(patch, everything)[: 4 if with_why else 3])
    return table


def _cells(patch: PatchShape, everything: bool) -> list[Text]:
    style = "name" if patch["selected"] else "note"
    return [
        Text(f"  {patch['name']}", style=style),
        Text(_roles(patch["roles"])),
        _here(patch) if everything else Text(", ".join(patch["requires"])),
        Text(patch["why"], style="note", no_wrap=True, overflow="ellipsis"),
    ]


def _roles(roles: list[str]) -> str:
    return "all" if len(roles) == _ROLES else ", ".join(roles)


def _here(patch: PatchShape) -> Text:
    if patch["selected"]:
        asked = f", if {patch['when']} in its body says so" if patch["when"] else ""
        return Text(f"selected{asked}", style="ok")
    return Text(patch["reason"] or "", style="note")
