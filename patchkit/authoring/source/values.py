"""Rewrites the value of an assignment, and leaves its names and its annotation as they are."""

import ast

from patchkit.authoring.source.indents import indented
from patchkit.authoring.source.unpacking import element_text

_NAME = "_ = "
"""What stands before a value as it is indented: a string alone would be taken for a docstring."""


def value_text(text: str, margin: str) -> str | None:
    """Return the text of an assignment's value, in brackets where another assignment needs them.

    Args:
        text: the assignment, not indented.
        margin: what its further lines get before them.

    Returns:
        None if the statement is no assignment, or sets nothing.
    """
    (node,) = ast.parse(text).body
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return None
    if node.value is None:
        return None
    value_alone = element_text(text.encode(), node.value)
    lines = indented(f"{_NAME}{value_alone}", margin)
    return lines.removeprefix(f"{margin}{_NAME}")
