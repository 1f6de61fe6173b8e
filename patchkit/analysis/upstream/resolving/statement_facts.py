"""Answers simple questions about single statements: what they delete, whether they may fail."""

import ast

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted, walk

# Parts of statements that may raise an error when they run.
_FAILING = (
    ast.Import,
    ast.ImportFrom,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.Raise,
)


def unpacked(
    target: ast.Tuple | ast.List,
    value: ast.expr | None,
) -> list[ast.expr | None]:
    """Pair the elements of a target with expressions: x and y for `a, b = x, y`.

    Args:
        target: The tuple that is assigned to.
        value: What is assigned; None if it is not known.

    Returns:
        An expression for each element of the target; None for each if they cannot be paired.
    """
    values: list[ast.expr | None] = []
    if isinstance(value, (ast.Tuple, ast.List)):
        values += value.elts
    # Of `a, *b = x, *y` the source does not tell which element is whose.
    is_starred = any(
        isinstance(element, ast.Starred) for element in (*target.elts, *values)
    )
    if is_starred or len(values) != len(target.elts):
        return [None] * len(target.elts)
    return values


def deletes(target: ast.expr, name: str) -> bool:
    """Whether the target of a `del` is a name, or a tuple with it.

    Args:
        target: The target.
        name: The name.
    """
    for node in walk(target):
        if (
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Del)  # in `del x[0]`, x is only read
        ):
            return True
    return False


def declares_global(body: ast.ClassDef, name: str) -> bool:
    """Whether the body of a class declares a name `global`, so that the class does not get it.

    Args:
        body: The class.
        name: The name.
    """
    return any(
        isinstance(statement, ast.Global) and name in statement.names
        for statement in body.body
    )


def may_fail(statement: ast.stmt) -> bool:
    """Whether a statement may raise an error when it runs.

    Args:
        statement: The statement; of a function or class, only its decorators count.
    """
    if isinstance(statement, SCOPES):
        return bool(statement.decorator_list)
    return any(isinstance(node, _FAILING) for node in walk(statement))


def calls_at_import(tree: ModuleTree, statement: ast.stmt, name: str) -> bool:
    """Whether a statement is `f(name)` at the top of a module, so that its import runs it.

    Args:
        tree: The module.
        statement: The statement.
        name: The dotted name that is passed first.
    """
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args:
        return False
    return dotted(call.args[0]) == name and statement in tree.tree.body


def innermost_argument(node: ast.AST) -> ast.AST:
    """Return the first argument of a call, `x` of `f(g(x))`; any other expression as it is.

    Args:
        node: The expression.
    """
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return node
