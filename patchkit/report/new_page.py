"""`patchkit new` for a person: what was written, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from patchkit.report.console import console
from patchkit.report.diff_lines import print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from patchkit.report.shapes import NewFileShape, NewShape, NewStepShape

_PLANNED = {"created": "would create", "edited": "would edit"}


def print_new(data: NewShape) -> None:
    """Print the files, what is in them where they are only planned, and the next steps."""
    out = console()
    out.print(Text(data["patch"], style="name"), Text(data["pack"], style="note"))
    out.print()
    out.print(_files(data))
    if not data["written"]:
        for file in data["files"]:
            _print_text(out, file)
    if data["refusal"]:
        out.print()
        out.print(Text("row", style="heading"))
        out.print(Text(data["row"]))
    out.print()
    out.print(Text("next", style="heading"))
    for number, step in enumerate(data["next"], start=1):
        out.print(_step(number, step))


def _files(data: NewShape) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for file in data["files"]:
        action = file["action"] if data["written"] else _PLANNED[file["action"]]
        table.add_row(Text(action, "ok"), Text(file["file"]), Text(file["what"], "note"))
    return table


def _print_text(out: Console, file: NewFileShape) -> None:
    out.print()
    out.print(Text(file["file"], style="heading"))
    if file["diff"]:
        print_lines(file["diff"], out)
    else:
        out.print(Text(file["text"].rstrip("\n")))


def _step(number: int, step: NewStepShape) -> Text:
    text = Text.assemble((f"{number}. ", "note"), step["words"])
    if step["command"]:
        for line in step["command"].split("\n"):
            text.append(f"\n   {line}", style="name")
    return text
