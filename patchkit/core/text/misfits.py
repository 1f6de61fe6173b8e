"""Names the line of an Edit's `new` whose indentation fits no block of the function."""

from collections.abc import Mapping, Sequence

from patchkit.core.text.matching import NEWLINE, Token, column, width


def misfit(
    tokens: Sequence[Token],
    insertions: Mapping[int, str],
    new: Sequence[Token],
    new_text: str,
) -> str:
    """Say which line of an Edit's `new` is indented so that it, or code behind it, is in no block.

    Args:
        tokens: The tokens of the edited function, from `def` on.
        insertions: The texts that the Edit inserted, by the offset where each starts.
        new: The tokens of `new`.
        new_text: The text of `new`.

    Returns:
        A message, with columns from 0; '' if no line of `new` after its first is at fault.
    """
    fault = misindented(tokens)
    if fault is None:
        return ""
    # `starts` are in the order of the text, and the last insertion before the fault has caused it.
    starts = [start for start in insertions if start < fault.start]
    if not starts:
        return ""
    start = starts[-1]
    inserted = insertions[start]
    # Lines of `new` are counted from 0: the one of its first token, and the one where the fault is.
    first_line = new_text.count("\n", 0, new[0].start)
    last_line = first_line + inserted[: fault.start - start].count("\n")
    # The culprit begins that line, or the last one before it that a token begins.
    for token in new:
        line = new_text.count("\n", 0, token.start)
        if token.margin is not None and line <= last_line:
            culprit = token
            culprit_line = line
    offset = column(culprit) - column(new[0])
    # The line is indented as the first one, which is put where `old` was: that is no fault.
    if offset == 0:
        return ""
    side = "right"
    if offset < 0:
        side = "left"
    inserted_line = inserted.split("\n")[culprit_line - first_line]
    return (
        f"line {culprit_line + 1} of new fits no block: it begins {abs(offset)} columns {side} of "
        f"the first line, at column {_indent(inserted_line)} of the function"
    )


def _indent(line: str) -> int:
    """Return the column at which the code of a line begins."""
    code = line.lstrip(" \t\f")
    size = len(line) - len(code)
    return width(line[:size])


def misindented(tokens: Sequence[Token]) -> Token | None:
    """Find the first line of a function that is indented so that it is in no block.

    Args:
        tokens: The tokens of the function, from `def` on.

    Returns:
        The token that the line begins with; None where there is no such line.
    """
    # The columns of the blocks that are open, the outermost first.
    blocks = [column(tokens[0])]
    last = tokens[0]
    opens_block = False
    for token in tokens[1:]:
        if token.margin is not None:
            indent = column(token)
            if opens_block and indent > blocks[-1]:
                blocks.append(indent)
            while indent < blocks[-1]:
                blocks.pop()
            # Between two blocks, or further in without a colon before.
            if indent != blocks[-1]:
                return token
        if token.kind == NEWLINE:
            opens_block = last.text == ":"  # the line ends with a colon
        last = token
    return None
