"""Finds the names that stand for one object of a module: `X` below `X = A`, `c` in a loop."""

import ast
from collections.abc import Iterator, Sequence

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    dotted,
    expressions,
    statements,
    walk,
)

_ALL_OBJECTS = (
    b"globals",
    b"locals",
    b"vars",
    b"dir(",
    b"getmembers",
    b"__subclasses__",
    b"__dict__",
)
"""Found in what a loop goes through if that may be any object of the module."""


def is_object(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression is an object, by one of its names.

    Args:
        node: The expression: `A`, `up.A`, `globals()["A"]`, `sys.modules[__name__].A`.
        names: The dotted names of the object.
    """
    name = dotted(node)
    if name:
        return name in names
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        is_namespace = dotted(getattr(node.value, "func", None)) == "globals"
        return is_namespace and node.slice.value in names
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Subscript):
        is_module = dotted(node.value.value).rpartition(".")[2] == "modules"
        return is_module and node.attr in names
    return False


def mentions_object(node: ast.AST | None, names: set[str]) -> bool:
    """Whether an expression is an object, or a list, table or choice in which it stands.

    Args:
        node: The expression; None for none.
        names: The dotted names of the object.
    """
    if node is None:
        return False
    if is_object(node, names):
        return True
    parts: Sequence[ast.AST | None] = ()
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = [*node.keys, *node.values]
    elif isinstance(node, (ast.Starred, ast.NamedExpr, ast.keyword)):
        parts = [node.value]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    return any(mentions_object(part, names) for part in parts)


def names_of(tree: ModuleTree, qualname: str) -> set[str]:
    """List the names that the code of a module has for one of its objects.

    Args:
        tree: The module.
        qualname: The name under which it is defined.

    Returns:
        That name, names that it is assigned to, and variables of loops over a list of it. Among
        them are names of lists that have it.
    """
    names = {qualname}
    known = 0
    while known != len(names):
        known = len(names)
        for target, value in _stores(tree):
            is_meant = mentions_object(value, names)
            if not is_meant and isinstance(value, ast.Call):
                arguments = [*value.args, *value.keywords]
                # Such as `list(ALL)`; what other calls return is not followed.
                is_copy = dotted(value.func) in (
                    "list",
                    "tuple",
                    "set",
                    "dict",
                    "sorted",
                    "zip",
                )
                is_meant = is_copy and any(
                    mentions_object(one, names) for one in arguments
                )
            if is_meant:
                names |= _names_in(target)
    return names


def loose_variables(tree: ModuleTree) -> set[str]:
    """List the variables of loops over all objects of a module, or all subclasses of one.

    Args:
        tree: The module.

    Returns:
        The names; each may stand for any object of the module.
    """
    return tree.remember_with_file("loose variables", lambda: _find_loose(tree))


def _find_loose(tree: ModuleTree) -> set[str]:
    """Read a module; see `loose_variables`, which remembers it."""
    # Most modules have no such loop, and are spared the walk.
    if not any(word in tree.source for word in _ALL_OBJECTS):
        return set()
    found: set[str] = set()
    for target, value in _stores(tree):
        if _is_loose(value):
            found |= _names_in(target)
    return found


def _is_loose(value: ast.expr | None) -> bool:
    """Whether what a loop goes through may hold any object of its module."""
    if not isinstance(value, (ast.Call, ast.Attribute)):
        return False
    text = ast.unparse(value).encode()
    return any(word in text for word in _ALL_OBJECTS)


def _stores(tree: ModuleTree) -> list[tuple[ast.expr, ast.expr | None]]:
    """List what a module assigns at import, loops included, each with what it is assigned."""
    return tree.remember_with_file("stores", lambda: list(_find_stores(tree)))


def _find_stores(tree: ModuleTree) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    for statement in statements(tree.tree.body):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from _pairs(target, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            yield statement.target, statement.value
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            yield statement.target, statement.iter
        for node in expressions(statement):
            if isinstance(
                node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
            ):
                for generator in node.generators:
                    yield generator.target, generator.iter


def _pairs(
    target: ast.expr, value: ast.expr
) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Pair the elements of `X, Y = A, B`; any other assignment is one pair."""
    targets = getattr(target, "elts", ())
    values: list[ast.expr] = []
    if isinstance(value, (ast.Tuple, ast.List)):
        values += value.elts
    if targets and len(targets) == len(values):
        yield from zip(targets, values, strict=True)
    else:
        yield target, value


def _names_in(target: ast.expr) -> set[str]:
    """List the plain names in a target."""
    return {node.id for node in walk(target) if isinstance(node, ast.Name)}
