"""Tells what single expressions and statements of a file mean for what it uses of upstream."""

import ast
from collections.abc import Collection, Mapping

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.uses.texts import imported_by_call
from patchkit.analysis.uses.use import Call
from patchkit.core.rows.target import Target


def target_of(
    node: ast.AST, names: Mapping[str, Target | None], modules: Collection[str]
) -> Target | None:
    """Return what a name or `a.b.c` stands for; None if that is not known.

    It may begin with `import_module("a")`, too.

    Args:
        node: The expression.
        names: What the names of its file stand for.
        modules: The modules that the file imports, with their packages.
    """
    attributes = list[str]()
    while isinstance(node, ast.Attribute):
        attributes.insert(0, node.attr)
        node = node.value
    target: Target | None = None
    if isinstance(node, ast.Name):
        target = names.get(node.id)
    elif imported_by_call(node):
        target = Target(imported_by_call(node))
    if target is None:
        return None
    for name in attributes:
        # An attribute is a module if the file imports it: `a.b` after `import a.b`.
        inner = f"{target.module}.{name}"
        is_module = not target.qualname and inner in modules
        target = Target(inner) if is_module else member(target, name)
    return target


def import_in(node: ast.expr) -> ast.Call | None:
    """Return the call that an expression such as `import_module("up.a").f` begins with.

    Args:
        node: The expression.

    Returns:
        The call; None for none.
    """
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Call) else None


def imports_patchkit(node: ast.AST) -> bool:
    """Return whether a statement is `from patchkit import …`.

    Args:
        node: The statement.
    """
    return isinstance(node, ast.ImportFrom) and node.module == "patchkit"


def makes_annotations_lazy(node: ast.AST) -> bool:
    """Return whether a statement is `from __future__ import annotations`.

    Args:
        node: The statement.
    """
    if not isinstance(node, ast.ImportFrom) or node.module != "__future__":
        return False
    return any(alias.name == "annotations" for alias in node.names)


def is_super_call(node: ast.expr) -> bool:
    """Return whether an expression is `super(…)`.

    Args:
        node: The expression.
    """
    return isinstance(node, ast.Call) and dotted(node.func) == "super"


def member(owner: Target, name: str) -> Target:
    """Return the attribute of a target.

    Args:
        owner: The target.
        name: The name of the attribute.
    """
    return Target(owner.module, f"{owner.qualname}.{name}".lstrip("."))


def call_of(node: ast.Call) -> Call:
    """Describe the arguments of a call: how many and which, not their values.

    Args:
        node: The call.

    Returns:
        The arguments.
    """
    stars = [argument for argument in node.args if isinstance(argument, ast.Starred)]
    names = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
    # `**kwargs` is a keyword without a name.
    more = bool(stars) or len(names) < len(node.keywords)
    return Call(len(node.args) - len(stars), names, more)
