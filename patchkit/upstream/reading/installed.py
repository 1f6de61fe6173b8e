"""What is installed here: the files that an import would run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.tree import Tree
from patchkit.versions.distributions import ProviderSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.upstream.reading.source import ReleaseSource


def open_installed(package: str, path: Sequence[str] | None = None) -> ReleaseSource:
    """
    Open an import package where it is installed, editable installs included.

    Args:
        package: name of the import package, or of the distribution of that name.
        path: where to look, as in `sys.path`, which is the default.

    Raises:
        UpstreamError: it is not installed.

    """
    search = ProviderSearch(package, None if path is None else list(path))
    found, located = search.found(), search.package
    if found is None or located is None:
        raise UpstreamError(f"{package} is not installed here")
    place = located.place
    root = place.parent.parent if place.name.startswith("__init__.") else place.parent
    name = f"{package} {found.version}"
    return Tree(name, found.version, root, located.name, *search.beside())
