"""What `adopt` tells a person: the rows that it made, and what none of them says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.errors import shown
from patchkit.report.console import console

if TYPE_CHECKING:
    from patchkit.adopt.differing import DifferenceRows
    from patchkit.scaffold.plan import Place


def print_differences(done: DifferenceRows, place: Place, *, written: bool) -> None:
    """Print the rows, what is left, and what to do next."""
    out, count = console(), len(done.patches)
    where = shown(place.folder) if written else f"{shown(place.folder)} (not written)"
    out.print(Text(f"{count} row{'s' * (count != 1)}", "name"), Text(where, "note"))
    for patch in done.patches:
        kinds = [change.kind for change in patch.changes]
        counted = ", ".join(f"{kinds.count(one)} {one}" for one in dict.fromkeys(kinds))
        out.print(Text(patch.name, "name"), Text(f" {counted}"), soft_wrap=True)
    if done.unsaid:
        out.print(Text("\nno row says", style="heading"))
    for one in done.unsaid:
        out.print(Text(f"{one.place}, line {one.line}"), soft_wrap=True)
        out.print(Text(f"    {one.reason}", "note"), soft_wrap=True)
        if one.used_by:
            out.print(Text(f"    used by {', '.join(one.used_by)}", "bad"), soft_wrap=True)
    if written:
        out.print(Text(f"\nnext: patchkit check --patches {place.module}", style="note"))
