"""One edit of a function's text: the fragment found, and what comes in its place put in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.changes.source.fitting import Fitting
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
    if all(token.kind == NEWLINE for token in fragment):
        raise TargetError(f"found old={wanted.old!r}, expected code")
    reading = read(function.tokens)
    matches = find(fragment, reading)
    if len(matches) != wanted.times:
        raise MiscountError(function, [match.start for match in matches])
    text = function.text
    for match in reversed(matches):
        fitting = Fitting(_normal(wanted.new), new, fragment[0], match.pairs)
        text = _Spot(text, reading, match).filled(fitting)
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
        self._text = text
        self._before, self._after = text[: match.start], text[match.end :]
        self._tokens = reading.tokens
        self._first = next(
            number for number, token in enumerate(self._tokens) if token.start == match.start
        )
        self._next = next(
            (token for token in self._tokens[self._first :] if token.start >= match.end), None
        )

    def filled(self, fitting: Fitting) -> str:
        """Return the text with the other in its place; `pass` where statements are taken away."""
        new = "pass" * self._is_whole if fitting.is_empty else fitting.text(self._margin)
        return self._before + new + self._after

    @property
    def _margin(self) -> str:
        """The indentation of the line; of the statement, where its last bracket is closed here."""
        if self._next is None or not self._next.depth:
            lines = (token.margin for token in reversed(self._tokens[: self._first + 1]))
            return next((margin for margin in lines if margin is not None), "")
        line = self._text[self._line_start(len(self._before)) :]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    @property
    def _is_whole(self) -> bool:
        """Whether whole statements stand here."""
        first, previous = self._tokens[self._first], self._tokens[self._first - 1]
        begins = first.margin is not None or (previous.text == ":" and not previous.depth)
        ends = self._next is None or self._next.kind == NEWLINE
        return begins and ends and first.text not in _CLAUSES
