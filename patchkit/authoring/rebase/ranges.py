"""Adjusts the version requirements of a row that `patchkit rebase` carries to a later release."""

from collections.abc import Collection, Iterable, Sequence

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.rows.declaration import Change
from patchkit.core.versions.requirements import (
    FoundVersion,
    canonical,
    parse_requirement,
    release_order,
    satisfies,
)


def carried_requirements(
    requires: Iterable[str],
    packages: Collection[str],
    new: str,
    *,
    is_new: bool,
    is_over: bool,
    left_out: Collection[str] = (),
) -> list[str]:
    """Return the requirements of a row after it was carried to a later release.

    By default they are extended to allow that release, too: `vllm>=0.9,<0.11` becomes
    `vllm>=0.9,<0.12` for 0.11.0.

    Args:
        requires: the requirements that the row has.
        packages: the distributions of the release; requirements of others stay as they are.
        new: the version of the release.
        is_new: whether the row now holds for that release on, and no longer for older ones.
        is_over: whether the row ends before that release, as upstream has its changes.
        left_out: versions that the extended requirements must not allow.
    """
    names = {canonical(package) for package in packages}
    carried: list[str] = []
    for text in requires:
        if canonical(parse_requirement(text).name) in names:
            adjusted = _carried(text, new, left_out, is_new=is_new, is_over=is_over)
            carried.append(adjusted)
        else:
            carried.append(text)
    return carried


def _carried(
    text: str, new: str, left_out: Collection[str], *, is_new: bool, is_over: bool
) -> str:
    """Return one requirement of the release's distribution, adjusted.

    Args:
        text: the requirement.
        new: the version of the release.
        left_out: versions that it must not allow.
        is_new: whether the row now holds for that release on, and no longer for older ones.
        is_over: whether the row ends before that release.
    """
    requirement = parse_requirement(text)
    allows_new = satisfies(new, str(requirement.specifier))
    # If the row is over, the requirement shall exclude the release; else it shall allow it.
    is_right_already = allows_new != is_over
    if is_right_already and not is_new:
        return text
    bounds = sorted(map(str, requirement.specifier))
    # `==1.1`, which excludes the release: the new bound ends exactly at the release, too.
    is_exact = not allows_new and any(bound.startswith("=") for bound in bounds)
    if not is_new:
        lower = _lower_bounds(bounds)  # the range begins where it did
    elif is_exact:
        lower = []  # the upper bound, `==`, is both
    else:
        lower = [f">={new}"]
    if is_over:
        upper = [f"<{new}"]
    elif is_exact:
        upper = [f"=={new}" if is_new else f"<={new}"]
    elif allows_new:
        upper = [bound for bound in bounds if bound[0] in "<~="]  # it ends where it did
    else:
        upper = [_before_next_minor(new)]
    # Of the versions to leave out, an earlier one is excluded; the range ends before a later one.
    excluded = [bound for bound in bounds if bound.startswith("!")]
    later_versions: list[str] = []
    for version in sorted(left_out, key=release_order):
        if release_order(version) < release_order(new):
            excluded.append(f"!={version}")
        else:
            later_versions.append(version)
    if later_versions:
        upper = [f"<{later_versions[0]}"]
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{','.join([*lower, *excluded, *upper])}{marker}"


def _lower_bounds(bounds: Iterable[str]) -> list[str]:
    """Return the lower bounds among bounds; `==1.2` and `~=1.2` imply `>=1.2`."""
    plain: list[str] = []
    implied: list[str] = []
    for bound in bounds:
        if bound.startswith(">"):
            plain.append(bound)
        elif bound[0] in "~=":
            version = bound.lstrip("~=").removesuffix(".*")
            implied.append(f">={version}")
    return [*plain, *implied]


def _before_next_minor(version: str) -> str:
    """Return the upper bound that allows all patch releases of a version: `<1.3` for 1.2.5."""
    # The 0 is the minor number of a version such as `2`, which has none.
    release = (*release_order(version).release, 0)
    major = release[0]
    minor = release[1]
    return f"<{major}.{minor + 1}"


def split_at(
    change: Change, successors: Iterable[Change], package: str, version: str
) -> Sequence[Change]:
    """Limit a change to the releases before a version, and what replaces it to that one and later.

    Args:
        change: the change.
        successors: the changes that replace it.
        package: the package that they change.
        version: the version.

    Returns:
        The change, and its successors.
    """
    earlier_releases = f"{package}<{version}"
    later_releases = f"{package}>={version}"
    old_change = change.__replace__(requires=(*change.requires, earlier_releases))
    new_changes = [
        successor.__replace__(requires=(*successor.requires, later_releases))
        for successor in successors
    ]
    return [old_change, *new_changes]


def version_of(release: CheckedRelease) -> str:
    """Return the version of a release for a requirement: a nightly of 0.11.0 counts as 0.11.0.

    Args:
        release: the release.
    """
    return FoundVersion(release.project, release.version, release.name).counts_as
