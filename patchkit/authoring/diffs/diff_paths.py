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
            # Without the folders of `ROOTS` such as `src/` in turn; the last of them, '', leaves
            # the path as it is.
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
        if MODULE.fullmatch(path) is None:
            return False
        if path in self.paths:
            return True
        top = path.partition("/")[0]
        return is_new and top in self._packages

    @cached_property
    def _packages(self) -> set[str]:
        """The top packages of the release."""
        return {path.partition("/")[0] for path in self.paths}

    def _by_suffix(self, path: str, *, is_new: bool) -> list[str]:
        """Find paths of the release that only end like a path of a diff, or the reverse.

        Returns:
            The path without its first folders, if that fits; else the paths that have further
            folders before it, of which there may be several.
        """
        for tail in _tails(path):
            if "/" in tail and self._fits(tail, is_new=is_new):
                return [tail]
        if is_new:
            return self._in_folders_like(path)
        longer_paths: list[str] = []
        for release_path in sorted(self.paths):
            ends_alike = release_path.endswith(f"/{path}")
            if ends_alike and MODULE.fullmatch(release_path):
                longer_paths.append(release_path)
        return longer_paths

    def _in_folders_like(self, path: str) -> list[str]:
        """Return paths for a new file in each folder of the release that ends like its folder."""
        folder, _, name = path.rpartition("/")
        if not folder:
            return []
        candidates: dict[str, None] = {}
        for release_path in sorted(self.paths):
            release_folder, _, _ = release_path.rpartition("/")
            candidate = f"{release_folder}/{name}"
            ends_alike = release_folder.endswith(f"/{folder}")
            if ends_alike and MODULE.fullmatch(candidate):
                candidates[candidate] = None
        return list(candidates)


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
