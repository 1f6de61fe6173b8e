"""Tells which annotations in the body of a dataclass make no field: `ClassVar`, `KW_ONLY`."""

import ast
import re

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    SCOPES,
    dotted,
    statements,
)

CLASS_VAR = "ClassVar"
KEYWORDS = "KW_ONLY"
INIT_VAR = "InitVar"
_MARKS = frozenset({CLASS_VAR, KEYWORDS, INIT_VAR})
_IN_TEXT = re.compile(r"(?:\s*(\w+)\s*\.)?\s*(\w+)")
"""How `dataclasses` itself reads an annotation that is a string."""


def mark_of(tree: ModuleTree, annotation: ast.expr) -> str:
    """Return which mark an annotation is, by whatever name the module has for it.

    Args:
        tree: The module.
        annotation: The annotation, which may be written as a string.

    Returns:
        One of `CLASS_VAR`, `KEYWORDS` and `INIT_VAR`; '' for the annotation of a field.
    """
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        found = _IN_TEXT.match(annotation.value)
        if found is None:
            return ""
        name = ".".join(part for part in found.groups() if part)
    else:
        while isinstance(annotation, ast.Subscript):
            # `Annotated[ClassVar[int], …]` is a field for dataclasses.
            annotation = annotation.value
        name = dotted(annotation)
    if not name:
        return ""
    other = _other_names(tree)
    if name in other:
        return other[name]
    first, _, last = name.rpartition(".")
    return last if last in _MARKS and other.get(first or last) != "" else ""


def is_class_var(node: ast.AnnAssign) -> bool:
    """Whether an annotation is a `ClassVar`, as far as its own words tell.

    Args:
        node: The annotation, which may be written as a string.
    """
    text = ast.unparse(node.annotation).strip("'\"")
    name = text.partition("[")[0]  # `typing.ClassVar` of `typing.ClassVar[int]`
    return name.rpartition(".")[2] == CLASS_VAR


def _other_names(tree: ModuleTree) -> dict[str, str]:
    """Return the marks by other names that a module has for them.

    Names of the marks that the module binds to something of its own stand for ''.
    """
    return tree.remember_with_file("marks", lambda: _find_names(tree))


def _find_names(tree: ModuleTree) -> dict[str, str]:
    """Read a module; see `_other_names`, which remembers it."""
    names: dict[str, str] = {}
    # Most modules have none of the words, and are spared the walk.
    if not any(mark.encode() in tree.source for mark in _MARKS):
        return names
    for statement in statements(tree.tree.body):
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if alias.name in _MARKS:
                    names[alias.asname or alias.name] = alias.name
        elif isinstance(statement, SCOPES) and statement.name in _MARKS:
            names[statement.name] = ""
        elif isinstance(statement, ast.Assign):
            mark = _assigned_mark(statement.value, names)
            for target in statement.targets:
                if mark and isinstance(target, ast.Name):
                    names[target.id] = mark
    return names


def _assigned_mark(assigned: ast.expr, names: dict[str, str]) -> str:
    """Return the mark that `Shared = ClassVar[int]` assigns; '' for anything else."""
    while isinstance(assigned, ast.Subscript):
        assigned = assigned.value
    name = dotted(assigned)
    mark = names.get(name, name.rpartition(".")[2])
    return mark if mark in _MARKS else ""
