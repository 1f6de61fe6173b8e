"""Idioms that save lines and cost the reader: how often each is used, and where."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .source import Module

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
_DISPLAYS = (ast.Tuple, ast.List, ast.Set)


def is_conditional_expression(node: ast.AST) -> bool:
    """Whether a node is `a if b else c`.

    Args:
        node: The node of a syntax tree.
    """
    return isinstance(node, ast.IfExp)


def is_tuple_assignment(node: ast.AST) -> bool:
    """Whether a node is `a, b = x, y`; unpacking what one expression returns is not.

    Args:
        node: The node of a syntax tree.
    """
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and isinstance(node.targets[0], ast.Tuple)
    )


def is_nested_comprehension(node: ast.AST) -> bool:
    """Whether a node is a comprehension with two `for`, or with a comprehension in it.

    Args:
        node: The node of a syntax tree.
    """
    if not isinstance(node, _COMPREHENSIONS):
        return False
    if len(node.generators) > 1:
        return True
    inner = ast.walk(node)
    next(inner)  # the comprehension itself
    return any(isinstance(child, _COMPREHENSIONS) for child in inner)


def is_conditional_loop(node: ast.AST) -> bool:
    """Whether a node is `for x in xs if c else ()`: an `if` that is written as a loop.

    Args:
        node: The node of a syntax tree; the `for` of a comprehension is one.
    """
    return isinstance(node, _LOOPS) and isinstance(node.iter, ast.IfExp)


def is_splat(node: ast.AST) -> bool:
    """Whether a node is `*("a", "b")`, which only keeps a formatter from a line for each item.

    Args:
        node: The node of a syntax tree.
    """
    return isinstance(node, ast.Starred) and isinstance(node.value, _DISPLAYS)


def occurrences(
    modules: Iterable[Module], is_idiom: Callable[[ast.AST], bool]
) -> list[tuple[str, int]]:
    """Find every use of an idiom.

    Args:
        modules: The modules to look at.
        is_idiom: One of the functions above.

    Returns:
        The file, as a path below the package, and the line of each use.
    """
    return [
        (module.file, _line(node))
        for module in modules
        for node in module.nodes
        if is_idiom(node)
    ]


def _line(node: ast.AST) -> int:
    if isinstance(node, ast.comprehension):
        return node.iter.lineno
    line: int = getattr(node, "lineno", 0)
    return line


def per_thousand_lines(
    modules: Sequence[Module], is_idiom: Callable[[ast.AST], bool]
) -> float:
    """Return how often an idiom is used in 1,000 lines, blank ones included.

    Args:
        modules: The modules that are taken together.
        is_idiom: One of the functions above.
    """
    lines = sum(module.line_count for module in modules)
    return 1000 * len(occurrences(modules, is_idiom)) / max(lines, 1)
