"""Tells which attributes the code of a module sets on a class below its definition."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    Def,
    argument_values,
    dotted,
    expressions,
    statements,
)
from patchkit.analysis.upstream.resolving.touches import HARMLESS, SETTERS
from patchkit.analysis.upstream.resolving.values import Value


class Setting(NamedTuple):
    """A statement below a class, which may set or delete an attribute of it.

    Args:
        text: Where it stands, for the report: "line 12", or "fix() at line 12".
        statement: The statement.
    """

    text: str
    statement: ast.stmt


class LaterChanges(NamedTuple):
    """What the code below a class may change on it.

    Args:
        names: The attributes that are set or deleted, each with the last statement that does so.
        open_reason: The first statement that may set other attributes, for the report; '' if none
            may.
        replaced_reason: The first statement that sets computed names, which may be those of
            methods; '' if none does.
    """

    names: dict[str, Setting]
    open_reason: str = ""
    replaced_reason: str = ""


def changes_below(owner: Value) -> LaterChanges:
    """List what the code of a module may change on a class after its definition.

    Args:
        owner: The class.

    Returns:
        The changes by statements of its own module that run at import, after the class statement,
        and by functions of the module that these call.
    """
    key = ("edits", id(owner.class_statement))
    return owner.module_tree.remember_with_file(key, lambda: _changes_below(owner))


def _changes_below(owner: Value) -> LaterChanges:
    """Work out what is changed on a class later; see `changes_below`, which remembers it."""
    names: dict[str, Setting] = {}
    open_reason = ""
    replaced_reason = ""
    tree = owner.module_tree
    # A name that occurs only where it is defined is not changed: this spares most classes the walk.
    name = owner.class_statement.name.encode()
    if tree.source.count(name) < 2:
        return LaterChanges(names)
    end = owner.classes[0].end_lineno or 0  # of the outermost class around it
    for place, statement in _later_statements(tree, end):
        reason = f"{place} may set it on {owner.qualname}"
        for node in expressions(statement):
            attribute = _attribute_set(node, owner.qualname)
            if attribute:
                names[attribute] = Setting(place, statement)
            elif attribute is None:  # `setattr` with a name that is computed
                replaced_reason = replaced_reason or reason
            elif _passes_on(statement, node, owner.qualname):
                open_reason = open_reason or reason
    return LaterChanges(names, open_reason or replaced_reason, replaced_reason)


def _attribute_set(node: ast.AST, owner: str) -> str | None:
    """Return the attribute of a class that an expression sets or deletes.

    Args:
        node: The expression: the target `C.x`, or the call `setattr(C, "x", …)`.
        owner: The dotted name of the class.

    Returns:
        '' if it sets none; None for a call that sets one whose name is not spelled out.
    """
    if isinstance(node, ast.Attribute):
        is_set = isinstance(node.ctx, (ast.Store, ast.Del))
        if is_set and dotted(node.value) == owner:
            return node.attr
    elif isinstance(node, ast.Call):
        setter = dotted(node.func).rpartition(".")[2]
        if setter not in SETTERS or len(node.args) < 2:
            return ""
        if dotted(node.args[0]) == owner:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return name.value
            return None
    return ""


def _later_statements(tree: ModuleTree, end: int) -> Iterator[Setting]:
    """List the statements that run after a line of a module, and in functions that these call.

    Args:
        tree: The module.
        end: The line.
    """
    functions: dict[str, Def] = {}
    called: list[str] = []
    for statement in statements(tree.tree.body):
        if isinstance(statement, DEFS):
            functions[statement.name] = statement
        if (statement.end_lineno or 0) > end:
            yield Setting(f"line {statement.lineno}", statement)
            called += _names_called(statement)
    # The list grows while functions call further ones; each function is read once.
    for name in called:
        function = functions.pop(name, None)
        if function is None:
            continue
        for statement in statements(function.body):
            yield Setting(f"{name}() at line {statement.lineno}", statement)
            called += _names_called(statement)


def _names_called(statement: ast.stmt) -> list[str]:
    """List the plain names that a statement itself calls."""
    return [
        node.func.id
        for node in expressions(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


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
        return is_argument and function not in HARMLESS
    is_loop = isinstance(statement, (ast.For, ast.AsyncFor))
    return is_loop and dotted(node) == owner
