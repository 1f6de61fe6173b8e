"""A directory of Python files: a checkout, or what is installed."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from patchkit.analysis.upstream.reading.files import (
    ROOTS,
    ContentMark,
    ReleaseSource,
    check_size,
    compiled,
    is_listed,
    is_python,
)
from patchkit.core.versions.distributions import ProviderSearch
from patchkit.errors import UpstreamError


class Tree:
    """One release's import packages, and modules that are files of their own, below a root."""

    def __init__(self, name: str, version: str | None, root: Path, *packages: str) -> None:
        self.name = name
        self.version = version
        self._root = root
        self._packages = frozenset(packages)

    def read(self, path: str) -> bytes | None:
        """One Python file; None where there is no such file."""
        if not is_python(path) or not self.has(path):
            return None
        file = self._root / path
        try:
            check_size(path, file.stat().st_size)
            return file.read_bytes()
        except OSError as error:
            raise UpstreamError(f"{self.name}: {path}: {error.strerror or error}") from error
        except UpstreamError as error:
            raise UpstreamError(f"{self.name}: {error}") from error

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        first, *others = path.split("/")
        name = first if others else compiled(first) or first.partition(".")[0]
        is_inside = name in self._packages and not {"", ".", ".."} & set(others)
        return is_listed(path) and is_inside and (self._root / path).is_file()

    def paths(self) -> frozenset[str]:
        """Every path of the packages that an import may lead to."""
        return frozenset(filter(self.has, self._walk()))

    def mark(self, path: str) -> ContentMark | None:  # noqa: ARG002 - as every source has it
        """Tell nothing: files may change at any time."""
        return None

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing: files are here."""

    def _walk(self) -> Iterator[str]:
        for package in self._packages:
            yield from (file.name for file in self._root.glob(f"{package}.*"))
            for directory, _, files in os.walk(self._root / package):
                inside = Path(directory).relative_to(self._root).as_posix()
                yield from (f"{inside}/{file}" for file in files)


def open_installed(package: str, path: Sequence[str] | None = None) -> ReleaseSource:
    """Open an installed package, editable or not, or a distribution's; UpstreamError for none."""
    search = ProviderSearch(package, None if path is None else list(path))
    found, located = search.found(), search.package
    if found is None or located is None:
        raise UpstreamError(f"{package} is not installed here")
    place = located.place
    root = place.parent.parent if place.name.startswith("__init__.") else place.parent
    return Tree(f"{package} {found.version}", found.version, root, located.name, *search.beside())


def open_tree(directory: Path, package: str) -> ReleaseSource:
    """Open a package in a checkout, or the package itself; UpstreamError where it is not there."""
    here = directory.absolute()
    roots = [here / root for root in ROOTS] + ([here.parent] if here.name == package else [])
    for root in roots:
        if (root / package / "__init__.py").is_file():
            found = ProviderSearch(package, [str(root)]).found()
            # What the tree says of itself, without building it; a checkout may say nothing.
            version = found.version if found and found.version[:1].isdigit() else None
            return Tree(f"the tree at {directory}", version, root, package)
    expected = ", ".join(f"{root}{package}/__init__.py" for root in ROOTS)
    raise UpstreamError(f"the tree at {directory}: found no {package}, expected one of {expected}")
