"""Edits the text of a Python file at the positions of syntax nodes."""

import ast
from collections.abc import Callable, Iterable

TextChange = tuple[int, int, str]
"""The start and end of a piece of text, in bytes, and the text that replaces it."""
ChangeFinder = Callable[[bytes], Iterable[TextChange]]
"""Returns the changes to make in a text."""


def rewritten(content: bytes, changes_in: ChangeFinder) -> bytes:
    r"""Make changes in the content of a file, whose kind of line ends is preserved.

    Args:
        content: The content.
        changes_in: Returns the changes; it is given the content with `\n` for `\r\n`.

    Returns:
        The new content.
    """
    newline = b"\n"
    has_carriage_returns = b"\r\n" in content
    if has_carriage_returns:
        newline = b"\r\n"
    text = content.replace(newline, b"\n")
    changes = changes_in(text)
    # From the end backwards, so that the positions of the changes still to make stay true.
    backwards = sorted(changes, reverse=True)
    for start, end, replacement in backwards:
        before = text[:start]
        behind = text[end:]
        new = replacement.encode()
        text = before + new + behind
    return text.replace(b"\n", newline)


def span(text: bytes, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return where a node begins and ends, in bytes.

    Args:
        text: The text that the node was parsed from.
        node: The node.
    """
    start = offset(text, node.lineno, node.col_offset)
    end = offset(text, node.end_lineno, node.end_col_offset)
    return start, end


def offset(text: bytes, line: int | None, column: int | None) -> int:
    """Return the position in bytes of a line and column that the parser gives.

    The parser's types allow None for both, as nodes that were not parsed have no position.

    Args:
        text: The text that was parsed.
        line: The line, from 1; None for the first.
        column: The column in bytes, from 0; None for the first.
    """
    lines = text.splitlines(keepends=True)
    line_index = (line or 1) - 1
    lines_before = lines[:line_index]
    start_of_line = sum(map(len, lines_before))
    return start_of_line + (column or 0)


def line_start(text: bytes, position: int) -> int:
    """Return the position at which the line of another position begins, in bytes.

    Args:
        text: The text.
        position: The position, in bytes.
    """
    newline = text.rfind(b"\n", 0, position)
    return newline + 1
