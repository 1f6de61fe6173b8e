"""Finds the files of a release that the paths in a diff name."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from patchkit.analysis.upstream.reading.files import ROOTS
from patchkit.authoring.diffs.unified import FileDiff

MODULE = re.compile(r"(?:[^\W\d]\w*/)*[^\W\d]\w*\.py")
"""Matches the path of a module in a release."""


@dataclass
class ReleasePaths:
    """The paths of a release, and how paths of a diff lead to them.

    Args:
        paths: The paths of the release.
        prefix: What stands before each path of the diff; '' to find out.
        by_suffix: Whether a path counts whose last parts are the same, if it is the only one.
    """

    paths: Collection[str]
    prefix: str = ""
    by_suffix: bool = False

    def find(self, path: str, *, is_new: bool) -> list[str]:
        """Return the paths in the release that a path in a diff may mean, mostly one.

        Packages may lie in a folder of the repository: `src/up/lib.py` is `up/lib.py` in a release.

        Args:
            path: The path in the diff.
            is_new: Whether the diff creates the file; then the release need only have its package.
        """
        if not self.prefix.strip("/"):
            # Folders such as `src/` in turn; the last, '', leaves the path as it is.
            candidates = [path.removeprefix(root) for root in reversed(ROOTS)]
        else:
            candidates = [f"{self.prefix.strip('/')}/{path}"]
        for candidate in candidates:
            if self._fits(candidate, is_new=is_new):
                return [candidate]
        if not self.by_suffix or self.prefix:
            return []
        return self._by_suffix(path, is_new=is_new)

    def _fits(self, path: str, *, is_new: bool) -> bool:
        """Whether a path is that of a module of the release, or of a new one in its packages."""
        is_there = path in self.paths
        if is_new:
            is_there = is_there or path.partition("/")[0] in self._packages
        return is_there and MODULE.fullmatch(path) is not None

    @cached_property
    def _packages(self) -> set[str]:
        """The top packages of the release."""
        return {path.partition("/")[0] for path in self.paths}

    def _by_suffix(self, path: str, *, is_new: bool) -> list[str]:
        """Find a path without its first folders, or one that has further folders before it."""
        for tail in _tails(path):
            if "/" in tail and self._fits(tail, is_new=is_new):
                return [tail]
        if not is_new:
            return [
                known
                for known in sorted(self.paths)
                if known.endswith(f"/{path}") and MODULE.fullmatch(known)
            ]
        folder, _, name = path.rpartition("/")
        if not folder:
            return []
        found: dict[str, None] = {}
        for known in sorted(self.paths):
            known_folder, _, _ = known.rpartition("/")
            candidate = f"{known_folder}/{name}"
            is_alike = known_folder.endswith(f"/{folder}")
            if is_alike and MODULE.fullmatch(candidate):
                found[candidate] = None
        return list(found)


def _tails(path: str) -> Iterator[str]:
    """Yield a path without its first folder, without its first two folders, and so on."""
    parts = path.strip("/").split("/")
    for start in range(1, len(parts)):
        yield "/".join(parts[start:])


def release_paths(
    files: Sequence[FileDiff], paths: Collection[str], prefix: str
) -> ReleasePaths:
    """Choose how the paths of a diff lead to those of a release.

    Suffixes are compared only if no file is found otherwise: among the others may be files that
    only end like one of the release, such as tests.

    Args:
        files: The files of the diff.
        paths: The paths of the release.
        prefix: What stands before each path of the diff; '' to find out.

    Returns:
        The paths of the release, to find those of the diff by.
    """
    plain = ReleasePaths(paths, prefix)
    for file in files:
        path = file.old or file.new or ""
        if plain.find(path, is_new=file.old is None):
            return plain
    return ReleasePaths(paths, prefix, by_suffix=True)
