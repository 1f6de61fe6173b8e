"""The text that an edit puts in, indented like what it replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.changes.source.lexing import NEWLINE
from patchkit.changes.source.matching import column, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.changes.source.lexing import Token


class Fitting:
    """
    A text to be fitted in.

    Its first token comes where the fragment's first was. Where the columns of the fragment's
    lines are in the function is known; other columns lie beside the nearest one to the left.

    Args:
        text: it.
        tokens: its tokens.
        replaced: the fragment's first token.
        pairs: tokens that begin logical lines, in the fragment and in the function.

    """

    def __init__(
        self,
        text: str,
        tokens: Sequence[Token],
        replaced: Token,
        pairs: Sequence[tuple[Token, Token]],
    ) -> None:
        self._text = text
        self._tokens = [token for token in tokens if token.kind != NEWLINE]
        self._replaced = replaced
        self._pairs = pairs

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to put in."""
        return not self._tokens

    def text(self, margin: str) -> str:
        """Return it without what stands around its tokens, for a line with this indentation."""
        start, end = self._tokens[0].start, self._tokens[-1].end
        columns = self._columns(margin)
        lines = self._text[start:end].split("\n")
        at, fixed = start, self._inside_strings()
        for number, line in enumerate(lines):
            if number and at not in fixed:
                lines[number] = _moved(line, columns)
            at += len(line) + 1
        return "\n".join(lines)

    def _inside_strings(self) -> set[int]:
        """Return the beginnings of lines that are the middle of a string."""
        return {
            token.start + at + 1
            for token in self._tokens
            for at, character in enumerate(token.text)
            if character == "\n"
        }

    def _columns(self, margin: str) -> dict[int, str]:
        """Map columns of the text to indentations in the function, in order."""
        shift = column(self._tokens[0]) - column(self._replaced)
        known = {column(self._replaced) + shift: margin}
        for ours, theirs in self._pairs:
            known[column(ours) + shift] = theirs.margin or ""
        return dict(sorted(known.items()))


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
