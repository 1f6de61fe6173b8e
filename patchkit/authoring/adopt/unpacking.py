"""Reads and separates assignments that set more than one name, such as `A, B = 1, 2`."""

import ast
from collections.abc import Iterable, Iterator

from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span

_DISPLAYS = (ast.Tuple, ast.List)


def names_set_together(node: ast.Assign) -> set[str]:
    """Name what an assignment sets, unless it is one name alone."""
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return set()
    return set().union(*map(stored, node.targets))


def values_by_name(node: ast.stmt) -> dict[str, ast.expr]:
    """Pair each name with its value, where a statement spells out one for each.

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
    """Quote a value so that it can stand among the values of a tuple.

    Args:
        content: the text of the module.
        node: the value, in the tree of the module.
    """
    start, end = span(content, node)
    text = content[start:end].decode()
    expected = f"(({text}), 0)"
    if _is_same_code(f"{text}, 0", expected):
        return text
    return f"({text})"


def separated(content: bytes) -> bytes:
    """Write each assignment of a module that pairs names and values as one for each name.

    It stays where a value reads one of the names, which it means as they were before.
    """
    return rewritten(content, _separations)


def _separations(content: bytes) -> Iterator[TextChange]:
    """Write the changes that `separated` makes."""
    tree, _ = parse(content)
    for node in tree.body:
        values = values_by_name(node)
        if not values or not _names_in(values.values()).isdisjoint(values):
            continue
        lines = [f"{name} = {element_text(content, value)}" for name, value in values.items()]
        start, end = span(content, node)
        yield start, end, "\n".join(lines)


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """List the names that code reads."""
    names: set[str] = set()
    for node in nodes:
        names.update(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return names


def _is_same_code(text: str, expected: str) -> bool:
    """Whether two expressions are parsed as the same; a text that is no Python is like none."""
    tree, fault = parse(f"_ = {text}".encode())
    expected_tree, expected_fault = parse(f"_ = {expected}".encode())
    if fault or expected_fault:
        return False
    return ast.dump(tree) == ast.dump(expected_tree)
