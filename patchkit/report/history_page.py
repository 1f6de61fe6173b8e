"""`patchkit history` for a person: releases that say the same are one line."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.check.history import Step
    from patchkit.rows.target import Target

_SHOWN = 8
_STYLES = {"present": "ok", "absent": "note", "undecidable": "warn", "unreadable": "bad"}
_COLUMNS = ("releases", "", "source", "what happened")


def print_history(target: Target, steps: Iterable[Step]) -> None:
    """Print where a target was."""
    out = console()
    out.print(Text(str(target), style="heading"))
    rows = [tuple(Text(name, "table.header") for name in _COLUMNS), *_rows(steps)]
    widths = [max(cells[place].cell_len for cells in rows) for place in range(len(_COLUMNS) - 1)]
    for *cells, event in rows:
        for cell, width in zip(cells, widths, strict=True):
            cell.pad_right(width - cell.cell_len)
        out.print(_line(Text("  ").join(cells), event, out.width), soft_wrap=True)


def _rows(steps: Iterable[Step]) -> Iterator[tuple[Text, ...]]:
    before: Step | None = None
    for _, group in groupby(steps, _alike):
        alike = list(group)
        yield _cells(alike, before)
        before = alike[-1]


def _line(line: Text, event: Text, width: int) -> Text:
    """Say what happened at the end of the line; below it, with names whole, where that is full."""
    if line.cell_len + 2 + event.cell_len <= width:
        return Text("  ").join((line, event))
    below = wrap(event.plain, width - 4, break_long_words=False, break_on_hyphens=False)
    return Text("\n    ").join((line, *map(Text, below)))


def _alike(step: Step) -> tuple[object, ...]:
    return step.state, step.fingerprint, step.moved_to


def _cells(steps: list[Step], before: Step | None) -> tuple[Text, ...]:
    first, last = steps[0], steps[-1]
    span = first.release if len(steps) == 1 else f"{first.release} - {last.release}"
    mark = (first.fingerprint or "")[:_SHOWN]
    word, style = _state(first)
    return Text(span), Text(word, style), Text(mark, "note"), Text(_event(first, before))


def _state(step: Step) -> tuple[str, str]:
    if step.state == "absent" and step.moved_to:
        return "elsewhere", "warn"
    return step.state, _STYLES[step.state]


def _event(step: Step, before: Step | None) -> str:
    if step.state in {"unreadable", "undecidable"}:
        return step.reason
    if step.moved_to:
        return _at(step, before)
    if step.state == "absent":
        return "" if before is None or _is_nowhere(before) else f"gone: {step.reason}"
    if before is None:
        return ""
    if before.state == "present":
        return "changed"
    came = "appeared" if _is_nowhere(before) else "came here"
    return f"{came}, changed" if step.changed else came


def _at(step: Step, before: Step | None) -> str:
    same_place = before is not None and before.moved_to == step.moved_to
    alike = "" if same_place or step.likeness is None else f", {step.likeness:.0%} alike"
    where = f"{'' if same_place else 'in '}{step.moved_to}{alike}"
    return f"{where}, changed" if step.changed else where


def _is_nowhere(step: Step) -> bool:
    return step.state == "absent" and step.moved_to is None
