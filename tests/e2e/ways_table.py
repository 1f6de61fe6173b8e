"""The tables of docs/ways-in.md, made from what runs have found."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from cells import (
    CONTROLS,
    ENGINES,
    LAUNCHERS,
    RUNS,
    SPECIAL_RUNS,
    WAYS,
    WHY_NOT,
    Cell,
    is_run,
    why_not,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ways import Lab

BLOCK = "<!-- {name}: made by tests/e2e/test_ways_in.py -->\n"
END = "<!-- end -->"


def page(text: str, lab: Lab) -> str:
    """Put tables made anew into a page; the rest of it stays."""
    blocks = {"table": table(), "reasons": reasons(), "runs": runs(lab)}
    for name, lines in blocks.items():
        begin = BLOCK.format(name=name)
        before, found, rest = text.partition(begin)
        _, end, after = rest.partition(END)
        if not found or not end:
            raise ValueError(f"found no block {name!r} in the page, expected one")
        text = before + begin + "\n".join(lines) + "\n" + END + after
    return text


def table() -> Iterator[str]:
    """Every cell: run, implied, or why not."""
    yield row(["launched as", "start", "executor", *map(str, WAYS)])
    yield row(["---"] * (3 + len(WAYS)))
    for launcher in LAUNCHERS:
        for start, group in groupby(ENGINES, key=lambda engine: engine[0]):
            yield from rows_of(launcher, start, [executor for _, executor in group])


def rows_of(launcher: str, start: str, executors: Sequence[str]) -> Iterator[str]:
    """The rows of a launcher and a start method; one where all cells say the same."""
    marks = {
        executor: [mark(Cell(way, launcher, start, executor)) for way in WAYS]
        for executor in executors
    }
    if len({mark for line in marks.values() for mark in line}) == 1:
        marks = {"any" if len(executors) > 1 else executors[0]: marks[executors[0]]}
    for executor, line in marks.items():
        yield row([launcher, start, executor, *line])


def mark(cell: Cell) -> str:
    """What the table says of a cell."""
    return why_not(cell) or ("**run**" if is_run(cell) else "yes")


def reasons() -> Iterator[str]:
    """The letters of the table."""
    for letter, reason in WHY_NOT.items():
        yield f"- **{letter}**: {reason}"


def runs(lab: Lab) -> Iterator[str]:
    """What was seen in every run."""
    yield row(["way in", "launched as", "start", "executor", "patched, and how it was started"])
    yield row(["---"] * 5)
    for cell in [*CONTROLS, *RUNS, *SPECIAL_RUNS]:
        yield run(cell, lab)


def run(cell: Cell, lab: Lab) -> str:
    """What was seen in one run."""
    found = lab.find(cell)
    seen = [found.shape() or "nothing"]
    if found.sights.get("helper") and cell.helper:
        seen.append("the model registry's helper")
    launcher = f"{cell.launcher}, {cell.special}" if cell.special else cell.launcher
    return row([str(cell.way or "none"), launcher, cell.start, cell.executor, "; ".join(seen)])


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"
