"""Lists which installed distributions have which packages."""

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions, packages_distributions


def distributions_by_package() -> Mapping[str, list[str]]:
    """Return the names of the installed distributions that have a package, by the package.

    Scripts and the like count as packages, too, such as `..` for `../../bin/tool.py`.
    """
    if sys.version_info >= (3, 11):
        return packages_distributions()
    return packages_from_files()


def packages_from_files() -> dict[str, list[str]]:
    """List packages as `packages_distributions` of Python 3.11 does.

    That of Python 3.10 reads `top_level.txt` alone, which most wheels lack today.

    Returns:
        The names of distributions by package.
    """
    names: dict[str, list[str]] = {}
    for distribution in distributions():
        for package in dict.fromkeys(_packages_of(distribution)):
            names.setdefault(package, []).append(distribution.metadata["Name"])
    return names


def _packages_of(distribution: Distribution) -> Iterator[str]:
    """Yield the packages and modules of a distribution, some of them more than once."""
    stated = distribution.read_text("top_level.txt")
    if stated:
        yield from stated.split()
        return
    for file in distribution.files or ():
        if file.suffix == ".py":
            yield file.parts[0] if len(file.parts) > 1 else file.stem
