"""`patchkit bootstrap status` for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from patchkit.report.console import console

if TYPE_CHECKING:
    from patchkit.report.shapes import BootstrapShape

_MARKS = {"installed": "ok", "absent": "note", "foreign": "bad"}
_FIXES = {
    "incomplete": "a file is missing: 'patchkit bootstrap install' writes it again",
    "outdated": "of another patchkit: 'patchkit bootstrap install' brings it up to date",
    "foreign": "a file is not patchkit's: move it away",
}


def print_bootstrap(data: BootstrapShape) -> None:
    """Print the state, what the bootstrap waits for, and its files."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    table.add_row(Text("bootstrap", style="heading"), _state(data["state"]), data["folder"])
    if data["state"] in _FIXES:
        table.add_row("", "", _FIXES[data["state"]])
    table.add_row("PATCHKIT", data["switch"] or "not set", _switch(data))
    table.add_row("patchkit", data["patchkit"] or Text("not found", style="bad"), "")
    for file in data["files"]:
        table.add_row("file", _state(file["state"]), file["file"])
    console().print(table)


def _state(state: str) -> Text:
    return Text(state, style=_MARKS.get(state, "warn"))


def _switch(data: BootstrapShape) -> str:
    if data["state"] == "absent":
        return ""
    on = (data["switch"] or "").strip() == "1"
    return "processes of this environment are armed" if on else "the bootstrap waits for PATCHKIT=1"
