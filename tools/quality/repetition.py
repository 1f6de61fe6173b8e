"""What stands in the package twice: names of classes, and runs of equal lines."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .source import Module

RUN = 8
"""How many equal lines of code in a row are a repetition."""


def shared_class_names(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Name the public classes that more than one module defines.

    Args:
        modules: The modules to look at.

    Returns:
        The modules by the name of the class.
    """
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module.name)
    return {name: owners for name, owners in homes.items() if len(owners) > 1}


def repeated_lines(modules: Iterable[Module]) -> int:
    """Return the number of lines that are part of a run of equal lines elsewhere.

    Args:
        modules: The modules to compare; imports and docstrings in them do not count.
    """
    runs: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for module in modules:
        lines = _code(module)
        for start in range(len(lines) - RUN + 1):
            runs[tuple(lines[start : start + RUN])].append((module.name, start))
    repeated: set[tuple[str, int]] = set()
    for starts in runs.values():
        if len(starts) > 1:
            for name, start in starts:
                repeated.update((name, start + step) for step in range(RUN))
    return len(repeated)


def _code(module: Module) -> list[str]:
    imports: set[int] = set()
    for node in module.nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = module.text.splitlines()
    return [
        lines[number - 1].strip()
        for number in module.code_lines
        if number not in imports
    ]
