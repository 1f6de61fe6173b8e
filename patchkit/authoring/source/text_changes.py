"""Finds where syntax nodes are in the text of a module, and replaces parts of the text."""

import ast
from collections.abc import Iterable

from patchkit.authoring.scaffold.source_edits import TextChange, offset


def span(text: bytes, node: ast.AST) -> tuple[int, int]:
    """Find where a node is in a text; a definition starts at its first decorator.

    Args:
        text: The text of the module.
        node: The node.

    Returns:
        The offsets, in bytes, of its start and its end.
    """
    first_line = getattr(node, "lineno", 1)
    for decorator in getattr(node, "decorator_list", ()):
        first_line = min(first_line, decorator.lineno)
    first_column = getattr(node, "col_offset", 0)  # also that of the `@` of a decorator
    last_line = getattr(node, "end_lineno", 1)
    last_column = getattr(node, "end_col_offset", 0)
    start = offset(text, first_line, first_column)
    end = offset(text, last_line, last_column)
    return start, end


def applied(text: bytes, changes: Iterable[TextChange]) -> bytes:
    """Return a text with changes made; a change inside of another one is left out.

    Args:
        text: The text.
        changes: The changes, in any order.
    """
    # From the end, so that earlier offsets stay valid. The text before `unchanged_end` is as it
    # was; a change that ends behind it is inside of one that is made already.
    unchanged_end = len(text)
    from_the_end = sorted(changes, key=lambda change: (-change[1], change[0]))
    for start, end, new in from_the_end:
        if end > unchanged_end:
            continue
        text_before = text[:start]
        text_behind = text[end:]
        text = text_before + new.encode() + text_behind
        unchanged_end = start
    return text
