"""Which releases are looked at: what is installed, a source tree, a wheel, or those on an index.

All raise `UpstreamError` where there is nothing to look at, and those here `VersionError` where one
does not say which release it is.
"""

import functools
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from patchkit.analysis.check.releases import CheckedRelease, FactStore
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
from patchkit.core.versions.requirements import (
    FoundVersion,
    canonical,
    parse_requirement,
    parse_version,
)
from patchkit.errors import UpstreamError


def on_index(spec: str, library: Library, *, brief: bool = False) -> list[CheckedRelease]:
    """Open what a requirement allows, or RequirementError; `brief` ones tell nothing of sources."""
    if spec[:1].isdigit() and parse_version(spec):
        raise UpstreamError(f"found {spec!r}, expected a name as well, such as 'vllm=={spec}'")
    kept = FactStore(library.cache, brief=brief)
    found = [of_release(one, kept) for one in find_releases(spec, library)]
    if not found:
        raise UpstreamError(f"found no release that {spec!r} allows, {_expected(spec, library)}")
    return found


def _expected(spec: str, library: Library) -> str:
    """Say what to ask for; where a project has but pre-releases, none is asked for by itself."""
    name = parse_requirement(spec).name
    links = library.index.links(name)
    versions = sorted(one for link in links if (one := parse_version(link.version)))
    if versions and all(one.is_prerelease for one in versions):
        newest = f"'{name}>={versions[-1].public}'"
        return f"which has pre-releases only; expected a bound that names one, such as {newest}"
    released = [one.public for one in versions if not one.is_prerelease]
    newest = f"; the newest of {canonical(name)} is {released[-1]}" if released else ""
    return f"expected one at least{newest}"


def of_release(release: Release, kept: FactStore) -> CheckedRelease:
    """Make a subject of a release on the index."""
    about = (release.name, release.project, release.version, release.opened)
    option, key = f"--releases '{about[1]}=={about[2]}'", release.link.sha256 or ""
    return CheckedRelease(
        *about,
        kept if key else None,
        key,
        is_local=False,
        option=option,
        release=release if key else None,
    )


def installed(
    packages: Iterable[str], versions: Versions
) -> tuple[list[CheckedRelease], list[str]]:
    """Open import packages where they are installed, and list those that are not."""
    subjects, missing = [], []
    for package in packages:
        try:
            source = open_installed(package)
        except UpstreamError:
            missing.append(package)
        else:
            subjects.append(_local(source, package, versions))
    return subjects, missing


def tree(directory: Path, packages: Sequence[str], versions: Versions) -> list[CheckedRelease]:
    """Open a source tree, with those of the packages that it holds, one at least."""
    if not directory.is_dir():
        raise UpstreamError(f"found no folder {str(directory)!r}, expected a source tree")
    found, faults = [], []
    option = f"--path {shlex.quote(str(directory))}"
    for package in packages:
        try:
            found.append(_local(open_tree(directory, package), package, versions, option))
        except UpstreamError as error:
            faults.append(error)
    if found:
        return found
    if len(faults) == 1:
        raise faults[0]
    fault = f"found none of {', '.join(packages)}, expected one at least"
    raise UpstreamError(f"the tree at {directory}: {fault}")


def of_commits(directory: Path, package: str, library: Library) -> list[CheckedRelease]:
    """Make a subject of each commit that led to the one checked out, the oldest first."""
    kept, project = FactStore(library.cache), canonical(package)
    return [
        CheckedRelease(
            f"{project} {one.day} {one.hash[:12]} {one.title}",
            project,
            one.version,
            functools.partial(CommitSource, directory, one, package),
            kept,
            f"{one.hash} {package}",
        )
        for one in commits(directory)
    ]


def archive(file: Path, versions: Versions) -> list[CheckedRelease]:
    """Open a wheel file, or a source distribution."""
    if not file.is_file():
        raise UpstreamError(f"found no file {str(file)!r}, expected a wheel")
    option = f"--wheel {shlex.quote(str(file))}"
    return [_local(open_archive(file), file.name.partition("-")[0], versions, option)]


def _local(
    source: ReleaseSource, package: str, versions: Versions, option: str = "--here"
) -> CheckedRelease:
    project = canonical(package)
    here = FoundVersion(project, source.version or "nothing", source.name)
    found = versions.believed(package) or here
    _ = found.counts_as  # raises, and says what to set
    name = f"{project} {found.version}"
    return CheckedRelease(name, project, found.version, lambda: source, option=option)
