"""Tells which context managers go on after an error in the body of their `with`."""

import ast

from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, dotted, walk
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value

_SWALLOWING = frozenset(
    {
        "contextlib.AsyncExitStack",
        "contextlib.ExitStack",
        "contextlib.suppress",
        "pytest.raises",
    }
)
"""Context managers outside the release that may swallow errors."""


def may_swallow(
    lookup: Lookup, statement: ast.With | ast.AsyncWith, scope: Scope
) -> bool:
    """Whether a `with` may go on after an error in its body, as that of `suppress` does.

    Args:
        lookup: The release.
        statement: The `with`.
        scope: Where it stands.
    """
    contexts = [item.context_expr for item in statement.items]
    return any(_swallows(lookup, context, scope) for context in contexts)


def _swallows(lookup: Lookup, context: ast.expr, scope: Scope) -> bool:
    """Whether one context manager may swallow errors."""
    if isinstance(context, ast.Call):
        name = dotted(context.func)
        if name.rpartition(".")[2] == "suppress":
            return True
        makers = lookup.evaluate(context.func, scope)
        return any(_makes_swallowing(lookup, maker) for maker in makers)
    for manager in lookup.evaluate(context, scope):
        cls = manager.instance_of
        if cls is not None and _makes_swallowing(lookup, cls):
            return True
    return False


def _makes_swallowing(lookup: Lookup, maker: Value) -> bool:
    """Whether a class or function makes a context manager that may swallow errors."""
    if maker.dotted in _SWALLOWING:
        return True
    if maker.has_class_statement:
        return any(_exit_swallows(value) for value in lookup.member(maker, "__exit__"))
    # A generator below `@contextmanager`.
    node = maker.nodes[0] if maker.nodes else None
    return isinstance(node, DEFS) and _generator_swallows(node)


def _exit_swallows(value: Value) -> bool:
    """Whether an `__exit__` may return something that is true; False for what is no function."""
    if value.dotted in {f"{name}.__exit__" for name in _SWALLOWING}:
        return True
    node = value.nodes[0] if value.nodes else None
    if not isinstance(node, DEFS):
        return False
    for part in walk(node):
        if isinstance(part, ast.Return) and part.value is not None:
            is_constant = isinstance(part.value, ast.Constant)
            if not is_constant or bool(getattr(part.value, "value", None)):
                return True
    return False


def _generator_swallows(node: Def) -> bool:
    """Whether a generator catches an error at its `yield`, and may go on."""
    for part in walk(node):
        if isinstance(part, ast.With) and _has_yield(part.body):
            contexts = [
                dotted(getattr(one.context_expr, "func", None)) for one in part.items
            ]
            if any(name.endswith("suppress") for name in contexts):
                return True
        if isinstance(part, ast.Try) and _has_yield(part.body):
            for handler in part.handlers:
                if not any(isinstance(one, ast.Raise) for one in walk(handler)):
                    return True
    return False


def _has_yield(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Yield) for statement in body for node in walk(statement)
    )
