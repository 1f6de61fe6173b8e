"""`patchkit new` for a person: what was written, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.errors import shown
from patchkit.report.console import columns, console, print_diff_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.report.here import NextStep
    from patchkit.scaffold.plan import Plan

_PLANNED = {"created": "would create", "edited": "would edit"}


def print_new(plan: Plan, steps: Iterable[NextStep], *, written: bool) -> None:
    """Print the files, what is in them where they are only planned, and the next steps."""
    out = console()
    out.print(Text(plan.patch.name, style="name"), Text(plan.place.module, style="note"))
    out.print()
    table = columns()
    for file in plan.files:
        action = file.action if written else _PLANNED[file.action]
        table.add_row(Text(action, "ok"), Text(shown(file.path)), Text(file.what, "note"))
    out.print(table)
    for file in () if written else plan.files:
        out.print()
        out.print(Text(shown(file.path), style="heading"))
        if file.diff:
            print_diff_lines(file.diff, out)
        else:
            out.print(Text(file.text.rstrip("\n")))
    if plan.refusal:
        out.print()
        out.print(Text("row", style="heading"))
        out.print(Text(plan.row))
    out.print()
    out.print(Text("next", style="heading"))
    for number, step in enumerate(steps, start=1):
        text = Text.assemble((f"{number}. ", "note"), step.words)
        for line in (step.command or "").splitlines():
            text.append(f"\n   {line}", style="name")
        out.print(text)
