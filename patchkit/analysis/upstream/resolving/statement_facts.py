"""What single statements do to names, as far as their syntax says."""

import ast

from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted

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
    """Return the expression for each element of a target; None where there is none for it.

    Args:
        target: The names that are assigned to.
        value: What is assigned; None if it is not known.
    """
    values: list[ast.expr | None] = []
    if isinstance(value, (ast.Tuple, ast.List)):
        values += value.elts
    is_starred = any(
        isinstance(element, ast.Starred) for element in (*target.elts, *values)
    )
    if is_starred or len(values) != len(target.elts):
        return [None] * len(target.elts)
    return values


def deletes(target: ast.expr, name: str) -> bool:
    """Return whether the target of a `del` has a name in it.

    Args:
        target: The target.
        name: The name.
    """
    for node in ast.walk(target):
        if (
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Del)
        ):
            return True
    return False


def suppresses_errors(context: ast.expr) -> bool:
    """Return whether a `with` goes on after an error, as `contextlib.suppress` does.

    Args:
        context: What the `with` enters.
    """
    return isinstance(context, ast.Call) and dotted(context.func).endswith("suppress")


def may_fail(statement: ast.stmt) -> bool:
    """Return whether running a statement may raise an error.

    Args:
        statement: The statement; the body of a function or class is not looked into.
    """
    if isinstance(statement, SCOPES):
        return bool(statement.decorator_list)
    return any(isinstance(node, _FAILING) for node in ast.walk(statement))
