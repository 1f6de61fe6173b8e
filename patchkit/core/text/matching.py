"""Finds where a fragment of code occurs in a function.

Layout does not count: spaces, line breaks in brackets, comments, how far a block is indented, how
a string is quoted, a comma that a formatter puts before a closing bracket. Meaning does: names,
values, operators, where a statement ends and which block it is in.

Python's own `tokenize` refuses fragments (brackets that are not closed), and splits f-strings
differently in each version. Here an f-string is one token, unless a quote of its kind is inside.
"""

import functools
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from patchkit.errors import TargetError

NAME = "name"
NUMBER = "number"
STRING = "string"
OPERATOR = "operator"
NEWLINE = "newline"
_SKIPPED = "skipped"
_END = "end"
_OPENING = "([{"
_CLOSING = ")]}"

_DIGITS = "[0-9](?:_?[0-9])*"
_TOKEN = re.compile(
    rf"""
    [ \t\f]* (?:
    (?P<newline> \n )
  | (?P<skipped> \#[^\n]* | \\\n )  # a comment, a backslash at the end of a line
  # a prefix such as rb, and then one of the four kinds of quotes, with backslashes inside
  | (?P<string> (?:[rR]?[bBfFtT]|[bBfFtT][rR]|[rRuU])? (?:
        '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
      | \"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"""
      | '(?!'')[^'\\\n]*(?:\\.[^'\\\n]*)*'
      | "(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"
    ) )
  | (?P<name> [^\W\d]\w* )
  | (?P<number>
        # 0xff, 0b1, 0o7; then 1, 1.5, 1., .5, 1e-3, 2j
        0[xX](?:_?[0-9a-fA-F])+ | 0[bB](?:_?[01])+ | 0[oO](?:_?[0-7])+
      | (?: {_DIGITS}(?:\.(?:{_DIGITS})?)? | \.{_DIGITS} )(?:[eE][-+]?{_DIGITS})?[jJ]?
    )
  | (?P<operator>  # the longest first: **= before ** before *
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
    """One token.

    Args:
        kind: `NAME`, `NUMBER`, `STRING`, `OPERATOR` or `NEWLINE`, the end of a logical line.
        text: What is written.
        start: The offset of its first character.
        end: The offset after its last character.
        depth: How many brackets are open before it.
        margin: What stands left of it if it begins a logical line, else None.
    """

    kind: str
    text: str
    start: int
    end: int
    depth: int
    margin: str | None


def lex(text: str) -> Iterator[Token]:
    """Iterate over the tokens of Python, or of a fragment.

    Args:
        text: The code.

    Yields:
        The tokens; comments, and line breaks that end no statement, are left out.

    Raises:
        LexicalError: No token begins at some character.
    """
    at = 0
    line_start = 0
    depth = 0
    begins_line = True
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            raise LexicalError(f"no Python: {text[at : at + 20].strip()!r}")
        kind = match.lastgroup or ""
        if kind == _END:
            return
        start = match.start(kind)
        at = match.end()
        if kind == NEWLINE:
            if not begins_line and not depth:
                # The end of a line is in no bracket (0), and begins no line (None).
                yield Token(kind, "\n", start, at, 0, None)
                begins_line = True
            line_start = at
        elif kind != _SKIPPED:
            word = text[start:at]
            margin = text[line_start:start] if begins_line else None
            yield Token(kind, word, start, at, depth, margin)
            begins_line = False
            if kind == OPERATOR:
                depth = _depth_after(word, depth)


def _depth_after(operator: str, depth: int) -> int:
    """Return how many brackets are open after an operator."""
    if operator in _OPENING:
        return depth + 1
    # A fragment may close what it has not opened.
    if operator in _CLOSING and depth > 0:
        return depth - 1
    return depth


def function_tokens(tokens: Iterator[Token]) -> Iterator[Token]:
    """Yield the tokens of the function that a text begins with, without its decorators.

    Args:
        tokens: The tokens of a text, decorators included.

    Yields:
        The tokens from `def` to the end of the function.

    Raises:
        TargetError: No function begins here.
    """
    start = _after_decorators(tokens)
    header = [start]
    for token in tokens:
        header.append(token)
        if token.kind == NEWLINE:
            break
    yield from header
    ends_with_line = header[-1].kind == NEWLINE
    if not ends_with_line or header[-2].text != ":":
        return  # there is no block
    for token in tokens:
        starts_line = token.margin is not None
        if starts_line and column(token) <= column(start):
            return
        yield token


def _after_decorators(tokens: Iterator[Token]) -> Token:
    """Consume decorators, and return the token that the `def` statement begins with.

    Raises:
        TargetError: A line before it begins with something else than `@`.
    """
    at_start = True
    for token in tokens:
        if at_start and token.text in {"def", "async"}:
            return token
        if at_start and token.text != "@":
            break
        at_start = token.kind == NEWLINE
    raise TargetError(
        "found no `def`, expected a function that a `def` statement makes"
    )


def same(token: Token, other: Token) -> bool:
    """Whether two tokens mean the same: how a string is quoted or a number written is layout.

    Args:
        token: A token.
        other: The token to compare it with.
    """
    if token.kind != other.kind:
        return False
    if token.text == other.text:
        return True
    return token.kind in {STRING, NUMBER} and _value(token.text) == _value(other.text)


@functools.lru_cache(maxsize=1024)
def _value(text: str) -> object:
    """Return what is equal for all spellings of a string or number, such as 'a' and "a"."""
    import ast  # noqa: PLC0415 - only where texts differ

    try:
        expression = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text
    if isinstance(expression, ast.Constant):
        # Not the value itself, as 1 == 1.0 == True.
        return type(expression.value), repr(expression.value)
    return ast.dump(expression)  # an f-string is no constant


class ComparedTokens(NamedTuple):
    """A function's tokens without optional commas, such as the last one in `f(a,)`.

    Args:
        tokens: The other tokens.
        optional_commas: For each closing bracket before which a comma is optional: the start of the
            bracket, and the end of that comma, or 0 if there is no comma.
    """

    tokens: list[Token]
    optional_commas: dict[int, int]


def without_optional_commas(tokens: Iterable[Token]) -> ComparedTokens:
    """Leave the optional commas out of a function's tokens.

    Args:
        tokens: The tokens of the function.

    Returns:
        The other tokens, and where such commas are or may be.
    """
    compared: list[Token] = []
    optional_commas: dict[int, int] = {}
    # Of each open bracket: whether no comma in it makes a tuple, and how many commas it has so far.
    # The comma at its end is optional if no comma makes a tuple, as in `f(a,)`, or if another one
    # does so already: in `(a, b,)`, but not in `(a,)`.
    brackets: list[tuple[bool, int]] = []
    for token in tokens:
        if token.kind == OPERATOR:
            if token.text in _OPENING:
                brackets.append((_makes_no_tuple(token.text, compared), 0))
            elif token.text == "," and brackets:
                makes_no_tuple, commas = brackets.pop()
                brackets.append((makes_no_tuple, commas + 1))
            elif token.text in _CLOSING and brackets:
                makes_no_tuple, commas = brackets.pop()
                ends_with_comma = compared[-1].text == ","
                other_commas = commas - 1 if ends_with_comma else commas
                if makes_no_tuple or other_commas > 0:
                    optional_commas[token.start] = 0
                    if ends_with_comma:
                        comma = compared.pop()
                        optional_commas[token.start] = comma.end
        compared.append(token)
    return ComparedTokens(compared, optional_commas)


def _makes_no_tuple(bracket: str, before: Sequence[Token]) -> bool:
    """Whether `a,` in a bracket means `a`, as in a call `f(a,)`, a list `[a,]` or an import.

    In `(a,)` and in a subscript `x[a,]` the comma makes a tuple.
    """
    if bracket == "{":
        return True
    if not before:  # a fragment begins here: `[` is taken for a list, `(` for a tuple
        return bracket == "["
    last = before[-1]
    is_name = last.kind == NAME and not keyword.iskeyword(last.text)
    follows_value = is_name or last.text in _CLOSING or last.kind == STRING
    if bracket == "[":
        return not follows_value
    return follows_value or last.text == "import"


class Match(NamedTuple):
    """An occurrence of the fragment, in the function's text and among its tokens.

    Args:
        start: The offset of its first character.
        end: The offset after its last character.
        pairs: The tokens that begin logical lines, in the fragment and in the function.
        span: The indexes of the function's tokens.
    """

    start: int
    end: int
    pairs: list[tuple[Token, Token]]
    span: range


def find(fragment: Sequence[Token], compared: ComparedTokens) -> list[Match]:
    """Find all occurrences of a fragment, those that overlap with an earlier one left out.

    Args:
        fragment: The tokens of the fragment, at least one.
        compared: The tokens of the function.

    Returns:
        The occurrences, in the order of the function.
    """
    matches: list[Match] = []
    end_of_last = 0
    for index, token in enumerate(compared.tokens):
        if index < end_of_last or not same(token, fragment[0]):
            continue
        match = _match(fragment, compared, index)
        if match is not None:
            matches.append(match)
            end_of_last = match.span.stop
    return matches


def _match(
    fragment: Sequence[Token], compared: ComparedTokens, first: int
) -> Match | None:
    """Compare a fragment with a function's tokens from an index on.

    Returns:
        The occurrence; None if the fragment does not occur there.
    """
    tokens = compared.tokens
    index = first
    end = 0
    pairs: list[tuple[Token, Token]] = []
    for number, ours in enumerate(fragment):
        theirs = tokens[index] if index < len(tokens) else None
        if theirs is not None and same(ours, theirs):
            if ours.kind != NEWLINE:
                end = theirs.end
            if ours.margin is not None and theirs.margin is not None:
                pairs.append((ours, theirs))
            index += 1
        elif ours.kind == NEWLINE and (theirs is None or theirs.depth):
            # The fragment's line ends where the function is inside a bracket, or has ended: the
            # bracket may have been opened before the fragment, so this is layout.
            continue
        elif theirs is None or theirs.start not in compared.optional_commas:
            return None
        elif _is_trailing(fragment, number):
            # An optional comma of the fragment. If the function has one here, too, the occurrence
            # goes up to its end; if not, that end is 0.
            end = max(end, compared.optional_commas[theirs.start])
        else:
            return None
    if not _is_level(pairs):
        return None
    return Match(tokens[first].start, end, pairs, range(first, index))


def _is_trailing(fragment: Sequence[Token], number: int) -> bool:
    """Whether a token of the fragment is a comma that ends it, or precedes a closing bracket."""
    following = (
        token.text for token in fragment[number + 1 :] if token.kind != NEWLINE
    )
    # At the end of the fragment, `)` stands for the bracket that may come next in the function.
    return fragment[number].text == "," and next(following, ")") in _CLOSING


def _is_level(pairs: list[tuple[Token, Token]]) -> bool:
    """Whether lines are nested alike: the further indented of any two is so in both texts."""
    columns = [(column(ours), column(theirs)) for ours, theirs in pairs]
    for (ours, theirs), (our_next, their_next) in combinations(columns, 2):
        if (ours > our_next) != (theirs > their_next):
            return False
        if (ours < our_next) != (theirs < their_next):
            return False
    return True


def column(token: Token) -> int:
    """Return the column of a token that begins a line.

    Args:
        token: The first token of a line.
    """
    return width(token.margin or "")


def width(margin: str) -> int:
    """Return how wide an indentation is; a tab goes to the next multiple of eight, as in Python.

    Args:
        margin: The blanks and tabs that a line begins with.
    """
    # Python counts anew after a form feed.
    return len(margin.rpartition("\f")[2].expandtabs(8))
