"""How much there is: syntax nodes, which cannot be squeezed, and lengths of functions and files."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .source import Module

LONG_FILE = 400
"""The number of lines that a file may have."""


def nodes_by_wing(modules: Iterable[Module]) -> dict[str, int]:
    """Return the number of syntax nodes of each wing and pack.

    Args:
        modules: All modules; flat ones are counted as `doors`.
    """
    wings: Counter[str] = Counter()
    for module in modules:
        wings[module.wing] += module.node_count
    return dict(wings)


def nodes_per_line(modules: Iterable[Module]) -> float:
    """Return how many syntax nodes there are for each line of code.

    Args:
        modules: The modules that are taken together.
    """
    nodes = 0
    lines = 0
    for module in modules:
        nodes += module.node_count
        lines += len(module.code_lines)
    return nodes / max(lines, 1)


def densest(modules: Iterable[Module]) -> tuple[float, str]:
    """Find the file with the most syntax nodes for each line of code.

    Args:
        modules: The modules to compare.

    Returns:
        The nodes a line, and the file's path below the package.
    """
    return max((nodes_per_line([module]), module.file) for module in modules)


def function_lengths(modules: Iterable[Module]) -> list[int]:
    """Count the lines of every function, from `def` to its end, decorators left out.

    Args:
        modules: The modules whose functions are counted; methods and nested ones are, too.

    Returns:
        The numbers, the smallest first.
    """
    return sorted(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules
        for node in module.nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


def ninth_tenth(lengths: list[int]) -> int:
    """Return the length that nine of ten functions do not pass.

    Args:
        lengths: The lengths, the smallest first.
    """
    if not lengths:
        return 0
    return lengths[int(len(lengths) * 0.9)]


def long_files(modules: Iterable[Module]) -> list[str]:
    """Return the paths of files of more than 400 lines.

    Args:
        modules: The modules to look at.
    """
    return [module.file for module in modules if module.line_count > LONG_FILE]
