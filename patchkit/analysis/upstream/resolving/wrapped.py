"""Code that a target runs and that stands elsewhere, bound to it by a call at import.

`x = lru_cache(f)` runs f, `x = make()` runs what `make` defines, `@x.register` adds to x, `C.run =
f`, below a class, makes f a method, and `torch.ops.vllm.x` runs what is registered for it. What a
body calls by name is a helper, and no part.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    argument_values,
    dotted,
    signature_of,
    statements,
)
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    undecided,
)

_OPERATORS = "torch.ops."
_DEPTH = 4


class WrappedCode(NamedTuple):
    """A definition or a statement, and the module that it stands in."""

    node: ast.AST
    tree: ModuleTree


def wrapped_by(lookup: Lookup, value: Value) -> list[WrappedCode]:
    """List what defines the code that a value runs, beside its own definition."""
    found = {id(one.node): one for one in _nodes(lookup, value, _DEPTH)}
    own = set(map(id, value.nodes))
    return [one for key, one in found.items() if key not in own]


def _nodes(lookup: Lookup, value: Value, depth: int) -> Iterator[WrappedCode]:
    if value.scope is None or value.tree is None:
        return
    if isinstance(value.expression, ast.Call):
        yield from _given(lookup, value.expression, value.scope, depth)
    definition = value.nodes[0] if value.nodes else None
    if not isinstance(definition, SCOPES):
        return
    for statement in _additions(value.scope).get(definition.name, ()):
        if isinstance(statement, ast.Assign) is not isinstance(definition, ast.ClassDef):
            continue
        yield WrappedCode(statement, value.tree)
        if isinstance(statement, ast.Assign):
            inside = Scope(value.tree, (), statement)
            yield from _given(lookup, statement.value, inside, depth)


def _given(lookup: Lookup, node: ast.expr, scope: Scope, depth: int) -> Iterator[WrappedCode]:
    """Follow what a call is given, and what it calls where that makes functions."""
    if isinstance(node, ast.Call):
        yield from _factory(lookup, node.func, scope, depth)
        for each in argument_values(node):
            yield from _given(lookup, each, scope, depth)
    elif isinstance(node, (ast.Name, ast.Attribute)) and depth:
        for value in lookup.evaluate(node, scope):
            yield from _definition(value)
            yield from _nodes(lookup, value, depth - 1)


def _factory(lookup: Lookup, node: ast.expr, scope: Scope, depth: int) -> Iterator[WrappedCode]:
    if isinstance(node, ast.Call):
        yield from _given(lookup, node, scope, depth)
        return
    for one in (one for value in lookup.evaluate(node, scope) for one in _definition(value)):
        inner = (part for part in ast.walk(one.node) if part is not one.node)
        if any(isinstance(part, (*DEFS, ast.Lambda)) for part in inner):
            yield one  # it makes functions


def _definition(value: Value) -> Iterator[WrappedCode]:
    if value.tree is not None and value.nodes and isinstance(value.nodes[0], DEFS):
        yield from (WrappedCode(node, value.tree) for node in value.nodes)


def _additions(scope: Scope) -> dict[str, list[ast.stmt]]:
    if scope.classes:
        return _by_name(scope.classes[-1].body)
    return scope.tree.remember_with_file("additions", lambda: _by_name(scope.tree.tree.body))


def _by_name(body: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    for statement in statements(body):
        for name in _added_to(statement):
            found.setdefault(name, []).append(statement)
    return found


def _added_to(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, DEFS):
        for one in statement.decorator_list:
            owner, _, method = dotted(one.func if isinstance(one, ast.Call) else one).partition(".")
            if method.startswith("register"):
                yield owner
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                yield target.value.id
    elif call := operator_call(statement):
        yield from (one.id for one in argument_values(call) if isinstance(one, ast.Name))


def operator_call(node: ast.AST) -> ast.Call | None:
    """Return the call of a statement that makes an operator of a function; None for any other."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and dotted(call.func).endswith("custom_op"):
        return call
    return None


def operator_values(lookup: Lookup, module: str, value: Value) -> Values:
    """Tell what a name below `torch.ops` is, asked for from a module; any other stays as it is."""
    tree = lookup.modules.get(module)
    names = value.dotted.removeprefix(_OPERATORS).split(".")
    if tree is None or not value.dotted.startswith(_OPERATORS) or len(names) != 2:
        return (value,)
    for statement in statements(tree.tree.body):
        function = _function_of(statement, module.partition(".")[0], "::".join(names))
        if function:
            return tuple(map(_operator, lookup.evaluate(function, Scope(tree))))
    reason = f"{module} does not make the operator {value.dotted}; name the module that does"
    return (undecided(reason, Kind.OUTSIDE, value.dotted),)


def _operator(function: Value) -> Value:
    """Say of a function how the operator is called, whatever its decorator makes of its name."""
    node = function.nodes[0] if function.nodes else None
    if not isinstance(node, ast.FunctionDef):
        return function
    called = signature_of(node.args)
    return replace(function, kind=Kind.FUNCTION, signature=called, is_sure=True, reason="")


def _function_of(statement: ast.stmt, package: str, name: str) -> ast.expr | None:
    if isinstance(statement, ast.FunctionDef):
        calls = [one for one in statement.decorator_list if isinstance(one, ast.Call)]
        made = [one.args[0] for one in calls if one.args and dotted(one.func).endswith("custom_op")]
        if any(_text(one) == name for one in made):
            return ast.Name(statement.name, ast.Load())
    elif call := operator_call(statement):
        given = dict(zip(("op_name", "op_func"), call.args, strict=False))
        given |= {one.arg: one.value for one in call.keywords if one.arg}
        called = _text(given.get("op_name"))
        own = called if "::" in called else f"{package}::{called}"
        if own == name and "target_lib" not in given:
            return given.get("op_func")
    return None


def _text(node: ast.expr | None) -> str:
    value = node.value if isinstance(node, ast.Constant) else ""
    return value if isinstance(value, str) else ""
