"""Reads assignments that set more than one name, such as `A, B = 1, 2`."""

import ast

from patchkit.analysis.upstream.reading.files import parse
from patchkit.authoring.scaffold.source_edits import span

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
    # Without brackets, the `, 0` would become part of a tuple or of what a lambda returns.
    among_others = f"{text}, 0"
    expected = f"(({text}), 0)"
    if _is_same_code(among_others, expected):
        return text
    return f"({text})"


def _is_same_code(text: str, expected: str) -> bool:
    """Whether two expressions are parsed as the same; a `text` that is no Python never is."""
    tree, fault = parse(f"_ = {text}".encode())
    if fault:
        return False
    expected_tree, _ = parse(f"_ = {expected}".encode())
    return ast.dump(tree) == ast.dump(expected_tree)
