"""One edit of a function's text: the fragment found, and what comes in its place put in."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from patchkit.changes.source.matching import (
    NEWLINE,
    LexicalError,
    Token,
    column,
    find,
    lex,
    read,
    width,
)
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.changes.source.matching import Match, Reading


_CLAUSES = ("elif", "else", "except", "finally", "case")


class TextEdit(NamedTuple):
    """
    What is to be edited, as it was declared.

    Args:
        old: the fragment.
        new: what comes in its place.
        times: how often the fragment has to occur.

    """

    old: str
    new: str
    times: int = 1


class MiscountError(TargetError):
    """
    The fragment does not occur as often as it should.

    Args:
        function: where it was looked for.
        starts: the places where it occurs.

    """

    def __init__(self, function: FunctionText, starts: list[int]) -> None:
        super().__init__(f"it occurs {len(starts)} times")
        self.function, self.starts = function, starts


def rewrite(function: FunctionText, wanted: TextEdit) -> FunctionText:
    """
    Replace every occurrence of a fragment. Decorators have run already, and are not looked at.

    Raises:
        MiscountError: the fragment does not occur as often as it should.
        TargetError: `old` or `new` is no Python, or `new` leaves the function.

    """
    fragment, new = _tokens(wanted.old, "old"), _tokens(wanted.new, "new")
    new = [token for token in new if token.kind != NEWLINE]
    if not fragment:
        raise TargetError(f"found old={wanted.old!r}, expected code")
    reading = read(function.tokens)
    matches = find(fragment, reading)
    if len(matches) != wanted.times:
        raise MiscountError(function, [match.start for match in matches])
    text = function.text
    for match in reversed(matches):
        spot = _Spot(text, reading, match)
        filling = "pass" * spot.is_whole
        if new:
            columns = columns_of(new[0], fragment[0], match.pairs, spot.margin)
            filling = fitted(_normal(wanted.new), new, columns)
        text = text[: match.start] + filling + text[match.end :]
    after = FunctionText(text)
    if "\n" in wanted.new and after.end != len(text):
        raise TargetError(f"found new={wanted.new!r}, which ends the function, expected its inside")
    return after


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n")


def _tokens(text: str, field: str) -> list[Token]:
    try:
        return list(lex(_normal(text)))
    except LexicalError as error:
        raise TargetError(f"{field}: {error}") from error


class _Spot:
    """One place of the text where something else comes in."""

    def __init__(self, text: str, reading: Reading, match: Match) -> None:
        self._line = text[text.rfind("\n", 0, match.start) + 1 :]
        self._tokens = reading.tokens
        self._first = next(
            number for number, token in enumerate(self._tokens) if token.start == match.start
        )
        self._next = next(
            (token for token in self._tokens[self._first :] if token.start >= match.end), None
        )

    @property
    def margin(self) -> str:
        """The indentation of the line; of the statement, where its last bracket is closed here."""
        if self._next is None or not self._next.depth:
            lines = (token.margin for token in reversed(self._tokens[: self._first + 1]))
            return next((margin for margin in lines if margin is not None), "")
        return self._line[: len(self._line) - len(self._line.lstrip(" \t\f"))]

    @property
    def is_whole(self) -> bool:
        """Whether whole statements stand here, so that a block may be left empty."""
        first, previous = self._tokens[self._first], self._tokens[self._first - 1]
        begins = first.margin is not None or (previous.text == ":" and not previous.depth)
        ends = self._next is None or self._next.kind == NEWLINE
        return begins and ends and first.text not in _CLAUSES


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
