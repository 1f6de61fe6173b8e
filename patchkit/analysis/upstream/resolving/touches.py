"""Tells which attributes code sets on a class: a decorator, a hook, or statements below it."""

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

DEPTH = 3
"""How deep calls are followed: a function that calls another, and so on."""
_SETTERS = frozenset({"setattr", "delattr", "__setattr__"})
_HARMLESS = frozenset(
    {"TypeVar", "cast", "isinstance", "issubclass", "hasattr", "getattr", "len"}
)
"""Functions that set nothing on a class that they are passed."""


class TouchedAttributes(NamedTuple):
    """The attributes that a function sets on its argument.

    Args:
        names: The attributes that are set or deleted on any object: the source does not tell
            which object is the argument.
        is_open: Whether it may set other attributes, too.
    """

    names: frozenset[str]
    is_open: bool


class LaterChanges(NamedTuple):
    """What the statements below a class may change on it.

    Args:
        names: The attributes that are set or deleted, each with the last line that does so, as
            "line 12".
        open_reason: The first statement that may set other attributes, for the report; '' if none
            may.
    """

    names: dict[str, str]
    open_reason: str


class _FunctionCode(NamedTuple):
    """What a function does, as far as that concerns the attributes of its argument.

    Args:
        stored: The attributes that it assigns to or deletes, of any object.
        setters: Its calls of `setattr` and the like.
        called: Its other calls: `("cls.helper", "run")` for `cls.helper.run()`.
        parameters: The first parameter of the function, and of each inner function that it
            returns.
    """

    stored: set[str]
    setters: list[ast.Call]
    called: set[tuple[str, str]]
    parameters: set[str]

    @classmethod
    def read(cls, function: ast.AST) -> "_FunctionCode":
        """Collect these facts from a function, inner functions included."""
        stored: set[str] = set()
        setters: list[ast.Call] = []
        called: set[tuple[str, str]] = set()
        returned: set[str] = set()
        functions: list[Def] = []
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute):
                if isinstance(node.ctx, (ast.Store, ast.Del)):
                    stored.add(node.attr)
            elif isinstance(node, ast.Return):
                returned.add(dotted(node.value))
            elif isinstance(node, DEFS):
                functions.append(node)
            elif isinstance(node, ast.Call) and not _reads_docstring(node):
                owner, _, name = dotted(node.func).rpartition(".")
                if name in _SETTERS:
                    setters.append(node)
                else:
                    called.add((owner, name))
        parameters = {
            inner.args.args[0].arg
            for inner in functions
            if inner.args.args and (inner is function or inner.name in returned)
        }
        return cls(stored, setters, called, parameters)


def touched_by(lookup: Lookup, function: Value, depth: int = 0) -> TouchedAttributes:
    """List the attributes that a function of the release sets on its argument.

    Args:
        lookup: The release.
        function: The function, or the method of a class.
        depth: How many calls led to it.

    Returns:
        The attributes; those that called functions and methods set are among them.
    """
    key = ("touched", id(function.nodes[0]), depth)
    return function.module_tree.remember(key, lambda: _touched(lookup, function, depth))


def bases_added_by(lookup: Lookup, function: Value, depth: int = 0) -> Iterator[Value]:
    """List the classes in `cls.__bases__ = cls.__bases__ + (…,)`.

    Args:
        lookup: The release.
        function: The function that is read, with those that it calls.
        depth: How many calls led to it.

    Yields:
        What each element of the tuple comes to; a class may come up more than once.
    """
    for node in ast.walk(function.nodes[0]):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.BinOp):
            continue
        added = node.value.right
        is_of_bases = dotted(node.targets[0]).endswith(".__bases__")
        if is_of_bases and isinstance(added, ast.Tuple):
            for base in added.elts:
                yield from lookup.evaluate(base, Scope(function.module_tree))
    if depth >= DEPTH:
        return
    for owner, name in sorted(_code(function).called):
        if owner:
            continue  # only functions that are called by a plain name are read
        called = function_named(lookup, function.module_tree, name)
        if called is not None:
            inner = replace(function, nodes=(called,))
            yield from bases_added_by(lookup, inner, depth + 1)


def function_named(lookup: Lookup, tree: ModuleTree, name: str) -> Def | None:
    """Find the `def` that a name of a module is bound to last.

    Args:
        lookup: The release.
        tree: The module.
        name: The name.

    Returns:
        None if the name is not bound, or the last of the statements that may bind it is no `def`.
    """
    cases = lookup.binding_cases(tree, name)
    nodes = [case.binding.node for case in cases if case.binding]
    if nodes and isinstance(nodes[-1], DEFS):
        return nodes[-1]
    return None


