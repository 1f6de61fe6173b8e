"""Tells whether the decorator of a class sets names of the class's module."""

import ast
import re

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value

_REACHES_MODULE = re.compile(rb"modules\[\w+\.__module__\]")
"""Matches `sys.modules[cls.__module__]`, by which a function reaches the module of a class."""
_PLAIN = frozenset({"dataclass", "final", "runtime_checkable", "total_ordering"})
"""Decorators of the standard library, which are spared the search."""


def exporting_decorator(lookup: Lookup, tree: ModuleTree) -> str:
    """Say which decorator of a class may set names of the class's module.

    Args:
        lookup: The release.
        tree: The module.

    Returns:
        The words for the report; '' if none does.
    """
    if b"class " not in tree.source or b"@" not in tree.source:
        return ""
    return lookup.remember(
        tree.conclusions, "exporting", lambda: _exporting_decorator(lookup, tree)
    )


def _exporting_decorator(lookup: Lookup, tree: ModuleTree) -> str:
    """Work out which one does; see `exporting_decorator`, which remembers it."""
    seen: set[str] = set()
    for statement in tree.tree.body:
        if not isinstance(statement, ast.ClassDef):
            continue
        for decorator in statement.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = dotted(function)
            if name in seen or name.rpartition(".")[2] in _PLAIN:
                continue
            seen.add(name)
            values = lookup.evaluate(function, Scope(tree))
            if any(map(_reaches_module, values)):
                return f"the decorator @{name} may set it on {tree.name}"
    return ""


def _reaches_module(function: Value) -> bool:
    """Whether the code of a function reaches the module of a class that it is passed."""
    if function.tree is None or not function.nodes:
        return False
    return _REACHES_MODULE.search(function.tree.source) is not None
