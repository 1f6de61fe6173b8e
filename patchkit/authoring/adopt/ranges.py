"""The releases of a row that is carried to a later one."""

from collections.abc import Collection, Iterable

from patchkit.core.versions.requirements import canonical, release_order, requirement_of, satisfies


def carried(
    requires: Iterable[str], packages: Collection[str], new: str, *, is_new: bool, is_over: bool
) -> list[str]:
    """Write requirements of a row so that they allow a release, and those from an older one on.

    Those of other distributions than `packages` stay. With `is_new` only that release and later
    ones are allowed; with `is_over` only those before it.
    """
    ours = set(map(canonical, packages))
    return [
        _carried(text, new, is_new=is_new, is_over=is_over)
        if canonical(requirement_of(text).name) in ours
        else text
        for text in requires
    ]


def _carried(text: str, new: str, *, is_new: bool, is_over: bool) -> str:
    requirement = requirement_of(text)
    allowed = satisfies(new, str(requirement.specifier))
    if allowed != is_over and not is_new:
        return text
    bounds = sorted(map(str, requirement.specifier))
    lower = [one for one in bounds if one[0] == ">"]
    lower += [f">={one.lstrip('~=').removesuffix('.*')}" for one in bounds if one[0] in "~="]
    upper = [one for one in bounds if one[0] in "<~="]
    exact = not allowed and any(one[0] == "=" for one in bounds)
    if is_over:
        upper = [f"<{new}"]
    elif exact:
        upper = [f"{'==' if is_new else '<='}{new}"]
    elif not allowed:
        first, second, *_ = (*release_order(new).release, 0)
        upper = [f"<{first}.{second + 1}"]
    if is_new:
        lower = [] if exact else [f">={new}"]
    others = [one for one in bounds if one[0] == "!"]
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{','.join([*lower, *others, *upper])}{marker}"
