"""What an edit says whose fragment does not occur as often as it should."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from patchkit.errors import PatchkitError
from patchkit.settings import Settings
from patchkit.versions.installed import Versions

if TYPE_CHECKING:
    from collections.abc import Collection

    from patchkit.changes.source.rewriting import MiscountError, TextEdit


class SourceLine(NamedTuple):
    """Where a function's text comes from."""

    module: str
    file: str
    line: int

    def __str__(self) -> str:
        package = self.module.partition(".")[0]
        try:
            installed = Versions.of(Settings.read()).find(package)
        except PatchkitError:
            installed = None
        version = installed.version if installed else ""
        said = f" ({package} {version})" if version[:1].isdigit() else ""
        return f"{self.file}:{self.line}{said}"


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
