"""Where a fragment of code occurs in a function.

Layout does not count: spaces, line breaks in brackets, comments, how far a block is indented, how
a string is quoted, a comma that a formatter puts before a closing bracket. Meaning does: names,
values, operators, where a statement ends and which block it is in.

The library's `tokenize` refuses fragments (brackets that are not closed), and what it takes for an
f-string differs between Python versions. Here it is one token, if no quote of its kind is inside.
"""

import functools
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.errors import TargetError

NAME, NUMBER, STRING, OPERATOR, NEWLINE = "name", "number", "string", "operator", "newline"
_SKIPPED = "skipped"
_OPENING, _CLOSING = "([{", ")]}"

_DIGITS = "[0-9](?:_?[0-9])*"
_TOKEN = re.compile(
    rf"""
    [ \t\f]* (?:
    (?P<newline> \n )
  | (?P<skipped> \#[^\n]* | \\\n )
  | (?P<string> (?:[rR]?[bBfFtT]|[bBfFtT][rR]|[rRuU])? (?:
        '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
      | \"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"""
      | '(?!'')[^'\\\n]*(?:\\.[^'\\\n]*)*'
      | "(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"
    ) )
  | (?P<name> [^\W\d]\w* )
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


class LexicalError(TargetError):
    """Text in which no token begins."""


class Token(NamedTuple):
    """One token."""

    kind: str  # name, number, string, operator or newline (the end of a logical line)
    text: str
    start: int
    end: int
    depth: int  # how many brackets are open before it
    margin: str | None  # what stands left of it, where it begins a logical line


def lex(text: str) -> Iterator[Token]:
    """Iterate over the tokens of Python, or of a fragment; a LexicalError where none begins."""
    at = line = depth = 0
    fresh = True
    while (match := _TOKEN.match(text, at)) and (kind := match.lastgroup or "") != "end":
        begin, at = match.start(kind), match.end()
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
                depth += (word in _OPENING) - (word in _CLOSING and depth > 0)
    if match is None:
        raise LexicalError(f"no Python: {text[at : at + 20].strip()!r}")


def same(token: Token, other: Token) -> bool:
    """Whether two tokens mean the same: how a string is quoted or a number written is layout."""
    if token.kind != other.kind:
        return False
    if token.text == other.text:
        return True
    return token.kind in {STRING, NUMBER} and _value(token.text) == _value(other.text)


@functools.lru_cache(maxsize=1024)
def _value(text: str) -> object:
    import ast  # noqa: PLC0415 - only where texts differ

    try:
        expression = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text
    if isinstance(expression, ast.Constant):
        return type(expression.value), repr(expression.value)
    return ast.dump(expression)


class ComparedTokens(NamedTuple):
    """A function's tokens as they are compared."""

    tokens: list[Token]  # without the commas that mean nothing
    # Places of closing brackets before which a comma means nothing: the end of one there, or 0.
    free: dict[int, int]


def read(tokens: Iterable[Token]) -> ComparedTokens:
    """Take the commas that mean nothing out of a function's tokens."""
    kept, free = list[Token](), dict[int, int]()
    brackets: list[tuple[bool, int]] = []  # whether it makes no tuple; the commas in it
    for token in tokens:
        if token.kind == OPERATOR:
            if token.text in _OPENING:
                brackets.append((_makes_no_tuple(token.text, kept), 0))
            elif token.text == "," and brackets:
                is_free, commas = brackets.pop()
                brackets.append((is_free, commas + 1))
            elif token.text in _CLOSING and brackets:
                is_free, commas = brackets.pop()
                has_comma = kept[-1].text == ","
                if is_free or commas > has_comma:
                    free[token.start] = kept.pop().end if has_comma else 0
        kept.append(token)
    return ComparedTokens(kept, free)


def _makes_no_tuple(bracket: str, before: list[Token]) -> bool:
    """Whether `a,` in this bracket is `a`: in a call, a display, an import."""
    last = before[-1] if before else None
    if bracket == "{" or last is None:
        return bracket != "("
    is_value = last.text in _CLOSING or last.kind == STRING
    is_value = is_value or (last.kind == NAME and not keyword.iskeyword(last.text))
    if bracket == "[":
        return not is_value
    return is_value or last.text == "import"


class Match(NamedTuple):
    """One place where the fragment occurs, in the function's text and among its tokens."""

    start: int
    end: int
    pairs: list[tuple[Token, Token]]  # that begin logical lines, in the fragment and the function
    span: range


def find(fragment: Sequence[Token], reading: ComparedTokens) -> list[Match]:
    """Find all places, those that overlap with an earlier one left out."""
    matches: list[Match] = []
    first, past = fragment[0], 0
    for at, token in enumerate(reading.tokens):
        if at >= past and same(token, first) and (match := _match(fragment, reading, at)):
            matches.append(match)
            past = match.span.stop
    return matches


def _match(fragment: Sequence[Token], reading: ComparedTokens, first: int) -> Match | None:
    tokens, free = reading
    at, end, pairs = first, 0, list[tuple[Token, Token]]()
    for number, ours in enumerate(fragment):
        theirs = tokens[at] if at < len(tokens) else None
        if theirs is not None and same(ours, theirs):
            end = end if ours.kind == NEWLINE else theirs.end
            pairs.append((ours, theirs))
            at += 1
        elif ours.kind == NEWLINE and (theirs is None or theirs.depth):
            continue  # the fragment's own brackets do not tell that this is inside of some
        elif theirs is not None and theirs.start in free and _is_trailing(fragment, number):
            end = max(end, free[theirs.start])
        else:
            return None
    pairs = [pair for pair in pairs if all(token.margin is not None for token in pair)]
    return Match(tokens[first].start, end, pairs, range(first, at)) if _is_level(pairs) else None


def _is_trailing(fragment: Sequence[Token], number: int) -> bool:
    """Whether this token of the fragment is a comma at its end or before a bracket."""
    rest = (token.text for token in fragment[number + 1 :] if token.kind != NEWLINE)
    return fragment[number].text == "," and next(rest, ")") in _CLOSING


def _is_level(pairs: list[tuple[Token, Token]]) -> bool:
    columns = [(column(ours), column(theirs)) for ours, theirs in pairs]
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
