"""Reads and separates assignments that set more than one name, such as `A, B = 1, 2`."""

import ast
from collections.abc import Iterable, Iterator

from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span

_DISPLAYS = (ast.Tuple, ast.List)


def names_set_together(node: ast.Assign) -> set[str]:
    """Return the names that an assignment sets, unless it sets one name alone.

    Args:
        node: The assignment.
    """
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return set()
    names: set[str] = set()
    for target in node.targets:
        names |= stored(target)
    return names


def values_by_name(node: ast.stmt) -> dict[str, ast.expr]:
    """Pair each name with its value, where a statement spells out one for each.

    Args:
        node: The statement.

    Returns:
        The values by name; none where the value is a call, names are starred, or the like.
    """
    if not isinstance(node, ast.Assign):
        return {}
    if len(node.targets) > 1:
        return {}
    target = node.targets[0]
    value = node.value
    if not isinstance(target, _DISPLAYS) or not isinstance(value, _DISPLAYS):
        return {}
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    values = [part for part in value.elts if not isinstance(part, ast.Starred)]
    are_paired = len(target.elts) == len(names) == len(values) == len(value.elts)
    if not are_paired or len(set(names)) < len(names):
        return {}
    return dict(zip(names, values, strict=True))


def element_text(content: bytes, node: ast.expr) -> str:
    """Return the text of a value so that it can stand among the values of a tuple.

    Args:
        content: The text of the module.
        node: The value, in the tree of the module.
    """
    start, end = span(content, node)
    text = content[start:end].decode()
    expected = f"(({text}), 0)"
    if _is_same_code(f"{text}, 0", expected):
        return text
    return f"({text})"


def separated(content: bytes) -> bytes:
    """Return a module with each assignment that pairs names and values as one for each name.

    It stays where a value reads one of the names, which it means as they were before.

    Args:
        content: The text of the module.
    """
    return rewritten(content, _separations)


def _separations(content: bytes) -> Iterator[TextChange]:
    """Write the changes that `separated` makes."""
    tree, _ = parse(content)
    for node in tree.body:
        values = values_by_name(node)
        names_read = _names_in(values.values())
        if not values or not names_read.isdisjoint(values):
            continue
        lines = []
        for name, value in values.items():
            text = element_text(content, value)
            lines.append(f"{name} = {text}")
        start, end = span(content, node)
        yield start, end, "\n".join(lines)


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """List the names that code reads."""
    names: set[str] = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                names.add(part.id)
    return names


def _is_same_code(text: str, expected: str) -> bool:
    """Whether two expressions are parsed as the same; a text that is no Python is like none."""
    tree, fault = parse(f"_ = {text}".encode())
    expected_tree, expected_fault = parse(f"_ = {expected}".encode())
    if fault or expected_fault:
        return False
    return ast.dump(tree) == ast.dump(expected_tree)
