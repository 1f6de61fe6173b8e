"""What code sets on a class that it is given, as a decorator, or that stands above it."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from patchkit.upstream.resolving.literals import text_of
from patchkit.upstream.resolving.module_tree import ModuleTree
from patchkit.upstream.resolving.syntax import DEFS, Def, dotted, expressions, given_to, statements
from patchkit.upstream.resolving.values import Kind, Lookup, Scope, Value, Values

Touched = tuple[frozenset[str], bool]
"""Attributes that are set, and whether there may be more."""

DEPTH = 3  # how many calls are followed
_SETTERS = frozenset({"setattr", "delattr", "__setattr__"})
_HARMLESS = frozenset({"builtins", "typing", "typing_extensions", "logging"})
"""Modules whose functions set nothing on a class that they are given."""


class Edits(NamedTuple):
    """What sets or deletes names on a class; `opened` says how others may be set, '' for none."""

    names: dict[str, str]
    opened: str


_ASKED = Edits({}, "")


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
    return function.home.noted(key, lambda: _touched(lookup, function, depth))


def bases_added_by(lookup: Lookup, function: Value, depth: int = 0) -> Iterator[Value]:
    """List the classes in `cls.__bases__ = cls.__bases__ + (…,)`."""
    for node in ast.walk(function.nodes[0]):
        if isinstance(node, ast.Assign) and dotted(node.targets[0]).endswith(".__bases__"):
            for base in getattr(getattr(node.value, "right", None), "elts", ()):
                yield from lookup.evaluate(base, Scope(function.home))
    for owner, name in _code(function).called if depth < DEPTH else ():
        if not owner and (called := function_of(lookup, function.home, name)):
            yield from bases_added_by(lookup, replace(function, nodes=(called,)), depth + 1)


def function_of(lookup: Lookup, tree: ModuleTree, name: str) -> Def | None:
    """Find the `def` that a name of a module is bound to last."""
    nodes = [case.binding.node for case in lookup.cases(tree, name) if case.binding]
    return nodes[-1] if nodes and isinstance(nodes[-1], DEFS) else None


def _touched(lookup: Lookup, function: Value, depth: int) -> Touched:
    code = _code(function)
    touched, is_open = set(code.stored), False
    for call in code.setters:
        at = -2 if "." in dotted(call.func) else 1
        named = lookup.evaluate(call.args[at], Scope(function.home)) if call.args[1:] else ()
        if name := text_of(named):
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
        return function_of(lookup, function.home, name)
    body = function.classes[-1].body if function.classes else ()
    return next((one for one in body if isinstance(one, DEFS) and one.name == name), None)


def _is_of_text(call: ast.Call) -> bool:
    """Whether a function is given a docstring alone, which is no way to what it is of."""
    given = [getattr(one, "attr", "") for one in given_to(call)]
    return isinstance(call.func, ast.Name) and given == ["__doc__"]


def _code(function: Value) -> _Effects:
    node = function.nodes[0]
    return function.home.by_file(("code", id(node)), lambda: _Effects.of(node))


def edits_of(lookup: Lookup, entry: Value) -> Edits:
    """List what may be done to a class by code of its module below it."""
    key, notes = ("edits", id(entry.classes[-1])), entry.home.notes
    if key not in notes:
        notes[key] = _ASKED  # for those who ask while it is worked out
        notes[key] = _edits(lookup, entry)
    edits: Edits = notes[key]
    lookup.circles += edits is _ASKED
    return edits


def _edits(lookup: Lookup, entry: Value) -> Edits:
    names, opened = dict[str, str](), ""
    if entry.home.source.count(entry.classes[-1].name.encode()) < 2:
        return Edits(names, opened)
    end = entry.classes[0].end_lineno or 0
    below = (one for one in statements(entry.home.tree.body) if (one.end_lineno or 0) > end)
    for statement, node in ((one, node) for one in below for node in expressions(one)):
        for name in _set_on(lookup, entry, statement, node):
            if name is None:
                opened = opened or f"line {statement.lineno} may set it on {entry.qualname}"
            else:
                names[name] = f"line {statement.lineno}"
    return Edits(names, opened)


def _set_on(
    lookup: Lookup, entry: Value, statement: ast.stmt, node: ast.AST
) -> Iterator[str | None]:
    """Name what an expression sets on a class; None for what cannot be told."""
    owner = entry.qualname
    if isinstance(statement, (ast.For, ast.AsyncFor)) and dotted(node) == owner:
        yield None
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        if dotted(node.value) == owner:
            yield node.attr
    elif isinstance(node, ast.Call):
        given, called = given_to(node), dotted(node.func)
        is_given = any(dotted(one) == owner for one in given)
        if is_given and called in _SETTERS and len(given) > 1:
            key = given[1].value if isinstance(given[1], ast.Constant) else None
            yield key if isinstance(key, str) else None
        elif is_given or called.rpartition(".")[0] == owner:
            yield from _set_in(lookup, lookup.evaluate(node.func, Scope(entry.home, (), statement)))


def _set_in(lookup: Lookup, functions: Values) -> Iterator[str | None]:
    for value in functions:
        node = value.nodes[0] if value.nodes else None
        is_open = not value.classes
        if value.dotted:
            is_open = value.dotted.partition(".")[0] not in _HARMLESS
        elif isinstance(node, ast.FunctionDef) and value.kind is not Kind.METHOD:
            names, is_open = touched_by(lookup, value)
            yield from names
        if is_open:
            yield None
