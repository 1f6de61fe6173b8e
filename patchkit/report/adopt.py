"""What `adopt` tells a person: the rows that it made, and what none of them says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.errors import shown
from patchkit.report.console import columns, console

if TYPE_CHECKING:
    from patchkit.adopt.differing import DifferenceRows
    from patchkit.scaffold.plan import Place


def print_differences(done: DifferenceRows, place: Place, *, written: bool) -> None:
    """Print the rows, what is left, and what to do next."""
    out, count = console(), len(done.patches)
    where = shown(place.folder) if written else f"{shown(place.folder)} (not written)"
    out.print(Text(f"{count} row{'s' * (count != 1)}", "name"), Text(where, "note"))
    table = columns()
    for patch in done.patches:
        kinds = [change.kind for change in patch.changes]
        counted = ", ".join(f"{kinds.count(one)} {one}" for one in dict.fromkeys(kinds))
        table.add_row(Text(patch.name, "name"), Text(counted), Text(patch.body or "", "note"))
    out.print(table)
    if done.unsaid:
        out.print(Text("\nno row says", style="heading"))
        table = columns()
        for one in done.unsaid:
            table.add_row(Text(one.place), Text(f"line {one.line}"), Text(one.reason, "note"))
            if one.used_by:
                table.add_row(Text(), Text("used by", "bad"), Text(", ".join(one.used_by)))
        out.print(table)
    if written:
        out.print(Text(f"\nnext: patchkit check --patches {place.module}", style="note"))
