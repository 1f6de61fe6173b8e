"""Tells what single expressions and statements of a file mean for what it uses of upstream."""

import ast
from collections.abc import Collection, Mapping

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.uses.statements import text_of
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
    module = imported_by_call(node)
    if module:
        target = Target(module)
    elif isinstance(node, ast.Name):
        target = names.get(node.id)
    if target is None:
        return None
    for name in attributes:
        # An attribute is a module if the file imports it: `a.b` after `import a.b`.
        inner = f"{target.module}.{name}"
        is_module = not target.qualname and inner in modules
        if is_module:
            target = Target(inner)
            continue
        target = member(target, name)
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
    if isinstance(node, ast.Call):
        return node
    return None


def imports_patchkit(node: ast.AST) -> bool:
    """Return whether a statement is `from patchkit import …`.

    Args:
        node: The statement.
    """
    if not isinstance(node, ast.ImportFrom):
        return False
    return node.module == "patchkit"


def makes_annotations_lazy(node: ast.AST) -> bool:
    """Return whether a statement is `from __future__ import annotations`.

    Args:
        node: The statement.
    """
    if not isinstance(node, ast.ImportFrom):
        return False
    if node.module != "__future__":
        return False
    names = [alias.name for alias in node.names]
    return "annotations" in names


def is_super_call(node: ast.expr) -> bool:
    """Return whether an expression is `super(…)`.

    Args:
        node: The expression.
    """
    if not isinstance(node, ast.Call):
        return False
    return dotted(node.func) == "super"


def member(owner: Target, name: str) -> Target:
    """Return the attribute of a target.

    Args:
        owner: The target.
        name: The name of the attribute.
    """
    qualname = name
    if owner.qualname:
        qualname = f"{owner.qualname}.{name}"
    return Target(owner.module, qualname)


def registered_in(node: ast.Call) -> tuple[ast.expr, str] | None:
    """Return what a call such as `up.E.register("X", value)` adds, by its name, to a class.

    Args:
        node: The call.

    Returns:
        The class and the new name; None if the call is another one, or the name is no literal.
        `register(value)` is another one: `abc.ABC` has it, and it adds no name.
    """
    method = node.func
    if not isinstance(method, ast.Attribute) or method.attr != "register":
        return None
    if not node.args or len(node.args) + len(node.keywords) < 2:
        return None
    name = text_of(node.args[0])
    return (method.value, name) if name.isidentifier() else None


def call_of(node: ast.Call) -> Call:
    """Describe the arguments of a call: how many and which, not their values.

    Args:
        node: The call.

    Returns:
        The arguments.
    """
    places = 0
    has_stars = False
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            has_stars = True
        else:
            places += 1
    names = list[str]()
    for keyword in node.keywords:
        if keyword.arg:
            names.append(keyword.arg)
        else:  # `**kwargs` is a keyword without a name
            has_stars = True
    return Call(places, tuple(names), has_stars)
