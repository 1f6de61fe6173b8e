"""Finds the line from which on an Edit's `old` differs from a function that begins like it."""

from collections.abc import Sequence
from typing import NamedTuple

from patchkit.core.text import matching
from patchkit.core.text.matching import ComparedTokens, Match, Token, column, same
from patchkit.core.text.rewriting import FunctionText
from patchkit.errors import TargetError


class LineDifference(NamedTuple):
    """Where `old` and a function are no longer the same.

    Args:
        what: Which line it is, and how it differs: `line 2 of old differs`.
        details: What was found there, and what was expected.
        excerpt: The lines of the function from where `old` begins, each with its number.
    """

    what: str
    details: str
    excerpt: str


def first_difference(old: str, text: str, first_line: int) -> LineDifference | None:
    """Find the first line of `old` that differs, where the lines above it are in a function.

    Args:
        old: What an Edit looks for, which is not in the function.
        text: The function's source.
        first_line: The line of the file that the source begins at.

    Returns:
        The difference; None where the first line of `old` is not in the function either.
    """
    # Lines are counted from the first that is not empty.
    old = old.replace("\r\n", "\n").lstrip("\n")
    try:
        fragment = list(matching.lex(old))
        compared = matching.without_optional_commas(FunctionText(text).tokens)
    except TargetError:
        return None
    match, length = _longest_beginning(fragment, compared)
    if match is None or length == len(fragment):
        return None
    ours = fragment[length]
    if _line(old, ours) == _line(old, fragment[0]):
        return None
    start = _line(text, compared.tokens[match.span.start])
    end = start + old.strip().count("\n")
    shown = text.split("\n")[start - 1 : end]
    numbered = enumerate(shown, start=first_line + start - 1)
    excerpt = "\n".join(f"{number:6d}  {line}" for number, line in numbered)
    what = f"line {_line(old, ours)} of old"
    following = compared.tokens[match.span.stop :]
    if not following:
        details = f"found the end of the function, expected {_text(old, ours)!r}"
        return LineDifference(f"{what} differs", details, excerpt)
    theirs = following[0]
    number = first_line + _line(text, theirs) - 1
    found = f"found {_text(text, theirs)!r} in line {number}"
    if not same(ours, theirs):
        details = f"{found}, expected {_text(old, ours)!r}"
        return LineDifference(f"{what} differs", details, excerpt)
    return LineDifference(
        f"{what} is indented otherwise",
        f"{found}, {_depths(old, match.pairs, ours, theirs)}",
        excerpt,
    )


def _longest_beginning(
    fragment: Sequence[Token], compared: ComparedTokens
) -> tuple[Match | None, int]:
    """Find the longest beginning of a fragment that occurs: where it does, and its length."""
    match = None
    # Where a beginning occurs, all shorter ones do: so half of what is left is tried at a time.
    shortest = 0
    longest = len(fragment)
    while shortest < longest:
        length = (shortest + longest + 1) // 2
        matches = matching.find(fragment[:length], compared)
        if matches:
            match = matches[0]
            shortest = length
        else:
            longest = length - 1
    return match, shortest


def _depths(
    old: str, pairs: Sequence[tuple[Token, Token]], ours: Token, theirs: Token
) -> str:
    """Say how far two equal lines are indented, measured from an earlier line of both.

    Args:
        old: The text of the fragment.
        pairs: The earlier lines, in the fragment and in the function.
        ours: The beginning of the line in the fragment.
        theirs: That of the line in the function.
    """
    for our_earlier, their_earlier in pairs:
        expected = column(ours) - column(our_earlier)
        found = column(theirs) - column(their_earlier)
        if (expected > 0, expected < 0) != (found > 0, found < 0):
            earlier = f"line {_line(old, our_earlier)} of old"
            return f"{_shift(found)} {earlier}, expected it {_shift(expected)} it"
    return "expected other blanks"  # the fragment's own lines do not tell


def _shift(columns: int) -> str:
    """Say where a line begins that is a number of columns right of another."""
    if not columns:
        return "at the column of"
    side = "right" if columns > 0 else "left"
    return f"{abs(columns)} columns {side} of"


def _line(text: str, token: Token) -> int:
    """Return the number of the line in which a token begins."""
    return text.count("\n", 0, token.start) + 1


def _text(text: str, token: Token) -> str:
    """Return the line in which a token begins, without its indentation."""
    return text.split("\n")[_line(text, token) - 1].strip()
