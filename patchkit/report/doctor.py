"""`patchkit doctor` and `bootstrap status` for a person."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import console, print_hanging

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from patchkit.bootstrap.install import Bootstrap
    from patchkit.report.here import HealthLine

_MARKS = {"installed": "ok", "absent": "note", "foreign": "bad"}
_FIXES = {
    "incomplete": "a file is missing: 'patchkit bootstrap install' writes it again",
    "outdated": "of another patchkit: 'patchkit bootstrap install' brings it up to date",
    "foreign": "a file is not patchkit's: move it away",
}


def print_doctor(lines: Iterable[HealthLine]) -> None:
    """Print one line a fact, topic by topic, with a mark where it matters."""
    shown = []
    for topic, group in groupby(lines, lambda line: line.topic):
        shown.append((Text(topic, "heading"), Text(), ""))
        for _, mark, subject, message in group:
            word = "" if mark == "note" else mark
            shown.append((Text(f"  {word:4}", style=mark), Text(subject), message))
    print_hanging(console(), shown)


def print_bootstrap(
    folder: Path, bootstrap: Bootstrap, switch: str | None, location: str | None
) -> None:
    """Print the state, what PATCHKIT makes of it, where it finds patchkit, and its files."""
    is_on = (switch or "").strip() == "1"
    effect = "processes of this environment are armed" if is_on else "it waits for PATCHKIT=1"
    found = Text("found", "ok") if location else Text("not found", "bad")
    lines = [(Text("bootstrap", "heading"), _state(bootstrap.state), str(folder))]
    if bootstrap.state in _FIXES:
        lines.append((Text(), Text(), _FIXES[bootstrap.state]))
    is_there = bootstrap.state != "absent"
    lines.append((Text("PATCHKIT"), Text(switch or "not set"), effect if is_there else ""))
    lines.append((Text("patchkit"), found, location or ""))
    lines += [(Text("file"), _state(state), file.name) for file, state in bootstrap.files.items()]
    print_hanging(console(), lines)


def _state(state: str) -> Text:
    return Text(state, style=_MARKS.get(state, "warn"))
