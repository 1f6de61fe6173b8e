"""Merges what two sides made of a text, by git; changes that only touch are both made."""

import re
import subprocess
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from patchkit.authoring.adopt.edits import hunks, mark
from patchkit.errors import ScaffoldError

_SIDES = ("ours", "base", "theirs")
_CONFLICT = re.compile(
    r"^<{7} [^\n]*\n(.*?)^\|{7} [^\n]*\n(.*?)^={7}\n(.*?)^>{7} [^\n]*\n",
    re.DOTALL | re.MULTILINE,
)
_LIKE = 0.4
"""A text that is less like upstream's, from 0 to 1 by its lines, is no copy of it."""


class Merged(NamedTuple):
    """A merged text.

    Args:
        text: the text; where the sides disagree, conflicts with git's markers stand in it.
    """

    text: str

    @property
    def conflicts(self) -> list[str]:
        """The parts that are a person's to decide, markers included."""
        return [match[0] for match in _CONFLICT.finditer(f"{self.text}\n")]


def merged(base: str, ours: str, theirs: str) -> Merged:
    """Return what a merge makes of the texts of two sides.

    Args:
        base: the text that both started from.
        ours: what one side made of it.
        theirs: what the other did.

    Raises:
        ScaffoldError: there is no git to do it, or it fails.
    """
    with TemporaryDirectory() as folder:
        for side, text in zip(_SIDES, (ours, base, theirs), strict=True):
            Path(folder, side).write_text(f"{text.rstrip()}\n", "utf-8")
        command = ["git", "merge-file", "-p", "--diff3"]
        for label in ("yours", "before", "upstream"):
            command += ["-L", label]
        command += _SIDES
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603
        except OSError as error:
            raise ScaffoldError(
                f"git: {error.strerror}, expected it on PATH: it merges"
            ) from error
    if not 0 <= done.returncode <= 127:  # the number of conflicts
        raise ScaffoldError(
            f"git merge-file: {done.stderr.decode(errors='replace').strip()}"
        )
    text = _CONFLICT.sub(_resolved, done.stdout.decode("utf-8"))
    return Merged(text.rstrip("\n"))


def _resolved(conflict: re.Match[str]) -> str:
    """Make both changes of a conflict, where git minds only that they touch.

    Args:
        conflict: a match of `_CONFLICT`.

    Returns:
        The lines with both changes; the conflict as it is where the changes overlap.
    """
    ours = conflict[1].splitlines(keepends=True)
    base = conflict[2].splitlines(keepends=True)
    theirs = conflict[3].splitlines(keepends=True)
    # What both sides have changed in the same way is one change.
    changes = sorted(_changes(base, ours) | _changes(base, theirs))
    for change, following in pairwise(changes):
        if change.overlaps(following):
            return conflict[0]
    for change in reversed(changes):  # so that the numbers of lines stay right
        base[change.start : change.end] = change.lines
    return "".join(base)


class _Change(NamedTuple):
    """Lines that a side has put in the place of lines of the base, from `start` up to `end`."""

    start: int
    end: int
    lines: Sequence[str]

    def overlaps(self, following: "_Change") -> bool:
        """Whether a change that starts no earlier changes the same lines, or inserts there, too."""
        both_insert = self.start == self.end == following.start == following.end
        return self.end > following.start or both_insert


def _changes(base: Sequence[str], side: Sequence[str]) -> set[_Change]:
    """List what a side has changed."""
    return {
        _Change(
            hunk.old_start, hunk.old_end, tuple(side[hunk.new_start : hunk.new_end])
        )
        for hunk in hunks(base, side)
    }


def merged_copy(base: str, ours: str, theirs: str) -> str:
    """Merge what a row and upstream made of a text, where the row's is a copy of upstream's.

    Args:
        base: the text in the old release.
        ours: what the row makes of it.
        theirs: the text in the later release.

    Returns:
        The merged text, which can be parsed.

    Raises:
        ScaffoldError: the row's text is no copy of upstream's, the sides conflict, or what was
            merged cannot be parsed; the second argument is the merge.
    """
    merge = merged(base, ours, theirs)
    lines = SequenceMatcher(None, base.split("\n"), ours.split("\n"), autojunk=False)
    if lines.ratio() < _LIKE:
        raise ScaffoldError("its code is its own, and upstream's has changed")
    conflicts = merge.conflicts
    if conflicts:
        noun = "conflict" if len(conflicts) == 1 else "conflicts"
        raise ScaffoldError(f"{len(conflicts)} {noun}", "".join(conflicts))
    try:
        mark(merge.text)
    except SyntaxError as error:
        raise ScaffoldError(f"merged: {error.msg}", merge.text) from error
    return merge.text
