"""Reads and separates assignments that set more than one name, such as `A, B = 1, 2`."""

import ast
from collections.abc import Iterable, Iterator

from patchkit.analysis.upstream.reading.files import parse
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span

_DISPLAYS = (ast.Tuple, ast.List)


def values_by_name(node: ast.stmt) -> dict[str, ast.expr]:
    """Pair each name with its value, where a statement spells out one for each.

    Args:
        node: The statement.

    Returns:
        The values by name; none where the value is a call, names are starred, or the like.
    """
    if not isinstance(node, ast.Assign):
        return {}
    target, *further = node.targets
    if further:
        return {}
    value = node.value
    if not isinstance(target, _DISPLAYS) or not isinstance(value, _DISPLAYS):
        return {}
    names: list[str] = []
    for element in target.elts:
        if not isinstance(element, ast.Name):
            return {}
        names.append(element.id)
    for element in value.elts:
        if isinstance(element, ast.Starred):
            return {}
    are_paired = len(names) == len(value.elts)
    different_names = set(names)
    if not are_paired or len(different_names) < len(names):
        return {}
    return dict(zip(names, value.elts, strict=True))


def element_text(content: bytes, node: ast.expr) -> str:
    """Return the text of a value so that it can stand among the values of a tuple.

    Args:
        content: The text of the module.
        node: The value, in the tree of the module.
    """
    start, end = span(content, node)
    text = content[start:end].decode()
    among_others = f"{text}, 0"
    expected = f"(({text}), 0)"
    if _is_same_code(among_others, expected):
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
        if not values:
            continue
        names_read = _names_in(values.values())
        if not names_read.isdisjoint(values):
            continue
        lines = []
        for name, value in values.items():
            text = element_text(content, value)
            assignment = f"{name} = {text}"
            lines.append(assignment)
        assignments = "\n".join(lines)
        start, end = span(content, node)
        yield start, end, assignments


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
    assignment = f"_ = {text}"
    tree, fault = parse(assignment.encode())
    expected_assignment = f"_ = {expected}"
    expected_tree, expected_fault = parse(expected_assignment.encode())
    if fault or expected_fault:
        return False
    structure = ast.dump(tree)
    expected_structure = ast.dump(expected_tree)
    return structure == expected_structure
