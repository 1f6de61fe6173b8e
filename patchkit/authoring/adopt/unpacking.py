"""Assignments that set several names at once, such as `A, B = 1, 2`."""

import ast
from collections.abc import Iterator

from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.scaffold.rows import TextChange, rewritten, span

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
    target = node.targets[0]
    value = node.value
    if len(node.targets) > 1 or not (
        isinstance(target, _DISPLAYS) and isinstance(value, _DISPLAYS)
    ):
        return {}
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    values = [part for part in value.elts if not isinstance(part, ast.Starred)]
    are_paired = len(target.elts) == len(names) == len(values) == len(value.elts)
    if not are_paired or len(set(names)) < len(names):
        return {}
    return dict(zip(names, values, strict=True))


def element_text(content: bytes, node: ast.expr) -> str:
    """Quote a value so that it can stand among the values of a tuple."""
    start, end = span(content, node)
    text = content[start:end].decode()
    expected = f"(({text}), 0)"
    return text if _is_same_code(f"{text}, 0", expected) else f"({text})"


def separated(content: bytes) -> bytes:
    """Write each assignment of a module that pairs names and values as one for each name.

    It stays where a value reads one of the names, which it means as they were before.
    """
    return rewritten(content, _separations)


def _separations(content: bytes) -> Iterator[TextChange]:
    for node in parse(content)[0].body:
        values = values_by_name(node)
        parts = [part for value in values.values() for part in ast.walk(value)]
        read = {part.id for part in parts if isinstance(part, ast.Name)}
        if values and read.isdisjoint(values):
            lines = [f"{name} = {element_text(content, value)}" for name, value in values.items()]
            yield *span(content, node), "\n".join(lines)


def _is_same_code(text: str, expected: str) -> bool:
    trees = [parse(f"_ = {code}".encode()) for code in (text, expected)]
    if any(fault for _, fault in trees):
        return False
    return ast.dump(trees[0][0]) == ast.dump(trees[1][0])
