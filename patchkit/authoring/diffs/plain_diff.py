"""Reads the diffs that `diff a b` writes without options: `3c3`, `< old`, `---`, `> new`."""

import re
from collections.abc import Sequence

from patchkit.authoring.diffs.unified import FileDiff, Hunk, line_number
from patchkit.errors import ScaffoldError

_COMMAND = re.compile(r"(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?")
_HEAD = re.compile(r"diff .*?(\S+) (\S+)")
"""Matches the line that `diff -r` writes above the hunks of a file."""


def is_plain(text: str) -> bool:
    """Whether a text is a diff in this format.

    Args:
        text: The text.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return any(map(_COMMAND.fullmatch, lines)) and "\n@@ -" not in f"\n{text}"


def read_plain(name: str, text: str, file: str = "") -> list[FileDiff]:
    """Parse a diff in the plain format.

    Args:
        name: The name of the diff, for errors.
        text: The diff.
        file: The path of the file that it is for; '' where the lines of `diff -r` say that.

    Returns:
        The diff of each file.

    Raises:
        ScaffoldError: It does not say which file it is for, or a hunk is incomplete.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    hunks_by_file: dict[str, list[Hunk]] = {}
    index = 0
    path = file
    while index < len(lines):
        command = _COMMAND.fullmatch(lines[index])
        head = _HEAD.fullmatch(lines[index])
        if head and not file:
            path = head[1]
        index += 1
        if command is None:
            continue
        if not path:
            raise ScaffoldError(
                f"{name}: found no name of a file in a diff without '---' and '+++', expected "
                "--file PATH"
            )
        hunk, index = _hunk(name, lines, index, command)
        hunks_by_file.setdefault(path, []).append(hunk)
    return [FileDiff(path, path, hunks) for path, hunks in hunks_by_file.items()]


def _hunk(
    name: str, lines: Sequence[str], index: int, command: re.Match[str]
) -> tuple[Hunk, int]:
    """Read the lines of one hunk.

    Args:
        name: The name of the diff, for errors.
        lines: The lines of the diff.
        index: The index of the line after the command.
        command: The command, such as `3,4c3`.

    Returns:
        The hunk, and the index of the line after it.

    Raises:
        ScaffoldError: It has fewer lines than its command says.
    """
    kind = command[3]  # add, change or delete: `a`, `c` or `d`
    first = line_number(name, command[1])
    last = line_number(name, command[2] or command[1])
    old_count = last - first + 1
    new_first = line_number(name, command[4])
    new_last = line_number(name, command[5] or command[4])
    new_count = new_last - new_first + 1
    if kind == "a":  # the lines come after line `first`
        old_count = 0
        first += 1
    if kind == "d":
        new_count = 0
    old, index = _signed_lines(name, lines, index, "<", old_count)
    if kind == "c":
        index += 1  # the line `---` between the old lines and the new ones
    new, index = _signed_lines(name, lines, index, ">", new_count)
    return Hunk(first, old, new), index


def _signed_lines(
    name: str, lines: Sequence[str], index: int, sign: str, count: int
) -> tuple[Sequence[str], int]:
    """Read lines that begin with a sign and a space.

    Returns:
        The lines without these, and the index of the line after them and after remarks on them.

    Raises:
        ScaffoldError: They are fewer.
    """
    texts: list[str] = []
    for line in lines[index : index + count]:
        if not line.startswith(sign):
            break
        texts.append(line[2:])
    if len(texts) != count:
        place = index + len(texts) + 1
        raise ScaffoldError(
            f"{name}:{place}: expected more of a hunk: lines that start with {sign!r}"
        )
    index += count
    # A remark such as `\ No newline at end of file`.
    while index < len(lines) and lines[index].startswith("\\"):
        index += 1
    return texts, index
