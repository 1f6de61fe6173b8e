"""Tells what a function sets on its first parameter whenever it is called."""

import ast
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import dotted, walk


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
            done.attributes.update(_attributes_set(statement, first))
        elif isinstance(statement, ast.Expr):
            call = _call_passing(statement, first)
            if call is not None:
                done.calls.add(call)
        if any(_ends(node, first) for node in walk(statement)):
            break
    return done


def _attributes_set(statement: ast.Assign, first: str) -> set[str]:
    """Return what `cls.a = cls.b = …` sets on the object of a name."""
    attributes: set[str] = set()
    for target in statement.targets:
        if not isinstance(target, ast.Attribute):
            continue
        if dotted(target.value) == first:
            attributes.add(target.attr)
    return attributes


def _call_passing(statement: ast.Expr, first: str) -> tuple[str, str] | None:
    """Return the call of `f(cls, …)`, which passes the object of a name first; else None."""
    call = statement.value
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if dotted(call.args[0]) != first:
        return None
    owner, _, name = dotted(call.func).rpartition(".")
    return owner, name


def _ends(node: ast.AST, first: str) -> bool:
    """Whether a function may end there, or a name stand for another object from there on."""
    if isinstance(node, ast.Name):
        is_bound = not isinstance(node.ctx, ast.Load)
        return node.id == first and is_bound
    return isinstance(
        node,
        (
            ast.Return,
            ast.Yield,
            ast.YieldFrom,
        ),
    )
