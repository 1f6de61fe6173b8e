"""Reads and applies unified diffs: of `git diff`, `git format-patch` or a pull request."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from patchkit.core.text.rewriting import nearest
from patchkit.errors import ScaffoldError

_MAX_DIGITS = 18
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_GIT = "diff --git "
_BOTH = re.compile(r"(?:\w/)?(.+) (?:\w/)?\1")
"""Matches the paths behind `diff --git`, where both are the same."""
_MOVES = ("rename", "copy")
_NO_FILE = "/dev/null"


class Hunk(NamedTuple):
    """One block of changed lines in a diff, with the unchanged lines around them.

    Args:
        first: the number of the first line in the old file, from 1; of a block that only adds
            lines, that of the line which they come before.
        old: the lines of the block in the old file.
        new: the lines of the block in the new file.
    """

    first: int
    old: Sequence[str]
    new: Sequence[str]


class FileDiff(NamedTuple):
    """The part of a diff that changes one file.

    Args:
        old: its path before; None where the diff creates the file.
        new: its path after; None where the diff deletes the file.
        hunks: its hunks, in the order of the lines.
        is_copy: whether the old file stays, and the new one is another.
    """

    old: str | None
    new: str | None
    hunks: Sequence[Hunk]
    is_copy: bool = False

    @property
    def is_renamed(self) -> bool:
        """Whether the file has another path after the diff, or is a copy."""
        return self.old is not None and self.new not in (None, self.old)


@dataclass
class _GitHeader:
    """What git says of a file above its hunks, or in their place: the file may have none.

    Args:
        old: its path before; None for a new file.
        new: its path after; None for a file that is deleted.
        strip: how many folders to leave out of paths; None for `a/` and `b/`.
        is_copy: whether the old file stays.
        is_told: whether the file is new, gone, renamed or binary, and so counts without hunks.
    """

    old: str | None
    new: str | None
    strip: int | None
    is_copy: bool = False
    is_told: bool = False

    @classmethod
    def of(cls, line: str, strip: int | None) -> "_GitHeader":
        """Read `diff --git a/x b/x`; of a renamed file, further lines say the paths."""
        match = _BOTH.fullmatch(line.removeprefix(_GIT).strip())
        if match is None:
            return cls(None, None, strip)
        path = _without_folders(match[1], strip)
        return cls(path, path, strip)

    def read(self, line: str) -> None:
        """Take over what a line says: `rename from a.py` or `new file mode 100644`."""
        words, _, path = line.partition(" from ")
        if words in _MOVES and path:
            self.old = _without_folders(path, self.strip)
            self.is_copy = words == "copy"
        words, _, path = line.partition(" to ")
        if words in _MOVES and path:
            self.new = _without_folders(path, self.strip)
            self.is_told = True
        if line.startswith("new file mode "):
            self.old = None
            self.is_told = True
        elif line.startswith("deleted file mode "):
            self.new = None
            self.is_told = True
        elif line.startswith(("Binary files ", "GIT binary patch")):
            self.is_told = True


def _without_folders(path: str, strip: int | None) -> str:
    """Return a path that has no `a/` or `b/` before it, without the folders to leave out.

    Args:
        path: the path.
        strip: how many folders to leave out, of which `a/` would be one; None for that alone.
    """
    further_folders = 0
    if strip:
        further_folders = strip - 1  # `a/` is one, and is left out already
    parts = path.strip().split("/")
    return "/".join(parts[further_folders:])


def _without_hunks(header: _GitHeader | None) -> Iterator[FileDiff]:
    """Yield the diff of a file that has no hunks; nothing where nothing is said of it."""
    if header is not None and header.is_told and (header.old or header.new):
        yield FileDiff(header.old, header.new, (), header.is_copy)


def read_diff(name: str, text: str, strip: int | None = None) -> list[FileDiff]:
    """Parse a unified diff.

    Args:
        name: the name of the diff, for errors.
        text: the diff; lines between the files, such as a commit message, are skipped.
        strip: how many folders to leave out of each path, as `patch -p`; None for `a/` and `b/`.

    Returns:
        The diff of each file.

    Raises:
        ScaffoldError: the text is no unified diff, or a hunk is incomplete.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    files: list[FileDiff] = []
    # What git says of a file, until its hunks come; they end it.
    header: _GitHeader | None = None
    index = 0
    while index < len(lines):
        line = lines[index]
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if line.startswith("--- ") and following.startswith("+++ "):
            hunks, index = _hunks(name, lines, index + 2)
            old = _path(line, strip)
            new = _path(following, strip)
            is_copy = header is not None and header.is_copy
            files.append(FileDiff(old, new, hunks, is_copy))
            header = None
            continue
        if line.startswith(_GIT):
            files += _without_hunks(header)  # the file above this one had none
            header = _GitHeader.of(line, strip)
        elif header is not None:
            header.read(line)
        index += 1
    files += _without_hunks(header)
    if not files:
        raise ScaffoldError(
            f"{name}: found no '--- a/…' and '+++ b/…', expected a unified diff"
        )
    return files


