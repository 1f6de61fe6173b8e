"""A unified diff, as `git diff`, `git format-patch` or a pull request's `.diff` writes it."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchkit.core.text.rewriting import nearest
from patchkit.errors import ScaffoldError

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class Hunk(NamedTuple):
    """Lines that are to be replaced, with their neighbours; the first is this line of the file."""

    first: int
    old: Sequence[str]
    new: Sequence[str]


class FileDiff(NamedTuple):
    """The hunks of one file, by its paths before and after; None where there is no such file."""

    old: str | None
    new: str | None
    hunks: Sequence[Hunk]


def read_diff(name: str, text: str) -> list[FileDiff]:
    """Take a diff apart; ScaffoldError where it is none, or is cut off."""
    lines, found = text.replace("\r\n", "\n").split("\n"), list[FileDiff]()
    for at, line in enumerate(lines):
        if at and line.startswith("+++ ") and lines[at - 1].startswith("--- "):
            old, new = map(_path, lines[at - 1 : at + 1])
            found.append(FileDiff(old, new, list(_hunks(name, lines, at + 1))))
    if not found:
        raise ScaffoldError(f"{name}: found no '--- a/…' and '+++ b/…', expected a unified diff")
    return found


def _path(line: str) -> str | None:
    path = line[4:].partition("\t")[0].strip()
    return None if path == "/dev/null" else re.sub(r"^[ab]/", "", path)


def _hunks(name: str, lines: Sequence[str], at: int) -> Iterator[Hunk]:
    while at < len(lines) and (match := _HUNK.match(lines[at])):
        left = [int(match[2] or 1), int(match[3] or 1)]
        sides: tuple[list[str], list[str]] = ([], [])
        at += 1
        while any(left) or (at < len(lines) and lines[at].startswith("\\")):
            mark, line = (lines[at][:1] or " ", lines[at][1:]) if at < len(lines) else ("end", "")
            if mark not in " -+\\":
                raise ScaffoldError(f"{name}:{at + 1}: found {mark!r}, expected more of a hunk")
            for side, marks in enumerate((" -", " +")):
                if mark in marks:
                    sides[side].append(line)
                    left[side] -= 1
            at += 1
        yield Hunk(int(match[1]), *sides)


def applied(hunks: Sequence[Hunk], text: bytes, place: str) -> bytes:
    """Make the changes wherever their lines are by now; ScaffoldError if they are nowhere."""
    lines, moved = text.decode(errors="surrogateescape").replace("\r\n", "\n").split("\n"), 0
    for hunk in hunks:
        wanted, size = hunk.first - 1 + moved, len(hunk.old)
        ends = range(size, len(lines) + 1)
        places = (end - size for end in ends if lines[end - size : end] == hunk.old)
        at = min(places, key=lambda one: abs(one - wanted), default=None)
        if at is None:
            near = nearest("\n".join(lines), "\n".join(hunk.old), 1).split("\n")[0].strip()
            fault = f"found no lines as the hunk at line {hunk.first} has them"
            raise ScaffoldError(f"{place}: {fault}; the nearest begin with line {near!r}")
        lines[at : at + size] = hunk.new
        moved = at - (hunk.first - 1) + len(hunk.new) - size
    return "\n".join(lines).encode(errors="surrogateescape")
