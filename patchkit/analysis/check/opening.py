"""Opens the releases to check: installed packages, a source tree, commits, a file, or an index.

All functions raise `UpstreamError` if they find no release, and those for local files
`VersionError` if a release does not say its version.
"""

import contextlib
import functools
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.commits import CommitSource, commits
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.releases import (
    Library,
    Release,
    find_releases,
    open_archive,
)
from patchkit.analysis.upstream.reading.tree import open_installed, open_tree
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.installed_packages import package_of_distribution
from patchkit.core.versions.requirements import (
    FoundVersion,
    canonical,
    parse_requirement,
    parse_version,
)
from patchkit.errors import UpstreamError


def on_index(
    spec: str, library: Library, *, brief: bool = False, telling: bool = True
) -> list[CheckedRelease]:
    """Open the releases on an index that a requirement allows.

    Args:
        spec: The requirement, such as `vllm>=0.30`.
        library: The index, and the cache.
        brief: Whether facts leave sources out, which take most of the time.
        telling: Whether a notice tells which are read from files for other machines. Where only
            some of the releases will be read, `tell_files` tells it of these.

    Returns:
        The releases, in order of version.

    Raises:
        RequirementError: The requirement is malformed.
        UpstreamError: It allows no release, or is a version without a name.
    """
    if spec[:1].isdigit() and parse_version(spec):
        raise UpstreamError(
            f"found {spec!r}, expected a name as well, such as 'vllm=={spec}'"
        )
    store = FactStore(library.cache, brief=brief)
    found = find_releases(spec, library, telling=telling)
    releases = [of_release(release, store) for release in found]
    if not releases:
        raise UpstreamError(
            f"found no release that {spec!r} allows, {_expected(spec, library)}"
        )
    return releases


def tell_files(releases: Iterable[CheckedRelease | None], library: Library) -> None:
    """Give a notice of each release that is read from a file for other machines.

    Args:
        releases: The releases that are read; None and those on this machine are left out.
        library: The index, which gives a notice once.
    """
    for release in releases:
        if release is not None and not release.is_local:
            find_releases(f"{release.project}=={release.version}", library)


def _expected(spec: str, library: Library) -> str:
    """Say what the index has instead, for a requirement that allows none of it."""
    name = parse_requirement(spec).name
    parsed = [parse_version(link.version) for link in library.index.links(name)]
    versions = sorted(version for version in parsed if version)
    finals = [version for version in versions if not version.is_prerelease]
    if finals:
        return f"expected at least one; the newest of {canonical(name)} is {finals[-1].public}"
    if versions:
        example = f"'{name}>={versions[-1].public}'"
        return f"which has pre-releases only; expected a bound that names one, such as {example}"
    return "expected at least one"


def of_release(release: Release, store: FactStore) -> CheckedRelease:
    """Make a checked release of one on the index.

    Args:
        release: The release on the index.
        store: Caches its facts, if the index has its checksum.

    Returns:
        The checked release.
    """
    name = release.name
    project = release.project
    version = release.version
    option = f"--releases '{project}=={version}'"
    checksum = release.link.sha256
    file = release.link.filename
    # Without a checksum, nothing shows whether its file has changed, so no facts are cached.
    if not checksum:
        return CheckedRelease(
            name,
            project,
            version,
            release.opened,
            is_local=False,
            file=file,
            option=option,
        )
    return CheckedRelease(
        name,
        project,
        version,
        release.opened,
        store,
        checksum,
        is_local=False,
        file=file,
        option=option,
        release=release,
    )


def installed(
    packages: Iterable[str], versions: Versions
) -> tuple[list[CheckedRelease], list[str]]:
    """Open import packages that are installed.

    Args:
        packages: The names of the packages, or of their distributions, such as `scikit-learn`.
        versions: The versions of distributions here.

    Returns:
        The releases, and the packages that are not installed.

    Raises:
        VersionError: A package does not say its version.
    """
    releases = []
    missing = []
    for package in packages:
        source = _installed_source(package)
        if source is None:
            missing.append(package)
        else:
            releases.append(_local(source, package, versions))
    return releases, missing


def _installed_source(name: str) -> ReleaseSource | None:
    """Open an installed package by its name or that of its distribution; None if it is neither."""
    with contextlib.suppress(UpstreamError):
        return open_installed(name)
    # Only now, as all distributions have to be read for it.
    package = package_of_distribution(name)
    with contextlib.suppress(UpstreamError):
        return open_installed(package)
    return None


def tree(
    directory: Path, packages: Sequence[str], versions: Versions
) -> list[CheckedRelease]:
    """Open the import packages that a source tree has.

    Args:
        directory: The root of the tree.
        packages: The packages to open; those that the tree lacks are left out.
        versions: The versions of distributions here.

    Returns:
        The releases, at least one.

    Raises:
        UpstreamError: There is no such folder, or the tree has none of the packages.
        VersionError: A package does not say its version.
    """
    if not os.path.isdir(directory):  # noqa: PTH112 - a Path may raise
        raise UpstreamError(
            f"found no folder {str(directory)!r}, expected a source tree"
        )
    releases = []
    faults = []
    option = f"--path {shlex.quote(str(directory))}"
    for package in packages:
        try:
            source = open_tree(directory, package)
            releases.append(_local(source, package, versions, option))
        except UpstreamError as error:
            faults.append(error)
    if releases:
        return releases
    if len(faults) == 1:
        raise faults[0]
    fault = f"found none of {', '.join(packages)}, expected at least one"
    raise UpstreamError(f"the tree at {directory}: {fault}")


def of_commits(directory: Path, package: str, library: Library) -> list[CheckedRelease]:
    """Open each commit up to the one that is checked out as a release.

    Args:
        directory: The repository.
        package: The import package to look at.
        library: It has the cache for facts.

    Returns:
        The commits, the oldest first.

    Raises:
        UpstreamError: The folder has no commits that can be read.
    """
    store = FactStore(library.cache)
    project = canonical(package)
    return [
        CheckedRelease(
            f"{project} {commit.day} {commit.hash[:12]} {commit.title}",
            project,
            commit.version,
            functools.partial(CommitSource, directory, commit, package),
            store,
            f"{commit.hash} {package}",
        )
        for commit in commits(directory)
    ]


def archive(file: Path, versions: Versions) -> list[CheckedRelease]:
    """Open a wheel or a source distribution.

    Args:
        file: The file.
        versions: The versions of distributions here.

    Returns:
        The one release.

    Raises:
        UpstreamError: There is no such file, or it cannot be read.
        VersionError: It does not say its version.
    """
    if not os.path.isfile(file):  # noqa: PTH113 - a Path may raise
        raise UpstreamError(f"found no file {str(file)!r}, expected a wheel")
    package = file.name.partition("-")[0]  # of `NAME-VERSION…`
    option = f"--wheel {shlex.quote(str(file))}"
    return [_local(open_archive(file), package, versions, option)]


def _local(
    source: ReleaseSource, package: str, versions: Versions, option: str = "--here"
) -> CheckedRelease:
    """Make a checked release of local files, which may change, so that no facts are cached."""
    project = canonical(package)
    # What VLLM_VERSION or PATCHKIT_VERSIONS says comes before what the source says.
    version = versions.believed(package)
    if not version:
        version = FoundVersion(project, source.version or "nothing", source.name)
    # Read only because it raises VersionError, which says what to set, for a version that says
    # nothing, such as `nothing` or `0.1.dev0`.
    _ = version.counts_as
    name = f"{project} {version.version}"
    return CheckedRelease(name, project, version.version, lambda: source, option=option)
