"""
A class that a plain function of the release makes: `A, B = make(C)`, and `make` calls `type`.

Only what cannot come out otherwise is told: a function without branches that calls
`type(name, bases, names)`, returns what that gave, and does nothing else with it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Collection

    from patchkit.upstream.resolving.lookup import Lookup


def made_class(lookup: Lookup, value: Value) -> Value | None:
    """
    Work out the class that an assignment calls a function for; None where that cannot be told.

    It is a definition that says the same as the call of `type`, and stands where that stands.
    """
    assignment = _assignment(value)
    if assignment is None or value.tree is None or _is_changed(value):
        return None
    assert isinstance(assignment.value, ast.Call)
    found = lookup.evaluate(assignment.value.func, Scope(value.tree, (), assignment))
    maker = found[0] if len(found) == 1 else None
    if maker is None or maker.tree is None or not _is_plain(maker):
        return None
    node = maker.nodes[0]
    assert isinstance(node, ast.FunctionDef)
    variable = _returned(node, assignment.targets[0], value.qualname)
    made = _made(node, variable) if variable else None
    if variable is None or made is None or not _is_known(lookup, maker, node, made):
        return None
    key = ("made class", id(node), variable)
    definition: ast.ClassDef = maker.tree.noted(key, lambda: _definition(variable, made))
    where = f"{maker.qualname}.<locals>.{variable}"
    kind, nodes, classes = Kind.CLASS, (definition,), (definition,)
    return Value("present", kind, maker.module, where, maker.tree, nodes, classes=classes)


def _assignment(value: Value) -> ast.Assign | None:
    """Return the assignment of what a call gives, if a name of a module has no other value."""
    if value.state != "present" or value.conditions or len(value.nodes) != 1:
        return None
    node = value.nodes[0]
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    return node if isinstance(node.value, ast.Call) else None


def _is_changed(value: Value) -> bool:
    """Whether the module that has the name may set something on the class."""
    assert value.tree is not None
    uses = re.compile(rb"\b%s\s*\.|\bsetattr\(" % re.escape(value.qualname.encode()))
    return uses.search(value.tree.source) is not None


def _is_plain(maker: Value) -> bool:
    nodes = maker.nodes
    is_one = len(nodes) == 1 and isinstance(nodes[0], ast.FunctionDef)
    return is_one and maker.kind is Kind.FUNCTION and maker.sure and not maker.decorators


def _returned(node: ast.FunctionDef, target: ast.expr, name: str) -> str | None:
    """Name the variable of a function whose value a call's target gets."""
    last = node.body[-1]
    given = last.value if isinstance(last, ast.Return) else None
    if isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple):
        names = [one.id if isinstance(one, ast.Name) else "" for one in target.elts]
        if len(names) != len(given.elts) or names.count(name) != 1:
            return None
        given = given.elts[names.index(name)]
    elif isinstance(target, ast.Tuple):
        return None
    return given.id if isinstance(given, ast.Name) else None


def _made(node: ast.FunctionDef, variable: str) -> ast.Call | None:
    """Return the call of `type` that gives a variable its only value, if nothing else uses it."""
    made: list[ast.Call] = []
    arguments = _arguments(node)
    for statement in _statements(node):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        target, given = statement.targets[0], statement.value
        if isinstance(target, ast.Name) and target.id == variable and isinstance(given, ast.Call):
            made.append(given)
        elif not _leaves_alone(variable, target, given, arguments):
            return None
    if len(made) != 1 or not _is_of_type(made[0]) or variable in _names(made[0]):
        return None
    return made[0]


def _leaves_alone(
    variable: str, target: ast.expr, given: ast.expr, arguments: Collection[str]
) -> bool:
    """Whether an assignment does nothing to a variable's value but put it on an argument."""
    if any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.NamedExpr)) for one in ast.walk(given)):
        return False
    if isinstance(target, ast.Name):
        return target.id != variable and variable not in _names(given)
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return False
    bare = isinstance(given, ast.Name) or variable not in _names(given)
    return bare and target.value.id in arguments


def _statements(node: ast.FunctionDef) -> list[ast.stmt]:
    """List what a function does before it returns."""
    body = node.body[:-1]
    return body[1:] if body and ast.get_docstring(node) is not None else body


def _is_of_type(given: ast.expr) -> bool:
    """Whether an expression is `type(name, (bases), {"name": …})`, without special names."""
    if not isinstance(given, ast.Call) or len(given.args) != 3 or given.keywords:
        return False
    _, bases, names = given.args
    if not isinstance(bases, ast.Tuple) or not isinstance(names, ast.Dict):
        return False
    keys = [one.value if isinstance(one, ast.Constant) else None for one in names.keys]
    plain = [isinstance(one, str) and one.isidentifier() and one[:2] != "__" for one in keys]
    is_type = isinstance(given.func, ast.Name) and given.func.id == "type"
    return is_type and all(plain) and all(isinstance(one, ast.Name) for one in bases.elts)


def _is_known(lookup: Lookup, maker: Value, node: ast.FunctionDef, made: ast.Call) -> bool:
    """Whether `type` and the bases are those of the module, the same ones at any time."""
    assert maker.tree is not None
    own = _arguments(node) | _names(node, stored=True)
    bases = made.args[1]
    assert isinstance(bases, ast.Tuple)
    if own & {"type", *_names(bases)}:
        return False
    now, then = Scope(maker.tree, (), node), Scope(maker.tree)
    if [one.dotted for one in lookup.evaluate(made.func, then)] != ["builtins.type"]:
        return False
    for base in bases.elts:
        first, last = lookup.evaluate(base, now), lookup.evaluate(base, then)
        if len(first) != 1 or len(last) != 1 or not first[0].classes:
            return False
        if first[0].classes != last[0].classes:
            return False
    return True


def _definition(name: str, made: ast.Call) -> ast.ClassDef:
    _, bases, names = made.args
    assert isinstance(bases, ast.Tuple)
    assert isinstance(names, ast.Dict)
    given = zip(names.keys, names.values, strict=True)
    # What is given lies in a list, as it may name what only the function has.
    lines = [f"{ast.literal_eval(key)} = [{ast.unparse(one)}][0]" for key, one in given if key]
    above = ", ".join(ast.unparse(one) for one in bases.elts)
    text = "\n    ".join([f"class {name}({above}):", *(lines or ["pass"])])
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.ClassDef)
    for one in ast.walk(definition):
        if isinstance(one, (ast.stmt, ast.expr)):
            ast.copy_location(one, made)
    return definition


def _arguments(node: ast.FunctionDef) -> set[str]:
    return {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}


def _names(node: ast.AST, *, stored: bool = False) -> set[str]:
    wanted = ast.Store if stored else ast.expr_context
    found = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in found if isinstance(one.ctx, wanted)}
