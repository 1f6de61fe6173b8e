"""What loops of a pile set, turn by turn."""

import ast
from collections.abc import Iterator, Mapping


def guarded_assignments(loop: ast.For) -> Iterator[tuple[ast.expr, ast.Assign]]:
    """List the assignments with which an `if` in a loop begins, each with its test.

    Args:
        loop: The loop.

    Yields:
        The test, and the assignment.
    """
    for node in ast.walk(loop):
        if not isinstance(node, ast.If):
            continue
        first = node.body[0]
        if isinstance(first, ast.Assign):
            yield node.test, first


def value_in_turn(value: ast.expr, loop_values: Mapping[str, ast.expr]) -> ast.expr:
    """Copy a value, with what names of a loop stand for in place of the names.

    Args:
        value: The expression.
        loop_values: What each name stands for in this turn.

    Returns:
        The copy.
    """
    text = ast.unparse(value)
    copied = ast.parse(text, mode="eval").body
    names = _LoopNames(loop_values)
    replaced: ast.expr = names.visit(copied)
    return replaced


class _LoopNames(ast.NodeTransformer):
    """Replaces the names that a loop binds."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name that a loop binds by its value in one turn."""
        return self._values.get(node.id, node)
