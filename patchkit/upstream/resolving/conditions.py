"""Conditions in upstream's source, and names as they stand there."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Condition(NamedTuple):
    """
    Something that must hold for a definition to count, and that cannot be told here.

    Args:
        words: for people.
        test: the expression, None where there is none (`except ImportError`).

    """

    words: str
    test: ast.expr | None = None

    def __str__(self) -> str:
        return self.words


def dotted(node: ast.AST) -> str:
    """Write `a.b.c` for a chain of names; '' for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((node.id, *reversed(parts)))


def words(node: ast.expr, limit: int = 60) -> str:
    """Write an expression on one line, cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
