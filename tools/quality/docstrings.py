"""Docstrings of public classes and functions: whether they tell what a caller has to know."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .source import is_docstring

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .source import Module

Function = ast.FunctionDef | ast.AsyncFunctionDef
_RESULT = re.compile(
    r"^\s*(Returns|Yields):|\b([Rr]eturn|[Yy]ield)(s|ed)?\b|\bWhether\b", re.M
)
_ENTRY = re.compile(r"^\s+\*{0,2}(\w+)(?: \(.*\))?:", re.M)
_CODE = re.compile(r"`\*{0,2}(\w+)")
_WORD = re.compile(r"\w+")
_NOTHING = frozenset({"None", "NoReturn", "Never"})
_TOLD_ELSEWHERE = frozenset({"command", "group", "overload", "setter", "deleter"})
"""Decorators whose functions are documented in another way: options of a command by their help."""
_ATTRIBUTES = frozenset({"property", "cached_property"})
"""Decorators that make an attribute, whose summary says what it is."""


@dataclass(frozen=True)
class Documented:
    """A public class or function that has something to tell beside what it is.

    Args:
        name: The name of its module and its own, with a colon between them.
        missing: What the docstring leaves out: parameters, "the result", names of errors.
    """

    name: str
    missing: tuple[str, ...]


def documented(modules: Iterable[Module]) -> list[Documented]:
    """Look at every public class and function that has parameters, a result or errors.

    Args:
        modules: The modules to look at.

    Returns:
        What each leaves out, in the order of the files.
    """
    return [
        Documented(f"{module.name}:{name}", missing)
        for module in modules
        for name, missing in _definitions(module.tree, "")
        if missing is not None
    ]


def _definitions(
    owner: ast.Module | ast.ClassDef, prefix: str
) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield the name of each public definition, and what its docstring leaves out.

    That is None if there is nothing to tell.
    """
    for node in owner.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            name = prefix + node.name
            yield name, _missing_of_class(node)
            yield from _definitions(node, f"{name}.")
        elif isinstance(node, Function) and _is_documented_here(node):
            yield prefix + node.name, _missing_of_function(node, owner)


def _is_documented_here(node: Function) -> bool:
    return not node.name.startswith("_") and not _decorators(node) & _TOLD_ELSEWHERE


def _missing_of_function(
    node: Function, owner: ast.Module | ast.ClassDef
) -> tuple[str, ...] | None:
    parameters = _parameters(node, is_method=isinstance(owner, ast.ClassDef))
    errors = _errors(node)
    has_result = _has_result(node)
    if not (parameters or errors or has_result):
        return None
    docstring = ast.get_docstring(node) or ""
    entries = _entries(docstring)
    missing = [name for name in parameters if name not in entries]
    if has_result and not _RESULT.search(docstring):
        missing.append("the result")
    words = set(_WORD.findall(docstring))
    missing += [name for name in errors if name not in words]
    return tuple(missing)


def _missing_of_class(node: ast.ClassDef) -> tuple[str, ...] | None:
    """Name the parameters of the constructor, or the fields, that nothing is said of."""
    docstring = ast.get_docstring(node) or ""
    parameters = _fields(node)
    for statement in node.body:
        if isinstance(statement, Function) and statement.name == "__init__":
            parameters = _parameters(statement, is_method=True)
            docstring += "\n" + (ast.get_docstring(statement) or "")
    if not parameters:
        return None
    described = _described_fields(node) | _entries(docstring)
    return tuple(name for name in parameters if name not in described)


def _entries(docstring: str) -> set[str]:
    """Return the names that have an entry, as in a section `Args:`, or that stand as code."""
    return set(_ENTRY.findall(docstring)) | set(_CODE.findall(docstring))


def _parameters(node: Function, *, is_method: bool) -> list[str]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if is_method and "staticmethod" not in _decorators(node):
        positional = positional[1:]
    parameters = [*positional, *arguments.kwonlyargs]
    parameters += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
    return [
        parameter.arg for parameter in parameters if not parameter.arg.startswith("_")
    ]


def _fields(node: ast.ClassDef) -> list[str]:
    return [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and not statement.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(statement.annotation)
    ]


def _described_fields(node: ast.ClassDef) -> set[str]:
    """Name the fields that a string beneath them documents."""
    return {
        statement.target.id
        for statement, following in zip(node.body, node.body[1:], strict=False)
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and is_docstring(following)
    }


def _has_result(node: Function) -> bool:
    if node.returns is None or _decorators(node) & _ATTRIBUTES:
        return False
    return ast.unparse(node.returns).strip("'\"") not in _NOTHING


def _errors(node: Function) -> list[str]:
    """Name the classes of the errors that a function raises by itself, nested ones left out."""
    names = set()
    pending: list[ast.AST] = list(node.body)
    while pending:
        child = pending.pop()
        if isinstance(child, ast.Raise) and child.exc:
            names.add(_class_raised(child.exc))
        if not isinstance(child, (Function, ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(child))
    return sorted(names - {""})


def _class_raised(error: ast.expr) -> str:
    """Return the name of the class of an error; "" for an error that was caught or made before."""
    if isinstance(error, ast.Call):
        error = error.func
    name = ast.unparse(error).rpartition(".")[2]
    if name[:1].isupper():
        return name
    return ""


def _decorators(node: Function) -> set[str]:
    """Return the last part of each decorator's name."""
    names = set()
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.add(ast.unparse(function).rpartition(".")[2])
    return names
