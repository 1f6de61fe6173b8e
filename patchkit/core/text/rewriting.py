"""One edit of a function's text: the fragment found, and what comes in its place put in.

What comes in is indented like what it replaces. Where the fragment does not occur as often as it
should, the error says where it does, or what is nearest to it.
"""

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from patchkit.core.text import matching
from patchkit.core.text.matching import NEWLINE, LexicalError, Match, Token, column, width
from patchkit.errors import TargetError

_CLAUSES = ("elif", "else", "except", "finally", "case")
_SPACE = " \t\f"


class FunctionText:
    """A function's text, decorators included, taken apart when that is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tokens(self) -> list[Token]:
        """From `def` to the end of the function; a TargetError where none begins here."""
        try:
            tokens = matching.lex(self.text)
            kept = [_after_decorators(tokens)]
            for token in tokens:  # of the `def` line
                kept.append(token)
                if token.kind == NEWLINE:
                    break
            has_block = kept[-1].kind == NEWLINE and kept[-2].text == ":"
            for token in tokens if has_block else ():
                if token.margin is not None and column(token) <= column(kept[0]):
                    break
                kept.append(token)
        except LexicalError as error:
            raise TargetError(f"found {error}, expected a function") from error
        return kept

    @cached_property
    def header_end(self) -> int:
        """The place after the colon of the `def` line."""
        return next(token.end for token in self.tokens if token.text == ":" and not token.depth)

    @property
    def header(self) -> str:
        """The `def` line, up to its colon."""
        return self.text[self.tokens[0].start : self.header_end]

    @property
    def end(self) -> int:
        """The place after the last line."""
        return self.tokens[-1].end

    def cut(self) -> str:
        """Return what follows the function, and drop it."""
        rest = self.text[self.end :]
        self.text = self.text[: self.end]
        return rest


def _after_decorators(tokens: Iterator[Token]) -> Token:
    at_start = True
    for token in tokens:
        if at_start and token.text in {"def", "async"}:
            return token
        if at_start and token.text != "@":
            break
        at_start = token.kind == NEWLINE
    raise TargetError("found no `def`, expected a function that a `def` statement makes")


class TextEdit(NamedTuple):
    """What is to be edited, as it was declared: how often `old` has to occur, too."""

    old: str
    new: str
    times: int = 1


class MiscountError(TargetError):
    """The fragment does not occur as often as it should: where it was looked for, and found."""

    def __init__(self, function: FunctionText, starts: list[int]) -> None:
        super().__init__(f"it occurs {len(starts)} times")
        self.function, self.starts = function, starts


def rewrite(function: FunctionText, wanted: TextEdit) -> FunctionText:
    """Replace every occurrence of a fragment. Decorators have run already, and are not looked at.

    A MiscountError where it does not occur as often as it should; a TargetError where `old` or
    `new` is no Python, or `new` leaves the function.
    """
    fragment, new = _tokens(wanted.old, "old"), _tokens(wanted.new, "new")
    new = [token for token in new if token.kind != NEWLINE]
    if not fragment:
        raise TargetError(f"found old={wanted.old!r}, expected code")
    reading = matching.read(function.tokens)
    matches = matching.find(fragment, reading)
    if len(matches) != wanted.times:
        raise MiscountError(function, [match.start for match in matches])
    text = function.text
    for match in reversed(matches):
        until, rest = reading.tokens[: match.span.start + 1], reading.tokens[match.span.start :]
        following = next((token for token in rest if token.start >= match.end), None)
        if new:
            line = text[text.rfind("\n", 0, match.start) + 1 :]
            margin = _margin_of_statement(line, until, following)
            columns = _columns(new[0], fragment[0], match, margin)
            filling = _fitted(_normal(wanted.new), new, columns)
        else:
            filling = "pass" if _is_whole(until, following) else ""
        text = text[: match.start] + filling + text[match.end :]
    after = FunctionText(text)
    if "\n" in wanted.new and after.end != len(text):
        raise TargetError(f"found new={wanted.new!r}, which ends the function, expected its inside")
    return after


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n")


def _tokens(text: str, field: str) -> list[Token]:
    try:
        return list(matching.lex(_normal(text)))
    except LexicalError as error:
        raise TargetError(f"{field}: {error}") from error


def _margin_of_statement(line: str, until: Sequence[Token], following: Token | None) -> str:
    """Return the indentation of a line; of the statement, where its last bracket is closed here."""
    if following is not None and following.depth:
        return _margin(line)
    margins = (token.margin for token in reversed(until))
    return next((margin for margin in margins if margin is not None), "")


def _is_whole(until: Sequence[Token], following: Token | None) -> bool:
    """Whether whole statements are taken out, so that a block may be left empty."""
    first, previous = until[-1], until[-2:][0]
    begins = first.margin is not None or (previous.text == ":" and not previous.depth)
    ends = following is None or following.kind == NEWLINE
    return begins and ends and first.text not in _CLAUSES


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_SPACE))]


def _columns(first: Token, replaced: Token, match: Match, margin: str) -> dict[int, str]:
    """Map columns of a text to indentations in the function, in order.

    Where the lines of the fragment are in the function is known, and the first token comes where
    the fragment's first was; other columns lie beside the nearest one to the left.
    """
    shift = column(first) - column(replaced)
    known = {column(first): margin}
    for ours, theirs in match.pairs:
        known[column(ours) + shift] = theirs.margin or ""
    return dict(sorted(known.items()))


def _fitted(text: str, tokens: Sequence[Token], columns: dict[int, str]) -> str:
    start, end = tokens[0].start, tokens[-1].end
    lines = text[start:end].split("\n")
    inside_strings = {
        token.start + at + 1
        for token in tokens
        for at, character in enumerate(token.text)
        if character == "\n"
    }
    at = start
    for number, line in enumerate(lines):
        if number and at not in inside_strings:
            lines[number] = _moved(line, columns)
        at += len(line) + 1
    return "\n".join(lines)


def _moved(line: str, columns: dict[int, str]) -> str:
    code = line.lstrip(_SPACE)
    if not code:
        return ""
    ours = width(_margin(line))
    left = [column for column in columns if column <= ours]
    if not left:
        leftmost, margin = next(iter(columns.items()))
        return " " * (width(margin) - leftmost + ours) + code
    return columns[left[-1]] + " " * (ours - left[-1]) + code


class SourceLine(NamedTuple):
    """Where a function's text comes from."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def describe(error: MiscountError, wanted: TextEdit, place: SourceLine) -> str:
    """Say what was looked for, how often and where it occurs, or what is nearest to it."""
    text = error.function.text
    lines = [place.line + text.count("\n", 0, start) for start in error.starts]
    said = "old not found"
    if lines:
        word = "line" if len(lines) == 1 else "lines"
        said = f"old found {_times(len(lines))}, {word} {', '.join(map(str, lines))}"
    old = "\n".join(f"    {line}" for line in wanted.old.strip("\n").split("\n"))
    said += f", expected {_times(wanted.times)} in {place}:\n{old}"
    if len(lines) < wanted.times:
        said += f"\nnearest to it:\n{nearest(text, wanted.old, place.line, lines)}"
    return said


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def nearest(text: str, old: str, first: int, taken: Collection[int] = ()) -> str:
    """Quote the lines of a function that are most like a fragment, but none of those `taken`."""
    lines, wanted = text.split("\n"), [line.strip() for line in old.strip().split("\n")]
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2("\n".join(wanted))

    def likeness(number: int) -> float:
        matcher.set_seq1("\n".join(map(str.strip, lines[number : number + len(wanted)])))
        return max((match.size for match in matcher.get_matching_blocks()), default=0)

    free = (number for number, line in enumerate(lines) if line and first + number not in taken)
    best = max(free, key=likeness)
    quoted = lines[best : best + len(wanted)]
    return "\n".join(f"{first + best + number:6d}  {line}" for number, line in enumerate(quoted))
