"""One edit of a function's text: the fragment found, and what comes in its place put in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.changes.source.fitting import columns_of, fitted
from patchkit.changes.source.function_text import FunctionText
from patchkit.changes.source.lexing import NEWLINE, LexicalError, Token, lex
from patchkit.changes.source.matching import find, read
from patchkit.errors import TargetError

if TYPE_CHECKING:
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