def _touched(lookup: Lookup, function: Value, depth: int) -> TouchedAttributes:
    """Work out what a function sets on its argument; see `touched_by`, which remembers it."""
    code = _code(function)
    names = set(code.stored)
    is_open = False
    for call in code.setters:
        name = _name_set_by(lookup, function, call)
        if name:
            names.add(name)
        else:
            is_open = True
    for owner, name in code.called:
        called = _called(lookup, function, owner, name)
        if called is None:
            # An unknown method of the argument may set anything on the argument; special methods
            # such as `__init_subclass__` are taken to set nothing.
            is_special = name.startswith("__")
            is_unknown_method = owner in code.parameters and not is_special
            is_open = is_open or is_unknown_method
        # What a recursive call sets is known already.
        elif called is not function.nodes[0] and depth < DEPTH:
            inner = replace(function, nodes=(called,))
            touched = touched_by(lookup, inner, depth + 1)
            names |= touched.names
            is_open = is_open or touched.is_open
    return TouchedAttributes(frozenset(names), is_open)


def _name_set_by(lookup: Lookup, function: Value, call: ast.Call) -> str | None:
    """Return "x" for a call such as `setattr(cls, "x", …)`; None if the name is not spelled out."""
    if len(call.args) < 2:
        return None
    # `type.__setattr__(cls, "x", …)`, or without the first argument `cls.__setattr__("x", …)`.
    is_method = "." in dotted(call.func)
    argument = call.args[1]
    if is_method:
        argument = call.args[-2]
    value = lookup.evaluate(argument, Scope(function.module_tree))
    return literal_text(value)


def _called(lookup: Lookup, function: Value, owner: str, name: str) -> Def | None:
    """Find what a function calls as `owner.name()`.

    Args:
        lookup: The release.
        function: The function.
        owner: What stands before the last dot; '' for a call of a plain name.
        name: The name that is called.

    Returns:
        The `def` in its module; with an owner, whichever that is, a method of its own class. None
        if there is none.
    """
    if not owner:
        return function_named(lookup, function.module_tree, name)
    if function.classes:
        for method in function.class_statement.body:
            if isinstance(method, DEFS) and method.name == name:
                return method
    return None


def _reads_docstring(call: ast.Call) -> bool:
    """Whether a call is `f(x.__doc__)`: with a docstring alone, `f` cannot set anything on x."""
    attributes = [getattr(argument, "attr", "") for argument in argument_values(call)]
    return isinstance(call.func, ast.Name) and attributes == ["__doc__"]


def _code(function: Value) -> _FunctionCode:
    """Read the code of a function once for all releases that have the same file."""
    node = function.nodes[0]
    key = ("code", id(node))
    return function.module_tree.remember_with_file(
        key, lambda: _FunctionCode.read(node)
    )


def changes_below(owner: Value) -> LaterChanges:
    """List what the code of a module may change on a class after its definition.

    Args:
        owner: The class.

    Returns:
        The changes by statements of its own module that run at import, after the class statement.
    """
    key = ("edits", id(owner.class_statement))
    return owner.module_tree.remember_with_file(key, lambda: _changes_below(owner))


def _changes_below(owner: Value) -> LaterChanges:
    """Work out what is changed on a class later; see `changes_below`, which remembers it."""
    names: dict[str, str] = {}
    open_reason = ""
    tree = owner.module_tree
    # A name that occurs only where it is defined is not changed: this spares most classes the walk.
    name = owner.class_statement.name.encode()
    if tree.source.count(name) < 2:
        return LaterChanges(names, open_reason)
    end = owner.classes[0].end_lineno or 0  # of the outermost class around it
    for statement in statements(tree.tree.body):
        if (statement.end_lineno or 0) <= end:
            continue
        for node in expressions(statement):
            if isinstance(node, ast.Attribute) and isinstance(
                node.ctx, (ast.Store, ast.Del)
            ):
                if dotted(node.value) == owner.qualname:
                    names[node.attr] = f"line {statement.lineno}"
            elif not open_reason and _passes_on(statement, node, owner.qualname):
                open_reason = f"line {statement.lineno} may set it on {owner.qualname}"
    return LaterChanges(names, open_reason)


def _passes_on(statement: ast.stmt, node: ast.AST, owner: str) -> bool:
    """Whether a statement hands a class to code that may set attributes on it.

    Args:
        statement: The statement.
        node: A part of it: a call that is passed the class, or of a method of the class; or the
            class itself in the header of a `for`.
        owner: The dotted name of the class.
    """
    if isinstance(node, ast.Call):
        called_on, _, function = dotted(node.func).rpartition(".")
        if called_on == owner:
            return True
        is_argument = any(
            dotted(argument) == owner for argument in argument_values(node)
        )
        return is_argument and function not in _HARMLESS
    is_loop = isinstance(statement, (ast.For, ast.AsyncFor))
    return is_loop and dotted(node) == owner
