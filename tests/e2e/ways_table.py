"""The tables of docs/ways-in.md: what each cell's run is held to."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from cells import (
    CONTROLS,
    ENGINES,
    LAUNCHERS,
    SPECIAL_RUNS,
    WAYS,
    WHY_NOT,
    Cell,
    why_not,
)
from ways import expected_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BLOCK = "<!-- {name}: made by tests/e2e/test_ways_in.py -->\n"
END = "<!-- end -->"
PATCHED = "patched, and how it was started"


def page(text: str) -> str:
    """Put tables made anew into a page; the rest of it stays."""
    blocks = {"table": table(), "reasons": reasons(), "more": more()}
    for name, lines in blocks.items():
        begin = BLOCK.format(name=name)
        before, found, rest = text.partition(begin)
        _, end, after = rest.partition(END)
        if not found or not end:
            raise ValueError(f"found no block {name!r} in the page, expected one")
        text = before + begin + "\n".join(lines) + "\n" + END + after
    return text


def table() -> Iterator[str]:
    """Every cell: run, or why not."""
    yield row(["launched as", "start", "executor", *map(str, WAYS), PATCHED])
    yield row(["---"] * (4 + len(WAYS)))
    for launcher in LAUNCHERS:
        for start, group in groupby(ENGINES, key=lambda engine: engine[0]):
            yield from rows_of(launcher, start, [executor for _, executor in group])


def rows_of(launcher: str, start: str, executors: Sequence[str]) -> Iterator[str]:
    """The rows of a launcher and a start method; one where no cell can be."""
    cells = {
        one: [Cell(way, launcher, start, one) for way in WAYS] for one in executors
    }
    if all(why_not(cell) for line in cells.values() for cell in line):
        name = "any" if len(executors) > 1 else executors[0]
        yield row([launcher, start, name, *map(mark, cells[executors[0]]), ""])
        return
    for executor, line in cells.items():
        yield row(
            [launcher, start, executor, *map(mark, line), expected_shape(line[0])]
        )


def mark(cell: Cell) -> str:
    """What the table says of a cell."""
    return why_not(cell) or "yes"


def reasons() -> Iterator[str]:
    """The letters of the table."""
    for letter, reason in WHY_NOT.items():
        yield f"- **{letter}**: {reason}"


def more() -> Iterator[str]:
    """The runs that are no cells: nothing armed, and what else `vllm serve` can be."""
    yield row(["way in", "launched as", "start", "executor", PATCHED])
    yield row(["---"] * 5)
    for cell in CONTROLS:
        yield row(["none", cell.launcher, cell.start, cell.executor, "nothing"])
    for cell in SPECIAL_RUNS:
        launcher = f"{cell.launcher}, {cell.special}"
        yield row(
            [str(cell.way), launcher, cell.start, cell.executor, expected_shape(cell)]
        )


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"
