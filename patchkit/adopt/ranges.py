"""The releases of a row that is carried to a later one."""

from collections.abc import Collection, Iterable

from patchkit.versions.requirements import canonical, release_order, requirement_of

_EXACT, _LOWER, _UPPER = ("==", "==="), (">=", ">"), ("<", "<=", "~=")


def carried(
    requires: Iterable[str],
    packages: Collection[str],
    old: str,
    new: str,
    *,
    is_new: bool = False,
    is_over: bool = False,
) -> list[str]:
    """Write requirements of a row so that they allow a release, and those from an older one on.

    Those of other distributions than `packages` stay. With `is_new` only that release and later
    ones are allowed; with `is_over` only those before it.
    """
    ours = set(map(canonical, packages))
    return [
        _carried(text, old, new, is_new=is_new, is_over=is_over)
        if canonical(requirement_of(text).name) in ours
        else text
        for text in requires
    ]


def _carried(text: str, old: str, new: str, *, is_new: bool, is_over: bool) -> str:
    requirement = requirement_of(text)
    bounds = list(requirement.specifier)
    allowed = requirement.specifier.contains(new, prereleases=True)
    if allowed != is_over and not is_new:
        return text
    exact = any(one.operator in _EXACT for one in bounds)
    lower = [str(one) for one in bounds if one.operator in _LOWER]
    upper = [str(one) for one in bounds if one.operator in _UPPER]
    if is_over:
        upper = [f"<{new}"]
    elif exact:
        lower, upper = ([], [f"=={new}"]) if is_new else ([f">={old}"], [f"<={new}"])
    else:
        lower = [f">={new}"] if is_new else lower
        upper = upper if allowed else [f"<{_next(new)}"]
    others = [str(one) for one in bounds if one.operator == "!="]
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{','.join([*lower, *others, *upper])}{marker}"


def _next(version: str) -> str:
    first, second, *_ = (*release_order(version).release, 0)
    return f"{first}.{second + 1}"
