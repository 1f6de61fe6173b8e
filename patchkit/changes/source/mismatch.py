"""What an edit says whose fragment does not occur as often as it should."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from patchkit.changes.source.lexing import NEWLINE
from patchkit.errors import PatchkitError
from patchkit.settings import Settings
from patchkit.versions.installed import Versions

if TYPE_CHECKING:
    from collections.abc import Collection

    from patchkit.changes.source.function_text import FunctionText
    from patchkit.changes.source.lexing import Token
    from patchkit.changes.source.rewriting import MiscountError, TextEdit


class SourceLine(NamedTuple):
    """
    Where a function's text comes from.

    Args:
        module: name of its module.
        file: of the module.
        line: the function's first.

    """

    module: str
    file: str
    line: int

    def __str__(self) -> str:
        package = self.module.partition(".")[0]
        version = _version(package)
        return f"{self.file}:{self.line}" + (f" ({package} {version})" if version else "")


def describe(error: MiscountError, wanted: TextEdit, place: SourceLine) -> str:
    """Say what was looked for, how often and where it occurs, or what is nearest to it."""
    expected = "once" if wanted.times == 1 else f"{wanted.times} times"
    lines = [place.line + error.function.text.count("\n", 0, start) for start in error.starts]
    if not lines:
        found = "not found"
    else:
        word, numbers = "line" if len(lines) == 1 else "lines", ", ".join(map(str, lines))
        found = f"found {_times(len(lines))}, {word} {numbers}"
    said = f"{found}, expected {expected} in {place}:\n{_indented(wanted.old)}"
    if len(lines) < wanted.times:
        said += f"\nnearest to it:\n{nearest(error.function, error.fragment, place.line, lines)}"
    return said


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip("\n").split("\n"))


def nearest(
    function: FunctionText, fragment: list[Token], first: int, taken: Collection[int] = ()
) -> str:
    """
    Quote the lines that have most of a fragment's tokens in its order.

    Args:
        function: where to look.
        fragment: the tokens.
        first: the function's first line in its file.
        taken: lines where the fragment itself occurs.

    """
    by_line = _words_by_line(function)
    height = len(_lines_of(fragment))
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2([token.text for token in fragment if token.kind != NEWLINE])
    best, most = 0, -1.0
    for number, words in enumerate(by_line):
        if not words or first + number in taken:
            continue
        matcher.set_seq1([word for line in by_line[number : number + height] for word in line])
        score = sum(match.size for match in matcher.get_matching_blocks()) + matcher.ratio()
        if score > most:
            best, most = number, score
    lines = function.text.split("\n")[best : best + height]
    return "\n".join(f"{first + best + number:6d}  {line}" for number, line in enumerate(lines))


def _words_by_line(function: FunctionText) -> list[list[str]]:
    lines: list[list[str]] = [[] for _ in function.text.split("\n")]
    number = at = 0
    for token in function.tokens:
        number, at = number + function.text.count("\n", at, token.start), token.start
        if token.kind != NEWLINE:
            lines[number].append(token.text)
    return lines


def _lines_of(fragment: list[Token]) -> list[Token]:
    """Return the first tokens of the fragment's lines; breaks in brackets are few."""
    return [token for token in fragment if token.margin is not None]


def _version(package: str) -> str:
    try:
        found = Versions.of(Settings.read()).find(package)
    except PatchkitError:
        return ""
    return found.version if found and found.version[:1].isdigit() else ""
