#!/usr/bin/env python3
"""Print what the house measures: lines by room, sizes, circles, names, repeated lines.

`make quality` prints it as the table of docs/architecture.md; `--check` ends with 1 where a limit
is passed. Coverage and the share of mutants killed are read from the files that `make coverage`
and `make mutants` leave in `.quality/`, where they are there.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "patchkit"
LEFT = REPOSITORY / ".quality"
PACKS = {"platform", "worker", "data_llm"}
"""Shipped packs, which do not count."""
REPEATED = 8
"""How many equal lines in a row are a repetition."""


@dataclass(frozen=True)
class Measure:
    """One row of the table; `limit` is the largest value that is in order, None for no limit."""

    what: str
    value: float
    limit: float | None = None
    unit: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value is within the limit."""
        return self.limit is None or self.value <= self.limit

    def row(self) -> str:
        """Write it as a row of a Markdown table."""
        limit = "" if self.limit is None else f"{self.limit:,g}{self.unit}"
        return f"| {self.what} | {self.value:,g}{self.unit} | {limit} |"


@dataclass(frozen=True)
class Module:
    """One file of the package, parsed."""

    name: str
    path: Path
    text: str

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())

    @property
    def room(self) -> str:
        """The folder that it lies in; for a flat file, its own name."""
        return ".".join(self.name.split(".")[1:2]) or self.name


def modules() -> list[Module]:
    """Read every module of the package but those of the shipped packs."""
    return [
        Module(_name_of(path), path, path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in PACKS
    ]


def _name_of(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def lines_by_room(package: Iterable[Module]) -> dict[str, int]:
    """Add up the lines of each folder; flat files count as one."""
    rooms: Counter[str] = Counter()
    for module in package:
        is_flat = module.path.parent == PACKAGE
        rooms["(flat)" if is_flat else module.room] += module.lines
    return dict(rooms.most_common())


def function_lengths(package: Iterable[Module]) -> list[int]:
    """Count the lines of every function, from `def` to its end, decorators left out."""
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in package
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def imports_of(module: Module, names: set[str]) -> set[str]:
    """Name the package's modules that a module imports, for types or at run time."""
    imported = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = whole & names
            imported |= inner or {node.module}
    return (imported & names) - {module.name}


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Find the groups of modules that import one another in a circle (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for other in sorted(arrows.get(name, ())):
            if other not in order:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], order[other])
        if lowest[name] == order[name]:
            at = stack.index(name)
            groups.append(stack[at:])
            del stack[at:]

    for name in sorted(arrows):
        if name not in order:
            visit(name)
    return [group for group in groups if len(group) > 1]


def room_arrows(package: Sequence[Module]) -> dict[str, set[str]]:
    """Name the rooms that each room imports from."""
    names = {module.name for module in package}
    arrows: dict[str, set[str]] = defaultdict(set)
    for module in package:
        if module.name != PACKAGE.name:
            rooms = {name.split(".")[1] for name in imports_of(module, names) if "." in name}
            arrows[module.room] |= rooms - {module.room}
    return arrows


def shared_class_names(package: Iterable[Module]) -> dict[str, list[str]]:
    """Name the public classes that more than one module defines."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in package:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module.name)
    return {name: places for name, places in homes.items() if len(places) > 1}


def repeated_lines(package: Iterable[Module]) -> int:
    """Count the lines that are part of a run of equal lines elsewhere; imports do not count."""
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for module in package:
        lines = list(_code_lines(module))
        for at in range(len(lines) - REPEATED + 1):
            run = tuple(text for _, text in lines[at : at + REPEATED])
            places[run].append((module.name, at))
    twice = {
        (name, at + step)
        for spots in places.values()
        if len(spots) > 1
        for name, at in spots
        for step in range(REPEATED)
    }
    return len(twice)


def _code_lines(module: Module) -> Iterator[tuple[int, str]]:
    skipped = {
        line
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(module.text.splitlines(), 1):
        if line.strip() and number not in skipped:
            yield number, line.strip()


def measures(package: Sequence[Module]) -> list[Measure]:
    """Measure everything that can be read from the source alone."""
    lengths = sorted(function_lengths(package))
    sizes = [module.lines for module in package]
    names = {module.name for module in package}
    flat = [module for module in package if module.path.parent == PACKAGE]
    own = {module.name: imports_of(module, names) - {PACKAGE.name} for module in package}
    return [
        Measure("lines in `patchkit/`, without the packs", sum(sizes), 32_000),
        Measure("modules that lie flat", len(flat), 10),
        Measure("files over 400 lines", sum(size > 400 for size in sizes), 0),
        Measure("files over 300 lines", sum(size > 300 for size in sizes), 5),
        Measure("functions", len(lengths)),
        Measure("function length, median", statistics.median(lengths), None, " lines"),
        Measure("function length, 9 of 10", lengths[int(len(lengths) * 0.9)], 16, " lines"),
        Measure("longest function", lengths[-1], 40, " lines"),
        Measure("import cycles between modules", len(circles(own)), 0),
        Measure("import cycles between rooms", len(circles(room_arrows(package))), 0),
        Measure("class names used twice", len(shared_class_names(package)), 0),
        Measure(f"lines in runs of {REPEATED} that stand twice", repeated_lines(package)),
        *_left("coverage.json", "lines that unit tests run", "percent"),
        *_left("mutants.json", "mutants that unit tests kill", "percent"),
    ]


def _left(file: str, what: str, key: str) -> list[Measure]:
    path = LEFT / file
    return [Measure(what, json.loads(path.read_text())[key], None, "%")] if path.exists() else []


def report(package: Sequence[Module]) -> str:
    """Write the two tables."""
    rows = [measure.row() for measure in measures(package)]
    rooms = [f"| `{name}` | {lines:,} |" for name, lines in lines_by_room(package).items()]
    head = ["| measure | now | limit |", "|---|---:|---:|"]
    return "\n".join([*head, *rows, "", "| room | lines |", "|---|---:|", *rooms])


def main() -> int:
    """Print the tables; name what is over a limit on stderr."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--check", action="store_true", help="end with 1 where a limit is passed")
    arguments = parser.parse_args()
    package = modules()
    print(report(package))
    missed = [measure for measure in measures(package) if not measure.is_met]
    for measure in missed:
        print(f"over its limit: {measure.what}", file=sys.stderr)
    for name, places in shared_class_names(package).items():
        print(f"class {name}: {', '.join(places)}", file=sys.stderr)
    return int(arguments.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
