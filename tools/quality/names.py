"""Names that say nothing of what they hold."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .source import Module

EMPTY = frozenset(
    {
        "about",
        "around",
        "asked",
        "beside",
        "each",
        "found",
        "given",
        "here",
        "it",
        "kept",
        "known",
        "left",
        "made",
        "mark",
        "noted",
        "one",
        "other",
        "others",
        "place",
        "places",
        "rest",
        "seen",
        "several",
        "some",
        "there",
        "told",
        "wanted",
        "way",
        "ways",
        "what",
        "whole",
        "within",
        "words",
    }
)
"""Words that would fit any variable."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def bound_names(modules: Iterable[Module]) -> list[str]:
    """List each parameter, and each name that is stored to inside a function.

    Args:
        modules: The modules to look at.

    Returns:
        The names; one that is stored to twice is there twice.
    """
    return [
        name for module in modules for name in _bound_below(module.tree, inside=False)
    ]


def _bound_below(node: ast.AST, *, inside: bool) -> Iterator[str]:
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and inside:
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _bound_below(child, inside=inside or isinstance(node, _FUNCTIONS))
