"""Tells what a function sets on its first parameter whenever it is called."""

import ast
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import dotted


class CertainChanges(NamedTuple):
    """What a function does in any case.

    Args:
        attributes: What it sets on its first parameter.
        calls: The calls that it passes this parameter first: `("helpers", "run")` for
            `helpers.run(cls)`.
    """

    attributes: set[str]
    calls: set[tuple[str, str]]


def done_in_any_case(function: ast.AST) -> CertainChanges:
    """Return what a function sets on its first parameter, and what it calls with it.

    Args:
        function: The function; nothing is certain of what is no plain one.
    """
    done = CertainChanges(set(), set())
    if not isinstance(function, ast.FunctionDef) or not function.args.args:
        return done
    first = function.args.args[0].arg
    for statement in function.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and dotted(target.value) == first:
                    done.attributes.add(target.attr)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if call.args and dotted(call.args[0]) == first:
                owner, _, name = dotted(call.func).rpartition(".")
                done.calls.add((owner, name))
        if any(_ends(node, first) for node in ast.walk(statement)):
            break
    return done


def _ends(node: ast.AST, first: str) -> bool:
    """Whether a function may end there, or a name stand for another object from there on."""
    if isinstance(node, ast.Name):
        return node.id == first and not isinstance(node.ctx, ast.Load)
    return isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom))
