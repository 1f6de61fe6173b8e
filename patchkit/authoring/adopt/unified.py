"""Reads and applies unified diffs: of `git diff`, `git format-patch` or a pull request."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchkit.core.text.rewriting import nearest
from patchkit.errors import ScaffoldError

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class Hunk(NamedTuple):
    """One block of changed lines in a unified diff, with the unchanged lines around them.

    Args:
        first: the number of the first line in the old file, from 1.
        old: the lines of the block in the old file.
        new: the lines of the block in the new file.
    """

    first: int
    old: Sequence[str]
    new: Sequence[str]


class FileDiff(NamedTuple):
    """The part of a unified diff that changes one file.

    Args:
        old: its path before; None where the diff creates the file.
        new: its path after; None where the diff deletes the file.
        hunks: its hunks, in the order of the lines.
    """

    old: str | None
    new: str | None
    hunks: Sequence[Hunk]


def read_diff(name: str, text: str) -> list[FileDiff]:
    """Parse a unified diff.

    Args:
        name: the name of the diff, for errors.
        text: the diff; lines between the files, such as a commit message, are skipped.

    Returns:
        The diff of each file.

    Raises:
        ScaffoldError: the text is no unified diff, or a hunk is incomplete.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    files: list[FileDiff] = []
    for index in range(1, len(lines)):
        before = lines[index - 1]
        after = lines[index]
        is_head = before.startswith("--- ") and after.startswith("+++ ")
        if is_head:
            hunks = list(_hunks(name, lines, index + 1))
            file = FileDiff(_path(before), _path(after), hunks)
            files.append(file)
    if not files:
        raise ScaffoldError(
            f"{name}: found no '--- a/…' and '+++ b/…', expected a unified diff"
        )
    return files


def _path(line: str) -> str | None:
    """Return the path in a `---` or `+++` line, without `a/` or `b/`; None for /dev/null."""
    # After `--- `, the path; after a tab, some tools write a date.
    path, _, _ = line[4:].partition("\t")
    path = path.strip()
    if path == "/dev/null":
        return None
    return re.sub(r"^[ab]/", "", path)


def _hunks(name: str, lines: Sequence[str], index: int) -> Iterator[Hunk]:
    """Yield the hunks that follow each other from a line on.

    Args:
        name: the name of the diff, for errors.
        lines: the lines of the diff.
        index: the index of the first line.

    Raises:
        ScaffoldError: a hunk ends early, or has a line with another sign.
    """
    while index < len(lines):
        header = _HUNK.match(lines[index])
        if not header:
            return
        index += 1
        old: list[str] = []
        new: list[str] = []
        old_count = int(header[2] or 1)  # a diff may leave out a 1
        new_count = int(header[3] or 1)
        # The header says how many lines follow; `\ No newline at end of file` may come after.
        while (
            len(old) != old_count or len(new) != new_count or _is_remark(lines, index)
        ):
            sign, line = _signed(lines, index)
            if sign not in " -+\\":
                raise ScaffoldError(
                    f"{name}:{index + 1}: found {sign!r}, expected more of a hunk: lines that "
                    "start with ' ', '-' or '+'"
                )
            if sign in " -":
                old.append(line)
            if sign in " +":
                new.append(line)
            index += 1
        first = int(header[1])
        yield Hunk(first, old, new)


def _is_remark(lines: Sequence[str], index: int) -> bool:
    """Return whether a line is git's remark that a file does not end with a newline."""
    if index >= len(lines):
        return False
    return lines[index].startswith("\\")


def _signed(lines: Sequence[str], index: int) -> tuple[str, str]:
    """Split a line of a hunk into its sign and its text; the sign is `end` after the last line."""
    if index >= len(lines):
        return "end", ""
    line = lines[index]
    sign = line[:1] or " "  # some mail programs strip the space of an empty line
    text = line[1:]
    return sign, text


def applied(hunks: Sequence[Hunk], text: bytes, place: str) -> bytes:
    """Apply hunks to a file, each where its lines are in it, which need not be where it says.

    Args:
        hunks: the hunks of the file.
        text: the content of the file.
        place: the names of the diff and of the file, for errors.

    Returns:
        The changed content; its lines end with a newline, without a carriage return.

    Raises:
        ScaffoldError: the file does not have the lines of a hunk.
    """
    decoded = text.decode(errors="surrogateescape")
    lines = decoded.replace("\r\n", "\n").split("\n")
    shift = 0  # by how many lines the hunks so far have moved the lines below them
    for hunk in hunks:
        expected = hunk.first - 1 + shift
        start = _start(hunk, lines, expected)
        if start is None:
            # For the message, the line of the file that is most like the hunk's first.
            content = "\n".join(lines)
            expected_text = "\n".join(hunk.old)
            near_lines = nearest(content, expected_text, 1).split("\n")
            near = near_lines[0].strip()
            raise ScaffoldError(
                f"{place}: found none of the lines that the hunk at line {hunk.first} changes; the "
                f"nearest begin with line {near!r}; --releases, --path or --wheel names another "
                "release, if the diff is for that"
            )
        end = start + len(hunk.old)
        lines[start:end] = hunk.new
        growth = len(hunk.new) - len(hunk.old)
        # The next hunk is as far off from where it says as this one, plus what this one adds.
        shift = start - (hunk.first - 1) + growth
    changed = "\n".join(lines)
    return changed.encode(errors="surrogateescape")


def _start(hunk: Hunk, lines: Sequence[str], expected: int) -> int | None:
    """Find the index at which the lines of a hunk begin.

    Args:
        hunk: the hunk.
        lines: the lines of the file.
        expected: where the hunk should begin; of several matches, the nearest to that counts.

    Returns:
        The index; None where the file does not have these lines.
    """
    size = len(hunk.old)
    last_start = len(lines) - size
    starts = range(last_start + 1)
    matches = [start for start in starts if lines[start : start + size] == hunk.old]
    return min(matches, key=lambda start: abs(start - expected), default=None)
