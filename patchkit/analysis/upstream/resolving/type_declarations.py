"""Finds functions that a module or class declares for type checkers alone."""

import ast
from collections.abc import Sequence

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted, statements


def declared_for_types(tree: ModuleTree, body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a function is declared below `if TYPE_CHECKING`, which code elsewhere has to bind.

    Of special names, such as `__getattr__`, most are declared for want of a better way to say that
    any attribute may be there.

    Args:
        tree: The module.
        body: The body of the module, or of a class in it.
        name: The name of the function.
    """
    if name.startswith("__") or b"TYPE_CHECKING" not in tree.source:
        return False
    for statement in body:
        if not isinstance(statement, ast.If):
            continue
        if not dotted(statement.test).endswith("TYPE_CHECKING"):
            continue
        for declared in statements(statement.body):
            if isinstance(declared, DEFS) and declared.name == name:
                return True
    return False
