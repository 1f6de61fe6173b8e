"""`patchkit show` for a person: one row as a page."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from patchkit.report.console import console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.report.shapes import (
        FullChangeShape,
        RequirementShape,
        ReviewSpanShape,
        ShowShape,
        StateShape,
    )

_STYLES = {"present": "ok", "undecided": "note", "absent": "bad", "no-module": "warn"}
_USUAL = (("count", 1), ("unrelated", False))
"""Fields that are worth a line only where they hold something else."""
_MANY = 5
"""Runs of releases that are all told."""


def print_show(data: ShowShape) -> None:
    """Print one row in full."""
    out = console()
    out.print(Text(data["name"], style="name"), Text(data["pack"], style="note"))
    out.print()
    out.print(_fields(data))
    for number, change in enumerate(data["changes"], start=1):
        out.print()
        out.print(_change_line(number, change))
        out.print(Padding(_change_fields(change), (0, 0, 0, 3)))


def _fields(data: ShowShape) -> Table:
    table = _grid()
    table.add_row("here", _selected(data["selected"], data["reason"]))
    table.add_row("roles", ", ".join(data["roles"]))
    table.add_row("requires", _requirements(data["requirements"]))
    for label, text in _texts(data):
        table.add_row(label, Text(text))
    return table


def _texts(data: ShowShape) -> Iterator[tuple[str, str]]:
    texts = {
        "why": data["why"],
        "upstream": data["upstream"],
        "sunset": data["sunset"],
        "body": data["body"],
        "after": ", ".join(data["after"]),
        "conflicts": ", ".join(data["conflicts"]),
        "env": data["env"],
        "when": data["when"],
        "data": ", ".join(data["data"]),
        "failure": "stops the process" if data["required"] else "is a warning",
        "lock": _near(data["lock"]) if data["lock"] else "no lock file covers this patch",
    }
    return ((label, text) for label, text in texts.items() if text)


def _near(file: str) -> str:
    """Write a file from here on, where it lies below."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def _requirements(requirements: list[RequirementShape]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for requirement in requirements:
        found = requirement["version"]
        holds = Text("holds", "ok") if requirement["holds"] else Text("does not hold", "warn")
        here = f"{found} ({requirement['source']})" if found else "not installed"
        table.add_row(requirement["requirement"], holds, Text(here, "note"))
    return table


def _change_line(number: int, change: FullChangeShape) -> Text:
    return Text.assemble(
        f"{number}. ", (change["kind"], "heading"), " ", (change["target"], "name")
    )


def _change_fields(change: FullChangeShape) -> Table:
    table = _grid()
    if change["by"]:
        table.add_row("by", change["by"])
    for label, value in change["fields"].items():
        if (label, value) not in _USUAL:
            table.add_row(label, _field(value))
    for text in change["requires"]:
        table.add_row("requires", text)
    if change["when"]:
        table.add_row("when", change["when"])
    if not change["selected"]:
        table.add_row("here", _selected(change["selected"], change["reason"]))
    if change["rebind"] is not True:
        table.add_row("rebind", ", ".join(change["rebind"] or ["no"]))
    state = change["here"]
    table.add_row("target", Text(state["detail"], style=_STYLES[state["state"]]))
    if state["file"]:
        table.add_row("", Text(_where(change["target"], state), style="note"))
    for label, words in _review(change):
        table.add_row(label, words)
    return table


def _review(change: FullChangeShape) -> Iterator[tuple[str, Text]]:
    """Say what was reviewed of a target, and what is the matter; nothing where no lock speaks."""
    review = change["review"]
    if review is None or review["state"] == "no-lock":
        return
    if spans := review["spans"]:
        is_fine = review["state"] == "reviewed"
        yield "reviewed", Text("\n".join(_releases(spans)), style="ok" if is_fine else "note")
    if words := review["detail"].removeprefix(f"{change['target']} "):
        label = "" if spans else "reviewed"
        yield label, Text(words, style="warn" if change["selected"] else "note")


def _releases(spans: list[ReviewSpanShape]) -> Iterator[str]:
    """Write the releases of each distribution on a line; of many, the first and the last few."""
    for project, group in groupby(spans, lambda one: one["project"]):
        texts = [_run(one) for one in group]
        if len(texts) > _MANY:
            middle = f"… {len(texts) - _MANY + 1} more …"
            texts = [texts[0], middle, *texts[len(texts) - _MANY + 2 :]]
        yield f"{project} {', '.join(texts)}"


def _run(span: ReviewSpanShape) -> str:
    first, last = span["first"], span["last"]
    return first if first == last else f"{first} - {last}"


def _field(value: object) -> Text:
    """Write a text as it stands, without the indentation that the row gave it."""
    lines = dedent(str(value)).strip("\n")
    return Text(lines) if lines.strip() else Text("(nothing)", style="note")


def _where(target: str, state: StateShape) -> str:
    """Write the file from the top package on: its folder is that of every other target."""
    parts = (state["file"] or "").split("/")
    module = (state["defined"] or target).partition(":")[0]
    depth = module.count(".") + 1 + (parts[-1].startswith("__init__."))
    file = "/".join(parts[-depth:])
    return f"{file}:{state['line']}" if state["line"] else file


def _selected(selected: bool, reason: str | None) -> Text:
    return Text("selected", "ok") if selected else Text(f"not selected: {reason}", "warn")


def _grid() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="note", no_wrap=True)
    table.add_column(overflow="fold")
    return table
