"""Finds the class that `C = add_methods(C)` binds: the one that the function is passed."""

import ast

from patchkit.analysis.upstream.resolving.decorator_source import (
    SAME,
    DecoratorSource,
)
from patchkit.analysis.upstream.resolving.statement_facts import innermost_argument
from patchkit.analysis.upstream.resolving.syntax import dotted, statements
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value


def returned_class(
    lookup: Lookup, function: Value, call: ast.Call, scope: Scope
) -> Value | None:
    """Return the class that a function of the release is passed, and returns.

    Args:
        lookup: The release.
        function: What is called, as a decorator is: `C = add_methods(C)`.
        call: The call.
        scope: Where it stands.

    Returns:
        None if it is no such function, or is not passed a class of the same module.
    """
    node = function.nodes[0] if function.nodes else None
    if not isinstance(node, ast.FunctionDef) or function.tree is None or not call.args:
        return None
    # Most calls are passed something else, and are spared all that follows.
    classes = scope.tree.remember_with_file(
        "classes at the top", lambda: _classes_of(scope.tree.tree)
    )
    if dotted(innermost_argument(call)) not in classes:
        return None
    # Options may change what a function for several uses returns.
    has_more = len(call.args) + len(call.keywords) > 1
    if has_more and (node.args.vararg or node.args.kwarg):
        return None
    if DecoratorSource(lookup, function).outcome(node, is_call=False) != SAME:
        return None
    passed = lookup.evaluate(call.args[0], scope)
    if len(passed) == 1 and passed[0].has_class_statement and passed[0].is_sure:
        return passed[0]
    return None


def _classes_of(tree: ast.Module) -> frozenset[str]:
    """List the names of the classes that a module defines, whatever stands around them."""
    return frozenset(
        statement.name
        for statement in statements(tree.body)
        if isinstance(statement, ast.ClassDef)
    )
