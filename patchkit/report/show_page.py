"""`patchkit show` for a person: one row as a page."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from patchkit.errors import shown
from patchkit.report.console import columns, console
from patchkit.rows.declaration import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from patchkit.report.here import ChangeHere, RequirementHere, RowHere, TargetHere
    from patchkit.review.lock_format import Span

_STYLES = {"present": "ok", "undecided": "note", "absent": "bad", "no-module": "warn"}
_USUAL = (("count", 1), ("unrelated", False))
"""Fields that are worth a line only where they hold something else."""
_MANY = 5
"""Runs of releases that are all told."""


def print_show(found: RowHere) -> None:
    """Print one row in full."""
    out = console()
    out.print(Text(found.row.name, style="name"), Text(found.row.pack, style="note"))
    out.print()
    out.print(_fields(found))
    for number, change in enumerate(found.changes, start=1):
        kind, target = change.change.kind, str(change.change.place)
        out.print()
        out.print(Text.assemble(f"{number}. ", (kind, "heading"), " ", (target, "name")))
        out.print(Padding(_change_fields(change), (0, 0, 0, 3)))


def _fields(found: RowHere) -> Table:
    row = found.row
    table = _grid()
    table.add_row("here", _selected(found.reason))
    table.add_row("roles", ", ".join(role for role in Role if role in row.roles))
    table.add_row("requires", _requirements(found.requirements))
    texts = {
        "why": row.patch.why,
        "upstream": row.patch.upstream,
        "sunset": row.patch.sunset,
        "body": row.body if row.patch.body is not None else None,
        "after": ", ".join(row.patch.after),
        "conflicts": ", ".join(row.patch.conflicts),
        "env": row.patch.env,
        "when": row.patch.when,
        "data": ", ".join(row.patch.data),
        "failure": "stops the process" if row.patch.required else "is a warning",
        "lock": shown(found.lock) if found.lock else "no lock file covers this patch",
    }
    for label, text in texts.items():
        if text:
            table.add_row(label, Text(text))
    return table


def _requirements(requirements: Iterable[RequirementHere]) -> Table:
    table = columns()
    for text, version, reason in requirements:
        holds = Text("does not hold", "warn") if reason else Text("holds", "ok")
        here = f"{version.version} ({version.source})" if version else "not installed"
        table.add_row(text, holds, Text(here, "note"))
    return table


def _change_fields(found: ChangeHere) -> Table:
    table, change = _grid(), found.change
    if change.body_name:
        table.add_row("by", change.body_name)
    for label, value in found.fields.items():
        if (label, value) not in _USUAL:
            table.add_row(label, _field(value))
    for text in change.requires:
        table.add_row("requires", text)
    if change.when:
        table.add_row("when", change.when)
    if found.reason:
        table.add_row("here", _selected(found.reason))
    if change.rebind is not True:
        table.add_row("rebind", ", ".join(change.rebind or ["no"]))
    target = found.target
    table.add_row("target", Text(target.detail, style=_STYLES[target.state]))
    if target.file:
        table.add_row("", Text(_where(str(change.place), target), style="note"))
    for label, words in _review(found):
        table.add_row(label, words)
    return table


def _review(found: ChangeHere) -> Iterator[tuple[str, Text]]:
    """Say what was reviewed of a target, and what is the matter."""
    review = found.review
    if review is None or review.state == "no-lock":  # which the page says once
        return
    if review.spans:
        is_fine = review.state == "reviewed"
        yield "reviewed", Text("\n".join(_releases(review.spans)), "ok" if is_fine else "note")
    if words := review.detail.removeprefix(f"{found.change.place} "):
        label = "" if review.spans else "reviewed"
        yield label, Text(words, style="note" if found.reason else "warn")


def _releases(spans: Iterable[Span]) -> Iterator[str]:
    """Write the releases of each distribution on a line; of many, the first and the last few."""
    for project, group in groupby(spans, lambda span: span.project):
        texts = [
            span.first if span.first == span.last else f"{span.first} - {span.last}"
            for span in group
        ]
        if len(texts) > _MANY:
            middle = f"… {len(texts) - _MANY + 1} more …"
            texts = [texts[0], middle, *texts[len(texts) - _MANY + 2 :]]
        yield f"{project} {', '.join(texts)}"


def _field(value: object) -> Text:
    """Write a text as it stands, without the indentation that the row gave it."""
    lines = dedent(str(value)).strip("\n")
    return Text(lines) if lines.strip() else Text("(nothing)", style="note")


def _where(target: str, here: TargetHere) -> str:
    """Write the file from the top package on: its folder is that of every other target."""
    path = Path(here.file or "")
    module = (here.defined or target).partition(":")[0]
    depth = module.count(".") + 1 + (path.stem == "__init__")
    file = "/".join(path.parts[-depth:])
    return f"{file}:{here.line}" if here.line else file


def _selected(reason: str | None) -> Text:
    return Text(f"not selected: {reason}", "warn") if reason else Text("selected", "ok")


def _grid() -> Table:
    table = columns()
    table.add_column(style="note", no_wrap=True)
    table.add_column(overflow="fold")
    return table
