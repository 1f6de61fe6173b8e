"""
Tokens of a function, or of a fragment of one, with the places where they stand.

The library's `tokenize` refuses fragments (brackets that are not closed), and what it takes for an
f-string differs between Python versions. Here it is one token, if no quote of its kind is inside.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME, NUMBER, STRING, OPERATOR, NEWLINE = "name", "number", "string", "operator", "newline"
_SKIPPED, _END = "skipped", "end"
OPENING, CLOSING = "([{", ")]}"

_DIGITS = "[0-9](?:_?[0-9])*"
_TOKEN = re.compile(
    rf"""
    [ \t\f]* (?:
    (?P<name> [^\W\d]\w*\b(?!['"]) )
  | (?P<newline> \n )
  | (?P<skipped> \#[^\n]* | \\\n )
  | (?P<string> (?:[rR]?[bBfFtT]|[bBfFtT][rR]|[rRuU])? (?:
        '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
      | \"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"""
      | '(?!'')[^'\\\n]*(?:\\.[^'\\\n]*)*'
      | "(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"
    ) )
  | (?P<keyword> [^\W\d]\w* )  # with a string at its heels
  | (?P<number>
        0[xX](?:_?[0-9a-fA-F])+ | 0[bB](?:_?[01])+ | 0[oO](?:_?[0-7])+
      | (?: {_DIGITS}(?:\.(?:{_DIGITS})?)? | \.{_DIGITS} )(?:[eE][-+]?{_DIGITS})?[jJ]?
    )
  | (?P<operator>
        \.\.\. | (?:\*\*|//|>>|<<)=? | ->
      | [-+*/%&|^@:=!<>]= | [-+*/%&|^@=<>~()\[\]{{}},:;.!]
    )
  | (?P<end> \Z )
    )
    """,
    re.VERBOSE | re.DOTALL,
)


class LexicalError(ValueError):
    """Text in which no token begins."""


class Token(NamedTuple):
    """
    One token.

    Args:
        kind: name, number, string, operator or newline (the end of a logical line).
        text: as it is written.
        start: its place in the text.
        end: the place after it.
        depth: how many brackets are open before it.
        margin: what stands left of it, where it begins a logical line; else None.

    """

    kind: str
    text: str
    start: int
    end: int
    depth: int
    margin: str | None


def lex(text: str) -> Iterator[Token]:
    """
    Iterate over the tokens of a text; comments, blank lines and line breaks in brackets are none.

    Args:
        text: Python, or a fragment of it.

    Raises:
        LexicalError: at some place no token begins.

    """
    at = line = depth = 0
    fresh = True
    while True:
        kind, begin, at = _next(text, at)
        if kind == _END:
            return
        if kind == NEWLINE:
            if not (fresh or depth):
                yield Token(kind, "\n", begin, at, 0, None)
                fresh = True
            line = at
        elif kind != _SKIPPED:
            word = text[begin:at]
            yield Token(kind, word, begin, at, depth, text[line:begin] if fresh else None)
            fresh = False
            if kind == OPERATOR:
                # A fragment may close what it has not opened.
                depth += (word in OPENING) - (word in CLOSING and depth > 0)


def same(token: Token, other: Token) -> bool:
    """Whether two tokens mean the same: how a string is quoted or a number written is layout."""
    if token.kind != other.kind:
        return False
    if token.text == other.text:
        return True
    return token.kind in {STRING, NUMBER} and value(token.text) == value(other.text)


@functools.lru_cache(maxsize=1024)
def value(text: str) -> object:
    """Return what tells a string or number token from those that mean something else."""
    import ast  # noqa: PLC0415 - only where texts differ

    try:
        expression = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text
    if isinstance(expression, ast.Constant):
        return type(expression.value), repr(expression.value)
    return ast.dump(expression)


def _next(text: str, at: int) -> tuple[str, int, int]:
    match = _TOKEN.match(text, at)
    if match is None:
        raise LexicalError(f"no Python: {text[at : at + 20].strip()!r}")
    kind = match.lastgroup or ""
    return (NAME if kind == "keyword" else kind), match.start(kind), match.end()
