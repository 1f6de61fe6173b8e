"""Finds what the statements of a file import and assign; expressions are not searched."""

import ast
from collections.abc import Iterable

from patchkit.analysis.upstream.resolving.module_tree import BLOCKS
from patchkit.analysis.upstream.resolving.syntax import dotted


def block_nodes(tree: ast.Module) -> list[ast.AST]:
    """Return a module and all its statements, with the parts of some that have blocks of their own.

    Such parts are handlers of `try` and cases of `match`. The nodes are in order of depth, the
    outermost first. Unlike in `ast.walk`, expressions are left out, to save time.

    Args:
        tree: The module.
    """
    nodes: list[ast.AST] = []
    level: list[ast.AST] = [tree]
    while level:
        nodes += level
        inner: list[ast.AST] = []
        for node in level:
            for block in BLOCKS:
                inner += getattr(node, block, ())
        level = inner
    return nodes


def imported_modules(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the modules that `import` statements name, and their packages.

    `import a.b` gives `a.b` and `a`. So where the file has `a.b`, it means the module, not an
    attribute of the package.

    Args:
        nodes: The statements of a file; those with `from … import` do not count.
    """
    modules = set()
    for node in nodes:
        if not isinstance(node, ast.Import):
            continue
        for alias in node.names:
            module = alias.name
            while module:  # `a.b`, then `a`
                modules.add(module)
                module = module.rpartition(".")[0]
    return modules


def assigned_texts(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return the strings that are assigned to names, by name, as in `NAME = "vllm.a"`.

    With these, `_Reader` understands `sys.modules[NAME] = …`.

    Args:
        nodes: The statements of a file.
    """
    texts = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and text_of(node.value):
            texts[dotted(node.targets[0])] = text_of(node.value)
    return texts


def text_of(node: ast.AST) -> str:
    """Return the value of a string literal; "" for any other expression.

    Args:
        node: The expression.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""
