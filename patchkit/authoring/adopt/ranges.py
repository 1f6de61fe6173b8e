"""Writes the requirements of a row that is carried to a later release."""

from collections.abc import Collection, Iterable

from patchkit.core.versions.requirements import (
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
) -> list[str]:
    """Return a row's requirements so that they allow a release, and those from an older one on.

    Args:
        requires: the requirements that the row has.
        packages: the distributions of the release; requirements of others stay as they are.
        new: the version of the release.
        is_new: whether only that release and later ones are allowed.
        is_over: whether only releases before it are.
    """
    names = {canonical(package) for package in packages}
    carried: list[str] = []
    for text in requires:
        if canonical(parse_requirement(text).name) in names:
            carried.append(_carried(text, new, is_new=is_new, is_over=is_over))
        else:
            carried.append(text)
    return carried


def _carried(text: str, new: str, *, is_new: bool, is_over: bool) -> str:
    """Write one requirement of a distribution that the release is of; see above."""
    requirement = parse_requirement(text)
    allowed = satisfies(new, str(requirement.specifier))
    if allowed != is_over and not is_new:
        return text
    bounds = sorted(map(str, requirement.specifier))
    is_exact = not allowed and any(bound.startswith("=") for bound in bounds)
    lower = _lower_bounds(bounds)
    if is_new:
        lower = [] if is_exact else [f">={new}"]
    upper = [bound for bound in bounds if bound[0] in "<~="]
    if is_over:
        upper = [f"<{new}"]
    elif is_exact:
        upper = [f"=={new}" if is_new else f"<={new}"]
    elif not allowed:
        upper = [_before_next_minor(new)]
    excluded = [bound for bound in bounds if bound.startswith("!")]
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{','.join([*lower, *excluded, *upper])}{marker}"


def _lower_bounds(bounds: Iterable[str]) -> list[str]:
    """Write what bounds say of the oldest release: `==1.2` and `~=1.2` begin at 1.2."""
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
    """Write the bound that allows the minor releases of a version: `<1.3` for 1.2.5."""
    release = (*release_order(version).release, 0)
    major = release[0]
    minor = release[1]
    return f"<{major}.{minor + 1}"
