"""
Where a fragment of code occurs in a function.

Layout does not count: spaces, line breaks in brackets, comments, how far a block is indented, how
a string is quoted, a comma that a formatter puts before a closing bracket. Meaning does: names,
values, operators, where a statement ends and which block it is in.
"""

from __future__ import annotations

import functools
import keyword
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Reading(NamedTuple):
    """
    A function's tokens as they are compared.

    Args:
        tokens: without the commas that mean nothing.
        free: closing brackets, by their places, before which a comma means nothing; with the end
            of the comma that stands there, or 0.

    """

    tokens: list[Token]
    free: dict[int, int]


class Match(NamedTuple):
    """
    One place where the fragment occurs.

    Args:
        start: of its first token in the function's text.
        end: of its last.
        pairs: tokens that begin logical lines, in the fragment and in the function.

    """

    start: int
    end: int
    pairs: tuple[tuple[Token, Token], ...]


def read(tokens: Iterable[Token]) -> Reading:
    """Take the commas that mean nothing out of a function's tokens."""
    reading = Reading([], {})
    kept, brackets = reading.tokens, list[_Bracket]()
    for token in tokens:
        if token.kind == OPERATOR:
            if token.text in OPENING:
                brackets.append(_Bracket(token.text, kept))
            elif token.text == "," and brackets:
                brackets[-1].commas += 1
            elif token.text in CLOSING and brackets:
                _close(reading, brackets.pop(), token)
        kept.append(token)
    return reading


def find(fragment: Sequence[Token], reading: Reading) -> list[Match]:
    """Find all places, those that overlap with an earlier one left out."""
    matches: list[Match] = []
    first, past = fragment[0], 0
    for at, token in enumerate(reading.tokens):
        if at < past or not (token.text == first.text or same(token, first)):
            continue
        match = _Comparison(fragment, reading).run(at)
        if match is not None:
            matches.append(match[0])
            past = match[1]
    return matches


class _Bracket:
    def __init__(self, text: str, before: list[Token]) -> None:
        self.text = text
        self.commas = 0
        self.after_value = _ends_value(before)
        self.is_import = bool(before) and before[-1].text == "import"

    def is_free(self, *, trailing: bool) -> bool:
        """Whether a comma before the closing bracket means nothing: it makes no tuple."""
        if self.text == "{" or self.is_import or (self.text == "(" and self.after_value):
            return True
        if self.text == "[" and not self.after_value:
            return True
        return self.commas - trailing >= 1


def _ends_value(before: list[Token]) -> bool:
    """Whether a bracket that comes now calls or subscribes what stands before it."""
    if not before:
        return False
    token = before[-1]
    if token.kind == NAME:
        return not keyword.iskeyword(token.text)
    return token.kind == STRING or token.text in CLOSING


def _close(reading: Reading, bracket: _Bracket, token: Token) -> None:
    trailing = reading.tokens[-1].text == ","
    if bracket.is_free(trailing=trailing):
        reading.free[token.start] = reading.tokens.pop().end if trailing else 0


class _Comparison:
    """One try to find the fragment at one place."""

    def __init__(self, fragment: Sequence[Token], reading: Reading) -> None:
        self._fragment = fragment
        self._tokens, self._free = reading
        self._pairs: list[tuple[Token, Token]] = []

    def run(self, first: int) -> tuple[Match, int] | None:
        """Return the match, and the place after it."""
        at, end = first, 0
        for number, ours in enumerate(self._fragment):
            theirs = self._tokens[at] if at < len(self._tokens) else None
            if theirs is not None and same(ours, theirs):
                end = end if ours.kind == NEWLINE else theirs.end
                self._note(ours, theirs)
                at += 1
            elif ours.kind == NEWLINE and (theirs is None or theirs.depth):
                continue  # the fragment's own brackets do not tell that this is inside of some
            elif theirs is not None and theirs.start in self._free and self._is_trailing(number):
                end = max(end, self._free[theirs.start])
            else:
                return None
        if not self._is_level():
            return None
        return Match(self._tokens[first].start, end, tuple(self._pairs)), at

    def _is_trailing(self, number: int) -> bool:
        """Whether this token of the fragment is a comma at its end or before a bracket."""
        if self._fragment[number].text != ",":
            return False
        rest = (token for token in self._fragment[number + 1 :] if token.kind != NEWLINE)
        following = next(rest, None)
        return following is None or following.text in CLOSING

    def _note(self, ours: Token, theirs: Token) -> None:
        if ours.margin is not None and theirs.margin is not None:
            self._pairs.append((ours, theirs))

    def _is_level(self) -> bool:
        """Whether the lines are in the same blocks, however far those are indented."""
        columns = [(column(ours), column(theirs)) for ours, theirs in self._pairs]
        return all(
            (a > b) == (c > d) and (a < b) == (c < d)
            for number, (a, c) in enumerate(columns)
            for b, d in columns[:number]
        )


def column(token: Token) -> int:
    """How far the line is indented that a token begins."""
    return width(token.margin or "")


def width(margin: str) -> int:
    """How wide an indentation is; a tab goes to the next multiple of eight, as in Python."""
    return len(margin.rpartition("\f")[2].expandtabs(8))


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