def _path(line: str, strip: int | None) -> str | None:
    """Return the path in a `---` or `+++` line; None for /dev/null.

    Args:
        line: the line.
        strip: how many folders to leave out of the path; None for `a/` and `b/`.
    """
    # After `--- `, the path; after a tab, some tools write a date.
    path, _, _ = line[4:].partition("\t")
    path = path.strip()
    if path == _NO_FILE:
        return None
    if strip is None:
        return re.sub(r"^[ab]/", "", path)
    return "/".join(path.split("/")[strip:])


def _hunks(name: str, lines: Sequence[str], index: int) -> tuple[Sequence[Hunk], int]:
    """Read the hunks that follow each other from a line on.

    Args:
        name: the name of the diff, for errors.
        lines: the lines of the diff.
        index: the index of the first line.

    Returns:
        The hunks, and the index of the line after them.

    Raises:
        ScaffoldError: a hunk ends early, or has a line with another sign.
    """
    hunks: list[Hunk] = []
    while index < len(lines):
        header = _HUNK.match(lines[index])
        if not header:
            break
        hunk, index = _hunk(name, lines, index + 1, header)
        hunks.append(hunk)
    return hunks, index


def line_number(name: str, text: str) -> int:
    """Read a number of the line above a hunk.

    Args:
        name: The name of the diff, for errors.
        text: The number's digits.

    Returns:
        The number.

    Raises:
        ScaffoldError: No file has so many lines.
    """
    if len(text) > _MAX_DIGITS:
        raise ScaffoldError(
            f"{name}: found a hunk with a number of {len(text):,} digits, expected that of a line"
        )
    return int(text)


def _hunk(
    name: str, lines: Sequence[str], index: int, header: re.Match[str]
) -> tuple[Hunk, int]:
    """Read the lines of one hunk.

    Args:
        name: the name of the diff, for errors.
        lines: the lines of the diff.
        index: the index of the line after the header.
        header: the header, such as `@@ -1,3 +1,4 @@`.

    Returns:
        The hunk, and the index of the line after it.

    Raises:
        ScaffoldError: the hunk ends early, or has a line with another sign.
    """
    old: list[str] = []
    new: list[str] = []
    old_count = line_number(name, header[2] or "1")  # a diff may leave out a 1
    new_count = line_number(name, header[3] or "1")
    while True:
        # The header says how many lines follow; `\ No newline at end of file` may come after.
        has_all = len(old) == old_count and len(new) == new_count
        if has_all and not _is_remark(lines, index):
            break
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
    first = line_number(name, header[1])
    if not old:  # the header then names the line above the new ones
        first += 1
    return Hunk(first, old, new), index


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


class FailedHunk(NamedTuple):
    """A hunk whose lines a file does not have.

    Args:
        hunk: the hunk.
        near: the line of the file that is most like the hunk's first, with its number; `''` if the
            file is empty.
    """

    hunk: Hunk
    near: str

    @property
    def first_line(self) -> str:
        """The first line that it changes, or else has."""
        removed = [line for line in self.hunk.old if line not in self.hunk.new]
        lines = removed or [*self.hunk.old, *self.hunk.new, ""]
        return lines[0].strip()


class AppliedHunks(NamedTuple):
    """A file with hunks applied.

    Args:
        text: the changed content; its lines end with a newline, without a carriage return.
        failed: the hunks that do not fit, which are left out.
    """

    text: bytes
    failed: Sequence[FailedHunk]


def applied(hunks: Sequence[Hunk], text: bytes) -> AppliedHunks:
    """Apply hunks to a file, each where its lines are in it, which need not be where it says.

    Args:
        hunks: the hunks of the file.
        text: the content of the file.

    Returns:
        The changed content, and the hunks whose lines the file does not have.
    """
    decoded = text.decode(errors="surrogateescape")
    lines = decoded.replace("\r\n", "\n").split("\n")
    failed: list[FailedHunk] = []
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
            fault = FailedHunk(hunk, near)
            failed.append(fault)
            continue
        end = start + len(hunk.old)
        lines[start:end] = hunk.new
        growth = len(hunk.new) - len(hunk.old)
        # The next hunk is as far off from where it says as this one, plus what this one adds.
        shift = start - (hunk.first - 1) + growth
    changed = "\n".join(lines)
    return AppliedHunks(changed.encode(errors="surrogateescape"), failed)


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
