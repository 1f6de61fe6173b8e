"""Edits a function's text: finds a fragment and puts other code in its place.

The new code is indented like the fragment that it replaces. If the fragment does not occur as often
as it should, the error says where it does occur, or which lines are most like it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from patchkit.core.text import matching
from patchkit.core.text.matching import (
    NEWLINE,
    LexicalError,
    Match,
    Token,
    column,
    width,
)
from patchkit.errors import TargetError

_CLAUSES = ("elif", "else", "except", "finally", "case")
_SPACE = " \t\f"


class FunctionText:
    """A function's text, decorators included; it is split into tokens when these are first needed.

    Args:
        text: The text, which may go on after the function.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens from `def` to the end of the function; TargetError if there is no function."""
        try:
            return list(matching.function_tokens(matching.lex(self.text)))
        except LexicalError as error:
            raise TargetError(f"found {error}, expected a function") from error

    @cached_property
    def header_end(self) -> int:
        """The offset after the colon of the `def` line."""
        colons = (
            token for token in self.tokens if token.text == ":" and not token.depth
        )
        return next(colons).end

    @property
    def header(self) -> str:
        """The `def` line, up to its colon."""
        start = self.tokens[0].start
        return self.text[start : self.header_end]

    @property
    def end(self) -> int:
        """The offset after the last line."""
        return self.tokens[-1].end

    def cut(self) -> str:
        """Remove what follows the function from the text, and return what was removed."""
        end = self.end
        remainder = self.text[end:]
        self.text = self.text[:end]
        return remainder


class TextEdit(NamedTuple):
    """An edit as it was declared.

    Args:
        old: The fragment to replace.
        new: What comes in its place.
        times: How often `old` has to occur.
    """

    old: str
    new: str
    times: int = 1


class MalformedEditError(TargetError):
    """`old` or `new` is no code, or `new` does not fit in the place of `old`."""


class MiscountError(TargetError):
    """The fragment does not occur as often as it should.

    Args:
        function: The text that was searched.
        starts: The offsets where the fragment was found.
    """

    def __init__(self, function: FunctionText, starts: list[int]) -> None:
        super().__init__(f"it occurs {len(starts)} times")
        self.function = function
        self.starts = starts


class _ParsedEdit(NamedTuple):
    """The tokens of an edit, those of `new` without the ends of lines."""

    old: list[Token]
    new: list[Token]
    new_text: str


def rewrite(function: FunctionText, edit: TextEdit) -> FunctionText:
    """Replace every occurrence of a fragment in a function, but not in its decorators.

    An Edit changes the function's code after its decorators have run.

    Args:
        function: The function, which stays as it is.
        edit: What to replace.

    Returns:
        The function with the edit made.

    Raises:
        MiscountError: The fragment does not occur as often as it should.
        MalformedEditError: `old` or `new` is no Python, or `new` leaves the function or its blocks.
    """
    parsed = _parse(edit)
    if not parsed.old:
        raise MalformedEditError(f"found old={edit.old!r}, expected code")
    compared = matching.without_optional_commas(function.tokens)
    matches = matching.find(parsed.old, compared)
    if len(matches) != edit.times:
        starts = [match.start for match in matches]
        raise MiscountError(function, starts)
    text = ""
    copied = 0  # up to where the function's text is in `text`, edited
    insertions: dict[int, str] = {}
    for match in matches:
        text += function.text[copied : match.start]
        replacement = _replacement(parsed, match, compared.tokens, function.text)
        insertions[len(text)] = replacement
        text += replacement
        copied = match.end
    after = FunctionText(text + function.text[copied:])
    if "\n" in edit.new and parsed.new:
        _refuse_lines(after, parsed, insertions)
    return after


def _refuse_lines(
    after: FunctionText, edit: _ParsedEdit, insertions: Mapping[int, str]
) -> None:
    """Refuse an edit whose new lines fit no block, or end the function before its other code."""
    from patchkit.core.text.misfits import misfit  # noqa: PLC0415 - most edits are of one line

    fault = misfit(after.tokens, insertions, edit.new, edit.new_text)
    if not fault and after.end != len(after.text):  # code behind its end
        fault = (
            f"found new={edit.new_text!r}, which ends the function, expected its inside"
        )
    if fault:
        raise MalformedEditError(fault)


def _parse(edit: TextEdit) -> _ParsedEdit:
    """Split both texts of an edit into tokens; MalformedEditError if one is no Python."""
    old = _tokens(edit.old, "old")
    new = _tokens(edit.new, "new")
    without_line_ends = [token for token in new if token.kind != NEWLINE]
    new_text = _normal(edit.new)
    return _ParsedEdit(old, without_line_ends, new_text)


def _normal(text: str) -> str:
    """Write line ends as Python does."""
    return text.replace("\r\n", "\n")


def _tokens(text: str, field: str) -> list[Token]:
    """Split the text of a field into tokens; MalformedEditError if it is no Python."""
    try:
        normal = _normal(text)
        return list(matching.lex(normal))
    except LexicalError as error:
        raise MalformedEditError(f"{field}: {error}") from error


def _replacement(
    edit: _ParsedEdit, match: Match, tokens: Sequence[Token], text: str
) -> str:
    """Return `new`, its lines indented for the place of a match; `pass` for an emptied block."""
    first = match.span.start
    up_to_first = tokens[: first + 1]
    onward = tokens[first:]
    following = _first_from(onward, match.end)
    if not edit.new:
        if _is_whole(up_to_first, following):
            return "pass"
        return ""
    line_start = text.rfind("\n", 0, match.start) + 1
    line = text[line_start:]
    margin = _margin_of_statement(line, up_to_first, following)
    incoming = edit.new[0]
    replaced = edit.old[0]
    indentations = _indentations(incoming, replaced, match, margin)
    return _fitted(edit.new_text, edit.new, indentations)


def _first_from(tokens: Iterable[Token], offset: int) -> Token | None:
    """Return the first token that starts at an offset or after it."""
    for token in tokens:
        if token.start >= offset:
            return token
    return None


def _margin_of_statement(
    line: str, up_to_first: Sequence[Token], following: Token | None
) -> str:
    """Return the indentation of the statement with the match; within brackets that of the `line`.

    `up_to_first` are the tokens up to the match's first one, `following` is the first after it.
    """
    if following is not None and following.depth:  # a bracket is open there
        return _margin(line)
    for token in reversed(up_to_first):
        if token.margin is not None:  # it begins a statement
            return token.margin
    return ""


def _is_whole(up_to_first: Sequence[Token], following: Token | None) -> bool:
    """Whether a match consists of whole statements, so that its removal may empty a block.

    `up_to_first` are the tokens up to the match's first one, `following` is the first after it.
    """
    first = up_to_first[-1]
    previous = first
    if len(up_to_first) > 1:
        previous = up_to_first[-2]
    follows_header = previous.text == ":" and not previous.depth  # as in `if x: old`
    begins = first.margin is not None or follows_header
    ends = following is None or following.kind == NEWLINE
    # A clause such as `else: …` is no statement; without it, no block is empty.
    return begins and ends and first.text not in _CLAUSES


def _margin(line: str) -> str:
    """Return the blanks and tabs that a line begins with."""
    code = line.lstrip(_SPACE)
    indent = len(line) - len(code)
    return line[:indent]


def _indentations(
    first: Token, replaced: Token, match: Match, margin: str
) -> dict[int, str]:
    """Map columns of `new` to indentations in the function, sorted by column.

    Each line of `old` was matched by a line of the function, whose indentation is known. A line of
    `new` takes it if it is as far from `first`, the first token of `new`, as the line of `old` is
    from `replaced`, the first token of `old`. `margin` is the indentation for `first` itself.
    """
    first_column = column(first)
    shift = first_column - column(replaced)
    margins = {first_column: margin}
    for ours, theirs in match.pairs:
        margins[column(ours) + shift] = theirs.margin or ""
    return dict(sorted(margins.items()))


def _fitted(text: str, tokens: Sequence[Token], indentations: dict[int, str]) -> str:
    """Return a text's code: the first line as it is, all others with their `_indentations`."""
    start = tokens[0].start
    end = tokens[-1].end
    lines = text[start:end].split("\n")
    inside_strings = _starts_inside_strings(tokens)
    offset = start
    for number, line in enumerate(lines):
        if number and offset not in inside_strings:
            lines[number] = _moved(line, indentations)
        offset += len(line) + 1  # 1 for the end of the line
    return "\n".join(lines)


