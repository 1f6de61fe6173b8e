"""Indents code further or less; the text in its strings, unless they are docstrings, stays."""

import io
import tokenize
from tokenize import TokenError

# From Python 3.12 on, the text in an f-string is a token of its own.
_STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
_LAYOUT = (tokenize.NL, tokenize.COMMENT)
_STARTS_OF_STATEMENTS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def indented(text: str, margin: str) -> str:
    """Return code that is indented further; lines that begin in a string stay as they are.

    Args:
        text: The code.
        margin: What its lines get before them.
    """
    in_strings = _lines_in_strings(text)
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        is_empty = not line.strip()
        if is_empty or number in in_strings:
            lines.append(line)
        else:
            lines.append(f"{margin}{line}")
    return "\n".join(lines)


def dedented(text: str) -> str:
    """Return code that is indented less, by as much as its first line is indented.

    Lines that begin in a string stay as they are.

    Args:
        text: The code.
    """
    margin = margin_of(text)
    in_strings = _lines_in_strings(text)
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if number in in_strings:
            lines.append(line)
        else:
            lines.append(line.removeprefix(margin))
    return "\n".join(lines)


def margin_of(line: str) -> str:
    """Return the blanks that a line begins with.

    Args:
        line: The line.
    """
    unindented = line.lstrip()
    return line[: len(line) - len(unindented)]


def _lines_in_strings(text: str) -> set[int]:
    """List the lines that begin in a string, counted from 1; docstrings do not count."""
    lines: set[int] = set()
    is_at_start = True  # of a statement: a string that begins one is a docstring
    readline = io.StringIO(text).readline
    try:
        for token in tokenize.generate_tokens(readline):
            if token.type in _LAYOUT:
                continue
            if token.type in _STRINGS and not is_at_start:
                first, _ = token.start
                last, _ = token.end
                # Of the lines of a string, all but the first begin in it.
                lines.update(range(first + 1, last + 1))
            is_at_start = token.type in _STARTS_OF_STATEMENTS
    except (TokenError, SyntaxError):
        return lines  # whoever parses the text says what is wrong
    return lines
