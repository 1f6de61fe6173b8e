"""`patchkit bootstrap status` for a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import console
from patchkit.report.hanging import print_hanging

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
    lines = [(Text("bootstrap", "heading"), _state(data["state"]), data["folder"])]
    if data["state"] in _FIXES:
        lines.append((Text(), Text(), _FIXES[data["state"]]))
    lines.append((Text("PATCHKIT"), Text(data["switch"] or "not set"), _switch(data)))
    found = Text("found", "ok") if data["patchkit"] else Text("not found", "bad")
    lines.append((Text("patchkit"), found, data["patchkit"] or ""))
    lines += [
        (Text("file"), _state(file["state"]), Path(file["file"]).name) for file in data["files"]
    ]
    print_hanging(console(), lines)


def _state(state: str) -> Text:
    return Text(state, style=_MARKS.get(state, "warn"))


def _switch(data: BootstrapShape) -> str:
    if data["state"] == "absent":
        return ""
    on = (data["switch"] or "").strip() == "1"
    return "processes of this environment are armed" if on else "the bootstrap waits for PATCHKIT=1"
