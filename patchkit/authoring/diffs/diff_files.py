"""Applies a diff to the files of a release, in memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.authoring.diffs.diff_paths import ReleasePaths, release_paths
from patchkit.authoring.diffs.plain_diff import is_plain, read_plain
from patchkit.authoring.diffs.unexpressed import UnexpressedCode
from patchkit.authoring.diffs.unified import (
    FailedHunk,
    FileDiff,
    applied,
    read_diff,
)
from patchkit.errors import ScaffoldError

_ONLY_IN = re.compile(r"(?m)^Only in ([^:\n]+): ([^\n]+)$")
_NO_CONTENT = "the diff does not have its content: diff -N writes that"
_NO_FILE = "the release has no such file"
_NOT_APPLIED = "the release does not have the lines that it changes"
_OTHER_RELEASE = (
    "--releases, --path or --wheel names another release, if the diff is for that; --keep-going "
    "leaves these out"
)


class Differing(NamedTuple):
    """A file of a release, before and after the changes that rows are written for.

    Args:
        path: its path in the release.
        old: its content in the release; None where the release has no such file.
        new: its content after the changes; None where they delete the file.
    """

    path: str
    old: bytes | None
    new: bytes | None


class DiffOptions(NamedTuple):
    """How a diff is read.

    Args:
        strip: how many folders to leave out of each path, as `patch -p`; None to find out.
        prefix: what stands before each path in the release; '' to find out.
        file: the path of the one file that it is for; '' where the diff says which files it
            changes.
        keep_going: whether hunks that do not fit are listed, and the others applied.
    """

    strip: int | None = None
    prefix: str = ""
    file: str = ""
    keep_going: bool = False


@dataclass
class DiffFiles:
    """The files that a diff changes.

    Args:
        name: the name of the diff, for errors.
        source: the files of the release.
        options: how the diff is read.
        files: the files, before and after; this and the next field are filled in by `read`.
        left: what of the diff the release has no place for.
    """

    name: str
    source: ReleaseSource
    options: DiffOptions
    files: list[Differing] = field(default_factory=list)
    left: list[UnexpressedCode] = field(default_factory=list)
    _failed: list[tuple[str, FailedHunk]] = field(default_factory=list)

    def read(self, text: str) -> None:
        """Apply a diff: fill in `files`, and `left` with what the release has no place for.

        Args:
            text: the diff.

        Raises:
            ScaffoldError: it is no diff, or files do not have the lines of hunks.
        """
        diffs = self._parsed(text)
        paths = release_paths(diffs, self.source.paths(), self.options.prefix)
        for diff in diffs:
            self._apply(diff, paths)
        # Without -N, `diff -r` only names files that one of the folders lacks.
        for folder, name in _ONLY_IN.findall(text):
            self._leave(f"{folder}/{name}", _NO_CONTENT)
        if self._failed and not self.options.keep_going:
            raise ScaffoldError(self._faults())
        for path, failed in self._failed:
            code = UnexpressedCode(
                file=path,
                line=failed.hunk.first,
                code=failed.first_line,
                reason=_NOT_APPLIED,
                place=path,
            )
            self.left.append(code)

    def _parsed(self, text: str) -> list[FileDiff]:
        """Parse the diff, in whichever format it is."""
        file = self.options.file
        if is_plain(text):
            return read_plain(self.name, text, file)
        diffs = read_diff(self.name, text, self.options.strip)
        if not file:
            return diffs
        if len(diffs) != 1:
            raise ScaffoldError(
                f"--file: found {len(diffs)} files in {self.name}, expected one"
            )
        (diff,) = diffs
        old = file if diff.old else None
        new = file if diff.new else None
        return [FileDiff(old, new, diff.hunks)]

    def _apply(self, diff: FileDiff, paths: ReleasePaths) -> None:
        """Apply the diff of one file; a renamed file becomes one that is gone and a new one."""
        path_in_diff = diff.old or diff.new or ""
        is_new = diff.old is None
        # Other tools than git give a new file an old path, too: that of the file itself.
        if _may_be_new(diff) and not paths.find(path_in_diff, is_new=False):
            is_new = True
        path = self._path_in_release(path_in_diff, paths, is_new=is_new)
        if path is None:  # it is in the list of what the release has no place for
            return
        old = None if is_new else self.source.read(path)
        result = applied(diff.hunks, old or b"")
        place = f"{self.name}: {path_in_diff}"
        self._failed += [(place, failed) for failed in result.failed]
        if diff.new is None:
            self.files.append(Differing(path, old, None))
        elif not diff.is_renamed:
            self.files.append(Differing(path, old, result.text))
        else:
            if not diff.is_copy:
                self.files.append(Differing(path, old, None))
            new_path = self._path_in_release(diff.new, paths, is_new=True)
            if new_path is not None:
                self.files.append(Differing(new_path, None, result.text))

    def _path_in_release(
        self, path: str, paths: ReleasePaths, *, is_new: bool
    ) -> str | None:
        """Return the path of a file in the release; None, and list it, where there is none."""
        found_paths = paths.find(path, is_new=is_new)
        if len(found_paths) == 1:
            return found_paths[0]
        reason = _NO_FILE
        if found_paths:
            reason = f"the release has {' and '.join(found_paths)}: --prefix says which one it is"
        self._leave(path, reason)
        return None

    def _leave(self, path: str, reason: str) -> None:
        """List a file of the diff that the release has no place for."""
        listed = {code.file for code in self.left}
        if path not in listed:
            self.left.append(
                UnexpressedCode(path, line=1, code="", reason=reason, place=path)
            )

    def _faults(self) -> str:
        """Say in one message which hunks do not fit."""
        return "\n".join([*self._fault_lines(), _OTHER_RELEASE])

    def _fault_lines(self) -> Iterator[str]:
        """Yield a line for each hunk that does not fit."""
        for place, failed in self._failed:
            fault = f"found none of the lines that the hunk at line {failed.hunk.first} changes"
            if failed.near:
                fault += f"; the nearest begin with line {failed.near!r}"
            yield f"{place}: {fault}"


def _may_be_new(diff: FileDiff) -> bool:
    """Whether the only hunk of a file adds lines to nothing."""
    if len(diff.hunks) != 1:
        return False
    hunk = diff.hunks[0]
    return not hunk.old and hunk.first == 1
