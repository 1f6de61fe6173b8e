"""Reads from the text of a change which names it needs to be defined."""

import ast
import builtins
import keyword
import re
import symtable
from collections.abc import Iterator

from patchkit.core.rows.declaration import AddField, Change, Edit

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""A word that is no attribute; it may stand in a string or a comment, too."""

_KNOWN = {*dir(builtins), *keyword.kwlist, "__file__", "__name__", "__class__"}
"""What every module has."""


def names_to_find(change: Change) -> list[str]:
    """List the names that the module of a change's target may have to define.

    Args:
        change: The change.

    Returns:
        Names that an Edit brings into its function, or that the type of an AddField consists of.
    """
    if isinstance(change, Edit):
        names = words(change.new) - words(change.old)
    elif isinstance(change, AddField) and isinstance(change.type, str):
        names = _names_in(change.type)
    else:
        return []
    return sorted(names - _KNOWN)


def words(text: str) -> set[str]:
    """Return the words of a text that are no attributes.

    Args:
        text: The text, which need not be whole code.
    """
    return set(_NAME.findall(text))


def _names_in(annotation: str) -> set[str]:
    """Return the names of an annotation, those in strings in it included."""
    try:
        tree = ast.parse(annotation.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return set()
    return set(_names_of(tree))


def _names_of(node: ast.AST) -> Iterator[str]:
    """Yield the names in a node of an annotation; the strings in a `Literal` are values."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _names_in(node.value)
    elif isinstance(node, ast.Subscript) and _is_literal(node.value):
        yield from _names_of(node.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _names_of(child)


def _is_literal(node: ast.expr) -> bool:
    """Whether an expression is `Literal`, or an attribute of that name."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name == "Literal"


def names_bound(text: str) -> set[str]:
    """Return the names that a module or a function gives to something.

    Args:
        text: Its source; that of a method is indented.

    Returns:
        The names; none if the text is no valid Python.
    """
    table = _table_of(text)
    names: set[str] = set()
    if table is not None:
        for scope in (table, *table.get_children()):
            for symbol in scope.get_symbols():
                if symbol.is_imported() or symbol.is_assigned():
                    names.add(symbol.get_name())
    return names


def globals_read(text: str) -> set[str]:
    """Return the names that a function reads from its module.

    Args:
        text: The source of the function; that of a method is indented.

    Returns:
        The names; none if the text is no valid Python.
    """
    table = _table_of(text)
    if table is None:
        return set()
    return set(_read_in_functions(table))


def _table_of(text: str) -> symtable.SymbolTable | None:
    """Return the scopes of a text; None if it is no valid Python."""
    if text[:1] in {" ", "\t"}:  # a method, which needs a class around it
        text = f"class _:\n{text}"
    try:
        return symtable.symtable(text, "<text>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None


def _read_in_functions(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that functions in a scope, at any depth, read from their module."""
    for child in table.get_children():
        if isinstance(child, symtable.Function):
            for symbol in child.get_symbols():
                is_set_here = symbol.is_assigned()  # after a statement `global`
                if symbol.is_global() and symbol.is_referenced() and not is_set_here:
                    yield symbol.get_name()
        yield from _read_in_functions(child)