def _starts_inside_strings(tokens: Iterable[Token]) -> set[int]:
    """Return the offsets of lines that start inside a token; only a string spans lines."""
    starts = set()
    for token in tokens:
        for offset, character in enumerate(token.text, start=token.start):
            if character == "\n":
                starts.add(offset + 1)
    return starts


def _moved(line: str, indentations: dict[int, str]) -> str:
    """Indent a line as its column says; or as the next one to the left, and so much further."""
    code = line.lstrip(_SPACE)
    if not code:
        return ""
    indent = width(_margin(line))
    to_the_left = [known for known in indentations if known <= indent]
    if not to_the_left:  # keep its distance from the leftmost line
        leftmost, margin = next(iter(indentations.items()))
        new_indent = width(margin) - leftmost + indent
        return " " * new_indent + code
    nearest_column = to_the_left[-1]
    further = indent - nearest_column
    return indentations[nearest_column] + " " * further + code


class SourceLine(NamedTuple):
    """Where a function's text begins.

    Args:
        file: The file, as its code object names it.
        line: The number of the line.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def describe(error: MiscountError, edit: TextEdit, location: SourceLine) -> str:
    """Say what was looked for, how often and where it occurs, or what is most like it.

    Args:
        error: What `rewrite` raised.
        edit: What was to be replaced.
        location: Where the function's text begins.

    Returns:
        Some lines for a message.
    """
    text = error.function.text
    lines = []
    for start in error.starts:
        lines_above = text.count("\n", 0, start)
        lines.append(location.line + lines_above)
    if not lines:
        message = "old not found"
    else:
        noun = "line" if len(lines) == 1 else "lines"
        numbers = ", ".join(map(str, lines))
        times = _times(len(lines))
        message = f"old found {times}, {noun} {numbers}"
    message += f", expected {_times(edit.times)} in {location}:"
    for line in edit.old.strip("\n").split("\n"):
        message += f"\n    {line}"
    if len(lines) < edit.times:
        quoted = nearest(text, edit.old, location.line, lines)
        if quoted:
            message += f"\nnearest match:\n{quoted}"
    return message


def _times(count: int) -> str:
    if count == 1:
        return "once"
    return f"{count} times"


def nearest(text: str, old: str, first: int, taken: Collection[int] = ()) -> str:
    """Quote the lines of a function that are most like a fragment.

    Args:
        text: The text of the function.
        old: The fragment.
        first: The number of the text's first line.
        taken: The numbers of lines that the quotation must not start at.

    Returns:
        As many lines as the fragment has, each with its number; '' if no line is left to start at.
    """
    lines = text.split("\n")
    fragment = [line.strip() for line in old.strip().split("\n")]
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2("\n".join(fragment))

    def likeness(index: int) -> int:
        """Return the size of the largest part that the fragment and lines from here share."""
        end = index + len(fragment)
        excerpt = map(str.strip, lines[index:end])
        matcher.set_seq1("\n".join(excerpt))
        blocks = matcher.get_matching_blocks()
        return max((block.size for block in blocks), default=0)

    filled = [index for index, line in enumerate(lines) if line]
    free = [index for index in filled if first + index not in taken]
    if not free:
        return ""
    best = max(free, key=likeness)
    quoted = lines[best : best + len(fragment)]
    numbered = enumerate(quoted, start=first + best)
    return "\n".join(f"{number:6d}  {line}" for number, line in numbered)
