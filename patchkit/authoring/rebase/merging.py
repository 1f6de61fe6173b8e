"""Merges two changed versions of a text with git; changes of adjacent lines do not conflict."""

import re
import subprocess
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from patchkit.authoring.rebase.resolved import has_changes
from patchkit.authoring.source.edits import hunks, syntax_hash
from patchkit.errors import ScaffoldError

# In the order in which `git merge-file` takes its files.
_SIDES = ("ours", "base", "theirs")
# The lines of `ours`, `base` and `theirs` between git's markers: `<<<<<<< yours`, `||||||| before`,
# `=======` and `>>>>>>> upstream`.
_CONFLICT = re.compile(
    r"^<{7} [^\n]*\n(.*?)^\|{7} [^\n]*\n(.*?)^={7}\n(.*?)^>{7} [^\n]*\n",
    re.DOTALL | re.MULTILINE,
)
_LEAST_LIKENESS = 0.4
"""The share of common lines, from 0 to 1, from which a text counts as a copy of upstream's."""


class Merged(NamedTuple):
    """A merged text.

    Args:
        text: the text, with a conflict between git's markers wherever the two sides disagree.
    """

    text: str

    @property
    def conflicts(self) -> list[str]:
        """The conflicts in the text, each with its markers."""
        # `merged` has taken off the last newline, with which the pattern of a conflict ends.
        return [match[0] for match in _CONFLICT.finditer(f"{self.text}\n")]


def merged(base: str, ours: str, theirs: str) -> Merged:
    """Return the merge of two changed versions of a text, made by `git merge-file`.

    Args:
        base: the text that both versions started from.
        ours: one version.
        theirs: the other version.

    Raises:
        ScaffoldError: git is not installed, or fails.
    """
    text = _CONFLICT.sub(_resolved, _merged_by_git(base, ours, theirs))
    return Merged(text.rstrip("\n"))


def _merged_by_git(base: str, ours: str, theirs: str) -> str:
    """Return the merge of two versions as git writes it, with its markers around conflicts."""
    with TemporaryDirectory() as folder:
        for side, text in zip(_SIDES, (ours, base, theirs), strict=True):
            Path(folder, side).write_text(f"{text.rstrip()}\n", "utf-8")
        command = ["git", "merge-file", "-p", "--diff3"]
        for label in ("yours", "before", "upstream"):
            command += ["-L", label]
        command += _SIDES
        try:
            process = subprocess.run(  # noqa: S603
                command, cwd=folder, capture_output=True, check=False
            )
        except OSError as error:
            raise ScaffoldError(
                f"git: {error.strerror}, expected it on PATH: it merges"
            ) from error
    if not 0 <= process.returncode <= 127:  # up to 127, it is the number of conflicts
        raise ScaffoldError(
            f"git merge-file: {process.stderr.decode(errors='replace').strip()}"
        )
    return process.stdout.decode("utf-8")


def _resolved(conflict: re.Match[str]) -> str:
    """Resolve a conflict whose changes are adjacent but do not overlap, or that a person resolved.

    Args:
        conflict: a match of `_CONFLICT`.

    Returns:
        The lines with both changes; the conflict itself where the changes overlap.
    """
    our_text, base_text, their_text = conflict.groups()
    if has_changes(our_text, base_text, their_text):
        return our_text  # our side has what upstream changed: a person has resolved it
    ours = our_text.splitlines(keepends=True)
    base = base_text.splitlines(keepends=True)
    theirs = their_text.splitlines(keepends=True)
    # A set, so that the same change on both sides is made once.
    changes = sorted(_changes(base, ours) | _changes(base, theirs))
    for change, following in pairwise(changes):
        if change.overlaps(following):
            return conflict[0]
    for change in reversed(changes):  # from the end, so that earlier indexes stay valid
        base[change.start : change.end] = change.lines
    return "".join(base)


class _Change(NamedTuple):
    """The lines that one side has in place of `base[start:end]`."""

    start: int
    end: int
    lines: Sequence[str]

    def overlaps(self, following: "_Change") -> bool:
        """Return whether a later change replaces one of the same lines, or inserts at one spot.

        Args:
            following: a change that does not start before this one.
        """
        both_insert = self.start == self.end == following.start == following.end
        return self.end > following.start or both_insert


def _changes(base: Sequence[str], side: Sequence[str]) -> set[_Change]:
    """Return the changes that turn the base into one side."""
    return {
        _Change(
            hunk.old_start, hunk.old_end, tuple(side[hunk.new_start : hunk.new_end])
        )
        for hunk in hunks(base, side)
    }


def merged_copy(base: str, ours: str, theirs: str) -> str:
    """Merge a row's changed copy of upstream's code with the code of a later release.

    Args:
        base: the code in the old release.
        ours: the row's changed copy of it.
        theirs: the code in the later release.

    Returns:
        The merged code, which can be parsed.

    Raises:
        ScaffoldError: the row's code is no copy of upstream's, the changes conflict, or the merged
            code cannot be parsed. For the last two, the second argument of the error is the text
            of the conflicts or of the merge.
    """
    merge = merged(base, ours, theirs)
    # Like upstream's in the later release is code that a person has written for that release.
    likeness = max(_likeness(base, ours), _likeness(theirs, ours))
    if likeness < _LEAST_LIKENESS:
        raise ScaffoldError("its code is its own, and upstream's has changed")
    conflicts = merge.conflicts
    if conflicts:
        noun = "conflict" if len(conflicts) == 1 else "conflicts"
        raise ScaffoldError(f"{len(conflicts)} {noun}", "".join(conflicts))
    try:
        syntax_hash(merge.text)  # parses it
    except SyntaxError as error:
        raise ScaffoldError(f"merged: {error.msg}", merge.text) from error
    return merge.text


def _likeness(text: str, other: str) -> float:
    """Return the share of lines that two texts have in common, from 0 to 1."""
    lines = text.split("\n")
    other_lines = other.split("\n")
    return SequenceMatcher(None, lines, other_lines, autojunk=False).ratio()
