"""Finds what a statement of a pile changes in ways that no row can express, so that it is listed.

A pile is a package that patches upstream. Besides assignments, which are read, it may change things
in place, delete them, or set them in calls such as `setattr(lib, name, f)` in an expression.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from patchkit.analysis.upstream.resolving.syntax import dotted, expressions
from patchkit.authoring.source.name_scopes import NameScope

SETTABLE = (ast.Attribute, ast.Subscript)
"""The expressions that set something else than a name of the module itself."""
ChangedPart = tuple[ast.expr, list[str]]
"""A part of a statement, and the dotted names of what it changes."""

_MUTABLE_METHODS = {*dir(list), *dir(dict), *dir(set)}
_MUTATORS = _MUTABLE_METHODS - {*dir(tuple), *dir(frozenset), *dir(Mapping)}
_MUTATING = re.compile("|".join([*_MUTATORS, "(un)?register(_.*)?"]))
"""Matches the names of methods that change a container or a registry in place."""
_SETTERS = ("setattr", "delattr")
_SPECIAL_SETTERS = ("__setattr__", "__delattr__")
_WRAPPERS = ("wrap_function_wrapper", "patch_function_wrapper", "wrap_object")
"""Functions of wrapt that are given a module and a name in it."""


def stores(node: ast.AST, scope: NameScope) -> Iterator[ChangedPart]:
    """Yield what a statement, or a part of it, sets or deletes.

    Args:
        node: The statement, or the part of it.
        scope: What the names in it mean.
    """
    for part in ast.walk(node):
        if isinstance(part, SETTABLE) and not isinstance(part.ctx, ast.Load):
            dotted_names = scope.dotted_names_of(part)
            if dotted_names:
                yield part, dotted_names
            else:
                holder = part.value
                yield holder, scope.dotted_names_of(holder)
    # `LIST += […]` changes what was imported; a number or a text becomes another one.
    if isinstance(node, ast.AugAssign):
        target = node.target
        is_literal = isinstance(node.value, (ast.Constant, ast.JoinedStr))
        if isinstance(target, ast.Name) and not is_literal:
            dotted_names = scope.dotted_names_of(target)
            yield target, dotted_names


def changed_by_calls(
    statement: ast.AST, scope: NameScope, *, is_run: bool, is_read: bool
) -> Iterator[ChangedPart]:
    """Yield what the calls in a statement change.

    Args:
        statement: The statement; not those in its blocks.
        scope: What the names in it mean.
        is_run: Whether it runs as the module is imported, or as a function of it is called that
            needs no arguments. What other functions do to containers is their use, and no patch.
        is_read: Whether a `setattr(…)` that is the statement is read elsewhere.
    """
    for call in expressions(statement):
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        if is_run and isinstance(function, ast.Attribute):
            container = function.value
            if _MUTATING.fullmatch(function.attr):
                yield call, scope.dotted_names_of(container)
        is_read_elsewhere = is_read and _is_plain_setattr(statement, call)
        if not is_read_elsewhere:
            yield call, _set_by_call(call, scope)


def _is_plain_setattr(statement: ast.AST, call: ast.Call) -> bool:
    """Whether a call is all of a statement, and sets one attribute: `setattr(lib, "f", f)`."""
    if not isinstance(statement, ast.Expr):
        return False
    if statement.value is not call:
        return False
    function = dotted(call.func)
    return function == "setattr" and len(call.args) == 3


def _set_by_call(call: ast.Call, scope: NameScope) -> list[str]:
    """Return the dotted names of what a call sets or deletes; none for any other call."""
    function = call.func
    name = dotted(function)
    last = name.rpartition(".")[2]
    arguments = call.args
    if isinstance(function, ast.Attribute) and function.attr == "start":
        return _set_by_mock(function.value, scope)
    if isinstance(function, ast.Attribute) and last in _SPECIAL_SETTERS:
        # `lib.__setattr__("f", f)`; `type.__setattr__(C, "m", m)` names the owner first.
        owners = scope.dotted_names_of(function.value)
        if owners and arguments:
            names = scope.strings_of(arguments[0])
            return _attributes(owners, names)
    is_setter = name in _SETTERS or last in _SPECIAL_SETTERS or last in _WRAPPERS
    if not is_setter:
        return []
    if len(arguments) < 2:
        return []
    owners = _named(arguments[0], scope)
    names = scope.strings_of(arguments[1])
    return _attributes(owners, names)


def _set_by_mock(node: ast.expr, scope: NameScope) -> list[str]:
    """Return what `mock.patch("up.lib.f", …)` and `patch.object(lib, "f", …)` set once started."""
    if not isinstance(node, ast.Call) or not node.args:
        return []
    name = dotted(node.func)
    first = node.args[0]
    if name.endswith("patch"):
        return scope.strings_of(first)
    if name.endswith("patch.object") and len(node.args) > 1:
        owners = _named(first, scope)
        names = scope.strings_of(node.args[1])
        return _attributes(owners, names)
    if name.endswith(("patch.dict", "patch.multiple")):
        return _named(first, scope)
    return []


def _named(node: ast.expr, scope: NameScope) -> list[str]:
    """Return what an argument stands for: an object, or the dotted name of one as a text."""
    return scope.dotted_names_of(node) or scope.strings_of(node)


def _attributes(owners: list[str], names: list[str]) -> list[str]:
    """Return the dotted names of attributes; `?` stands for a name that is not told."""
    dotted_names = list[str]()
    for owner in owners:
        for name in names or ["?"]:
            dotted_names.append(f"{owner}.{name}")
    return dotted_names


def foreign(dotted_names: Iterable[str], module: str) -> list[str]:
    """Keep the dotted names of attributes that are neither a module's own nor Python's.

    Args:
        dotted_names: The dotted names.
        module: The name of the module.

    Returns:
        The names that are kept.
    """
    own_prefix = f"{module}."
    kept = list[str]()
    for name in dotted_names:
        is_member = "." in name or "[" in name
        is_own = name.startswith(own_prefix)
        top = name.partition(".")[0]
        is_python = top in sys.stdlib_module_names
        if is_own or is_python:
            continue
        if is_member:
            kept.append(name)
    return kept


def is_settable(target: ast.expr) -> bool:
    """Return whether a row can set a target: an attribute or an item, but not a new module.

    Args:
        target: The target of an assignment.
    """
    if not isinstance(target, SETTABLE):
        return False
    container = dotted(target.value)
    return container != "sys.modules"
