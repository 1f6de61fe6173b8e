"""What code sets on a class that it is given, as a decorator, or that stands above it."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.literals import literal_text
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    Def,
    argument_values,
    dotted,
    expressions,
    statements,
)
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value

Touched = tuple[frozenset[str], bool]
"""Attributes that are set, and whether there may be more."""

DEPTH = 3  # how many calls are followed
_SETTERS = frozenset({"setattr", "delattr", "__setattr__"})
_HARMLESS = frozenset({"TypeVar", "cast", "isinstance", "issubclass", "hasattr", "getattr", "len"})
"""Functions that set nothing on a class that they are given."""


class LaterChanges(NamedTuple):
    """What sets or deletes names on a class; `opened` says how others may be set, '' for none."""

    names: dict[str, str]
    opened: str


class _Effects(NamedTuple):
    """What a function does, as far as that concerns the attributes of what it is given."""

    stored: set[str]
    setters: list[ast.Call]
    called: set[tuple[str, str]]  # else: the dotted name before the last dot, and the rest
    given: set[str]  # its first parameter, and those of the functions in it that it returns

    @classmethod
    def of(cls, function: ast.AST) -> "_Effects":
        """Read a function."""
        nodes = list(ast.walk(function))
        calls = [node for node in nodes if isinstance(node, ast.Call) and not _is_of_text(node)]
        parts = [(call, *dotted(call.func).rpartition(".")) for call in calls]
        returned = {dotted(node.value) for node in nodes if isinstance(node, ast.Return)}
        attributes = (node for node in nodes if isinstance(node, ast.Attribute))
        stored = {one.attr for one in attributes if isinstance(one.ctx, (ast.Store, ast.Del))}
        setters = [call for call, _, _, name in parts if name in _SETTERS]
        called = {(owner, name) for _, owner, _, name in parts if name not in _SETTERS}
        inner = (node for node in nodes if isinstance(node, DEFS) and node.args.args)
        given = {one.args.args[0].arg for one in inner if one is function or one.name in returned}
        return cls(stored, setters, called, given)


def touched_by(lookup: Lookup, function: Value, depth: int = 0) -> Touched:
    """List the attributes that a function of the release sets; are there more?"""
    key = ("touched", id(function.nodes[0]), depth)
    return function.module_tree.remember(key, lambda: _touched(lookup, function, depth))


def bases_added_by(lookup: Lookup, function: Value, depth: int = 0) -> Iterator[Value]:
    """List the classes in `cls.__bases__ = cls.__bases__ + (…,)`."""
    for node in ast.walk(function.nodes[0]):
        if isinstance(node, ast.Assign) and dotted(node.targets[0]).endswith(".__bases__"):
            for base in getattr(getattr(node.value, "right", None), "elts", ()):
                yield from lookup.evaluate(base, Scope(function.module_tree))
    for owner, name in _code(function).called if depth < DEPTH else ():
        if not owner and (called := function_named(lookup, function.module_tree, name)):
            yield from bases_added_by(lookup, replace(function, nodes=(called,)), depth + 1)


def function_named(lookup: Lookup, tree: ModuleTree, name: str) -> Def | None:
    """Find the `def` that a name of a module is bound to last."""
    nodes = [case.binding.node for case in lookup.binding_cases(tree, name) if case.binding]
    return nodes[-1] if nodes and isinstance(nodes[-1], DEFS) else None


def _touched(lookup: Lookup, function: Value, depth: int) -> Touched:
    code = _code(function)
    touched, is_open = set(code.stored), False
    for call in code.setters:
        at = -2 if "." in dotted(call.func) else 1
        named = lookup.evaluate(call.args[at], Scope(function.module_tree)) if call.args[1:] else ()
        if name := literal_text(named):
            touched.add(name)
        else:
            is_open = True
    for owner, name in code.called:
        called = _called(lookup, function, owner, name)
        if called is None:
            is_open |= owner in code.given and not name.startswith("__")
        elif called is not function.nodes[0] and depth < DEPTH:
            more = touched_by(lookup, replace(function, nodes=(called,)), depth + 1)
            touched, is_open = touched | more[0], is_open or more[1]
    return frozenset(touched), is_open


def _called(lookup: Lookup, function: Value, owner: str, name: str) -> Def | None:
    if not owner:
        return function_named(lookup, function.module_tree, name)
    body = function.classes[-1].body if function.classes else ()
    return next((one for one in body if isinstance(one, DEFS) and one.name == name), None)


def _is_of_text(call: ast.Call) -> bool:
    """Whether a function is given a docstring alone, which is no way to what it is of."""
    given = [getattr(one, "attr", "") for one in argument_values(call)]
    return isinstance(call.func, ast.Name) and given == ["__doc__"]


def _code(function: Value) -> _Effects:
    node = function.nodes[0]
    return function.module_tree.remember_with_file(("code", id(node)), lambda: _Effects.of(node))


def changes_below(entry: Value) -> LaterChanges:
    """List what may be done to a class by code of its module below it."""
    return entry.module_tree.remember_with_file(
        ("edits", id(entry.classes[-1])), lambda: _edits(entry)
    )


def _edits(entry: Value) -> LaterChanges:
    names, opened, owner = dict[str, str](), "", entry.qualname
    if entry.module_tree.source.count(entry.classes[-1].name.encode()) < 2:
        return LaterChanges(names, opened)
    end = entry.classes[0].end_lineno or 0
    below = (one for one in statements(entry.module_tree.tree.body) if (one.end_lineno or 0) > end)
    for statement, node in ((one, node) for one in below for node in expressions(one)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if dotted(node.value) == owner:
                names[node.attr] = f"line {statement.lineno}"
        elif _hands_on(statement, node, owner):
            opened = opened or f"line {statement.lineno} may set it on {owner}"
    return LaterChanges(names, opened)


def _hands_on(statement: ast.stmt, node: ast.AST, owner: str) -> bool:
    """Whether a loop is over a class, or an expression gives it, or a method of it, a call."""
    if isinstance(node, ast.Call):
        method = dotted(node.func).rpartition(".")
        is_given = any(dotted(one) == owner for one in argument_values(node))
        return method[0] == owner or (is_given and method[2] not in _HARMLESS)
    return isinstance(statement, (ast.For, ast.AsyncFor)) and dotted(node) == owner
