"""torch's operators that a module makes of its own functions: `torch.ops.vllm.x` from there."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.at_import import statements
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.signature import of_arguments
from patchkit.upstream.resolving.values import Kind, undecidable
from patchkit.upstream.resolving.wrapped import operator_call

if TYPE_CHECKING:
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.values import Value, Values

_OPERATORS = "torch.ops."


def made_in(lookup: Lookup, module: str, value: Value) -> Values:
    """Tell what a name below `torch.ops` is, asked for from a module; any other stays as it is."""
    tree = lookup.modules.get(module)
    names = value.dotted.removeprefix(_OPERATORS).split(".")
    if tree is None or not value.dotted.startswith(_OPERATORS) or len(names) != 2:
        return (value,)
    for statement in statements(tree.body):
        function = _function_of(statement, module.partition(".")[0], "::".join(names))
        if function:
            found = lookup.evaluate(function, Scope(tree))
            return tuple(_operator(one) for one in found)
    reason = f"{module} does not make the operator {value.dotted}; name the module that does"
    return (undecidable(reason, Kind.OUTSIDE, value.dotted),)


def _operator(function: Value) -> Value:
    """Say of a function how the operator is called, whatever its decorator makes of its name."""
    node = function.nodes[0] if function.nodes else None
    if not isinstance(node, ast.FunctionDef):
        return function
    called = of_arguments(node.args)
    return replace(function, kind=Kind.FUNCTION, signature=called, sure=True, reason="")


def _function_of(statement: ast.stmt, package: str, name: str) -> ast.expr | None:
    """Name the function that a statement makes an operator of, where it makes that one."""
    if isinstance(statement, ast.FunctionDef):
        calls = [one for one in statement.decorator_list if isinstance(one, ast.Call)]
        made = [one for one in calls if dotted(one.func).endswith("custom_op")]
        if any(_text(one.args[0]) == name for one in made if one.args):
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
