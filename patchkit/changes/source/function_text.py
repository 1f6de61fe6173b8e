"""The text of one function: where it begins, where its body begins, and where it ends."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from patchkit.changes.source.lexing import NEWLINE, LexicalError, Token, lex
from patchkit.changes.source.matching import width
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator


class FunctionText:
    """
    A function's text, taken apart when that is asked for.

    Args:
        text: the function's, decorators included. What follows is cut off by `cut`.

    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tokens(self) -> list[Token]:
        """
        From `def` to the end of the function.

        Raises:
            TargetError: no function begins here.

        """
        try:
            return self._take(lex(self.text))
        except LexicalError as error:
            raise TargetError(f"found {error}, expected a function") from error

    @property
    def start(self) -> int:
        """Where `def` stands, after the decorators."""
        return self.tokens[0].start

    @cached_property
    def header_end(self) -> int:
        """The place after the colon of the `def` line."""
        return next(token.end for token in self.tokens if token.text == ":" and not token.depth)

    @property
    def header(self) -> str:
        """The `def` line, up to its colon."""
        return self.text[self.start : self.header_end]

    @property
    def end(self) -> int:
        """The place after the last line."""
        return self.tokens[-1].end

    def cut(self) -> str:
        """Return what follows the function, and drop it."""
        rest = self.text[self.end :]
        self.text = self.text[: self.end]
        return rest

    def _take(self, tokens: Iterator[Token]) -> list[Token]:
        first = _after_decorators(tokens)
        kept, outside = [first], width(first.margin or "")
        body = _rest_of_line(tokens, kept)
        for token in tokens if body else ():
            if token.margin is not None and width(token.margin) <= outside:
                break
            kept.append(token)
        return kept


def _after_decorators(tokens: Iterator[Token]) -> Token:
    at_start = True
    for token in tokens:
        if at_start and token.text in {"def", "async"}:
            return token
        if at_start and token.text != "@":
            break
        at_start = token.kind == NEWLINE
    raise TargetError("found no `def`, expected a function that a `def` statement makes")


def _rest_of_line(tokens: Iterator[Token], kept: list[Token]) -> bool:
    """Take the rest of the `def` line; say whether a body follows below."""
    for token in tokens:
        kept.append(token)
        if token.kind == NEWLINE:
            return kept[-2].text == ":"
    return False
