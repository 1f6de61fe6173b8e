"""Makes changes in the text of a Python file, at the positions of syntax nodes."""

import ast
from collections.abc import Callable, Iterable

TextChange = tuple[int, int, str]
"""Where the text that is replaced begins and ends, in bytes, and what replaces it."""
ChangeFinder = Callable[[bytes], Iterable[TextChange]]
"""Works out the changes of a text."""


def rewritten(content: bytes, edits: ChangeFinder) -> bytes:
    """Return a file's text with changes made; its lines end as before.

    Args:
        content: What the file has in it.
        edits: Works out the changes; the lines of the text that it gets end with a newline alone.
    """
    newline = b"\n"
    has_carriage_returns = b"\r\n" in content
    if has_carriage_returns:
        newline = b"\r\n"
    text = content.replace(newline, b"\n")
    changes = edits(text)
    from_the_end = sorted(changes, reverse=True)
    for start, end, replacement in from_the_end:
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
    """Return the place in bytes of a line and a column of the parser's.

    Args:
        text: The text that was parsed.
        line: The line, from 1; None for the first.
        column: The column, from 0; None for the first.
    """
    lines = text.splitlines(keepends=True)
    line_index = (line or 1) - 1
    lines_before = lines[:line_index]
    start_of_line = sum(map(len, lines_before))
    return start_of_line + (column or 0)


def line_start(text: bytes, position: int) -> int:
    """Return where the line of a position begins, in bytes.

    Args:
        text: The text.
        position: The position, in bytes.
    """
    newline = text.rfind(b"\n", 0, position)
    return newline + 1
