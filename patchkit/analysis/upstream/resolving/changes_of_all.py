"""Finds code that changes the `__all__` of a module other than by plain additions."""

import ast
import re

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, walk

_ALL_CHANGED = re.compile(
    rb"^[ \t]+__all__\s*(\+=|\.(append|extend|insert)\b)", re.MULTILINE
)
"""A statement in a block that adds names to `__all__`."""
_ALL_REMOVED = re.compile(
    rb"__all__\s*\.(remove|pop|clear)\b|=\s*__all__\s*$|\bdel\s+__all__\s*\["
    rb"|__all__\s*\[[^\]]*\]\s*=[^=]",
    re.MULTILINE,
)
"""Code that may remove names from `__all__`, or that gives it another name."""


def may_remove_names(tree: ModuleTree) -> bool:
    """Whether code of a module may take names off its `__all__`.

    Args:
        tree: The module.
    """
    return tree.remember_with_file(
        "names removed from all", lambda: bool(_ALL_REMOVED.search(tree.source))
    )


def functions_list_names(tree: ModuleTree) -> bool:
    """Whether a function of a module adds names to its `__all__`, as a decorator may.

    Args:
        tree: The module.
    """
    return tree.remember_with_file("all changed", lambda: _changes_all(tree))


def _changes_all(tree: ModuleTree) -> bool:
    """Search the functions of a module; see `functions_list_names`, which remembers it."""
    # Most modules have none: a search of the text spares them the walk.
    if not _ALL_CHANGED.search(tree.source):
        return False
    functions = [node for node in walk(tree.tree) if isinstance(node, DEFS)]
    return any(_ALL_CHANGED.search(ast.unparse(node).encode()) for node in functions)
