"""The text that an edit puts in, indented like what it replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.changes.source.matching import column, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.changes.source.lexing import Token


def fitted(text: str, tokens: Sequence[Token], columns: dict[int, str]) -> str:
    """
    Return a text without what stands around its tokens, each line moved into the function.

    Args:
        text: it.
        tokens: its tokens.
        columns: what `columns_of` returned.

    """
    start, end = tokens[0].start, tokens[-1].end
    lines = text[start:end].split("\n")
    at, fixed = start, _inside_strings(tokens)
    for number, line in enumerate(lines):
        if number and at not in fixed:
            lines[number] = _moved(line, columns)
        at += len(line) + 1
    return "\n".join(lines)


def columns_of(
    first: Token, replaced: Token, pairs: Sequence[tuple[Token, Token]], margin: str
) -> dict[int, str]:
    """
    Map columns of a text to indentations in the function, in order.

    Where the lines of the fragment are in the function is known; other columns lie beside the
    nearest one to the left.

    Args:
        first: the text's first token, which comes where the fragment's first was.
        replaced: the fragment's first token.
        pairs: tokens that begin logical lines, in the fragment and in the function.
        margin: the indentation of the line that the text comes into.

    """
    shift = column(first) - column(replaced)
    known = {column(first): margin}
    for ours, theirs in pairs:
        known[column(ours) + shift] = theirs.margin or ""
    return dict(sorted(known.items()))


def _inside_strings(tokens: Sequence[Token]) -> set[int]:
    """Return the beginnings of lines that are the middle of a string."""
    return {
        token.start + at + 1
        for token in tokens
        for at, character in enumerate(token.text)
        if character == "\n"
    }


def _moved(line: str, columns: dict[int, str]) -> str:
    code = line.lstrip(" \t\f")
    if not code:
        return ""
    ours = width(line[: len(line) - len(code)])
    left = [column for column in columns if column <= ours]
    if not left:
        leftmost, margin = next(iter(columns.items()))
        return " " * (width(margin) - leftmost + ours) + code
    return columns[left[-1]] + " " * (ours - left[-1]) + code
