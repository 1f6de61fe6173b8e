"""Reads a release from a directory of Python files: a checkout, or an installed package."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from patchkit.analysis.upstream.reading.files import (
    MAX_FILE,
    ROOTS,
    ContentMark,
    ReleaseSource,
    check_size,
    is_listed,
    is_python,
)
from patchkit.core.plain_files import read_plain
from patchkit.core.versions.distributions import ProviderSearch
from patchkit.errors import UpstreamError

_LEADS_ELSEWHERE = frozenset({"", ".", ".."})
"""Parts that no path of a file has; `..` would lead out of the packages: `up/../secret.py`."""


class Tree:
    """A `ReleaseSource`: some import packages and single-file modules in a directory.

    Args:
        name: Its name in messages, such as `the tree at …`.
        version: As released, such as `0.32.0`; None where unknown.
        root: The directory that the packages lie in.
        packages: The names of the packages and modules.
    """

    def __init__(
        self, name: str, version: str | None, root: Path, *packages: str
    ) -> None:
        self.name = name
        self.version = version
        self.root = root
        self._packages = frozenset(packages)

    def read(self, path: str) -> bytes | None:
        """Read the Python file at `path`; return None where there is none.

        Raises:
            UpstreamError: The file is too large, or cannot be read.
        """
        if not is_python(path) or not self.has(path):
            return None
        file = self.root / path
        try:
            check_size(path, file.stat().st_size)
            return read_plain(file, MAX_FILE)
        except OSError as error:
            raise UpstreamError(
                f"{self.name}: {path}: {error.strerror or error}"
            ) from error
        except UpstreamError as error:  # of `check_size`, which does not name the tree
            raise UpstreamError(f"{self.name}: {error}") from error

    def has(self, path: str) -> bool:
        """Whether there is a file at `path`: a Python file or extension module of the packages."""
        top, *inner = path.split("/")
        if not inner:  # a module directly in the directory: `up.py`, `up.abi3.so`
            top = top.partition(".")[0]
        if top not in self._packages:
            return False
        if any(part in _LEADS_ELSEWHERE for part in inner):
            return False
        # `os.path`: unlike a `Path`, it raises no error for a folder that may not be read.
        return is_listed(path) and os.path.isfile(self.root / path)  # noqa: PTH113

    def paths(self) -> frozenset[str]:
        """Return the paths of all Python files and extension modules of the packages."""
        return frozenset(path for path in self._walk() if self.has(path))

    def mark(self, path: str) -> ContentMark | None:  # noqa: ARG002 - as every source has it
        """Return None for any `path`: files may change at any time."""
        return None

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing: the files of all `paths` are on this machine."""

    def _walk(self) -> Iterator[str]:
        """List the paths of all files of the packages and modules, whatever they are."""
        for package in self._packages:
            for module in self.root.glob(f"{package}.*"):  # `up.py`, `up.abi3.so`
                yield module.name
            for directory, _, files in os.walk(self.root / package):
                folder = Path(directory).relative_to(self.root).as_posix()
                for file in files:
                    yield f"{folder}/{file}"


def open_installed(package: str, path: Sequence[str] | None = None) -> ReleaseSource:
    """Open an installed package, editable or not, and the other packages of its distribution.

    Args:
        package: The name of the package, or of its distribution.
        path: The directories to look in; None for `sys.path`.

    Returns:
        The source, named by the package and its version.

    Raises:
        UpstreamError: The package is not installed.
    """
    directories = None
    if path is not None:
        directories = list(path)
    search = ProviderSearch(package, directories)
    release = search.found()
    if release is None or search.package is None:
        raise UpstreamError(f"{package} is not installed here")
    # `root/up.py`, or `root/up/__init__.py`.
    file = search.package.place
    root = file.parent
    if file.name.startswith("__init__."):
        root = root.parent
    name = f"{package} {release.version}"
    # `beside` has the names of the distribution's other packages.
    return Tree(name, release.version, root, search.package.name, *search.beside())


def open_tree(directory: Path, package: str) -> ReleaseSource:
    """Open a package in a checkout.

    Args:
        directory: The root of the checkout, or the package's own directory.
        package: The name by which the package is imported.

    Returns:
        The source; its version is the one that files of the tree state, as nothing is built.

    Raises:
        UpstreamError: The package is not there.
    """
    absolute = directory.absolute()
    roots = [absolute / root for root in ROOTS]
    if absolute.name == package:
        roots.append(absolute.parent)
    for root in roots:
        if (root / package / "__init__.py").is_file():
            return Tree(
                f"the tree at {directory}",
                _stated_version(package, root),
                root,
                package,
            )
    expected = ", ".join(f"{root}{package}/__init__.py" for root in ROOTS)
    raise UpstreamError(
        f"the tree at {directory}: found no {package}, expected one of {expected}"
    )


def _stated_version(package: str, root: Path) -> str | None:
    """Return the version that files below a root state for a package; None where none do."""
    stated = ProviderSearch(package, [str(root)]).found()
    if stated is None or not stated.version[:1].isdigit():
        return None  # nothing, or a placeholder such as `dev`
    return stated.version
